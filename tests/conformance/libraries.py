# SPDX-License-Identifier: Apache-2.0
"""What generated code ordinarily uses, at the level `untrusted`: all of it just works, without warnings."""

import subprocess

from lib.case import PYTHON, case, check, equal


def works(t, program, expected="ok\n", **how):
    answer = t.run(program, **how)
    equal((answer.status, answer.text, answer.stderr), ("ok", expected, b""),
          "status, output and standard error")
    return answer


def need(t, *modules):
    for name in modules:
        if subprocess.run([PYTHON, "-c", f"import {name}"], capture_output=True, check=False).returncode:
            t.skip(f"needs python3-{name} on the host")


@case()
def numpy(t):
    need(t, "numpy")
    works(t, "import numpy as np\na = np.arange(10000.).reshape(100, 100)\nnp.linalg.svd(a); np.fft.fft(a)\n"
             "np.save('a.npy', a); assert (np.load('a.npy', mmap_mode='r') == a).all()\nprint('ok')")


@case()
def pandas(t):
    need(t, "pandas")
    works(t,
          "import pandas as pd\nd = pd.DataFrame({'g': list('aab'), 'v': [1, 2, 3]})\nd.to_csv('d.csv', index=False)\n"
             "assert pd.read_csv('d.csv').groupby('g').v.sum().to_dict() == {'a': 3, 'b': 3}\n"
             "pd.date_range('2024-01-01', periods=3, tz='Europe/Berlin')\nprint('ok')")


@case()
def matplotlib(t):
    need(t, "matplotlib")
    out = t.tmp / "out"
    works(t,
          "import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.title('x²')\nfor s in ('png', 'svg', 'pdf'):\n"
             " plt.savefig('p.' + s)\nprint('ok')", options=["--output-dir", str(out)])
    equal(sorted(path.name for path in out.iterdir()), ["p.pdf", "p.png", "p.svg"], "files")


@case()
def multiprocessing(t):
    works(t, """
import multiprocessing as mp
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import shared_memory
def double(x): return 2 * x
def fill(queue, lock, value):
    with lock:
        value.value += 1
    queue.put(value.value)
if __name__ == "__main__":
    for method in ("fork", "spawn", "forkserver"):
        context = mp.get_context(method)
        with context.Pool(2) as pool:
            assert pool.map(double, range(5)) == [0, 2, 4, 6, 8]
        queue, lock, value = context.Queue(), context.Lock(), context.Value("i", 0)
        children = [context.Process(target=fill, args=(queue, lock, value)) for _ in range(2)]
        [c.start() for c in children]; [c.join() for c in children]
        assert sorted(queue.get() for _ in children) == [1, 2]
    with mp.Manager() as manager:
        d = manager.dict(); d["a"] = 1
        assert dict(d) == {"a": 1}
    with ProcessPoolExecutor(2) as pool:
        assert list(pool.map(double, [1, 2, 3])) == [2, 4, 6]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(double, [1, 2, 3])) == [2, 4, 6]
    block = shared_memory.SharedMemory(create=True, size=100)
    block.buf[0] = 7; block.close(); block.unlink()
    print("ok")
""")


@case()
def threads(t):
    works(t, """
import queue, threading
q, total = queue.Queue(), []
def work():
    total.append(sum(range(100000)))
    q.put(threading.get_ident())
ts = [threading.Thread(target=work) for _ in range(8)]
[x.start() for x in ts]; [x.join() for x in ts]
assert len(set(total)) == 1 and q.qsize() == 8
event = threading.Timer(0.05, lambda: print("ok"))
event.start(); event.join()
""")


@case()
def asyncio(t):
    works(t, """
import asyncio, sys
async def child(n):
    p = await asyncio.create_subprocess_exec(sys.executable, "-c", f"print({n} * 2)", stdout=asyncio.subprocess.PIPE)
    out, _ = await p.communicate()
    return int(out)
async def main():
    assert await asyncio.gather(*(child(n) for n in range(3))) == [0, 2, 4]
    p = await asyncio.create_subprocess_shell("cat | wc -c", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    out, _ = await p.communicate(b"x" * 100000)
    assert out.split() == [b"100000"]
    async def serve(reader, writer):
        writer.write((await reader.readline()).upper()); await writer.drain(); writer.close()
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(b"ok\\n"); await writer.drain()
    assert await reader.readline() == b"OK\\n"
    try:
        await asyncio.wait_for(asyncio.sleep(5), 0.05)
    except asyncio.TimeoutError:
        print("ok")
    await asyncio.to_thread(sum, range(10))
asyncio.run(main())
""")


