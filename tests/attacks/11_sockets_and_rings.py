# SPDX-License-Identifier: Apache-2.0
"""Class 11: socket families that reach deep into the kernel, io_uring, and any way onto a network."""

import socket
import threading

from lib import attack
from lib.case import case, check, equal

FAMILIES = {"AF_ALG": (38, 5, 0), "AF_VSOCK": (40, 1, 0), "AF_NETLINK": (16, 3, 0),
            "AF_NETLINK audit": (16, 3, 9),
            "AF_PACKET": (17, 3, 0), "AF_XDP": (44, 3, 0), "raw IPv4": (2, 3, 1),
            "raw IPv4 255": (2, 3, 255),
            "raw IPv6": (10, 3, 58), "AF_KEY": (15, 3, 2), "AF_BLUETOOTH": (31, 3, 1), "AF_CAN": (29, 3, 1),
            "AF_TIPC": (30, 5, 0), "AF_RDS": (21, 5, 0), "AF_KCM": (41, 5, 0), "AF_SMC": (43, 1, 0),
            "AF_PPPOX": (24, 1, 0),
            "AF_RXRPC": (33, 2, 2), "AF_QIPCRTR": (42, 2, 0), "AF_APPLETALK": (5, 2, 0), "AF_X25": (9, 5, 0),
            "AF_IEEE802154": (36, 3, 0), "SCTP": (2, 1, 132), "MPTCP": (2, 1, 262), "DCCP": (2, 6, 33)}

GUEST = r'''
for name, arguments in json.loads(sys.argv[1]).items():
    probe(name, lambda: os.close(sc(41, *arguments)))
parameters = (ctypes.c_uint32 * 30)()
probe("io_uring", lambda: os.close(sc(425, 8, parameters)))
probe("io_uring_enter", lambda: sc(426, -1, 0, 0, 0, 0, 0))
probe("io_uring_register", lambda: sc(427, -1, 0, 0, 0))
finish()
'''


@case()
def families_and_io_uring(t):
    attack.need_x86(t)
    import json
    refusals = attack.REFUSED | {"EAFNOSUPPORT", "ESOCKTNOSUPPORT", "EPROTONOSUPPORT"}
    ring = attack.REFUSED
    attack.attack(t, GUEST, {**{name: name for name in FAMILIES}, "io_uring": "io_uring_setup",
                             "io_uring_enter": "io_uring_enter", "io_uring_register": "io_uring_register"},
                  refused={"": refusals, "io_uring": ring, "io_uring_enter": ring,
                           "io_uring_register": ring},
                  args=[json.dumps(FAMILIES)], defences=["seccomp"])


NETWORK = r'''
import socket
def connect(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as s:
        s.settimeout(3)
        s.connect(address)
def send(address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.sendto(b"x", address)
port = int(sys.argv[1])
probe("loopback of the host", connect, socket.AF_INET, ("127.0.0.1", port))
probe("datagram to an address outside", send, ("192.0.2.1", 53))
report["interfaces"] = [line.split(":")[0].strip() for line in open("/proc/net/dev").readlines()[2:]]
report["routes"] = len(open("/proc/net/route").readlines()) - 1
finish()
'''


@case()
def no_network(t):
    """A listener on the host's loopback is the canary; addresses of the documentation range stand for the rest."""
    reached = []
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.settimeout(50)
        port = listener.getsockname()[1]

        def accept():
            try:
                while True:
                    connection, address = listener.accept()
                    reached.append(address)
                    connection.close()
            except OSError:
                pass

        threading.Thread(target=accept, daemon=True).start()
        report, _ = attack.inside(t, NETWORK, [str(port)])
        equal(reached, [], "connections to the host's loopback listener")
        check(report["loopback of the host"] == "ECONNREFUSED", "loopback inside", report)
        check(report["datagram to an address outside"] in ("ENETUNREACH", "EPERM", "EACCES"), "datagrams",
              report)
        equal(report["interfaces"], ["lo"], "interfaces inside")
        equal(report["routes"], 0, "routes inside")
        control = attack.on_host(t, NETWORK, [str(port)])
        equal(control["loopback of the host"], "done", "control: the listener can be reached from the host")
        t.tried(f"connect to a listener on the host's loopback: {report['loopback of the host']} (reached from the host)"
                f"; send outside: {report['datagram to an address outside']}; interfaces {report['interfaces']}")
