"""The words of the kernel language: all that libgpuarray 0.7 had, and those added."""

import itertools

import gpuarray
import numpy as np
import pytest

SCALARS = [
    "bool",
    "byte",
    "ubyte",
    "short",
    "ushort",
    "int",
    "uint",
    "long",
    "ulong",
    "float",
    "size",
    "ssize",
]
CONSTANTS = [
    "MAXFLOAT",
    "HUGE_VALF",
    "M_E",
    "M_LOG2E",
    "M_LOG10E",
    "M_LN2",
    "M_LN10",
    "M_PI",
    "M_PI_2",
    "M_PI_4",
    "M_1_PI",
    "M_2_PI",
    "M_2_SQRTPI",
    "M_SQRT2",
    "M_SQRT1_2",
]
PLACES = [f"{what}_{i}" for what in ("LID", "LDIM", "GID", "GDIM") for i in range(3)]

HEAD = """#include "cluda.h"
WITHIN_KERNEL ga_float twice(ga_float x) { return x * 2; }
"""


def launch(context, source, name, *arrays, **geometry):
    types = [gpuarray.Array] * len(arrays)
    gpuarray.GpuKernel(source, name, types, context)(*arrays, **geometry)


def test_constants(context):
    lines = [f"out[{i}] = (ga_float){word};" for i, word in enumerate(CONSTANTS)]
    source = f"""{HEAD}
KERNEL void constants(GLOBAL_MEM ga_float *out) {{
  {" ".join(lines)}
  out[30] = -INFINITY; out[31] = NAN; out[32] = twice(3); out[33] = (ga_float)HUGE_VAL;
  GLOBAL_MEM ga_float *nothing = NULL;
  out[34] = nothing == NULL && GA_WARP_SIZE > 0;
}}
"""
    out = gpuarray.zeros(40, "float32", context)
    launch(context, source, "constants", out, n=1, threads=1)
    got = np.asarray(out)
    e, pi = np.e, np.pi
    near = [e, 1 / np.log(2), np.log10(e), np.log(2), np.log(10), pi, pi / 2, pi / 4]
    near += [1 / pi, 2 / pi, 2 / np.sqrt(pi), np.sqrt(2), np.sqrt(0.5)]
    np.testing.assert_allclose(got[2:15], near, rtol=1e-6)
    assert got[0] == np.finfo("float32").max and got[1] == np.inf
    assert got[30] == -np.inf and np.isnan(got[31]) and got[32] == 6
    assert got[33] == np.inf and got[34] == 1


def test_sizes_of_types(context):
    words = [f"out[{i}] = sizeof(ga_{name});" for i, name in enumerate(SCALARS)]
    more = ["half", "bfloat16", "cfloat", "float4", "int2", "ubyte4"]
    words += [f"out[{i}] = sizeof(ga_{name});" for i, name in enumerate(more, 20)]
    if context.has_double:
        words.append("out[30] = sizeof(ga_double); out[31] = sizeof(ga_cdouble);")
    text = " ".join(words)
    source = f"{HEAD}KERNEL void sizes(GLOBAL_MEM ga_uint *out) {{ {text} }}"
    out = gpuarray.zeros(40, "uint32", context)
    launch(context, source, "sizes", out, n=1, threads=1)
    got = out.tolist()
    assert got[: len(SCALARS)] == [1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 8]
    assert got[20:26] == [2, 2, 8, 16, 8, 4]
    assert got[30:32] == ([8, 16] if context.has_double else [0, 0])


def test_places_in_three_dimensions(context):
    words = " ".join(f"out[{i}] = {word};" for i, word in enumerate(PLACES))
    last = "LID_0 == 1 && LID_1 == 0 && LID_2 == 1 && GID_0 == 2 && GID_1 == 1"
    source = f"""{HEAD}KERNEL void places(GLOBAL_MEM ga_size *out) {{
  local_barrier();
  if ({last} && GID_2 == 3) {{ {words} }}
}}"""
    out = gpuarray.zeros(12, "uint64", context)
    launch(context, source, "places", out, blocks=(3, 2, 4), threads=(2, 1, 2))
    assert out.tolist() == [1, 0, 1, 2, 1, 2, 2, 1, 3, 3, 2, 4]


SHARED = f"""{HEAD}
KERNEL void turned(GLOBAL_MEM ga_int *x GA_DECL_SHARED_PARAM(ga_int, kept)) {{
  GA_DECL_SHARED_BODY(ga_int, kept)
  LOCAL_MEM ga_int more[8];
  kept[LID_0] = x[LID_0];
  more[LID_0] = 100;
  local_barrier();
  x[LID_0] = kept[7 - LID_0] + more[7 - LID_0];
}}
"""


