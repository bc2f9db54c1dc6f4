# SPDX-License-Identifier: Apache-2.0
"""The gateway from inside a sandbox: real clients, programs that want more than packages, and its end in mid-run."""

import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time

from lib import gateway as g
from lib.case import case, check, equal

HOST = ("127.0.0.1", 8199)


def policy(t, *entries, **network):
    """A policy whose level `untrusted` may fetch."""
    network = {"cache": str(t.tmp / "cache" / "packages"), "whitelist": list(entries), **network}
    return json.dumps({"trust_levels": {"untrusted": {"network_mode": "dependencies", "timeout": 30,
                                                      "mem_limit": "512m"}}, "network": network})


def setting(t):
    """An upstream with two packages, and the policy that names it. Its directories are the gateway's user's too."""
    bundle, upstream = g.world(t)
    t.tmp.chmod(0o755)
    g.publish_wheel(upstream, "alpha", requires=["beta>=1"])
    g.publish_wheel(upstream, "beta", metadata=True)
    return bundle, upstream, policy(t, g.pypi_entry(bundle, upstream))


def fetched(answer):
    return {event.get("file") for event in answer.events("network_fetched")}


def reasons(answer):
    counts = {}
    for event in answer.events("network_denied"):
        counts[event["reason"]] = counts.get(event["reason"], 0) + event["count"]
    return counts


PIP = """
import subprocess, sys
subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--retries", "0", *sys.argv[1:]], check=True)
subprocess.run([sys.executable, "-c", "import alpha, beta; print(alpha.NAME, beta.NAME)"], check=True)
"""


@case(limit=120)
def pip_install(t):
    """Plain `pip install` with a dependency; a second run with the same is served without asking for files again."""
    _, upstream, allowed = setting(t)
    answer = t.run(PIP, ["alpha"], policy=allowed)
    equal((answer.status, answer.text), ("ok", "alpha beta\n"), repr(answer))
    equal(fetched(answer), {"alpha-1.0-py3-none-any.whl", "beta-1.0-py3-none-any.whl"}, "files in the events")
    check(all(event["bytes"] > 500 for event in answer.events("network_fetched")), "bytes of files", answer)
    check(answer.result["usage"]["net_rx"] > 1000 and answer.result["usage"]["net_tx"] > 200, "net_*", answer)
    equal(answer.result["security"]["network"], "dependencies", "network as read back")
    asked = len(upstream.requests)
    again = t.run(PIP, ["alpha"], policy=allowed)
    equal((again.status, fetched(again)), ("ok", fetched(answer)), repr(again))
    equal([path for _, path, _ in upstream.requests[asked:] if path.endswith(".whl")], [], "wheels asked for again")


@case(limit=90)
def requests_tighten(t):
    _, upstream, allowed = setting(t)
    look = ("import os, socket\n"
            "print(sorted(name for name in os.environ if 'pip' in name.lower() or 'uv' in name.lower()))\n"
            f"try: socket.create_connection({HOST}, 3)\nexcept OSError as error: print(type(error).__name__)\n")
    answer = t.run(look, options=["--network", "none"], policy=allowed)
    equal((answer.status, answer.text), ("ok", "[]\nConnectionRefusedError\n"), repr(answer))
    equal((answer.result["security"]["network"], answer.result["usage"]["net_rx"]), ("none", None), "a run without")
    answer = t.run(look, options=["--index", "other"], policy=allowed)
    equal((answer.status, answer.result["error"]["code"]), ("error", "policy_refused"), repr(answer))
    answer = t.run(look, options=["--network", "dependencies"])
    equal((answer.status, answer.result["error"]["code"]), ("error", "policy_refused"), repr(answer))
    equal(upstream.connections, 0, "connections upstream")


NPM = """
import subprocess
subprocess.run(["npm", "install", "--silent", "{package}"], check=True)
print(subprocess.run(["node", "-e", "console.log(require('{module}'){call})"], check=True, capture_output=True, text=True).stdout)
"""


def need_npm(t):
    for name in ("npm", "node"):
        if not t.need_program(name).startswith("/usr/bin/"):
            t.skip(f"needs {name} in /usr")


