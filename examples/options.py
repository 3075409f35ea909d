"""What the examples share: the choice of a device, and a progress bar."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator


def parse(description: str, **defaults: int | str) -> argparse.Namespace:
    """The command line: ``--context`` and an option for each of ``defaults``."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--context",
        default="",
        help="a device such as cuda0 or opencl0:0; the best one found if left out",
    )
    for name, default in defaults.items():
        parser.add_argument(f"--{name}", type=type(default), default=default)
    return parser.parse_args()


def progress(count: int, label: str) -> Iterator[int]:
    """Yield 0 to count - 1 while a bar on the terminal shows how far it is.

    Where the output is no terminal, nothing is drawn.
    """
    width, shown = 30, sys.stderr.isatty()
    last = 0.0
    for i in range(count):
        yield i
        now = time.monotonic()
        if shown and (now - last > 0.1 or i == count - 1):
            last = now
            done = (i + 1) * width // count
            bar = "#" * done + "." * (width - done)
            print(f"\r{label} [{bar}] {i + 1}/{count}", end="", file=sys.stderr)
    if shown:
        print(file=sys.stderr)