@case()
def sqlite(t):
    works(t, """
import sqlite3
for path in ("a.db", ":memory:", "/tmp/b.db"):
    d = sqlite3.connect(path)
    d.execute("pragma journal_mode=wal")
    d.execute("create table t (a, b)")
    with d:
        d.executemany("insert into t values (?, ?)", [(n, str(n)) for n in range(1000)])
    assert d.execute("select sum(a), count(b) from t").fetchone() == (499500, 1000)
    d.close()
print("ok")
""")


@case()
def tls(t):
    """A server and a client with a certificate made inside; where there is no openssl there, its context alone."""
    works(t, """
import shutil, socket, ssl, subprocess, threading
ssl.create_default_context(); ssl.RAND_bytes(16)
assert ssl.create_default_context().verify_mode == ssl.CERT_REQUIRED
if shutil.which("openssl"):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "k.pem", "-out", "c.pem",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-days", "2"],
                   check=True, capture_output=True)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER); server.load_cert_chain("c.pem", "k.pem")
    listener = socket.create_server(("127.0.0.1", 0))
    def serve():
        connection, _ = listener.accept()
        with server.wrap_socket(connection, server_side=True) as s:
            s.sendall(s.recv(100).upper())
    threading.Thread(target=serve).start()
    client = ssl.create_default_context(cafile="c.pem")
    with client.wrap_socket(socket.create_connection(listener.getsockname()), server_hostname="localhost") as s:
        s.sendall(b"ok")
        assert s.recv(100) == b"OK" and s.version() >= "TLSv1.2"
print("ok")
""")


@case()
def certificates_of_the_system(t):
    if not __import__("os").path.exists("/etc/ssl/certs/ca-certificates.crt"):
        t.skip("needs ca-certificates on the host")
    works(t, "import ssl\nc = ssl.create_default_context()\nassert c.cert_store_stats()['x509_ca'] > 0 or "
             "ssl.get_default_verify_paths().capath\nc.load_verify_locations(ssl.get_default_verify_paths().openssl_cafile"
             " if __import__('os').path.exists(ssl.get_default_verify_paths().openssl_cafile) else "
             "'/etc/ssl/certs/ca-certificates.crt')\nassert c.cert_store_stats()['x509_ca'] > 10\nprint('ok')")


@case()
def http_on_loopback(t):
    works(t, """
import http.server, json, threading, urllib.request, xmlrpc.client
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200); self.end_headers(); self.wfile.write(body[::-1])
    def log_message(self, *a): pass
for host in ("127.0.0.1", "localhost"):
    server = http.server.ThreadingHTTPServer((host, 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://{host}:{server.server_port}/x"
    assert urllib.request.urlopen(url, data=b"abc", timeout=10).read() == b"cba"
    server.shutdown()
print("ok")
""")


@case()
def sockets(t):
    works(t, """
import os, select, selectors, socket
a, b = socket.socketpair()
a.send(b"x"); assert b.recv(1) == b"x"
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
    a, b = socket.socketpair(socket.AF_UNIX, kind)
    socket.send_fds(a, [b"fd"], [0]); data, fds, _, _ = socket.recv_fds(b, 10, 1); os.close(fds[0])
names = {entry[4][0] for entry in socket.getaddrinfo("localhost", 80, type=socket.SOCK_STREAM)}
assert names & {"127.0.0.1", "::1"}, names
assert socket.gethostbyname("localhost") == "127.0.0.1"
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind(("127.0.0.1", 0))
u.sendto(b"self", u.getsockname()); assert u.recv(10) == b"self"
if socket.has_ipv6:
    try:
        s = socket.create_server(("::1", 0), family=socket.AF_INET6)
        socket.create_connection(s.getsockname()[:2]).close()
    except OSError as error:
        assert error.errno in (97, 99), error
try:
    socket.getaddrinfo("example.com", 80)
except socket.gaierror:
    pass
s = selectors.DefaultSelector(); s.register(u, selectors.EVENT_READ); s.select(0)
select.poll().poll(0)
print(socket.gethostname() != "", "ok")
""", "True ok\n")