@case(limit=120)
def npm_install(t):
    need_npm(t)
    bundle, upstream = g.world(t)
    t.tmp.chmod(0o755)
    g.publish_npm(upstream, "left-part", "1.2.3")
    g.publish_npm(upstream, "@acme/tool", "2.0.0", {"left-part": "^1.0.0"})
    answer = t.run(NPM.format(package="@acme/tool", module="@acme/tool", call=""),
                   policy=policy(t, g.npm_entry(bundle, upstream)))
    equal((answer.status, answer.text.strip()), ("ok", "@acme/tool@2.0.0"), repr(answer))
    equal(fetched(answer), {"tool-2.0.0.tgz", "left-part-1.2.3.tgz"}, "files in the events")


@case(limit=120)
def npm_of_the_machine(t):
    """From the registry that the machine's npm is configured for; its name may lead into a reserved range here."""
    need_npm(t)
    g.program(t)
    t.tmp.chmod(0o755)
    registry = subprocess.run(["npm", "config", "get", "registry"], capture_output=True, text=True, cwd="/",
                              check=False, timeout=60).stdout.strip()
    host = registry.split("/")[2] if registry.startswith("https://") else ""
    try:
        addresses = {info[4][0] for info in socket.getaddrinfo(host.split(":")[0], 443, socket.AF_INET)} if host else set()
        socket.create_connection((host.split(":")[0], 443), 10).close()
    except OSError:
        addresses = set()
    if not addresses:
        t.skip("needs a package registry that can be reached by https")
    entry = {"name": "npm", "kind": "npm", "addresses": [f"{address}/32" for address in sorted(addresses)]}
    answer = t.run(NPM.format(package="is-odd@3.0.1", module="is-odd", call="(3)"), policy=policy(t, entry),
                   env={"npm_config_registry": registry}, patience=100)
    equal((answer.status, answer.text.strip()), ("ok", "true"), repr(answer))
    equal(fetched(answer), {"is-odd-3.0.1.tgz", "is-number-6.0.0.tgz"}, "files in the events")


# Everything that is not the GET of a package: each line is what the guest writes to the port.
RAW = {
    "connect": b"CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: x\r\n\r\n",
    "put": b"PUT /pypi/simple/alpha/ HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx",
    "post": b"POST /pypi/simple/alpha/ HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx",
    "absolute": b"GET http://127.0.0.1:%d/ HTTP/1.1\r\nHost: x\r\n\r\n",
    "query": b"GET /pypi/simple/alpha/?secret HTTP/1.1\r\nHost: x\r\n\r\n",
    "other entry": b"GET /elsewhere/simple/alpha/ HTTP/1.1\r\nHost: x\r\n\r\n",
    "unlisted file": b"GET /pypi/files/" + b"a" * 64 + b"/alpha-1.0-py3-none-any.whl HTTP/1.1\r\nHost: x\r\n\r\n",
    "encoded path": b"GET /pypi/simple/..%%2f..%%2fetc HTTP/1.1\r\nHost: x\r\n\r\n",
    "bare lf": b"GET /pypi/simple/alpha/ HTTP/1.1\nHost: x\n\n",
    "two lengths": b"GET /pypi/simple/alpha/ HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\n",
    "bytes": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "socks": b"\x05\x01\x00\r\n\r\n",
}

BEYOND = r'''
import json, os, socket, subprocess, sys
canary = int(sys.argv[1])
said, out = json.loads(sys.argv[2]), {}
for name, text in said.items():
    with socket.create_connection(("127.0.0.1", 8199), 10) as s:
        s.sendall(text.encode("latin-1").replace(b"PORT", str(canary).encode()))
        data = b""
        try:
            while part := s.recv(65536):
                data += part
        except ConnectionResetError:
            pass
        out[name] = data.decode("latin-1")
def probe(name, action):
    try:
        out[name] = repr(action())
    except OSError as error:
        out[name] = "refused"
def udp():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(2)
        s.connect(("127.0.0.1", canary))
        s.send(b"x")
        return s.recv(10)
probe("tcp", lambda: socket.create_connection(("127.0.0.1", canary), 3))
probe("udp", udp)
probe("outside", lambda: socket.create_connection(("198.51.100.1", 80), 3))
probe("dns", lambda: socket.getaddrinfo("index.test", 80))
probe("icmp", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP).sendto(b"\x08" + bytes(7), ("198.51.100.1", 0)))
probe("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
probe("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
def curl():
    done = subprocess.run(["curl", "-s", "--noproxy", "*", "--max-time", "3", f"http://127.0.0.1:{canary}/"], capture_output=True)
    if done.returncode:
        raise OSError
    return done.stdout
probe("curl", curl)
# Interfaces that are up and have sent or received anything; some kernels put unused tunnels everywhere.
lines = open("/proc/net/dev").read().splitlines()[2:]
out["interfaces"] = [line.split(":")[0].strip() for line in lines if any(int(n) for n in line.split(":")[1].split())]
print(json.dumps(out))
'''


