# SPDX-License-Identifier: Apache-2.0
"""Entries of kind web with real clients, which know nothing of the gateway but the usual variables."""

import subprocess

from lib import gateway as g
from lib import web
from lib.case import PYTHON, case, check, equal

PAGE = b"<html><body>the manual</body></html>"


def setting(t):
    bundle, upstream = g.world(t)
    upstream.routes["/docs/manual.html"] = (200, {"Content-Type": "text/html", "Set-Cookie": "a=b", "ETag": '"1"'}, PAGE)
    upstream.routes["/docs/data.bin"] = bytes(range(256)) * 20000
    upstream.routes["/docs/moved"] = (302, {"Location": "manual.html#top"}, b"")
    return bundle, upstream, f"https://{web.HOST}:{upstream.port}"


@case(limit=90)
def pages(t):
    """What a client sees of an answer, and that a URL is asked for once a run."""
    bundle, upstream, _ = setting(t)
    upstream.routes["/docs/empty"] = (204, {}, b"")
    upstream.routes["/docs/broken"] = (503, {"Retry-After": "1"}, b"later")
    with g.Gateway(t, [web.entry(bundle, upstream)]) as gateway:
        answer = web.get(gateway, upstream, "/docs/manual.html")
        equal((answer.status, answer.body), (200, PAGE), "page")
        equal(set(answer.fields), {"Content-Type", "ETag", "Content-Length", "Connection"}, "fields")
        equal(web.get(gateway, upstream, "/docs/data.bin").body, upstream.routes["/docs/data.bin"], "5 MB")
        head = web.get(gateway, upstream, "/docs/data.bin", method="HEAD")
        equal((head.status, head.fields["Content-Length"], head.body), (200, "5120000", b""), "HEAD of what is here")
        for _ in range(2):
            head = web.get(gateway, upstream, "/docs/only-head", method="HEAD")
            equal((head.status, head.fields["Content-Length"], head.body), (404, "2", b""), "HEAD of what is not")
        equal([seen[:2] for seen in upstream.requests if "only" in seen[1]], [("HEAD", "/docs/only-head")], "asked once")
        equal(web.get(gateway, upstream, "/docs/m%61nual.html").body, PAGE, "another spelling")
        equal(upstream.asked("/docs/manual.html"), 1, "times that the page was asked for")
        equal(web.get(gateway, upstream, "/docs/none").status, 404, "an unknown page")
        moved = web.get(gateway, upstream, "/docs/moved")
        equal((moved.status, moved.fields["Location"]), (302, f"https://{web.HOST}:{upstream.port}/docs/manual.html"), "redirect")
        equal(web.get(gateway, upstream, "/docs/empty").status, 204, "no content")
        for _ in range(2):
            equal(web.get(gateway, upstream, "/docs/broken").status, 503, "a failure of the server")
        equal(upstream.asked("/docs/broken"), 2, "what failed is tried again")
        event = gateway.requests(kind="web")[0]
        equal((event["verdict"], event["entry"], event["status"], event["bytes"]), ("served", "web", 200, len(PAGE)), "event")
        equal(event["url"], f"https://{web.HOST}:{upstream.port}/docs/manual.html", "URL in the event")
        end = gateway.close()
    equal(end["urls"], 7, "URLs counted")


PROGRAM = """
import json, sys, urllib.request
base = sys.argv[1]
with urllib.request.urlopen(base + "/docs/moved") as answer:
    print(answer.status, answer.geturl(), len(answer.read()))
"""

REQUESTS = """
import sys, requests
base = sys.argv[1]
with requests.Session() as session:
    for path in ("/docs/moved", "/docs/data.bin", "/docs/manual.html"):
        answer = session.get(base + path)
        print(answer.status_code, answer.url, len(answer.content))
    print(session.post(base + "/docs/manual.html", data=b"x").status_code)
"""


@case(limit=120)
def real_urllib(t):
    bundle, upstream, base = setting(t)
    with g.Gateway(t, [web.entry(bundle, upstream)], tcp=True) as gateway:
        done = web.run([PYTHON, "-c", PROGRAM, base], web.environment(t, gateway))
        equal(done.stdout, f"200 {base}/docs/manual.html {len(PAGE)}\n", done.stderr)


@case(limit=120)
def real_requests(t):
    if web.run([PYTHON, "-c", "import requests"], {"PATH": "/usr/bin"}).returncode:
        t.skip("needs python3-requests")
    bundle, upstream, base = setting(t)
    with g.Gateway(t, [web.entry(bundle, upstream)], tcp=True) as gateway:
        done = web.run([PYTHON, "-c", REQUESTS, base], web.environment(t, gateway))
        equal(done.stdout, f"200 {base}/docs/manual.html {len(PAGE)}\n200 {base}/docs/data.bin 5120000\n"
              f"200 {base}/docs/manual.html {len(PAGE)}\n403\n", done.stderr)
        equal(len(gateway.requests(reason="method")), 1, "denied POSTs")


