# SPDX-License-Identifier: Apache-2.0
"""
Every call of a container's life, failing in every way that HTTP has: a clear error (or a true result, where nothing
depends on the call), within the time that the policy gives, with nothing run that was not vouched for, and nothing left
on the engine that the result does not name.
"""

import concurrent.futures

from lib import docker_client as d
from lib import engine as e
from lib.case import case, check, equal
from lib.engine import FAULTS, Engine

# Where the answer matters in part only, and the rest may be anything: the run goes on, and its result is true.
GOES_ON = {
    "ping": {"half a document", "another document", "a deep document", "another type"},  # the head says the version
    "version": set(FAULTS),
    "create": {"says 404"},  # the derived image is made, and then it works
}
# A kept connection that was closed before an answer began is opened once more: the engine may just have ended it.
MAY_GO_ON = "hangs up once"
# A page of the engine's own words is kept: these faults have some.
SPEAKING = {"says 400", "says 409", "says 500"}
SECONDS = 25  # for a run of which one call hangs: one call_timeout (four of a build), and what a busy machine adds


def each_fault(t, call, **engine_options):
    """Runs once per fault, some at a time; returns {fault: (result, engine)}."""
    d.prepare(t)

    def one(name):
        faults = {call: FAULTS[name]}
        if name == "hangs up":
            first, _, number = call.partition("#")
            faults.update({f"{first}#{int(number or 1) + again}": FAULTS[name] for again in range(1, 6)})
        with Engine(t, faults, **engine_options) as engine:
            result = d.run(t, engine, *(["--timeout", "0.3"] if "deaf" in engine.script else []))
        return name, (result, engine)

    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        outcomes = dict(pool.map(one, FAULTS))
    for name, (result, engine) in outcomes.items():
        what = f"{call} {name}"
        check(engine.asked(call.partition("#")[0]) >= int(call.partition("#")[2] or 1), f"{what}: the call was made", engine.calls)
        check(result["seconds"] < SECONDS, f"{what}: it took too long", result["seconds"], result["error"])
        if (call, name) != ("remove", "says 404"):  # what the engine says is gone counts as gone
            d.check_leftovers(result, engine, what)
    t.tried(f"{call}: {len(outcomes)} faults, the slowest {max(r['seconds'] for r, _ in outcomes.values()):.1f} s")
    return outcomes


def before_the_gate(t, call, codes=("backend_unavailable",), **engine_options):
    for name, (result, engine) in each_fault(t, call, **engine_options).items():
        what = f"{call} {name}"
        if name in GOES_ON.get(call, ()) or (name == MAY_GO_ON and result["status"] == "ok"):
            equal((result["status"], result["stdout"]), ("ok", "ran\n"), what)
            continue
        d.check_error(result, what, codes)
        equal(engine.went, 0, f"{what}: gates opened")
        if name in SPEAKING:
            check(r"no \x1b[31mway\x07" in result["error"]["message"], f"{what}: the engine's words", result["error"])
            check("second line" in result["error"]["message"], f"{what}: all of them", result["error"])
        if name == "a page of 503":
            check("<h1>" in result["error"]["message"] and "503" in result["error"]["message"], what, result["error"])


@case(limit=180)
def ping(t):
    before_the_gate(t, "ping")


@case(limit=180)
def image(t):
    before_the_gate(t, "image", ("backend_unavailable", "image_unavailable"))


@case(limit=180)
def create(t):
    before_the_gate(t, "create")


@case(limit=180)
def build(t):
    before_the_gate(t, "build", ("backend_unavailable", "image_unavailable"), image_made=False)


@case(limit=180)
def attach(t):
    before_the_gate(t, "attach")


@case(limit=180)
def start(t):
    before_the_gate(t, "start")


@case(limit=180)
def version(t):
    before_the_gate(t, "version")


@case(limit=180)
def inspect(t):
    """Without the engine's account of the container no gate opens."""
    before_the_gate(t, "inspect", ("backend_unavailable", "security_mismatch"))


@case(limit=180)
def how_it_ended(t):
    """The streams end in mid-run, and the question why gets no good answer."""

    def drop(_, container):
        container["stream"].close()

    for name, (result, engine) in each_fault(t, "inspect#2", script={"sleeps": True, "drops": drop}).items():
        d.check_error(result, f"the end: {name}")
        equal((engine.went, engine.containers), (1, {}), f"the end: {name}: gates opened, containers left")


@case(limit=180)
def kill(t):
    """The init does not end the program, and the engine does not either: the verdict is the limit's."""
    for name, (result, engine) in each_fault(t, "kill", script={"sleeps": True, "deaf": True}).items():
        equal((result["status"], (result["violation"] or {}).get("kind")), ("limit", "timeout"), f"kill {name}")
        equal(engine.containers, {}, f"kill {name}: containers left")


