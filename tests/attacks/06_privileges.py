# SPDX-License-Identifier: Apache-2.0
"""Class 6: setuid programs, file capabilities, capabilities left over from the set-up."""

from lib import attack
from lib.case import case, check, equal

STATUS = r'''
report["status"] = {}
for pid in [name for name in os.listdir("/proc") if name.isdigit()][:5]:
    try:
        text = open(f"/proc/{pid}/status").read()
    except OSError as error:
        continue
    report["status"][pid] = {line.split(":")[0]: line.split(":")[1].strip() for line in text.splitlines()
                             if line.startswith(("Cap", "NoNewPrivs", "Seccomp"))}
report["me"] = str(os.getpid())
report["mounts"] = {}
for line in open("/proc/self/mounts"):
    _, where, kind, options = line.split()[:4]
    report["mounts"][where] = [kind, *options.split(",")]
finish()
'''


@case()
def capabilities_and_flags(t):
    def demand(sandbox):
        report, _ = attack.inside(t, STATUS, sandbox=sandbox)
        without_privileges(report, engines_mounts=not t.holds("nosuid_root"))
        return report

    report = demand(t.sandbox)
    t.tried(f"read the capability sets of the program and of PID 1: {report['status'][report['me']]}")
    control = attack.on_host(t, STATUS)
    own = control["status"].get(control["me"]) or list(control["status"].values())[0]
    check(own["NoNewPrivs"] == "0" and any("nosuid" not in options
                                           for options in control["mounts"].values()),
          "control: the host's own state would be noticed", control)
    attack.expect_noticed(t, ["caps", "no-new-privs", "nosuid", "seccomp"], demand)


def without_privileges(report, engines_mounts):
    for pid, status in report["status"].items():
        for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            equal(int(status[name], 16), 0, f"{name} of process {pid}")
        equal(status["NoNewPrivs"], "1", f"no_new_privs of process {pid}")
        equal(status["Seccomp"], "2", f"seccomp mode of process {pid}")
    for where, options in report["mounts"].items():
        if engines_mounts and (where == "/" or is_masked(where, options)):
            continue
        check("nosuid" in options, f"{where} is mounted without nosuid", options)
        check(options[0] not in ("tmpfs", "overlay") or where.startswith("/dev") or "nodev" in options,
              f"{where} is mounted without nodev", options)


def is_masked(where, options):
    """An engine's mask of a part of /proc or /sys (nothing in it, or a device that holds nothing), or its host name file."""
    return "ro" in options and (where.startswith(("/proc/", "/sys/")) or where == "/etc/hostname") or \
        where.startswith("/proc/") and options[0] == "tmpfs"


@case()
def setuid_file_of_ones_own(t):
    """A copy of a program with the setuid bit on gives nothing: neither by owner nor by a later change of owner."""
    guest = r'''
import shutil, subprocess
shutil.copy("/usr/bin/env", "tool")
probe("chown", os.chown, "tool", 0, 0)
probe("mknod", os.mknod, "device", 0o600 | 0o020000, os.makedev(1, 3))
probe("setcap", os.setxattr, "tool", "security.capability", bytes.fromhex("0000000200000000000000000000000000000000"))
finish()
'''
    attack.attack(t, guest, {"chown": "give a file to root", "mknod": "make a device node",
                             "setcap": "put file capabilities on a program"},
                  refused={"": attack.REFUSED | {"EINVAL", "EOPNOTSUPP"}}, wrap=attack.APART)


@case()
def setuid_programs_of_the_image(t):
    """Running the machine's own setuid programs: the kernel must ignore the bit."""
    guest = r'''
import stat, subprocess
found = [f"/usr/bin/{n}" for n in os.listdir("/usr/bin") if os.path.isfile(f"/usr/bin/{n}")
         and os.stat(f"/usr/bin/{n}").st_mode & stat.S_ISUID]
report["found"] = found
report["secure"] = []
for path in found:
    # AT_SECURE (23) of the auxiliary vector says whether the kernel honoured the bit; ld.so shows the vector.
    done = subprocess.run(["/lib64/ld-linux-x86-64.so.2", "--list", path], capture_output=True,
                          env={"LD_SHOW_AUXV": "1"})
    shown = subprocess.run([path, "--version"], capture_output=True, env={"LD_SHOW_AUXV": "1"},
                           stdin=subprocess.DEVNULL)
    lines = [line.split()[-1] for line in shown.stdout.decode(errors="replace").splitlines()
             if line.startswith(("AT_EUID", "AT_SECURE"))]
    report["secure"].append([path, *lines])
report["uid"] = os.getuid()
finish()
'''
    attack.need_x86(t)
    report, _ = attack.inside(t, guest)
    if not report["found"]:
        t.skip("needs a setuid program in /usr/bin")
    t.tried(f"run {len(report['found'])} setuid programs: {report['secure'][:3]}")
    # In secure mode ld.so does not print the vector at all: an empty list would mean that the bit was honoured.
    shown = [entry for entry in report["secure"] if len(entry) == 3]
    check(shown, "no setuid program showed its vector: were they run in secure mode?", report)
    for path, *values in shown:
        check(values[0] == "0" or values[1] == "0", f"{path} ran in secure mode", values)
        check(str(report["uid"]) in values, f"{path} ran as another user", values)
