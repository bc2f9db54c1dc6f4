# SPDX-License-Identifier: Apache-2.0
"""Class 19: secrets in the caller's environment, read by os.environ or from /proc/PID/environ of any process."""

from lib import attack
from lib.case import case, check

GUEST = r'''
import glob
word_ = sys.argv[1].encode()[::-1]           # reversed, so that our own arguments do not match
probe("os.environ", lambda: None if any(word_ in v for v in os.environb.values()) else os.stat("/nonexistent"))
def look(pattern):
    for path in glob.glob(pattern):
        try:
            if word_ in open(path, "rb").read():
                return path
        except OSError:
            pass
    os.stat("/nonexistent")
probe("environ", look, "/proc/[0-9]*/environ")
probe("cmdline", look, "/proc/[0-9]*/cmdline")
def memory():
    for line in open("/proc/self/maps"):
        if "[stack]" in line:
            start, end = (int(n, 16) for n in line.split()[0].split("-"))
            with open("/proc/self/mem", "rb") as file:
                file.seek(start)
                if word_ in file.read(end - start):
                    return
    os.stat("/nonexistent")
probe("stack", memory)
report["names"] = sorted(os.environ)
finish()
'''


@case()
def secrets_of_the_caller(t):
    secret = attack.unique(t, "secret")
    answer_environment = {"MAI_TEST_SECRET": secret, "AWS_SECRET_ACCESS_KEY": secret,
                          "OPENAI_API_KEY": secret,
                          "LC_SECRET": secret, "PYTHON_TOKEN": secret}
    report, _ = attack.inside(t, GUEST, [secret[::-1]], env=answer_environment)
    control = attack.on_host(t, GUEST, [secret[::-1]], env=answer_environment)
    for name in ("os.environ", "environ", "stack"):
        check(report[name] != "done", f"the caller's secret is seen in {name}", report)
        check(control[name] == "done", f"control: on the host the secret is seen in {name}", control)
    check(report["cmdline"] != "done", "the caller's secret is in a command line", report)
    t.tried(f"look for the caller's secret in os.environ, every /proc/PID/environ and the stack: not found "
            f"(found on the host); variables inside: {report['names']}")
    check(not set(report["names"]) & set(answer_environment), "a variable of the caller's came in",
          report["names"])
