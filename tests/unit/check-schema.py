#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""check-schema.py SCHEMA PROGRAM [ARG...]: every line that PROGRAM prints is a result by SCHEMA, and no looser document is."""
import copy
import json
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    print("skipped: python3-jsonschema is not installed")
    sys.exit(77)

schema = json.load(open(sys.argv[1], encoding="utf-8"))
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
lines = subprocess.run(sys.argv[2:], check=True, stdout=subprocess.PIPE).stdout.splitlines()
documents = [json.loads(line) for line in lines]
faults = 0
for number, document in enumerate(documents):
    for error in validator.iter_errors(document):
        print(f"document {number}: {error.json_path}: {error.message}")
        faults += 1


def objects(value, path=()):
    """Paths of all objects with members fixed by the contract."""
    if isinstance(value, dict):
        yield path
        for key, inner in value.items():
            yield from objects(inner, path + (key,))
    elif isinstance(value, list) and value:
        yield from objects(value[0], path + (0,))


def at(document, path):
    for step in path:
        document = document[step]
    return document


OPEN = {"detail"}
OPTIONAL = {"content", "syscall", "resource", "path", "reason"}
richest = max(documents, key=lambda document: len(json.dumps(document)))
for path in objects(richest):
    if path and path[-1] in OPEN:
        continue
    for key in at(richest, path):
        if key in OPTIONAL and path[:1] in (("files",), ("events",)):
            continue
        broken = copy.deepcopy(richest)
        del at(broken, path)[key]
        if key.endswith("_encoding") and path[:1] == ("files",) and key == "content_encoding":
            continue
        if validator.is_valid(broken):
            print(f"the schema does not miss {'.'.join(map(str, path + (key,)))}")
            faults += 1
    if path[:1] == ("events",):
        continue
    broken = copy.deepcopy(richest)
    at(broken, path)["surplus"] = 1
    if validator.is_valid(broken):
        print(f"the schema does not notice a surplus member in {'.'.join(map(str, path))}")
        faults += 1
print(f"{len(documents)} documents, {faults} faults")
sys.exit(1 if faults or not documents else 0)
