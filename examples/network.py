# SPDX-License-Identifier: Apache-2.0
"""Looks for a way out: names, addresses, and the cloud's metadata service. Exits 0 if there is none."""

import socket
import sys


def attempt(what, action):
    try:
        action()
    except OSError as error:
        print(f"{what}: {error}")
        return False
    print(f"{what}: REACHED")
    return True


def connect(host, port):
    with socket.create_connection((host, port), timeout=2):
        pass


reached = [
    attempt("resolve example.org", lambda: socket.getaddrinfo("example.org", 443)),
    attempt("connect to 192.0.2.1:80", lambda: connect("192.0.2.1", 80)),
    attempt("connect to the metadata service", lambda: connect("169.254.169.254", 80)),
    attempt("raw socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)),
]
sys.exit(1 if any(reached) else 0)
