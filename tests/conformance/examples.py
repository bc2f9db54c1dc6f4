# SPDX-License-Identifier: Apache-2.0
"""What a newcomer runs first: the demo, and the example of a caller. Both ask for what the shipped policy allows."""

import pathlib
import sys

from lib.case import case, check, equal

ROOT = pathlib.Path(__file__).resolve().parents[2]


@case(limit=200)
def demo(t):
    answer = t.sandbox.call([sys.executable, str(ROOT / "tools/demo.py"), "--sandbox", str(t.program)], patience=190)
    check("NOT AS IT SHOULD BE" not in answer.out.decode() and answer.exit == 0, "the demo", answer)


@case(limit=120)
def agent(t):
    answer = t.sandbox.call([sys.executable, str(ROOT / "examples/agent.py")], patience=110,
                            env={"MAI_SANDBOX": str(t.program)})
    equal(answer.exit, 0, "exit status of agent.py")
    said = answer.out.decode()
    for words in ("285", "NameError", "SIGSEGV", "(timeout)", "(memory)", "(output)", "caf\\xe9", "It was cancelled",
                  "For the operator: policy_refused"):
        check(words in said, f"agent.py says {words}", said)
