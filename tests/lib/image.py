# SPDX-License-Identifier: Apache-2.0
"""Makes archives of images, good and hostile, and the images of a case, which go with it."""

import contextlib
import gzip
import hashlib
import io
import json
import os
import pathlib
import platform
import subprocess
import tarfile

from lib.case import PYTHON

# Large parts of the standard library that no case needs.
LEFT_OUT = {"__pycache__", "idlelib", "test", "lib2to3", "distutils", "ensurepip", "pydoc_data", "tkinter", "unittest",
            "turtledemo", "dist-packages", "site-packages", "xml", "wsgiref"}
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def entry(name, data=None, kind=None, mode=0o644, **fields):
    """A header and its data; `kind` defaults to a file."""
    info = tarfile.TarInfo(name)
    info.mode = mode
    if data is not None:
        data = data if isinstance(data, bytes) else data.encode()
        info.size = len(data)
    if kind is not None:
        info.type = kind
    for field, value in fields.items():
        setattr(info, field, value)
    return info, data


def directory(name, mode=0o755):
    return entry(name, kind=tarfile.DIRTYPE, mode=mode)


def link(name, target):
    return entry(name, kind=tarfile.SYMTYPE, linkname=target)


def hard_link(name, target):
    return entry(name, kind=tarfile.LNKTYPE, linkname=target)


def make_tar(entries, form=tarfile.PAX_FORMAT):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as tar:
        for info, data in entries:
            tar.addfile(info, io.BytesIO(data) if data is not None else None)
    return buffer.getvalue()


_tree = []


def python_tree():
    """The host's Python with the little that it needs, as entries: about fifteen megabytes."""
    if _tree:
        return list(_tree)
    facts = json.loads(subprocess.run([PYTHON, "-c", "import json, os, sys, sysconfig; print(json.dumps(["
                                       "os.path.realpath(sys.executable), sysconfig.get_path('stdlib')]))"],
                                      check=True, capture_output=True).stdout)
    program, library = facts
    needed = {program}
    for path in [program, *map(str, pathlib.Path(library, "lib-dynload").glob("*.so"))]:
        listing = subprocess.run(["ldd", path], check=False, capture_output=True, text=True).stdout
        needed.update(word for word in listing.split() if word.startswith("/"))
    for place in ("bin", "sbin", "lib", "lib64"):
        path = pathlib.Path("/", place)
        if path.is_symlink():
            _tree.append(directory("usr/" + place))
            _tree.append(link(place, os.readlink(path)))
    for path in sorted(needed):
        # Where it really lies, and where the loader looks for it.
        real = os.path.realpath(path)
        name = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        _tree.append(entry(name.lstrip("/"), pathlib.Path(real).read_bytes(), mode=0o755))
    for where, names, files in os.walk(library):
        names[:] = [name for name in names if name not in LEFT_OUT and not name.startswith("config-")]
        for name in files:
            path = os.path.join(where, name)
            if os.path.isfile(path) and os.path.getsize(path) < 2 << 20:
                _tree.append(entry(path.lstrip("/"), pathlib.Path(path).read_bytes()))
    _tree.append(link("usr/bin/python3", program))
    return list(_tree)


def config(layers, environment=("PATH=/usr/local/bin:/usr/bin:/bin",), **changes):
    text = {"architecture": ARCHITECTURES.get(platform.machine(), platform.machine()), "os": "linux",
            "config": {"Env": list(environment)},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{sha256(layer)}" for layer in layers]}}
    return json.dumps({**text, **changes}).encode()


def oci_layout(layers, compress=True, **how):
    """The files of an OCI layout, by name; `layers` are tars. Also the digests of configuration and manifest."""
    files = {"oci-layout": b'{"imageLayoutVersion": "1.0.0"}'}

    def blob(data, media):
        digest = sha256(data)
        files[f"blobs/sha256/{digest}"] = data
        return {"mediaType": f"application/vnd.oci.image.{media}", "digest": f"sha256:{digest}", "size": len(data)}

    settings = config(layers, **how)
    packed = [gzip.compress(layer, 1) if compress else layer for layer in layers]
    manifest = json.dumps({"schemaVersion": 2, "config": blob(settings, "config.v1+json"),
                           "layers": [blob(layer, "layer.v1.tar+gzip") for layer in packed]}).encode()
    files["index.json"] = json.dumps({"schemaVersion": 2,
                                      "manifests": [blob(manifest, "manifest.v1+json")]}).encode()
    return files, f"sha256:{sha256(settings)}", f"sha256:{sha256(manifest)}"


def docker_save(layers, **how):
    settings = config(layers, **how)
    files = {f"{sha256(settings)}.json": settings}
    names = []
    for index, layer in enumerate(layers):
        names.append(f"layer{index}/layer.tar")
        files[names[-1]] = layer
    files["manifest.json"] = json.dumps([{"Config": f"{sha256(settings)}.json", "RepoTags": ["x:1"],
                                          "Layers": names}]).encode()
    return files, f"sha256:{sha256(settings)}"


def tar_of_files(files):
    return make_tar([entry(name, data) for name, data in files.items()])


def store(t):
    """Where the images of this user lie; of an ordinary user, in the case's own HOME."""
    return pathlib.Path("/var/lib" if os.geteuid() == 0 else t.tmp / ".local/share") / "mai-sandbox/images"


def policy(*names):
    return "images: [" + ", ".join(f'"{name}"' for name in names) + "]\n"


def take(t, archive, name, options=(), sandbox=None):
    """Imports the bytes of an archive, or what lies at a path. The answer."""
    program = (sandbox or t.sandbox).program
    path = archive if isinstance(archive, pathlib.Path) else t.write("archive", archive)
    return t.sandbox.call([program, "image", "import", *options, str(path), name], patience=50)


@contextlib.contextmanager
def named(t):
    """A name that nobody else has; the image goes with the case."""
    if t.backend != "native":
        t.skip("needs the native engine")
    name = f"test-{os.getpid()}-{os.urandom(4).hex()}"
    program = pathlib.Path(t.program).parent / "mai-sandbox-image"
    if not program.exists():
        t.skip("needs the program mai-sandbox-image")
    try:
        yield name
    finally:
        t.sandbox.call([t.program, "image", "rm", name])