@case()
def files_and_pipelines(t):
    works(t, """
import fcntl, gzip, io, mmap, os, pathlib, shutil, subprocess, tarfile, tempfile, zipfile
with tempfile.NamedTemporaryFile() as f: f.write(b"x")
with tempfile.TemporaryDirectory() as d: pathlib.Path(d, "a").write_text("a")
with tempfile.SpooledTemporaryFile(max_size=1) as f: f.write(b"xx")
with tempfile.TemporaryFile() as f: f.write(b"x")
assert subprocess.run("seq 1000 | sort -rn | head -1", shell=True, capture_output=True).stdout == b"1000\\n"
p = subprocess.Popen(["tr", "a-z", "A-Z"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
assert p.communicate(b"abc")[0] == b"ABC"
assert subprocess.run(["sh", "-c", "kill -15 $$"]).returncode == -15
assert os.system("exit 3") >> 8 == 3 and os.popen("echo x").read() == "x\\n"
pathlib.Path("a").write_bytes(b"x" * 5000); shutil.copy("a", "b"); os.rename("b", "c"); os.link("a", "l"); os.symlink("a", "s")
with open("a", "r+b") as f:
    m = mmap.mmap(f.fileno(), 0); m[0:1] = b"y"; m.flush(); fcntl.flock(f, fcntl.LOCK_EX); fcntl.lockf(f, fcntl.LOCK_UN)
with zipfile.ZipFile("z.zip", "w") as z: z.write("a")
with tarfile.open("t.tgz", "w:gz") as z: z.add("a")
gzip.compress(b"x"); shutil.make_archive("arch", "zip", ".", "a"); shutil.disk_usage("."); os.statvfs("/tmp")
os.mkfifo("fifo"); os.utime("a", (1, 1)); os.chmod("a", 0o640); os.setxattr if False else None
os.sendfile(os.open("out", os.O_CREAT | os.O_WRONLY), os.open("a", os.O_RDONLY), 0, 10)
os.memfd_create("m"); os.copy_file_range(os.open("a", os.O_RDONLY), os.open("o2", os.O_CREAT | os.O_WRONLY), 10)
os.posix_fallocate(os.open("o3", os.O_CREAT | os.O_WRONLY), 0, 100)
list(os.scandir("/usr")); os.listdir("/etc")
print("ok")
""")


@case()
def locale_time_and_users(t):
    works(t, """
import datetime, getpass, grp, locale, os, platform, pwd, sys, time, zoneinfo
me = pwd.getpwuid(os.getuid())
assert me.pw_uid == os.getuid() and me.pw_name and getpass.getuser()
assert pwd.getpwnam(me.pw_name).pw_uid == os.getuid() and grp.getgrnam(me.pw_name).gr_gid == os.getgid()
assert grp.getgrgid(os.getgid()).gr_name
assert pwd.getpwnam("root").pw_uid == 0
assert os.path.expanduser("~").startswith("/") and os.path.isdir(os.path.expanduser("~"))
assert sys.getfilesystemencoding() == "utf-8" and sys.stdout.encoding.lower() == "utf-8"
assert locale.getpreferredencoding().upper() == "UTF-8"
locale.setlocale(locale.LC_ALL, "C.UTF-8"); locale.setlocale(locale.LC_ALL, "")
assert datetime.datetime(2024, 7, 1, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin")).utcoffset().seconds == 7200
os.environ["TZ"] = "Asia/Tokyo"; time.tzset(); assert time.timezone == -32400
platform.platform(); platform.uname(); os.getloadavg() if os.path.exists("/proc/loadavg") else None
assert abs(time.time() - time.clock_gettime(time.CLOCK_REALTIME)) < 5 and time.monotonic() > 0
print("grüße", "ok")
""", "grüße ok\n")


