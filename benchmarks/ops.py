"""Ops of one's own beside the same kernels launched by hand, and what a call costs.

``python -m benchmarks.ops --context cuda0 --json benchmarks/results/h100-ops.json``.
The three ops of docs/compiler/an-op-of-ones-own.md, each as a compiled function on
large arrays, take turns with kernels of the same work that are launched with a geometry
chosen by hand: on CUDA as CUDA C by CuPy where it is installed, else by `GpuKernel`.
Then the host's time for a call of a function with a declared launch takes turns with
that of a fused elementwise step; nothing waits in between, results stay on the device.
Results are compared before anything is timed.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gpuarray
import gpuarray.compiler as compiler
import gpuarray.compiler.tensor as T
import numpy as np
from gpuarray._core.command_line import exit_with
from gpuarray.compiler.gpukernels.basic_ops import GpuKernelBase, Kernel, Launch

from benchmarks.machine import machine
from benchmarks.progress import shown
from benchmarks.report import figures, write

ROWS = {"large": 1 << 18, "medium": 1 << 14, "tiny": 8}
"""How many rows of `COLUMNS` elements the arrays have."""

COLUMNS = THREADS = 256
FEW = 10  # elements of the arrays of small calls
SMALL_CALLS = 20  # of a round, so that no queue fills
LONGEST = 0.05  # seconds of a round of large calls
TOLERANCE = 1e-5

Call = Callable[[], Sequence[Any]]


# ---- the ops of the page ----


def swish(x: Any) -> list[Any]:
    """An activation of each element, and its gradient: one fused kernel."""

    @compiler.elementwise_op("x / (1 + exp(-x))", lambda x: x / (1 + np.exp(-x)))
    def benchmarked_swish(m: Any, g: Any, y: Any, x: Any) -> Any:
        s = m.sigmoid(x)
        return g * (s + y * (1 - s))

    y = benchmarked_swish(x)
    return [y, compiler.grad(y.sum(), x)]


SCAN = """
LOCAL_MEM T_work part[256];
part[LID_0] = LID_0 < m ? LOAD(x, GID_0 * m + LID_0) : 0;
local_barrier();
for (ga_size step = 1; step < 256; step *= 2) {
  const T_work before = LID_0 >= step ? part[LID_0 - step] : 0;
  local_barrier();
  part[LID_0] += before;
  local_barrier();
}
if (LID_0 < m) STORE(y, GID_0 * m + LID_0, part[LID_0]);"""


def scan(x: Any) -> list[Any]:
    """The sums so far of short rows, in memory that a block shares."""

    @compiler.kernel_op(
        "T x[n, m] -> T y[n, m]",
        SCAN,
        blocks="n",
        threads=256,
        reference=lambda x: np.cumsum(x, axis=1),
    )
    def benchmarked_scan(m: Any, g: Any, y: Any, x: Any) -> Any:
        return g.sum(axis=1, keepdims=True) - benchmarked_scan(g) + g

    return [benchmarked_scan(x)]


PAIR = """
for (ga_size i = GID_0 * LDIM_0 + LID_0; i < size; i += GDIM_0 * LDIM_0) {
  const T_work v = LOAD(x, i);
  STORE(s, i, sin(v));
  STORE(c, i, cos(v));
}"""


def pair(x: Any) -> list[Any]:
    """Two outputs of one kernel."""

    @compiler.kernel_op(
        "T x[...] -> T s[...], T c[...]",
        PAIR,
        n="size",
        reference=lambda x: (np.sin(x), np.cos(x)),
    )
    def benchmarked_pair(m: Any, g: Any, y: Any, x: Any) -> Any:
        return g[0] * y[1] - g[1] * y[0]

    return list(benchmarked_pair(x))


# ---- the same by hand ----

CUDA_C = """
#define KERNEL extern "C" __global__
#define GLOBAL_MEM
#define LOCAL_MEM __shared__
#define local_barrier() __syncthreads()
#define LID_0 threadIdx.x
#define LDIM_0 blockDim.x
#define GID_0 blockIdx.x
#define GDIM_0 gridDim.x
#define COUNT size_t
"""
"""What the words of the kernels below are in CUDA C."""

CLUDA = "#define COUNT ga_size\n"
"""And in ours."""

OF_GPUS = """
#define INDEX unsigned int
#define FLOATS float4
#define EACH(f, a, b, c) \\
  f(a.x, b.x, c.x) f(a.y, b.y, c.y) f(a.z, b.z, c.z) f(a.w, b.w, c.w)
"""
"""A GPU counts in 32 bits and moves four floats at once."""

OF_CPUS = """
#define INDEX ga_size
#define FLOATS float
#define EACH(f, a, b, c) f(a, b, c)
"""
"""Compilers for processors make vectors of work items that count in 64 bits."""

SWISH_BY_HAND = """
#define ONE(v, y, slope) { \\
  const float s = 1.0f / (1.0f + exp(-v)); \\
  y = v / (1.0f + exp(-v)); \\
  slope = s + y * (1.0f - s); }
