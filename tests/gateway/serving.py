# SPDX-License-Identifier: Apache-2.0
"""What the gateway serves: pages in every form, files that pages listed, to real clients."""

import json
import os
import socket
import subprocess
import urllib.parse

from lib import gateway as g
from lib.case import PYTHON, case, check, equal


@case()
def python_pages(t):
    bundle, upstream = g.world(t)
    file, data = g.publish_wheel(upstream, "numpy-like", metadata=True)
    html_file, html_data = g.publish_wheel(upstream, "old-style", metadata=True, form="html")
    with g.Gateway(t, [g.pypi_entry(bundle, upstream)]) as gateway:
        page = gateway.get("/pypi/simple/Numpy_.Like/", accept=g.PYPI_JSON + ", text/html;q=0.1")
        equal((page.status, page.fields["Content-Type"]), (200, g.PYPI_JSON), "JSON page")
        entry = json.loads(page.body)["files"][0]
        digest = g.sha256(data)
        equal((entry["filename"], entry["url"], entry["hashes"]),
              (file, f"/pypi/files/{digest}/{file}", {"sha256": digest}), "the file in the JSON page")
        page = gateway.get("/pypi/simple/numpy-like/")
        equal(page.fields["Content-Type"], "text/html; charset=utf-8", "form for a client that says nothing")
        check(f'href="/pypi/files/{digest}/{file}#sha256={digest}"'.encode() in page.body, "link of the HTML page", page)
        answer = gateway.get(entry["url"])
        equal((answer.status, answer.body == data), (200, True), "the file")
        answer = gateway.get(entry["url"] + ".metadata")
        equal((answer.status, g.sha256(answer.body)), (200, entry["core-metadata"]["sha256"]), "the metadata")
        head = gateway.get(entry["url"], method="HEAD")
        equal((head.status, head.fields["Content-Length"], head.body), (200, str(len(data)), b""), "HEAD of the file")
        check_html = json.loads(gateway.get("/pypi/simple/old-style/", accept=g.PYPI_JSON).body)["files"][0]
        equal(check_html["hashes"]["sha256"], g.sha256(html_data), "hash of the page that upstream has as HTML")
        equal(gateway.get(check_html["url"]).body, html_data, f"{html_file}")
        for text in (page.body, json.dumps(entry).encode()):
            check(str(upstream.port).encode() not in text and b"https:" not in text, "the upstream shows", text)
        equal(upstream.asked("/simple/numpy-like/"), 1, "times that the page was asked for upstream")
        equal(gateway.get("/pypi/simple/never-heard-of/").status, 404, "status for an unknown project")
        equal(gateway.get("/pypi/simple/never-heard-of/").status, 404, "status for it again")
        equal(upstream.asked("/simple/never-heard-of/"), 1, "times that the unknown one was asked for upstream")
        for method, _, fields in upstream.requests:
            equal(method, "GET", "method upstream")
            equal(set(fields) - {"Host", "User-Agent", "Accept", "Accept-Encoding"}, set(), "fields sent upstream")
        end = gateway.close()
    equal((end["names"], end["misses"], end["files"]), (3, 1, 3), "counts of the end")


@case()
def npm_pages(t):
    bundle, upstream = g.world(t)
    file, data = g.publish_npm(upstream, "left-part", "1.2.3")
    scoped_file, scoped = g.publish_npm(upstream, "@acme/tool", "2.0.0", {"left-part": "^1.0.0"})
    with g.Gateway(t, [g.npm_entry(bundle, upstream)]) as gateway:
        for accept, answered in ((g.NPM_SHORT + "; q=1.0, application/json; q=0.8, */*", g.NPM_SHORT),
                                 ("*/*", "application/json")):
            page = gateway.get("/npm/left-part", accept=accept)
            equal((page.status, page.fields["Content-Type"]), (200, answered), "packument")
            version = json.loads(page.body)["versions"]["1.2.3"]
            equal(version["dist"]["tarball"], f"{gateway.url}/npm/left-part/-/{file}", "tarball URL")
            equal(version["dist"]["integrity"], g.integrity(data), "integrity")
        # From a lock file: the tarball without the packument, and both spellings of a scope.
        equal(gateway.get(f"/npm/@acme/tool/-/{scoped_file}").body, scoped, "scoped tarball, asked for first")
        equal(gateway.get(f"/npm/@acme%2Ftool/-/{scoped_file}").body, scoped, "its other spelling")
        equal(json.loads(gateway.get("/npm/@acme%2ftool").body)["versions"]["2.0.0"]["dependencies"],
              {"left-part": "^1.0.0"}, "dependencies")
        equal(gateway.get(f"/npm/left-part/-/{file}").body, data, "tarball")