@case(limit=180)
def remove(t):
    """The program's result is true; that the container could not be removed is said beside it."""
    for name, (result, engine) in each_fault(t, "remove").items():
        what = f"remove {name}"
        equal((result["status"], result["stdout"], engine.went), ("ok", "ran\n", 1), what)
        if name != MAY_GO_ON:
            equal(result["cleanup"]["complete"], name == "says 404", f"{what}: complete")


@case(limit=180)
def engine_gone(t):
    """The engine goes away at each call, and does not come back while the run lasts."""
    d.prepare(t)
    for call in ("ping", "image", "create", "attach", "version", "start", "inspect", "remove"):
        with Engine(t, vanish=call) as engine:
            result = d.run(t, engine)
            if call == "remove":
                equal(result["status"], "ok", call)
            else:
                d.check_error(result, f"gone at {call}")
                equal(engine.went, 0, f"gone at {call}: gates opened")
            check(result["seconds"] < SECONDS, f"gone at {call}: it took too long", result["seconds"])
            d.check_leftovers(result, engine, f"gone at {call}")


@case(limit=180)
def nothing_but_silence(t):
    """An engine that takes connections and never says a word, at the start and in the middle."""
    d.prepare(t)
    with Engine(t, {"ping": e.hangs}, always=True) as engine:
        result = d.run(t, engine)
        d.check_error(result, "silence")
        check("does not answer" in result["error"]["message"] and "call_timeout" in result["error"]["hint"], "words",
              result["error"])
    with Engine(t, {"start": e.hangs, "remove": e.hangs}, always=True) as engine:
        result = d.run(t, engine)
        d.check_error(result, "silence later")
        d.check_leftovers(result, engine, "silence later")
        check(result["seconds"] < SECONDS, "it took too long", result["seconds"])


@case(limit=180)
def pruned_later(t):
    """What could not be removed is, once the engine is back."""
    d.prepare(t)
    with Engine(t, vanish="inspect") as engine:
        result = d.run(t, engine)
        equal(result["cleanup"]["complete"], False, "cleanup")
        left = engine.containers
    equal(len(left), 1, "containers left")
    with Engine(t) as engine:
        engine.containers = left
        answer = d.call(t, ["prune"], {"DOCKER_HOST": engine.host})
        equal((answer.returncode, engine.containers), (0, {}), f"prune: {answer.stderr!r}")


@case(limit=180)
def lying_accounts(t):
    """The engine says that the container is not what was asked for: nothing is run."""
    d.prepare(t)

    def host(**words):
        return e.edited(lambda document: document["HostConfig"].update(words))

    lies = {
        "more memory": host(Memory=1 << 40), "no memory limit": host(Memory=0), "swap": host(MemorySwap=-1),
        "no limit on processes": host(PidsLimit=0), "memory as text": host(Memory="4194304"),
        "a network": host(NetworkMode="host"), "the host's processes": host(PidMode="host"),
        "the host's IPC": host(IpcMode="host"), "the host's name": host(UTSMode="host"),
        "a writable root": host(ReadonlyRootfs=False), "privileges": host(Privileged=True),
        "a bind": host(Binds=["/:/host"]), "a device": host(Devices=[{"PathOnHost": "/dev/sda"}]),
        "groups": host(GroupAdd=["0"]),
        "a volume": e.edited(lambda document: document.update(Mounts=[{"Type": "volume", "Destination": "/v"}])),
        "a nameless mount": e.edited(lambda document: document.update(Mounts=[{}])),
        "nothing": e.edited(lambda document: document.clear()),
        "no numbers": host(Memory=None, PidsLimit=[], NetworkMode={}),
        "hostile words": host(NetworkMode="\x1b[31m" * 100),
    }
    for name, lie in lies.items():
        with Engine(t, {"inspect": lie}) as engine:
            result = d.run(t, engine)
            d.check_error(result, name, ("security_mismatch",))
            equal((engine.went, engine.containers), (0, {}), f"{name}: gates opened, containers left")
    t.tried(f"{len(lies)} accounts that differ: none ran")


@case(limit=180)
def hostile_images(t):
    """An image's account that would have something run, or name another image."""
    d.prepare(t)

    def image(**words):
        return e.edited(lambda document: document.update(words))

    for name, lie in {
            "a trigger": e.edited(lambda document: document["Config"].update(OnBuild=["RUN rm -rf /"])),
            "a volume": e.edited(lambda document: document["Config"].update(Volumes={"/data": {}})),
            "an instruction": image(Id="sha256:a\nRUN rm -rf /"), "no id": image(Id=None), "a number": image(Id=7),
            "a long id": image(Id="a" * 4096)}.items():
        with Engine(t, {"image": lie}, image_made=False) as engine:
            result = d.run(t, engine)
            d.check_error(result, name, ("image_unavailable", "backend_unavailable"))
            equal(engine.calls, ["ping", "image"], f"{name}: calls")
