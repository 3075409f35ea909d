"""What the calls of the function suite make a host wait for and a device compile.

As a program: python tests/counters.py --context cuda0 --shapes 1000
"""

from __future__ import annotations

import argparse
import sys
from typing import ClassVar

import gpuarray
from differential import arrays_of, cases, moved, outcome
from functions import Case, Draw, named

MOST = 24
"""The most kernels that a function has for one choice of dtypes and options.

Shapes share a kernel, but for these classes of them: how many axes are left when those
that lie behind each other are joined; arrays that fill one block and larger ones;
lengths by their prime factors up to 13, in Fourier transforms.
"""


class Sized(Draw):
    """Draws larger shapes than what is compared with NumPy needs.

    The first has the shortest axes and the second the longest, for their kernels are
    classes of their own that chance may find late.
    """

    longest: ClassVar[dict[int, int]] = {0: 1, 1: 3000, 2: 60, 3: 20}

    def __init__(self, number: int) -> None:
        super().__init__(0, lengths=number)
        self.extreme = {0: min, 1: max}.get(number)

    def length(self, low: int, high: int) -> int:
        """The length of an axis, both ends included."""
        return self.extreme(low, high) if self.extreme else super().length(low, high)


def called(case: Case, draw: Draw, context: gpuarray.Context, counted) -> int:
    """How much a count grows by a call whose arguments are on the device already."""
    args, options = case.draw(draw)
    there = [moved(one, context) for one in args]
    keywords = {key: moved(value, context) for key, value in options.items()}
    outcome(context.sync, (), {})
    before = counted(context)
    result = outcome(named(gpuarray, case.name), there, keywords)
    grown = counted(context) - before
    outcome(context.sync, (), {})  # what an earlier case reports is not the next one's
    del result
    return grown


def waits(context: gpuarray.Context) -> int:
    """How often the host has waited for the device."""
    return context.waits


def kernels(context: gpuarray.Context) -> int:
    """How many kernels were compiled, or read from the disk instead."""
    info = context.cache_info()
    return info.compiled + info.disk_hits


def may_wait(case: Case, context: gpuarray.Context) -> bool:
    """Whether a call is known to go to the host."""
    return case.waits == "values" or (case.waits == "solver" and context.kind != "cuda")


def kernels_of(case: Case, shapes: int, context: gpuarray.Context) -> list[int]:
    """How many kernels each of so many shapes needs that those before it did not."""
    return [called(case, Sized(i), context, kernels) for i in range(shapes)]


def drawn_shapes(case: Case, number: int) -> str:
    """The shapes of the arrays that a case draws for one of its ``kernels_of``."""
    args, options = case.draw(Sized(number))
    arrays = [x for x in arrays_of((args, *options.values())) if hasattr(x, "shape")]
    return ", ".join(str(list(x.shape)) for x in arrays)


def waiting(context: gpuarray.Context, draws: int) -> dict[str, int]:
    """The functions that waited, with how often in so many calls each."""
    found = {
        name: sum(called(case, Draw(seed), context, waits) for seed in range(draws))
        for name, case in cases().items()
    }
    return {name: count for name, count in found.items() if count}


def main() -> bool:
    """Call functions with arrays of many shapes; print which compile, and how often."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--context", required=True)
    parser.add_argument("--shapes", type=int, default=1000)
    parser.add_argument("--waits", action="store_true", help="count waits instead")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    context = gpuarray.context(options.context)
    chosen = cases()
    if options.waits:
        hidden = waiting(context, 4)
        hidden = {k: n for k, n in hidden.items() if not may_wait(chosen[k], context)}
        print(f"{options.context}: hidden waits of {len(chosen)} functions: {hidden}")
        return bool(hidden)
    names = options.names or list(chosen)
    total = late = most = 0
    for name in names:
        grown = kernels_of(chosen[name], options.shapes, context)
        total, most = total + sum(grown), max(most, sum(grown))
        found = [i for i, n in enumerate(grown) if n and i >= len(grown) // 2]
        late += sum(grown[i] for i in found)
        for i in found:
            shapes = drawn_shapes(chosen[name], i)
            print(f"{name}: {grown[i]} more kernels for shape {i}: {shapes}")
        if sum(grown) > MOST:
            print(f"{name}: {sum(grown)} kernels")
    print(
        f"{options.context}: {options.shapes} shapes, {len(names)} functions: {total} "
        f"kernels, at most {most} a function, {late} in the second half of the shapes"
    )
    return most > MOST


if __name__ == "__main__":
    sys.exit(main())
