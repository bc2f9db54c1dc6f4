# SPDX-License-Identifier: Apache-2.0
"""Reads text on standard input, counts its words in SQLite, and leaves the database behind."""

import re
import sqlite3
import sys

with sqlite3.connect("words.db") as database:
    database.execute("CREATE TABLE words (word TEXT PRIMARY KEY, n INTEGER NOT NULL)")
    for line in sys.stdin:
        database.executemany(
            "INSERT INTO words VALUES (?, 1) ON CONFLICT (word) DO UPDATE SET n = n + 1",
            [(word,) for word in re.findall(r"\w+", line.lower())],
        )
    for word, n in database.execute("SELECT word, n FROM words ORDER BY n DESC, word LIMIT 10"):
        print(f"{n:6} {word}")
