"""The command line: map tests, run mutants, or list what is known."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from . import __doc__ as description
from .orders import command, environment
from .package import ROOT
from .state import list_known


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.mutate",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("do", choices=["map", "run", "list"])
    parser.add_argument("paths", nargs="+", help="of tests to map, or of the package")
    parser.add_argument("--tests", nargs="+", default=["tests/compiler"])
    parser.add_argument("--context", dest="contexts", action="append", default=[])
    parser.add_argument("--state", default=".mutants/state.json")
    parser.add_argument("--map", default=".mutants/map.json")
    parser.add_argument("--sample", type=int, default=1000, help="of all mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--budget", type=float, default=20.0, help="a mutant's seconds")
    parser.add_argument("--seconds", type=float, default=1e9, help="of all together")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--control", action="store_true", help="change nothing: all are to survive"
    )
    parser.add_argument("--again", action="store_true", help="what was not noticed")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Map tests, run mutants, or list what is known."""
    options = parsed(arguments)
    order = vars(options) | {
        "state": str(Path(options.state).resolve()),
        "map": str(Path(options.map).resolve()),
    }
    if options.do == "list":
        list_known(order)
        return 0
    kernels = Path(order["map"]).with_name("kernels")  # kept from run to run
    kernels.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.environ["GPUARRAY_CACHE_DIR"] = str(kernels)
    tests = options.paths if options.do == "map" else options.tests
    done = subprocess.run(
        command(options.contexts, "-p", "no:randomly", *tests),
        cwd=ROOT,
        env=environment(order, "mutate"),
        check=False,
    )
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
