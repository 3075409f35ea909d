"""The command line: map tests, run mutants, or list what is known."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from . import __doc__ as description
from .orders import command, environment
from .package import PACKAGES, ROOT
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
    parser.add_argument("--tests", nargs="+", help="default: the files of the map")
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
    check_package()
    tests = options.paths if options.do == "map" else options.tests
    tests = tests or mapped_files(Path(order["map"]))
    kernels = Path(order["map"]).with_name("kernels")  # kept from run to run
    kernels.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.environ["GPUARRAY_CACHE_DIR"] = str(kernels)
    done = subprocess.run(
        command(options.contexts, "-p", "no:randomly", *tests),
        cwd=ROOT,
        env=environment(order, "mutate"),
        check=False,
    )
    return done.returncode


def check_package() -> None:
    """Exit where the package that tests import is a copy, which no change reaches."""
    spec = find_spec("gpuarray")
    (folder,) = [path for path, name in PACKAGES.items() if name == "gpuarray"]
    origin = Path(spec.origin or "").resolve() if spec else None
    if origin != ROOT / folder / "__init__.py":
        sys.exit(
            f"tools.mutate: tests import gpuarray from {origin}, expected "
            f"{ROOT / folder}; install it as `pip install -e .` does"
        )


def mapped_files(path: Path) -> list[str]:
    """Return the files of tests in a map; exit where there is none."""
    if not path.exists():
        sys.exit(f"tools.mutate: {path} does not exist; `map` the tests first")
    tests = json.loads(path.read_text())["tests"]
    return sorted({test.partition("::")[0] for test in tests})


if __name__ == "__main__":
    sys.exit(main())
