# SPDX-License-Identifier: Apache-2.0
"""Images of the native engine: made of every kind of archive, run, listed, replaced and removed."""

import gzip
import json
import os
import signal
import subprocess
import time

from lib import host, image
from lib.case import case, check, equal
from lib.image import directory, entry, hard_link, link, make_tar

SHOW = """
import hashlib, json, os, stat, sys
seen = {}
for where, names, files in os.walk("/data"):
    for name in names + files:
        path = os.path.join(where, name)
        st = os.lstat(path)
        seen[path] = [stat.filemode(st.st_mode), os.readlink(path) if stat.S_ISLNK(st.st_mode) else
                      open(path).read() if stat.S_ISREG(st.st_mode) and st.st_size < 99 else st.st_nlink]
print(json.dumps({"seen": seen, "python": sys.executable, "path": os.environ["PATH"]}))
"""


def show(t, name):
    answer = t.run(SHOW, options=["--image", name], policy=image.policy(name))
    equal(answer.status, "ok", f"a run in the image, {answer!r}")
    return json.loads(answer.text), answer.result


def refused(answer, *words):
    equal(answer.exit, 125, f"exit status of {answer!r}")
    for word in words:
        check(word in answer.err.decode(), f"the message says {word!r}", answer.err)


def nothing_left(t):
    left = [path.name for path in image.store(t).glob(".*")] if image.store(t).exists() else []
    # Other cases may be at work in the same place, so only what nobody holds counts; prune takes that.
    for name in left:
        done = subprocess.run(["flock", "--nonblock", "--shared", str(image.store(t) / name), "true"], check=False)
        check(done.returncode != 0 or not (image.store(t) / name).exists(), "a half image is left", name)


@case()
def from_a_tar(t):
    """Imported, listed, run with its digest in the result, removed."""
    tar = make_tar(image.python_tree() + [directory("data"), entry("data/x", "hello", mode=0o4755)])
    with image.named(t) as name:
        answer = image.take(t, gzip.compress(tar, 1), name, ["--json"])
        equal(answer.exit, 0, f"import: {answer!r}")
        made = json.loads(answer.out)
        equal((made["name"], made["digest"], made["format"]), (name, f"sha256:{image.sha256(tar)}", "tar"), "image")
        found, result = show(t, name)
        equal(found["seen"], {"/data/x": ["-rwxr-xr-x", "hello"]}, "what is in it, without setuid")
        equal(result["image"], {"name": name, "digest": made["digest"]}, "result.image")
        listed = json.loads(t.sandbox.call([t.program, "image", "ls", "--json"]).out)
        equal([one for one in listed if one["name"] == name], [made], "image ls --json")
        text = t.sandbox.call([t.program, "image", "ls"]).out.decode()
        check(any(line.startswith(name + " ") and made["digest"][:19] in line for line in text.splitlines()),
              "image ls", text)
        equal(t.sandbox.call([t.program, "image", "rm", name]).exit, 0, "image rm")
        answer = t.run("", options=["--image", name], policy=image.policy(name))
        equal(answer.result["error"]["code"], "image_unavailable", "a run afterwards")
        refused(t.sandbox.call([t.program, "image", "rm", name]), "there is no image")


LAYERS = [
    [directory("data"), entry("data/gone", "1"), entry("data/stays", "1"), directory("data/dir"), entry("data/dir/a", "1"),
     entry("data/changes", "old"), link("data/to-dir", "dir"), directory("data/opaque"), entry("data/opaque/old", "1"),
     entry("data/file-to-dir", "1"), directory("data/dir-to-file"), entry("data/dir-to-file/x", "1")],
    # The opaque mark stands behind what its own layer puts there, and hides none of that.
    [entry("data/.wh.gone", ""), entry("data/opaque/new", "2"), entry("data/opaque/.wh..wh..opq", ""),
     entry("data/changes", "new"), directory("data/file-to-dir"), entry("data/file-to-dir/y", "2"),
     entry("data/dir-to-file", "2"), hard_link("data/twin", "data/stays"), entry("data/.wh..wh.aufs", ""),
     entry("data/.wh.never-was", "")],
]
EXPECTED = {
    "/data/stays": "1", "/data/twin": "1", "/data/dir/a": "1", "/data/changes": "new", "/data/to-dir": "dir",
    "/data/opaque/new": "2", "/data/file-to-dir/y": "2", "/data/dir-to-file": "2"}


def layers():
    tars = [make_tar(image.python_tree() + LAYERS[0]), make_tar(LAYERS[1])]
    return tars