@case(limit=120)
def real_curl(t):
    curl = t.need_program("curl")
    bundle, upstream, base = setting(t)
    with g.Gateway(t, [web.entry(bundle, upstream)], tcp=True) as gateway:
        environment = web.environment(t, gateway)
        done = web.run([curl, "-sS", "-L", "-w", "%{http_code} %{http_version}", base + "/docs/moved"], environment)
        equal(done.stdout, PAGE.decode() + "200 1.1", done.stderr)
        done = web.run([curl, "-sS", "-o", str(t.tmp / "out"), base + "/docs/data.bin", "-C", "-"], environment)
        equal((t.tmp / "out").read_bytes(), upstream.routes["/docs/data.bin"], done.stderr)
        done = web.run([curl, "-sS", "-I", base + "/docs/manual.html"], environment)
        check("HTTP/1.1 200 OK" in done.stdout, "curl -I", done.stdout + done.stderr)
        for words in (["-d", "x"], ["-T", "/etc/hostname"], ["-X", "DELETE"]):
            done = web.run([curl, "-sS", "-w", "%{http_code}", *words, base + "/docs/manual.html"], environment)
            check(done.stdout.endswith("403") and "network_denied" in done.stdout, str(words), done.stdout + done.stderr)
        done = web.run([curl, "-sS", "https://example.org/"], environment)
        check(done.returncode == 56 and "403" in done.stderr, "another host", (done.returncode, done.stderr))


NODE = """
const https = require('https'), http = require('http'), tls = require('tls');
const [base, proxy] = process.argv.slice(1), url = new URL(base + '/docs/manual.html');
const tunnel = http.request({host: new URL(proxy).hostname, port: new URL(proxy).port, method: 'CONNECT', path: url.host,
                             headers: {Host: url.host}});
tunnel.on('connect', (answer, socket) => {
  const createConnection = () => tls.connect({socket, servername: url.hostname});
  https.get(url, {createConnection}, (page) => {
    let size = 0;
    page.on('data', (part) => { size += part.length; }).on('end', () => { console.log(page.statusCode, size); });
  });
});
tunnel.end();
"""


@case(limit=120)
def real_node(t):
    """Node's own https over a tunnel. Its fetch takes no proxy from variables before version 24; see the next case."""
    node = t.need_program("node")
    bundle, upstream, base = setting(t)
    with g.Gateway(t, [web.entry(bundle, upstream)], tcp=True) as gateway:
        done = web.run([node, "-e", NODE, base, gateway.url], web.environment(t, gateway))
        equal(done.stdout, f"200 {len(PAGE)}\n", done.stderr + str(gateway.events))


def make_repository(t, where):
    """A bare repository with two branches and a tag."""
    work = t.tmp / "work"
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(t.tmp), "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "a",
                   "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org"}

    def git(*words):
        subprocess.run(["git", *words], cwd=work, env=environment, check=True, capture_output=True)

    work.mkdir()
    git("init", "-q", "-b", "main")
    for number in range(30):
        (work / "file").write_text(f"{number}\n" * 200)
        git("add", "file")
        git("commit", "-q", "-m", f"number {number}")
        git("branch", f"branch-{number}")
    git("tag", "-a", "v1", "-m", "one")
    subprocess.run(["git", "clone", "-q", "--bare", str(work), str(where)], env=environment, check=True, capture_output=True)
    return git


@case(limit=120)
def real_git(t):
    t.need_program("git")
    bundle, upstream = g.world(t)
    root = t.tmp / "repositories"
    (root / "git").mkdir(parents=True)
    git = make_repository(t, root / "git" / "project.git")
    backend = web.git_backend(t, root)
    upstream.routes = web.Anywhere("/git/", backend)
    base = f"https://{web.HOST}:{upstream.port}"
    with g.Gateway(t, [web.entry(bundle, upstream, "/git/", git=True),
                       web.entry(bundle, upstream, "/plain/", name="plain")], tcp=True) as gateway:
        environment = web.environment(t, gateway)
        for words in ([], ["--depth", "1"], ["--single-branch", "--branch", "branch-3"]):
            target = t.tmp / f"clone{len(words)}"
            done = web.run(["git", "clone", "-q", *words, base + "/git/project.git", str(target)], environment)
            equal(done.returncode, 0, f"git clone {words}: {done.stderr} {gateway.requests(verdict='denied')}")
            number = 3 if "--branch" in words else 29
            equal((target / "file").read_text(), f"{number}\n" * 200, "what was cloned")
        # An update is a clone of what is new: the server is not told what is there.
        (t.tmp / "work" / "file").write_text("new\n")
        git("commit", "-q", "-a", "-m", "new")
        git("push", "-q", str(root / "git" / "project.git"), "main")
        before = len(backend.bodies)
        done = web.run(["git", "pull", "-q"], environment, cwd=t.tmp / "clone0")
        if done.returncode:  # the run has read what the repository lists, and does not read it again
            check("have" not in str(backend.bodies[before:]), "told what is there", backend.bodies[before:])
        done = web.run(["git", "push", "-q", base + "/git/project.git", "HEAD:refs/heads/stolen"], environment,
                       cwd=t.tmp / "clone0")
        check(done.returncode != 0 and "403" in done.stderr, "git push", done.stderr)
        check(gateway.requests(reason="git", verdict="denied"), "event of the push", gateway.events[-3:])
        done = web.run(["git", "clone", "-q", base + "/plain/project.git", str(t.tmp / "no")], environment)
        check(done.returncode != 0, "a clone where git is not allowed", done.stderr)
        bodies = b"".join(body for _, body in backend.bodies)
        check(b"agent=" not in bodies and b"have" not in bodies, "what the server was told", bodies)
        check("branch" not in str([path for path, _ in backend.bodies]), "paths", backend.bodies)
    names = subprocess.run(["git", "-C", str(root / "git" / "project.git"), "branch"], env={"PATH": "/usr/bin:/bin",
                           "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"},
                           capture_output=True, text=True, check=True).stdout
    check("stolen" not in names, "pushed", names)
