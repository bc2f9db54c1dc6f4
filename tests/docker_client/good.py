# SPDX-License-Identifier: Apache-2.0
"""The control of this suite: over an engine that answers as it should, runs succeed, and what the faults need is there."""

from lib import docker_client as d
from lib.case import case, check, equal
from lib.engine import Engine


@case()
def a_run(t):
    d.prepare(t)
    with Engine(t) as engine:
        answer = d.run(t, engine)
        equal((answer["status"], answer["stdout"]), ("ok", "ran\n"), "result")
        equal(answer["runtime"], {"name": "runc", "version": "1.1.5+ds1"}, "runtime")
        equal(engine.calls[:5], ["ping", "image", "create", "attach", "start"], "calls up to the start")
        # The version is asked for when the init has spoken, the inspection made when the start has been answered.
        equal(sorted(engine.calls[5:]), ["inspect", "remove", "version"], "calls behind it")
        equal((engine.went, engine.containers), (1, {}), "gates opened, containers left")
    check(d.known_codes(), "error codes in docs/RESULT.md")


@case()
def first_run(t):
    """The derived image is made when the engine does not have it."""
    d.prepare(t)
    with Engine(t, image_made=False) as engine:
        equal(d.run(t, engine)["status"], "ok", "status")
        equal(engine.calls[:5], ["ping", "image", "create", "build", "create"], "calls")


@case()
def killed_in_time(t):
    d.prepare(t)
    with Engine(t, script={"sleeps": True}) as engine:
        answer = d.run(t, engine, "--timeout", "0.3")
        equal((answer["status"], answer["violation"]["kind"]), ("limit", "timeout"), "result")
        equal(engine.containers, {}, "containers left")