@case()
def filters(t):
    """What an entry does not offer is not on its pages, and so can't be had."""
    bundle, upstream = g.world(t)
    good, data = g.publish_wheel(upstream, "mixed")
    digest = g.sha256(data)
    port = upstream.port
    files = [
        {"filename": good, "url": f"/files/{good}", "hashes": {"sha256": digest}},
        {"filename": "mixed-2.0-py3-none-any.whl", "url": f"/files/{good}", "hashes": {"sha256": digest}, "yanked": "bad"},
        {"filename": "mixed-3.0.tar.gz", "url": f"/files/{good}", "hashes": {"sha256": digest}},
        {"filename": "mixed-4.0-py3-none-any.whl", "url": f"/files/{good}", "hashes": {"md5": "0" * 32}},
        {"filename": "mixed-5.0-py3-none-any.whl", "url": "https://elsewhere.example/x.whl", "hashes": {"sha256": digest}},
        {"filename": "mixed-6.0-py3-none-any.whl", "url": f"https://user@127.0.0.1:{port}/x", "hashes": {"sha256": digest}},
        {"filename": "mixed-7.0-py3-none-any.whl", "url": f"http://127.0.0.1:{port}/x.whl", "hashes": {"sha256": digest}},
        {"filename": "mixed-8.0-py3-none-any.whl", "url": "file:///etc/passwd", "hashes": {"sha256": digest}},
        {"filename": "mixed-9.0-py3-none-any.whl", "url": "https://127.0.0.1./x.whl", "hashes": {"sha256": digest}},
        {"filename": "mixed-10.0-py3-none-any.whl", "url": f"https://2130706433:{port + 1}/x", "hashes": {"sha256": digest}},
        {"filename": "../../mixed-11.0-py3-none-any.whl", "url": f"/files/{good}", "hashes": {"sha256": digest}},
        {"filename": "other-12.0-py3-none-any.whl", "url": f"/files/{good}", "hashes": {"sha256": digest}},
        {"filename": "mixed-13.0-py3-none-any.exe", "url": f"/files/{good}", "hashes": {"sha256": digest}},
        {"filename": "mixed-14.0<script>.whl", "url": f"/files/{good}", "hashes": {"sha256": digest}},
    ]
    upstream.routes["/simple/mixed/"] = (200, {"Content-Type": g.PYPI_JSON}, g.simple_json("mixed", files))
    with g.Gateway(t, [g.pypi_entry(bundle, upstream), g.pypi_entry(bundle, upstream, "wide", sdist=True, yanked=True),
                       g.pypi_entry(bundle, upstream, "few", packages={"allow": ["mi?ed", "Other_*"], "deny": ["*-x"]})]
                   ) as gateway:
        def listed(entry):
            return [file["filename"] for file in
                    json.loads(gateway.get(f"/{entry}/simple/mixed/", accept=g.PYPI_JSON).body)["files"]]
        equal(listed("pypi"), [good], "files of the strict entry")
        equal(listed("wide"), [good, "mixed-2.0-py3-none-any.whl", "mixed-3.0.tar.gz"], "files of the wide entry")
        equal(listed("few"), [good], "files of an allowed package")
        g.check_denied(gateway.get(f"/pypi/files/{digest}/mixed-2.0-py3-none-any.whl"), "a yanked file")
        g.check_denied(gateway.get("/few/simple/numpy/"), "a package that is not on the list")
        g.check_denied(gateway.get("/few/simple/other-x/"), "a package that is on both lists")
        equal(gateway.get("/few/simple/other-y/").status, 404, "an allowed package that does not exist")
        equal(len(gateway.requests(reason="package", verdict="denied")), 2, "events of refused packages")
        dropped = [event["dropped"] for event in gateway.events if event["event"] == "page"]
    equal(dropped[0], len(files) - 1, "files left out, as the event says")