def test_shared_memory_sized_at_the_launch(context):
    x = gpuarray.arange(8, dtype="int32", context=context)
    launch(context, SHARED, "turned", x, blocks=1, threads=8, shared=32)
    assert x.tolist() == list(range(107, 99, -1))


LETTERS = {"i": "int", "I": "uint", "l": "long", "L": "ulong", "f": "float"}
LETTERS |= {"d": "double", "e": "half"}
DTYPES = {"e": "float16", "d": "float64", "f": "float32"}
DTYPES |= {"i": "int32", "I": "uint32", "l": "int64", "L": "uint64"}


@pytest.mark.parametrize(
    ("letter", "op"), [*itertools.product(LETTERS, ("add", "xchg"))]
)
def test_atomics_of_every_type(context, letter, op):
    if letter == "d" and not context.has_double:
        pytest.skip(f"{context.name} has no double precision")
    name = f"ga_{LETTERS[letter]}"
    one = "ga_float2half(3)" if letter == "e" else f"({name})3"
    source = f"""{HEAD}
KERNEL void atomics(GLOBAL_MEM {name} *x) {{
  LOCAL_MEM {name} shared[2];
  if (LID_0 == 0)
    shared[1] = x[3];
  local_barrier();
  {name} old = atom_{op}_{letter}g(&x[1], {one});
  atom_{op}_{letter}l(&shared[1], {one});
  local_barrier();
  if (LID_0 == 0) {{
    x[0] = shared[1];
    x[2] = old;
  }}
}}
"""
    host = np.array([0, 5, 0, 5], DTYPES[letter])
    x = gpuarray.asarray(host, context=context)
    launch(context, source, "atomics", x, blocks=1, threads=16)
    got = x.tolist()
    assert got[1] == got[0] == (5 + 16 * 3 if op == "add" else 3)
    if op == "add":
        assert got[2] in range(5, 5 + 16 * 3, 3)
    else:
        assert got[2] in (3, 5)


MORE = f"""{HEAD}
KERNEL void count(GLOBAL_MEM ga_uint *word, GLOBAL_MEM ga_int *i) {{
  LOCAL_MEM ga_int shared[2];
  LOCAL_MEM ga_uint bits[2];
  const ga_int me = (ga_int)(GID_0 * LDIM_0 + LID_0);
  if (LID_0 == 0) {{
    shared[0] = bits[0] = 0;
    shared[1] = 1000;
    bits[1] = 7;
  }}
  local_barrier();
  atom_max_il(&shared[0], me);
  atom_min_il(&shared[1], me);
  atom_or_Il(&bits[0], 1u << LID_0);
  atom_cas_Il(&bits[1], 7u, 8u);
  local_barrier();
  if (LID_0 == 0 && GID_0 == 2) {{
    i[2] = shared[0];
    i[3] = shared[1];
    i[4] = (ga_int)bits[0];
    i[5] = (ga_int)bits[1];
  }}
  atom_max_ig(&i[0], me);
  atom_min_ig(&i[1], -me);
  atom_or_Ig(&word[0], 1u << (me & 31));
  atom_and_Ig(&word[1], ~(1u << (me & 7)));
  atom_max_Ig(&word[2], (ga_uint)me);
  atom_min_Ig(&word[3], (ga_uint)me);
  if (me == 5)
    atom_cas_Ig(&word[4], 9u, 11u);
  if (me == 6)
    atom_cas_Ig(&word[5], 8u, 11u);
  if (me == 7)
    ga_report_index(word, 24, 3u, -2L, 5000000000L);
}}
"""


def test_more_atomics_and_the_report_of_an_index(context):
    words = np.array([0, 2**32 - 1, 3, 50, 9, 9, 0, 0, 0, 0, 0, 0], "uint32")
    device = gpuarray.asarray(words, context=context)
    numbers = gpuarray.zeros(6, "int32", context)
    launch(context, MORE, "count", device, numbers, blocks=4, threads=16)
    assert numbers.tolist() == [63, -63, 47, 32, 2**16 - 1, 8]
    got = device.tolist()
    assert got[:6] == [2**32 - 1, 2**32 - 1 - 255, 63, 0, 11, 9]
    low, high = 5000000000 % 2**32, 5000000000 >> 32
    assert got[6:] == [1, 3, 2**32 - 2, 2**32 - 1, low, high]


FAILING = """#include "cluda.h"
  #  include <cluda.h> /* a second time does no harm */
KERNEL void wrong(GLOBAL_MEM ga_cfloat *x) {
  x[0] = nothing_such(x[1]);
}
"""


def test_a_failed_compilation_counts_the_user_s_own_lines(context):
    with pytest.raises(gpuarray.KernelError, match=r"   4 +x.0. = nothing_such"):
        gpuarray.GpuKernel(FAILING, "wrong", [gpuarray.Array], context)
