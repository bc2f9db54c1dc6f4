# SPDX-License-Identifier: Apache-2.0
"""Class 31: descriptors, kernel objects, locked memory, huge pages, hard links: each is refused at some bound."""

import ctypes
import os

from lib import attack, host
from lib.case import case, check, equal

GUEST = r'''
import mmap, socket, resource
def until_refused(make, most):
    held = []
    for number in range(most):
        try:
            held.append(make(number))
        except (OSError, ValueError, MemoryError, BufferError) as error:
            for one in held:
                if isinstance(one, int) and one > 2:
                    os.close(one)
            return [number, word(error)]
    return [most, "never refused"]
def huge(number):
    return mmap.mmap(-1, 2 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40000)
locked = []
def lock(number):
    page = mmap.mmap(-1, 1 << 20)
    locked.append(page)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    sc(149, address, 1 << 20)
def link(number):
    if number == 0:
        open("target", "w").close()
    os.link("target", f"link{number}")
report["descriptors"] = until_refused(lambda n: os.dup(1), 100000)
report["pipes"] = until_refused(lambda n: os.pipe()[0], 100000)
for _ in range(3, int(sys.argv[1])):
    try:
        os.close(_)
    except OSError:
        pass
report["epoll"] = until_refused(lambda n: sc(291, 0), 100000)
report["inotify"] = until_refused(lambda n: sc(294, 0), 100000)
report["timerfd"] = until_refused(lambda n: sc(283, 1, 0), 100000)
report["eventfd"] = until_refused(lambda n: sc(290, 0, 0), 100000)
report["sockets"] = until_refused(lambda n: socket.socket(socket.AF_UNIX).detach(), 100000)
report["huge pages"] = until_refused(huge, 200)
report["mlock"] = until_refused(lock, 400)
locked.clear()
report["hard links"] = until_refused(link, int(sys.argv[2]))
probe("raise", resource.setrlimit, resource.RLIMIT_NOFILE, (1 << 20, 1 << 20))
report["limit"] = resource.getrlimit(resource.RLIMIT_NOFILE)
finish()
'''


@case(limit=120)
def kernel_objects(t):
    attack.need_x86(t)
    policy = "open_files: 200\ninode_limit: 3000\n"
    report, answer = attack.inside(t, GUEST, ["200", "20000"], policy=policy, patience=100)
    equal(report["limit"], [200, 200], "RLIMIT_NOFILE inside")
    equal(answer.result["limits"]["open_files"], 200, "open_files in the result")
    check(report["raise"] != "done", "the limit could be raised", report)
    for name in ("descriptors", "pipes", "epoll", "inotify", "timerfd", "eventfd", "sockets"):
        check(report[name][0] <= 200 and report[name][1] in ("EMFILE", "ENFILE", "EPERM", "ENOSYS",
                                                             "EACCES"),
              f"{name} are not bounded", report)
    for name in ("huge pages", "hard links"):
        check(report[name][1] != "never refused", f"{name} are not bounded", report)
    # Locked memory is charged to the cgroup like any other: what is locked is at most mem_limit.
    check(report["mlock"][0] << 20 <= answer.result["limits"]["mem_limit"], "locked memory", report)
    host.assert_gone(answer)
    for name, seen in report.items():
        t.tried(f"{name}: {seen}")


@case(limit=90)
def timers_and_signals_queued(t):
    guest = r'''
import select
def timers():
    number = 0
    identity = (ctypes.c_int * 1)()
    while number < 200000:
        sc(222, 1, None, identity)
        number += 1
        report["timers made"] = number
def watches():
    fd = sc(294, 0)
    os.makedirs("w", exist_ok=True)
    for number in range(100000):
        os.mkdir(f"w/{number}")
        sc(254, fd, f"w/{number}".encode(), 0xfff)
        report["watches made"] = number
probe("timers", timers)
probe("watches", watches)
finish()
'''
    attack.need_x86(t)
    answer = t.run(attack.PRELUDE + guest, policy="inode_limit: 3000\n", patience=80)
    if answer.status == "limit":
        t.tried(f"200,000 timers and 100,000 watches: ended as {answer.kind}")
        return
    report = attack.parse(answer.stdout, answer)
    check(report["watches"] != "done", "watches are not bounded", report)
    check(report["timers"] != "done"
          or answer.result["usage"]["memory_peak"] <= answer.result["limits"]["mem_limit"],
          "timers are not bounded", report)
    t.tried(f"timers: {report['timers']} after {report.get('timers made')}; watches: {report['watches']} after "
            f"{report.get('watches made')}")


@case(limit=60)
def stocks_of_the_host_user(t):
    """What the kernel counts per user is charged to an id of the container's own, not to whoever started it."""
    program = t.write("hold.py", "import ctypes, time\nlibc = ctypes.CDLL(None)\nn = 0\n"
                      "while libc.inotify_init() >= 0:\n    n += 1\nprint(n, flush=True)\ntime.sleep(6)\n")
    running = t.sandbox.start(t.sandbox.command(program, json_output=False))
    taken = int(running.stdout.readline() or 0)
    descriptor = ctypes.CDLL(None).inotify_init()
    if descriptor >= 0:
        os.close(descriptor)
    running.terminate()
    running.communicate()
    check(taken > 0, "the guest took none", taken)
    check(descriptor >= 0, "the host's user has no inotify instance left", taken)
    t.tried(f"inotify instances: {taken} taken inside, and the host's user still gets one")