@case()
def handed_in(t):
    """Connections come over the control socket too, several requests on each."""
    bundle, upstream = g.world(t)
    g.publish_wheel(upstream, "thing")
    with g.Gateway(t, [g.pypi_entry(bundle, upstream)]) as gateway:
        ours, theirs = socket.socketpair()
        socket.send_fds(gateway.control, [b"c"], [theirs.fileno()])
        theirs.close()
        ours.settimeout(20)
        request = b"GET /pypi/simple/thing/ HTTP/1.1\r\nHost: x\r\n"
        ours.sendall((request + b"\r\n") * 2 + request + b"Connection: close\r\n\r\n")
        answer = g.read_all(ours)
        equal(answer.count(b"HTTP/1.1 200 OK\r\n"), 3, "answers to three requests in one piece")
        old = gateway.raw(b"GET /pypi/simple/thing/ HTTP/1.0\r\n\r\n")
        check(old.startswith(b"HTTP/1.1 200 OK\r\n") and b"Connection: close" in old, "an HTTP/1.0 client", old)
    equal(gateway.events[-1]["served"], 4, "requests served")


@case(limit=120)
def real_pip(t):
    bundle, upstream = g.world(t)
    g.publish_wheel(upstream, "dep-one", metadata=True)
    g.publish_wheel(upstream, "dep-two", form="html")
    g.publish_wheel(upstream, "top-level", requires=("dep-one", "dep-two>=1"), metadata=True)
    if subprocess.run([PYTHON, "-m", "pip", "--version"], capture_output=True, check=False).returncode:
        t.skip("needs python3-pip")
    with g.Gateway(t, [g.pypi_entry(bundle, upstream)], tcp=True) as gateway:
        target = t.tmp / "site"
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(t.tmp), "PIP_INDEX_URL": gateway.url + "/pypi/simple/",
                       "PIP_CONFIG_FILE": "/dev/null", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        command = [PYTHON, "-m", "pip", "install", "--no-cache-dir", "--target", str(target), "top-level"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=100)
        equal(done.returncode, 0, "pip's exit status: " + done.stderr + done.stdout)
        seen = subprocess.run([PYTHON, "-c", "import top_level, dep_one, dep_two; print(dep_two.NAME)"],
                              env={"PYTHONPATH": str(target)}, capture_output=True, text=True, check=True)
        equal(seen.stdout, "dep-two\n", "the packages in use")
        missing = subprocess.run([*command[:-1], "not-there"], env=environment, capture_output=True, text=True,
                                 check=False, timeout=100)
        check(missing.returncode != 0 and "No matching distribution" in missing.stderr, "pip's words", missing.stderr)
        files = upstream.asked("/files/top_level-1.0-py3-none-any.whl")
    # A second run takes the files from the cache.
    with g.Gateway(t, [g.pypi_entry(bundle, upstream)], tcp=True, cache=gateway.cache) as again:
        environment["PIP_INDEX_URL"] = again.url + "/pypi/simple/"
        command[command.index(str(target))] = str(t.tmp / "second")
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=100)
        equal(done.returncode, 0, "pip's exit status, second run: " + done.stderr)
    equal((files, upstream.asked("/files/top_level-1.0-py3-none-any.whl")), (1, 1), "downloads of the wheel upstream")