@case()
def signals_and_ctypes(t):
    works(t, """
import ctypes, faulthandler, gc, os, resource, signal, sys, time
hits = []
signal.signal(signal.SIGALRM, lambda *a: hits.append(1)); signal.setitimer(signal.ITIMER_REAL, 0.02); time.sleep(0.1)
signal.signal(signal.SIGUSR1, lambda *a: hits.append(2)); os.kill(os.getpid(), signal.SIGUSR1)
signal.pthread_sigmask(signal.SIG_BLOCK, {10}); os.kill(os.getpid(), 10); assert signal.sigtimedwait({10}, 1).si_signo == 10
assert hits == [1, 2]
libc = ctypes.CDLL(None)
call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda x: x + 1)
assert libc.abs(-3) == 3 and call(1) == 2
import ctypes.util; ctypes.CDLL("libm.so.6").cos
faulthandler.enable(); resource.getrusage(resource.RUSAGE_SELF); resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
os.nice(1); os.sched_yield(); os.getpriority(os.PRIO_PROCESS, 0); os.setpgid(0, 0) if os.getsid(0) != os.getpid() else None
pid = os.posix_spawn("/bin/true", ["true"], {}); assert os.waitpid(pid, 0)[1] == 0
fd = os.pidfd_open(os.getpid()); os.close(fd); os.eventfd(0); os.getrandom(8)
r, w = os.pipe(); os.set_blocking(r, False); os.set_inheritable(w, True)
print("ok")
""")


@case()
def the_rest_of_the_library(t):
    works(t, """
import argparse, ast, base64, bisect, calendar, collections, contextvars, copy, csv, dataclasses, decimal, difflib, dis, email
import enum, fractions, functools, glob, hashlib, heapq, hmac, html, importlib.metadata, inspect, io, itertools, json, logging
import lzma, bz2, zlib, operator, pickle, pprint, random, re, secrets, shelve, statistics, string, struct, textwrap, traceback
import typing, unicodedata, unittest, uuid, warnings, weakref, xml.etree.ElementTree as ET, configparser, curses, readline
import code, codecs, compileall, timeit, trace, tokenize, venv, doctest, cProfile, tracemalloc, dbm, wave, colorsys, smtplib
decimal.getcontext().prec = 50; decimal.Decimal(2).sqrt()
assert fractions.Fraction(1, 3) + fractions.Fraction(1, 6) == fractions.Fraction(1, 2)
assert hashlib.sha256(b"").hexdigest().startswith("e3b0") and hashlib.scrypt(b"x", salt=b"y", n=2, r=1, p=1)
uuid.uuid4(); uuid.uuid1(); secrets.token_hex(); random.SystemRandom().random()
with shelve.open("s") as s: s["a"] = 1
assert ET.fromstring("<a><b/></a>").find("b") is not None
class T(unittest.TestCase):
    def test(self): self.assertEqual(1, 1)
assert unittest.TextTestRunner(stream=io.StringIO()).run(unittest.defaultTestLoader.loadTestsFromTestCase(T)).wasSuccessful()
logging.basicConfig(filename="log"); logging.warning("x")
exec(compile("y = 1", "<x>", "exec")); assert timeit.timeit("1", number=10) >= 0
import helper_made_here if False else None
print("ok")
""".replace("import helper_made_here if False else None\n", ""))


@case()
def modules_of_ones_own(t):
    module = t.write("in/helper.py", "def answer(): return 42\n")
    data = t.write("in/data.csv", "a,b\n1,2\n")
    works(t,
          "import csv, helper\nassert helper.answer() == 42\nassert list(csv.DictReader(open('data.csv')))[0]['b'] == '2'\n"
             "open('late.py', 'w').write('X = 1')\nimport importlib; importlib.invalidate_caches()\nimport late\n"
             "print('ok')", options=["--file", str(module), "--file", str(data)])


@case()
def devices(t):
    works(t,
          "import os\nassert len(open('/dev/urandom', 'rb').read(16)) == 16\nassert open('/dev/zero', 'rb').read(3) == bytes(3)\n"
             "open('/dev/null', 'w').write('x')\nassert os.path.exists('/dev/fd/1') and os.path.exists('/dev/stdout')\n"
             "open('/dev/stdout', 'w').write('ok\\n')\n"
             "try:\n open('/dev/full', 'w', buffering=1).write('x\\n')\nexcept OSError as e: assert e.errno == 28")


@case()
def no_odd_warnings(t):
    """An ordinary program under -W error and with development mode on: nothing of ours disturbs it."""
    answer = t.exec(["python3", "-X", "dev", "-W", "error", "-c",
                     "import json, subprocess, sys; subprocess.run(['true'], "
                     "check=True); print('ok')"])
    equal((answer.status, answer.text), ("ok", "ok\n"), "development mode")
    check(not answer.stderr, "warnings", answer.stderr)