def check_layers(t, name, digest):
    found, result = show(t, name)
    seen = {path: what[1] for path, what in found["seen"].items() if not what[0].startswith("d")}
    equal(seen, EXPECTED, "the layers put together")
    equal(result["image"]["digest"], digest, "the digest in the result")


@case(limit=120)
def from_an_oci_layout(t):
    """As a directory and as a tar of it; digests are those of the configuration and the manifest."""
    files, digest, manifest = image.oci_layout(layers())
    for name, data in files.items():
        t.write(f"layout/{name}", data)
    for source in (t.tmp / "layout", image.tar_of_files(files)):
        with image.named(t) as name:
            answer = image.take(t, source, name, ["--json"])
            equal(answer.exit, 0, f"import: {answer!r}")
            made = json.loads(answer.out)
            equal((made["format"], made["digest"], made["manifest_digest"], made["layers"]),
                  ("oci", digest, manifest, 2), "what is known of it")
            check_layers(t, name, digest)


@case(limit=120)
def from_docker_save(t):
    files, digest = image.docker_save(layers())
    with image.named(t) as name:
        equal(image.take(t, image.tar_of_files(files), name).exit, 0, "import")
        check_layers(t, name, digest)


@case()
def digests_are_checked(t):
    """Every part that is named by a digest has to have it, and the tar in a layer its diff_id."""
    good = [make_tar([directory("data"), entry("data/x", "hello")])]
    other = make_tar([directory("data"), entry("data/x", "hullo")])
    with image.named(t) as name:
        for what in ("config.v1", "manifest.v1", "layer.v1"):
            files, _, _ = image.oci_layout(good, compress=False)
            for path, data in files.items():
                if path.startswith("blobs/") and ({"config.v1": b"diff_ids", "manifest.v1": b"schemaVersion",
                                                  "layer.v1": b"ustar"}[what] in data):
                    files[path] = data.replace(b"hello", b"hullo") if what == "layer.v1" else data + b" "
            refused(image.take(t, image.tar_of_files(files), name), "digest")
        # A digest that is right, of a tar that the configuration does not name.
        files, _, _ = image.oci_layout([other], compress=False, rootfs={
            "type": "layers", "diff_ids": [f"sha256:{image.sha256(good[0])}"]})
        refused(image.take(t, image.tar_of_files(files), name), "diff_id")
        files, _ = image.docker_save(good)
        files["layer0/layer.tar"] = other
        refused(image.take(t, image.tar_of_files(files), name), "diff_id")
        files, _, _ = image.oci_layout(good, architecture="vax")
        refused(image.take(t, image.tar_of_files(files), name), "linux/vax")
        nothing_left(t)


@case()
def python_where_path_says(t):
    """`run` takes the python3 of the PATH that the image's own configuration gives."""
    tree = [one for one in image.python_tree() if one[0].name != "usr/bin/python3"]
    target = next(one[0].linkname for one in image.python_tree() if one[0].name == "usr/bin/python3")
    tar = make_tar(tree + [directory("opt/it/bin"), link("opt/it/bin/python3", target), directory("data")])
    files, _, _ = image.oci_layout([tar], environment=["LANG=C", "PATH=/opt/it/bin:/usr/bin"])
    with image.named(t) as name:
        equal(image.take(t, image.tar_of_files(files), name).exit, 0, "import")
        found, _ = show(t, name)
        equal((found["python"], found["path"]), ("/opt/it/bin/python3", "/opt/it/bin:/usr/bin"), "python and PATH")


@case()
def without_python(t):
    with image.named(t) as name:
        equal(image.take(t, make_tar([directory("etc"), entry("etc/x", "1")]), name).exit, 0, "import")
        answer = t.run("print(1)", options=["--image", name], policy=image.policy(name))
        equal((answer.status, answer.exit, answer.result["error"]["code"]), ("error", 127, "command_not_found"), "run")
        check("python3" in answer.result["error"]["message"] and name in answer.result["error"]["message"],
              "the message names both", answer.result["error"])


@case()
def only_what_the_policy_lists(t):
    with image.named(t) as name:
        equal(image.take(t, make_tar([directory("etc")]), name).exit, 0, "import")
        answer = t.run("", options=["--image", name], policy="images: [\"another\"]\n")
        equal(answer.result["error"]["code"], "policy_refused", "an image that is not listed")
    for bad in ("../x", "/x", "a/../b", "a//b", ".x", "a/.", "host", "", "a" * 129, "a b", "x\n"):
        answer = image.take(t, make_tar([directory("etc")]), bad)
        check(answer.exit == 125 and b"image" in answer.err, f"the name {bad!r} is refused", answer)
        equal(t.sandbox.call([t.program, "image", "rm", bad]).exit, 125, f"rm of the name {bad!r}")