KERNEL void by_hand(GLOBAL_MEM const FLOATS *x, GLOBAL_MEM FLOATS *y,
                    GLOBAL_MEM FLOATS *slope) {
  const INDEX i = GID_0 * LDIM_0 + LID_0;
  const FLOATS v = x[i];
  FLOATS a, b;
  EACH(ONE, v, a, b)
  y[i] = a;
  slope[i] = b;
}"""

SCAN_BY_HAND = """
KERNEL void by_hand(GLOBAL_MEM const float *x, GLOBAL_MEM float *y) {
  LOCAL_MEM float part[256];
  const INDEX t = LID_0, i = GID_0 * 256 + t;
  part[t] = x[i];
  local_barrier();
  for (INDEX step = 1; step < 256; step *= 2) {
    const float before = t >= step ? part[t - step] : 0;
    local_barrier();
    part[t] += before;
    local_barrier();
  }
  y[i] = part[t];
}"""

PAIR_BY_HAND = """
KERNEL void by_hand(GLOBAL_MEM const float *x, GLOBAL_MEM float *s,
                    GLOBAL_MEM float *c) {
  for (COUNT i = (COUNT)GID_0 * LDIM_0 + LID_0; i < SIZE; i += GDIM_0 * LDIM_0) {
    const float v = x[i];
    s[i] = sin(v);
    c[i] = cos(v);
  }
}"""


@dataclass(frozen=True)
class Work:
    """An op as a graph, what NumPy makes of it, and its kernel by hand.

    The kernel takes the input and the outputs, as FLOATS if it is ``wide``.
    """

    title: str
    graph: Callable[[Any], list[Any]]
    reference: Callable[[Any], Sequence[Any]]
    source: str
    wide: bool = False


def swish_reference(x: Any) -> Sequence[Any]:
    """With NumPy."""
    s = 1 / (1 + np.exp(-x))
    return x * s, s + x * s * (1 - s)


WORKS = (
    Work("activation and gradient", swish, swish_reference, SWISH_BY_HAND, True),
    Work("scan of rows", scan, lambda x: [np.cumsum(x, axis=1)], SCAN_BY_HAND),
    Work("two outputs", pair, lambda x: [np.sin(x), np.cos(x)], PAIR_BY_HAND),
)


def by_hand(work: Work, x: Any, outputs: Sequence[Any]) -> tuple[str, Call]:
    """Who launches the kernel by hand, and a call that does."""
    context = x.context
    at_once = 4 if work.wide and not context.is_cpu else 1
    blocks = x.size // (THREADS * at_once)
    if context.kind == "cuda" and importlib.util.find_spec("cupy") is not None:
        return "by hand, CuPy", by_cupy(work, [x, *outputs], blocks)
    types = [gpuarray.Array] * (1 + len(outputs))
    words = CLUDA + (OF_CPUS if context.is_cpu else OF_GPUS)
    source = f"{words}#define SIZE {x.size}\n{work.source}"
    kernel = gpuarray.GpuKernel(source, "by_hand", types, context)

    def call() -> Sequence[Any]:
        kernel(x, *outputs, blocks=blocks, threads=THREADS)
        return outputs

    return "by hand", call


def by_cupy(work: Work, arrays: Sequence[Any], blocks: int) -> Call:
    """A launch of CUDA C on our stream, on our arrays' memory."""
    import cupy

    context = arrays[0].context
    cupy.cuda.Device(int(context.name.removeprefix("cuda"))).use()
    cupy.cuda.Stream.from_external(context).use()
    size = f"#define SIZE {arrays[0].size}\n"
    kernel = cupy.RawKernel(CUDA_C + OF_GPUS + size + work.source, "by_hand")
    theirs = tuple(cupy.asarray(array) for array in arrays)

    def call() -> Sequence[Any]:
        kernel((blocks,), (THREADS,), theirs)
        return arrays[1:]

    return call


# ---- small calls ----


class Scaled(GpuKernelBase):
    """2 x + 1 by a kernel whose launch is declared."""

    __props__ = ()

    def make_node(self, x: Any) -> Any:
        """A node with a result like the input."""
        return compiler.Apply(self, [x], [x.type()])

    def infer_shape(self, node: Any, input_shapes: Any) -> Any:
        """The input's shape."""
        return input_shapes

    def gpu_kernels(self, node: Any, name: str) -> list[Kernel]:
        """One kernel, which loops over what is left."""
        code = """
        KERNEL void scaled(GLOBAL_MEM const ga_float *x, ga_size x_off,
                           GLOBAL_MEM ga_float *y, ga_size y_off, ga_size n) {
          x = (GLOBAL_MEM const ga_float *)((GLOBAL_MEM const char *)x + x_off);
          y = (GLOBAL_MEM ga_float *)((GLOBAL_MEM char *)y + y_off);
          for (ga_size i = GID_0 * LDIM_0 + LID_0; i < n; i += GDIM_0 * LDIM_0)
            y[i] = 2 * x[i] + 1;
        }"""
        pointer = [gpuarray.GpuArray, gpuarray.OFFSET]
        return [Kernel(code, [*pointer, *pointer, gpuarray.SIZE], "scaled")]

    def gpu_launches(
        self, node: Any, inputs: Sequence[Any], outputs: Sequence[Any]
    ) -> Iterator[Launch]:
        """Its launch."""
        (x,), (y,) = inputs, outputs
        yield Launch("scaled", (x, x.offset, y, y.offset, x.size), n=x.size)