def canary():
    """A TCP and a UDP listener on the host's loopback, which answer whoever comes, and remember it."""
    tcp = socket.create_server(("127.0.0.1", 0))
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(tcp.getsockname())
    seen = []

    def serve():
        while True:
            connection, _ = tcp.accept()
            seen.append("tcp")
            connection.sendall(b"HTTP/1.0 200 OK\r\n\r\ncanary")
            connection.close()

    def answer():
        while True:
            _, peer = udp.recvfrom(10)
            seen.append("udp")
            udp.sendto(b"canary", peer)

    for function in (serve, answer):
        threading.Thread(target=function, daemon=True).start()
    return tcp.getsockname()[1], seen


@case(limit=120)
def nothing_else_leads_out(t):
    """The control: on the host the same program reaches the canary by TCP and UDP."""
    _, upstream, allowed = setting(t)
    port, seen = canary()
    said = {name: text.replace(b"%d", b"PORT").replace(b"%%", b"%").decode("latin-1") for name, text in RAW.items()}
    source = t.write("beyond.py", BEYOND)
    free = json.loads(subprocess.run(["/usr/bin/python3", source, str(port), "{}"], check=True, capture_output=True,
                                     timeout=60).stdout)
    check("refused" not in (free["tcp"], free["udp"]) and {"tcp", "udp"} <= set(seen), "control", free, seen)
    seen.clear()
    answer = t.run(BEYOND, [str(port), json.dumps(said)], policy=allowed)
    equal(answer.status, "ok", repr(answer))
    out = json.loads(answer.text)
    for name in RAW:
        g.check_denied(out[name].encode("latin-1"), name)
        t.tried(f"{name}: denied")
    for name in ("tcp", "udp", "outside", "dns", "icmp", "raw", "packet", "curl"):
        equal(out[name], "refused", name)
        t.tried(f"{name}: refused")
    equal((out["interfaces"], seen, upstream.connections), (["lo"], [], 0), "interfaces; canary; upstream")
    equal(sum(reasons(answer).values()), len(RAW), f"denials in the events: {reasons(answer)}")
    for word in ("method", "query", "target", "path", "not_listed", "malformed_request", "name", "field"):
        check(word in reasons(answer), f"reason {word}", reasons(answer))


@case(limit=90)
def a_flood_stays_bounded(t):
    """Refusals are named up to a bound; other events still find room."""
    _, upstream, allowed = setting(t)
    program = ("import socket\nfor n in range(500):\n"
               f"    with socket.create_connection({HOST}, 20) as s:\n"
               "        s.sendall(b'GET /x%d HTTP/1.1\\r\\n\\r\\n' % n)\n        while s.recv(4096): pass\n"
               "import ctypes; ctypes.CDLL(None).mount(None, None, None, 0, None)\n")
    answer = t.run(program, policy=allowed)
    equal(answer.status, "ok", repr(answer))
    events = answer.events("network_denied")
    equal(sum(event["count"] for event in events), 500, "denials counted")
    check(len(events) <= 40, "entries", len(events))
    check(answer.events("syscall_denied"), "another event has no room", answer)
    equal(upstream.connections, 0, "connections upstream")


