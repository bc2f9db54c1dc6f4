# SPDX-License-Identifier: Apache-2.0
"""Class 28: disk bytes, inodes, sparse files, deep trees, long names: bounded, told, and cleaned up."""

from lib import attack, host
from lib.case import case, check, equal


@case()
def bytes_and_inodes(t):
    guest = r'''
def fill():
    with open("big", "wb") as file:
        for _ in range(int(sys.argv[1])):
            file.write(b"x" * (1 << 20))
def many():
    os.mkdir("d")
    for number in range(int(sys.argv[2])):
        open(f"d/{number}", "x").close()
probe("bytes", fill)
report["size"] = os.path.getsize("big")
os.unlink("big")
probe("inodes", many)
report["count"] = len(os.listdir("d"))
finish()
'''
    report, answer = attack.attack(t, guest, {"bytes": "write 40 MiB under disk_limit 8m",
                                              "inodes": "2000 files under inode_limit 500"},
                                   args=["40", "2000"], refused={"": {"ENOSPC"}},
                                   how={"policy": "disk_limit: 8m\ninode_limit: 500\n"})
    check(7 << 20 <= report["size"] <= 8 << 20, "bytes that fitted", report)
    check(400 <= report["count"] <= 500, "files that fitted", report)
    check(answer.events("disk_full"), "no event tells of the full disk", answer.result["events"])


@case(limit=120)
def trees_and_names(t):
    program = """
import os
made = 0
try:
    while made < 100000:
        os.mkdir("d")
        os.chdir("d")
        made += 1
except OSError as error:
    print(made, error.strerror)
print("end")
"""
    # Access rules that look at each parent make every further level dearer, so the time limit may come first.
    answer = t.run(program, options=["--output-dir", str(t.tmp / "out"), "--timeout", "5"], patience=110)
    check(answer.status == "ok" or answer.kind == "timeout", "a tree of up to 100,000 levels", answer)
    check(answer.active < 5 + 20, "collecting and removing took long", answer.result["timing"])
    host.assert_gone(answer)
    t.tried(f"a tree of up to 100,000 levels: {answer.kind or answer.text.split()[0]}, collected and removed in "
            f"{answer.active - answer.result['usage']['wall']:.1f} s")
    answer = t.run("import os\nfor n in range(200): open('n' * 250 + str(n).zfill(5), 'w').write('x')\n",
                   options=["--output-dir", str(t.tmp / "long")])
    equal((answer.status, len(answer.result["files"])), ("ok", 200), "200 files with names of 255 bytes")
    t.tried("200 names of 255 bytes: all collected")


@case()
def sparse(t):
    program = """
import os
for size in (1 << 30, 1 << 40):
    try:
        os.truncate(os.open(f"sparse{size}", os.O_CREAT | os.O_RDWR), size)
    except OSError as error:
        print(error.strerror)
"""
    answer = t.run(program, options=["--output-dir", str(t.tmp / "out")], patience=40)
    check(answer.status in ("ok", "failed"), "sparse files of 1 GiB and 1 TiB", answer)
    sizes = [path.stat().st_size for path in (t.tmp / "out").rglob("*")] if (t.tmp / "out").exists() else []
    check(sum(sizes) <= 1 << 30, "a sparse file was written out in full", sizes)
    check(answer.active < 30, "collecting took long", answer.active)
    t.tried(f"sparse files of 1 GiB and 1 TiB: {sum(sizes)} bytes collected in {answer.active:.1f} s")
