"""Prints one library's rows as JSON.

``python -m benchmarks.worker torch large cuda0``
"""

from __future__ import annotations

import importlib
import json
import sys

from benchmarks.timing import SIZES


def main(library: str, size: str, context: str) -> None:
    """Measure and print."""
    module = importlib.import_module(f"benchmarks.workers.{library}")
    print(json.dumps(module.rows(SIZES[size], context)))


if __name__ == "__main__":
    main(*sys.argv[1:])