@case()
def bounds(t):
    tar = make_tar([directory("d")] + [entry(f"d/{n}", "x" * 1000) for n in range(50)])
    with image.named(t) as name:
        refused(image.take(t, tar, name, ["--max-files", "20"]), "more than 20 files")
        refused(image.take(t, tar, name, ["--max-size", "20000"]), "more than 20000 bytes")
        nothing_left(t)
        equal(image.take(t, tar, name, ["--max-size", "50000", "--max-files", "51"]).exit, 0, "just enough")


@case(limit=120)
def in_use(t):
    """An image that a run uses is not removed; a new one of its name comes beside it, and the old one goes later."""
    tree = image.python_tree() + [directory("data")]
    with image.named(t) as name:
        equal(image.take(t, make_tar(tree + [entry("data/x", "old")]), name).exit, 0, "import")
        program = "import sys, time; print('up', flush=True); sys.stdin.read(); print(open('/data/x').read())"
        command = t.sandbox.command(program, options=["--image", name], policy=image.policy(name), json_output=False)
        running = t.sandbox.start(command, stdin=subprocess.PIPE)
        equal(running.stdout.readline(), b"up\n", "the run is up")
        refused(t.sandbox.call([t.program, "image", "rm", name]), "in use")
        listed = json.loads(t.sandbox.call([t.program, "image", "ls", "--json"]).out)
        equal([one["in_use"] for one in listed if one["name"] == name], [True], "in_use")
        equal(image.take(t, make_tar(tree + [entry("data/x", "new")]), name).exit, 0, "import over it")
        equal(show(t, name)[0]["seen"]["/data/x"][1], "new", "a new run")
        out, err = running.communicate(b"", timeout=30)
        equal((out, running.returncode), (b"old\n", 0), f"the old run, {err!r}")
        equal(t.sandbox.call([t.program, "prune"]).exit, 0, "prune")
        nothing_left(t)
        equal(t.sandbox.call([t.program, "image", "rm", name]).exit, 0, "rm")


@case()
def killed_half_way(t):
    """SIGKILL of an import: the half goes with the next prune, and the name was never there."""
    tar = make_tar([directory("d")] + [entry(f"d/{n}", os.urandom(2000)) for n in range(20000)])
    with image.named(t) as name:
        command = [t.program, "image", "import", str(t.write("big.tar", tar)), name]
        running = t.sandbox.start(command)
        host.wait_until(lambda: any(image.store(t).glob(".new-*/root/d")), 30, "the import has begun")
        running.send_signal(signal.SIGKILL)
        running.communicate()
        time.sleep(0.2)
        equal(t.sandbox.call([t.program, "prune"]).exit, 0, "prune")
        nothing_left(t)
        refused(t.sandbox.call([t.program, "image", "rm", name]), "there is no image")


@case(limit=120)
def pulled_from_a_registry(t):
    """By skopeo, from a registry on loopback."""
    skopeo = t.need_program("skopeo")
    registry = t.need_program("docker-registry")
    files, digest, _ = image.oci_layout(layers())
    for name, data in files.items():
        t.write(f"layout/{name}", data)
    port = 20000 + os.getpid() % 20000
    settings = t.write("registry.yml", f"version: 0.1\nstorage: {{filesystem: {{rootdirectory: {t.tmp}/registry}}}}\n"
                                       f"http: {{addr: 127.0.0.1:{port}}}\nlog: {{level: error}}\n")
    server = t.sandbox.start([registry, "serve", str(settings)])
    try:
        where = f"127.0.0.1:{port}/team/python"
        put = ["--dest-tls-verify=false", f"oci:{t.tmp}/layout", f"docker://{where}:1"]
        host.wait_until(lambda: t.sandbox.call([skopeo, "copy", "--insecure-policy", *put]).exit == 0, 60, "the push")
        with image.named(t) as name:
            answer = t.sandbox.call([t.program, "image", "pull", f"{where}:1", name])
            equal((answer.exit, answer.out.decode()), (0, f"{name} {digest}\n"), f"pull: {answer!r}")
            check_layers(t, name, digest)
            refused(t.sandbox.call([t.program, "image", "pull", f"{where}:2", name]), "skopeo could not get it")
        nothing_left(t)
    finally:
        server.kill()
        server.communicate()