def small_calls(context: Any) -> dict[str, Call]:
    """A function with the op, and one with the elementwise step."""
    x = T.fvector("x")
    value = gpuarray.asarray(np.arange(FEW, dtype="float32"), context=context)
    functions = {
        "ours": on_device([x], [Scaled()(x)]),
        "elementwise step": on_device([x], [2 * x + 1]),
    }
    return {name: lambda f=f: f(value) for name, f in functions.items()}


# ---- measuring ----


def on_device(inputs: list[Any], outputs: list[Any]) -> Any:
    """A function whose results stay on the device."""
    return compiler.function(inputs, [output.transfer(None) for output in outputs])


def check(title: str, found: Sequence[Any], expected: Sequence[Any]) -> None:
    """Raise unless two lists of arrays agree; arrays of a device are compared there."""
    for place, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        apart = float(abs(ours - theirs).max())
        scale = float(abs(theirs).max())
        if not apart <= TOLERANCE * scale:
            raise SystemExit(
                f"{title}: result {place} is {apart:g} apart, of values up to {scale:g}"
            )


def seconds_of(call: Call, calls: int, context: Any, waits: bool) -> float:
    """Seconds of a call, the mean of some, with what the device does if it waits."""
    context.sync()
    start = time.perf_counter()
    for _ in range(calls):
        call()
    if waits:
        context.sync()
    spent = time.perf_counter() - start
    context.sync()
    return spent / calls


def turns(
    calls: dict[str, Call], times: int, rounds: int, context: Any, waits: bool
) -> dict[str, list[float]]:
    """Microseconds of a call of two, by turns; who begins changes with each round."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(rounds):
        for name in list(calls)[:: 1 if turn % 2 == 0 else -1]:
            spent = seconds_of(calls[name], times, context, waits)
            found[name].append(1e6 * spent)
    return found


def large(work: Work, rows: int, rounds: int, context: Any) -> dict[str, Any]:
    """The row of an op: ours, by hand, and the ratio in each round."""
    x = gpuarray.random.Generator(1, context=context).random(
        (rows, COLUMNS), dtype="float32"
    )
    variable = T.fmatrix("x")
    function = on_device([variable], work.graph(variable))
    outputs = [gpuarray.empty_like(x) for _ in function(x)]
    who, launch = by_hand(work, x, outputs)
    check(work.title, function(x), launch())
    some = work.reference(np.asarray(x[:4]).astype("float64"))
    check(work.title, [np.asarray(result[:4]) for result in function(x)], some)
    calls: dict[str, Call] = {"ours": lambda: function(x), who: launch}
    once = seconds_of(launch, 2, context, waits=True)
    times = max(1, min(100, int(LONGEST / once)))
    found = turns(calls, times, rounds, context, waits=True)
    ratios = [a / b for a, b in zip(*found.values(), strict=True)]
    row = {name: figures(values) for name, values in found.items()}
    return {"unit": "us", "libraries": row, "ratio": figures(ratios)}


def small(rounds: int, context: Any) -> dict[str, Any]:
    """The row of the host's time for a call, and the difference in each round."""
    calls = small_calls(context)
    results = [call() for call in calls.values()]
    check("small calls", *results)
    found = turns(calls, SMALL_CALLS, rounds, context, waits=False)
    differences = [a - b for a, b in zip(*found.values(), strict=True)]
    row = {name: figures(values) for name, values in found.items()}
    return {"unit": "us", "libraries": row, "difference": figures(differences)}


def verdict(row: dict[str, Any]) -> str:
    """The row's ratio or difference, as a line."""
    if "ratio" in row:
        return f"    {100 * (row['ratio']['median'] - 1):+.1f} % beside by hand"
    return f"    {row['difference']['median']:+.2f} us beside an elementwise step"


def main(arguments: list[str] | None = None) -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--context", default="")
    parser.add_argument("--size", choices=ROWS, help="large on GPUs, else medium")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", "--output", type=Path, help="the file to write")
    parser.add_argument("--commit", default="", help="where the tree has no git")
    given = parser.parse_args(arguments)
    context = gpuarray.context(given.context or None)
    rows = ROWS[given.size or ("medium" if context.is_cpu else "large")]
    found: dict[str, dict[str, Any]] = {}
    with compiler.config.use(floatX="float32", device=context.name):
        for work in WORKS:
            title = f"{work.title}, {rows}x{COLUMNS}"
            found[title] = large(work, rows, given.rounds, context)
            print(shown(title, found[title]), verdict(found[title]), sep="\n")
        title = f"host time, a declared launch on {FEW} elements"
        found[title] = small(10 * given.rounds, context)
        print(shown(title, found[title]), verdict(found[title]), sep="\n")
    if given.json is not None:
        write({**machine(context, given.commit), "rows": found}, given.json)


if __name__ == "__main__":
    exit_with(main)