def npm_install(t, npm, gateway, package):
    """Installs into an empty project. Returns (finished process, project, environment)."""
    project = t.tmp / "project"
    project.mkdir()
    (project / "package.json").write_text('{"name": "project", "version": "1.0.0"}')
    environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": str(t.tmp),
                   "npm_config_registry": gateway.url + "/npm/", "npm_config_audit": "false",
                   "npm_config_fund": "false", "npm_config_update_notifier": "false",
                   "npm_config_cache": str(t.tmp / "npm-cache"), "npm_config_userconfig": str(t.write("npmrc", "")),
                   "npm_config_globalconfig": str(t.write("global-npmrc", ""))}
    done = subprocess.run([npm, "install", package], cwd=project, env=environment, capture_output=True, text=True,
                          check=False, timeout=150)
    return done, project, environment


@case(limit=180)
def real_npm(t):
    npm = t.need_program("npm")
    bundle, upstream = g.world(t)
    g.publish_npm(upstream, "left-part", "1.2.3")
    g.publish_npm(upstream, "@acme/tool", "2.0.0", {"left-part": "^1.0.0"})
    with g.Gateway(t, [g.npm_entry(bundle, upstream)], tcp=True) as gateway:
        done, project, environment = npm_install(t, npm, gateway, "@acme/tool")
        equal(done.returncode, 0, "npm's exit status: " + done.stderr + done.stdout)
        seen = subprocess.run(["node", "-p", "require('@acme/tool') + require('left-part')"], cwd=project,
                              env=environment, capture_output=True, text=True, check=True)
        equal(seen.stdout, "@acme/tool@2.0.0left-part@1.2.3\n", "the packages in use")
        check(not gateway.requests(verdict="failed"), "failed requests", gateway.events)


@case()
def locked_down(t):
    """What the kernel says of the process, not what the process says of itself."""
    bundle, upstream = g.world(t)
    with g.Gateway(t, [g.pypi_entry(bundle, upstream)]) as gateway:
        with open(f"/proc/{gateway.pid}/status", encoding="ascii") as file:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        if os.geteuid() == 0:
            equal(status["Uid"].split(), [str(g.USER[0])] * 4, "user")
            equal(status["Groups"].strip(), "", "groups")
        for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            equal(int(status[name], 16), 0, name)
        equal((status["NoNewPrivs"], status["Seccomp"]), ("1", "2"), "no_new_privs and filter")
        ready = gateway.events[0]
        equal((ready["capabilities"], ready["no_new_privs"], ready["seccomp"]), (0, True, True), "what it reports")
        check(ready["landlock_abi"] > 0 or "landlock" in ready["degraded"], "Landlock", ready)


@case(limit=180)
def real_registry(t):
    """The registry that this machine's npm is configured for, where it can be reached."""
    npm = t.need_program("npm")
    g.program(t)
    registry = subprocess.run([npm, "config", "get", "registry"], capture_output=True, text=True, check=True).stdout.strip()
    host = urllib.parse.urlsplit(registry)
    try:
        addresses = sorted({found[4][0] for found in socket.getaddrinfo(host.hostname, host.port or 443)})
        socket.create_connection((host.hostname, host.port or 443), timeout=5).close()
    except OSError as error:
        t.skip(f"needs the network: {host.hostname}: {error}")
    if host.scheme != "https" or host.username:
        t.skip("needs a registry that is reached by HTTPS and without a login")
    # Its name may lead to a mirror in a private network: that is then what the policy of this host would say.
    entry = {"name": "npm", "kind": "npm", "url": registry, "addresses": addresses}
    bundle = os.environ.get("NODE_EXTRA_CA_CERTS") or "/etc/ssl/certs/ca-certificates.crt"
    with g.Gateway(t, [{**entry, "ca_bundle": bundle}], tcp=True) as gateway:
        done, project, environment = npm_install(t, npm, gateway, "is-odd@3.0.1")
        equal(done.returncode, 0, "npm's exit status: " + done.stderr + done.stdout + str(gateway.events))
        seen = subprocess.run(["node", "-p", "require('is-odd')(3)"], cwd=project, env=environment, capture_output=True,
                              text=True, check=True)
        equal(seen.stdout, "true\n", "the package in use")
        names = {event["name"] for event in gateway.requests(kind="packument")}
        equal(names, {"is-odd", "is-number"}, "packages asked for")
