# SPDX-License-Identifier: Apache-2.0
"""
A network of the case's own: a namespace whose loopback carries any address that the case wants, with a name server that
answers as the case says. What happens in it can be counted by the kernel, and nothing of it reaches the machine's network.
"""

import ctypes
import os
import socket
import struct
import subprocess
import threading

CLONE_NEWNS, CLONE_NEWNET = 0x20000, 0x40000000
MS_REC, MS_PRIVATE, MS_BIND = 0x4000, 1 << 18, 4096


def _must(result, what):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def enter(t, addresses):
    """Puts this process, and so the case, into new network and mount namespaces."""
    t.need_root()
    ip = t.need_program("ip")
    libc = ctypes.CDLL(None, use_errno=True)
    _must(libc.unshare(CLONE_NEWNS | CLONE_NEWNET), "unshare")
    _must(libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None), "private mounts")
    for path, text in (("/etc/hosts", "127.0.0.1 localhost\n"),
                       ("/etc/resolv.conf", "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"),
                       ("/etc/nsswitch.conf", "hosts: files dns\n")):
        ours = t.write("etc/" + os.path.basename(path), text)
        _must(libc.mount(str(ours).encode(), os.path.realpath(path).encode(), None, MS_BIND, None), path)
    subprocess.run([ip, "link", "set", "lo", "up"], check=True)
    for address in addresses:
        subprocess.run([ip, "address", "add", address, "dev", "lo"], check=True, capture_output=True)


def connects():
    """How many TCP connections were begun in this namespace, by the kernel's count."""
    with open("/proc/net/snmp", encoding="ascii") as file:
        lines = [line.split() for line in file if line.startswith("Tcp:")]
    return int(lines[1][lines[0].index("ActiveOpens")])


class NameServer:
    """Answers A and AAAA. `names`: name -> list of addresses, or a function that returns one."""

    def __init__(self, names):
        self.names = names
        self.asked = []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 53))
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            query, peer = self.socket.recvfrom(4096)
            self.socket.sendto(self._answer(query), peer)

    def _answer(self, query):
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1:at + 1 + query[at]].decode())
            at += 1 + query[at]
        kind = struct.unpack(">H", query[at + 1:at + 3])[0]
        name = ".".join(labels).lower()
        self.asked.append((name, kind))
        found = self.names.get(name)
        addresses = (found(kind) if callable(found) else found) or []
        records = b""
        count = 0
        for address in addresses:
            version = 28 if ":" in address else 1
            if version == kind:
                packed = socket.inet_pton(socket.AF_INET6 if kind == 28 else socket.AF_INET, address)
                records += b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 0, len(packed)) + packed
                count += 1
        flags = 0x8180 if found is not None else 0x8183
        return query[:2] + struct.pack(">HHHHH", flags, 1, count, 0, 0) + query[12:at + 5] + records