def gateways():
    """Process ids of gateways, by the program that they run."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/exe").endswith("/mai-sandbox-gateway"):
                found.add(int(pid))
        except OSError:
            pass
    return found


def children(pid):
    return {child for child in gateways() if parent(child) == pid}


def parent(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            return int(stat.read().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


@case(limit=120)
def killed_in_mid_install(t):
    """One clear error, nothing left, and the next run works."""
    _, upstream, allowed = setting(t)
    wheel = next(path for path in upstream.routes if path.endswith("alpha-1.0-py3-none-any.whl"))
    data, asked = upstream.routes[wheel], threading.Event()

    def stall(handler):
        asked.set()
        time.sleep(15)
        handler.wfile.write(b"")

    upstream.routes[wheel] = stall
    process = t.sandbox.start(t.sandbox.command(PIP, ["alpha"], policy=allowed))
    check(asked.wait(40), "the wheel was never asked for")
    mine = children(process.pid)
    equal(len(mine), 1, "gateways of the run")
    os.kill(mine.pop(), signal.SIGKILL)
    out, err = process.communicate(timeout=30)
    result = json.loads(out)
    equal((process.returncode, result["status"], result["error"]["code"]), (125, "error", "gateway_failed"), err)
    check("gateway" in result["error"]["message"] and "signal 9" in result["error"]["message"], "message", result["error"])
    equal((result["cleanup"]["complete"], result["cleanup"]["leftovers"]), (True, []), "cleanup")
    upstream.routes[wheel] = data
    answer = t.run(PIP, ["alpha"], policy=allowed)
    equal((answer.status, answer.text), ("ok", "alpha beta\n"), repr(answer))


@case(limit=120)
def upstream_gone_in_mid_install(t):
    _, upstream, allowed = setting(t)
    wheel = next(path for path in upstream.routes if path.endswith("beta-1.0-py3-none-any.whl"))
    data = upstream.routes[wheel]

    def hang_up(handler):
        handler.connection.shutdown(socket.SHUT_RDWR)

    upstream.routes[wheel] = hang_up
    answer = t.run(PIP, ["alpha"], policy=allowed)
    equal(answer.status, "failed", repr(answer))
    check([event for event in answer.events("network_failed") if event["reason"] == "upstream_failed"], "event", answer)
    check(b"502" in answer.stderr, "what pip says", answer.stderr)
    upstream.routes[wheel] = data
    equal(t.run(PIP, ["alpha"], policy=allowed).status, "ok", "the next try")


@case(limit=90)
def it_ends_with_its_supervisor(t):
    _, _, allowed = setting(t)
    process = t.sandbox.start(t.sandbox.command("import time; print(1, flush=True); time.sleep(25)", policy=allowed,
                                                json_output=False))
    process.stdout.readline()
    mine = children(process.pid)
    equal(len(mine), 1, "gateways of the run")
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 10
    while mine & gateways() and time.monotonic() < deadline:
        time.sleep(0.05)
    equal(mine & gateways(), set(), "gateways left")


@case(limit=90)
def secrets_stay_outside(t):
    """Credentials reach the index and are nowhere inside; a file that others can read is refused."""
    bundle, upstream, _ = setting(t)
    secret = t.write("login", "user:s3cr3t-w0rd\n", 0o600)
    allowed = policy(t, {**g.pypi_entry(bundle, upstream), "login": f"file:{secret}"})
    look = PIP + ("import os\nblob = repr(os.environ)\n"
                  "for name in os.listdir('/proc'):\n"
                  "    if name.isdigit():\n"
                  "        for part in ('environ', 'cmdline'):\n"
                  "            try: blob += open(f'/proc/{name}/{part}', errors='replace').read()\n"
                  "            except OSError: pass\n"
                  "print('s3cr3t' in blob)\n")
    answer = t.run(look, ["alpha"], policy=allowed)
    equal((answer.status, answer.text), ("ok", "alpha beta\nFalse\n"), repr(answer))
    check(all(fields.get("Authorization", "").startswith("Basic ") for _, _, fields in upstream.requests),
          "credentials upstream", upstream.requests)
    check("s3cr3t" not in json.dumps(answer.result), "a secret in the result")
    secret.chmod(0o644)
    answer = t.run(look, ["alpha"], policy=allowed)
    equal((answer.status, answer.result["error"]["code"]), ("error", "policy_invalid"), repr(answer))
    check("only its owner can read" in answer.result["error"]["message"], "message", answer.result["error"])
    missing = policy(t, {**g.pypi_entry(bundle, upstream), "token": "env:NO_SUCH_VARIABLE"})
    answer = t.run(look, ["alpha"], policy=missing)
    check("NO_SUCH_VARIABLE" in answer.result["error"]["message"], "message", answer.result["error"])


@case(limit=60)
def a_build_without_it_says_so(t):
    """The program alone, without the gateway beside it."""
    _, _, allowed = setting(t)
    if os.path.exists("/usr/local/bin/mai-sandbox-gateway") or os.path.exists("/usr/bin/mai-sandbox-gateway"):
        t.skip("needs a machine on which the gateway is not installed")
    alone = t.tmp / "alone"
    alone.mkdir()
    shutil.copy(t.program, alone / "mai-sandbox")
    t.sandbox.program = str(alone / "mai-sandbox")
    answer = t.run("print(1)", policy=allowed)
    equal((answer.status, answer.result["error"]["code"]), ("error", "not_enforceable"), repr(answer))
