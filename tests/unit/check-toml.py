#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the TOML reader with Python's own: check-toml.py PROGRAM. Both accept the same, and read the same values."""
import datetime
import json
import math
import subprocess
import sys

try:
    import tomllib
except ImportError:
    sys.exit(77)  # Python before 3.11

ATOMS = [
    "1", "0", "-0", "+5", "01", "1_000", "1__0", "_1", "1_", "0x1F", "0xg", "0o17", "0o8", "0b101", "0b2", "0X1", "-0x1",
    "1.5", "1.", ".5", "1e5", "1E-3", "1.5e+3", "1e", "inf", "-inf", "+nan", "infinity", "1_0.0_1", "1._0", "1_.0",
    "9223372036854775807", "true", "false", "True", "tru", "''", '""', '"a"', "'a'", '"a', "'a", '"\\u00e9"', '"\\ud800"',
    '"\\U0001F600"', '"\\U00110000"', '"\\x41"', '"\\b\\t\\n\\f\\r\\"\\\\"', '"tab\there"', '"a\nb"', '"""a\nb"""', '"""\na"""',
    '"""a\\\n   \n  b"""', '"""a""b"""', '"""a"""""', '"""a""""""', "'''a'b''c'''", "'''\na'''", "'''a''''", '"""\\a"""',
    '"""a\\  \n b"""', '"""a\\  b"""', '"\u00e9\u4e2d"', '"\x7f"', '"\x01"', "[]", "[1,2]", "[1,2,]", "[1,,2]", "[,]", "[1 2]",
    "[1,\n# c\n2\n]", "[[1],['a']]", "[1, 'a']", "{}", "{a=1}", "{a=1,}", "{a=1,b=2}", "{a=1 b=2}", "{a.b=1,a.c=2}",
    "{a=1,a=2}", "{a=1,a.b=2}", "{a={b=1},a.c=2}", "{\na=1}", "{a=[1,\n2]}", "1979-05-27", "1979-05-27T07:32:00Z",
    "1979-05-27 07:32:00", "1979-05-27T07:32:00.5-07:00", "07:32:00", "07:32", "1979-5-27", "1979-05-27T07:32:00+7:00", "a", "",
    "# c", "1 # c", "1 2", "'a' 'b'", "[1] # c", "'''a''' # c",
]
DOCUMENTS = [
    "", "\n\n", "# only a comment", "# bad \x01", "\ufeffa=1", "a", "a=", "=1", "a b=1", "a.b=1", "a . b = 1", "a..b=1", ".a=1", "a.=1",
    "'a'=1", '"a b".c=1', '"a\\nb"=1', "''=1", "1=2", "1.2=3", "-=1", "a-b_c=1", "\u00e9=1", "a=1\na=2", "a=1\n'a'=2", "a.b=1\na.c=2",
    "a.b=1\na=2", "a=1\na.b=2", "a.b.c=1\na.b=2", "[a]", "[ a . b ]", "[a", "[]", "[a]b=1", "[a]#c\nb=1", "[a]\n[a]", "[a]\n[b]\n[a.c]",
    "[a.b]\n[a]\nc=1", "[a.b]\n[a]\nb=1", "[a.b]\n[a]\nb.c=1", "[a.b.c]\n[a]\nb.d=1", "[a]\nb.c=1\n[a.b]", "[a]\nb.c=1\n[a.b.d]",
    "a.b=1\n[a]", "a={}\n[a]", "a={}\n[a.b]", "a={}\na.b=1", "a=[]\n[[a]]", "a=[{}]\n[a.b]", "[[a]]", "[[a]]\n[[a]]\nb=1",
    "[[a]]\nb=1\n[[a.c]]\n[a.d]",
    "[[a]]\n[a]", "[a]\n[[a]]", "[[a.b]]\n[a]", "[a.b]\n[[a]]", "[[a]]\n[a.b]\n[[a]]\n[a.b]", "[[a]]\n[a.b]\n[a.b]",
    "[ [a] ]", "[[a] ]", "[[a]]x",
    "a=1\r\nb=2\r\n", "a=1\rb=2", "a='x\r'", "a='''x\r\ny'''", "a=1 b=2", "a=1;", "[a]\nx=1\n[b]\nx=1",
    "[a.'b.c'.\"d\"]\ne=1", "a=[\n[\n1]]",
    "[tool.x]\ny=1\n[tool.x.z]\n[tool]\nq=1", "a.b.c=1\na.d.e=2\n[a.f]", "[a]\n[a.b]\n[a]", "a.b=1\na.b.c=2",
    "[a]\nb={c=1}\n[a.b]", "[a]\nb={c=1}\n[a.b.d]",
    "[fruit]\napple.color=1\napple.taste.sweet=true\n[fruit.apple.texture]", "[[x.y]]\n[x]\n[[x.y]]",
    "[x.y]\n[[x.y.z]]\n[x.y.z.w]\n[[x.y.z]]\n[x.y.z.w]",
]


