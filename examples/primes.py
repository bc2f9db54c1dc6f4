# SPDX-License-Identifier: Apache-2.0
"""Counts primes below N in several processes: shows that multiprocessing works and CPUs are counted rightly."""

import math
import os
import sys
from concurrent.futures import ProcessPoolExecutor


def is_prime(n):
    return n > 1 and all(n % d for d in range(2, math.isqrt(n) + 1))


def count(bounds):
    return sum(map(is_prime, range(*bounds)))


def main():
    limit = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    workers = len(os.sched_getaffinity(0))
    step = -(-limit // (workers * 4))
    chunks = [(low, min(low + step, limit)) for low in range(0, limit, step)]
    with ProcessPoolExecutor(workers) as pool:
        total = sum(pool.map(count, chunks))
    print(f"{total} primes below {limit}, counted by {workers} processes")


if __name__ == "__main__":
    main()
