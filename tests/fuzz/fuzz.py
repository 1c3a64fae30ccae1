"""Fuzzing through HTTPS: requests of one seed against a whole server, beside another client, and a restart at the end.

    .venv/bin/python tests/fuzz/fuzz.py --seed 1 --requests 100000

What must hold: no answer is a fault of the server, no reader meets what it cannot take, the server stays, its memory
levels off, and it starts again on what was stored. How long the other client waited is told. Requests that once found
a bug come last. `--keep NAME NUMBER` writes one request of the seed to a file in `tests/fuzz/kept`.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.fuzzed_requests import Requests
from support.fuzzing import KEPT, fuzz


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first request of the seed")
    parser.add_argument("--keep", nargs=2, metavar=("NAME", "NUMBER"))
    options = parser.parse_args()
    if options.keep:
        name, number = options.keep
        packed = Requests(options.seed).make(int(number), "").packed()
        (KEPT / f"{name}.json").write_text(json.dumps([packed]) + "\n")
        return 0
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="doorman-fuzz-") as folder:
        numbers = range(options.first, options.first + options.requests)
        found = fuzz(Path(folder), options.seed, numbers, say=lambda line: print(line, file=sys.stderr, flush=True))
    codes = dict(sorted(found.codes.items()))
    print(f"{sum(codes.values())} requests in {time.monotonic() - began:.0f} s, by status: {codes}")
    print(f"memory of the server: {', '.join(f'{each:.0f}' for each in found.megabytes)} MB")
    waits = found.waits
    figures = (waits[len(waits) // 2], waits[len(waits) * 99 // 100], waits[-1])
    print("another client: {} requests, p50 {:.1f}, p99 {:.1f}, longest {:.1f} ms".format(len(waits), *figures))
    print(f"requests that took over 100 ms themselves: {len(found.slow)}, the longest {found.slow[:10]}")
    for what, to in found.faults.items():
        print(f"FAULT {what}\n   {to}")
    return 1 if found.faults else 0


if __name__ == "__main__":
    sys.exit(main())