def documents():
    yield from DOCUMENTS
    for atom in ATOMS:
        yield f"a = {atom}"
        yield f"a = {atom}\nb = 2"
        yield f"a = [{atom}]"
        yield f"[t]\nk.l = {{ x = {atom} }}\n"
    for first in ("a.b=1", "[a]", "[[a]]", "[a.b]", "[[a.b]]", "a={b=1}", "a=[{b=1}]", "a=1"):
        for second in ("a.c=1", "[a]", "[[a]]", "[a.b]", "[[a.b]]", "[a.b.c]", "[a]\nb.c=1", "a=2", "[x]\n[a.c]"):
            yield f"{first}\n{second}"
            yield f"{first}\n[other]\n{second}"


def plain(value):
    """As the reader under test shows it: dates as text, what JSON has no number for as 0."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, (datetime.date, datetime.datetime, datetime.time)):
        return "<time>"
    if isinstance(value, float) and not math.isfinite(value):
        return 0.0
    return value


def same(mine, theirs):
    if isinstance(theirs, dict):
        return isinstance(mine, dict) and mine.keys() == theirs.keys() and all(same(mine[k], theirs[k]) for k in theirs)
    if isinstance(theirs, list):
        return isinstance(mine, list) and len(mine) == len(theirs) and all(map(same, mine, theirs))
    if theirs == "<time>":
        return isinstance(mine, str) and ":" in mine or "-" in mine
    return type(mine) is type(theirs) and mine == theirs


def main():
    inputs = [text for text in documents() if "\0" not in text]
    done = subprocess.run([sys.argv[1]], input="\0".join(inputs).encode() + b"\0", capture_output=True, check=True)
    answers = done.stdout.decode().split("\n")[:-1]
    # An empty document between two separators is one too.
    assert len(answers) == len(inputs), f"{len(inputs)} documents, {len(answers)} answers"
    faults = []
    accepted = 0
    for text, answer in zip(inputs, answers):
        try:
            # Here only: a byte order mark at the start is not TOML's business, and is taken.
            expected = plain(tomllib.loads(text.removeprefix("\ufeff")))
        except tomllib.TOMLDecodeError as error:
            if not answer.startswith("error: "):
                faults.append(f"{text!r}: read as {answer}, and is refused by tomllib: {error}")
            continue
        accepted += 1
        if answer.startswith("error: "):
            faults.append(f"{text!r}: {answer}; tomllib reads {expected}")
        elif not same(json.loads(answer), expected):
            faults.append(f"{text!r}: {answer}; tomllib reads {expected}")
    for fault in faults:
        print(fault)
    print(f"{len(inputs)} documents, {accepted} of them good, {len(faults)} read differently")
    return 1 if faults or not 200 < accepted < len(inputs) - 200 else 0


if __name__ == "__main__":
    sys.exit(main())
