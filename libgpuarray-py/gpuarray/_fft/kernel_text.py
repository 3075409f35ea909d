"""C texts of the kernels of ``transforms``: files, and butterflies. Pure.

A kernel is made for a radix and a type. Where ``wide`` is not set its indices have 32
bits. Complex numbers are made by a function of a name that depends on their type.
"""

from __future__ import annotations

import cmath
import math
from functools import cache
from typing import Any

from gpuarray._kernels.codegen import once
from gpuarray._kernels.texts import kernel_text

RADICES = (8, 13, 11, 7, 5, 3, 4, 2)
"""The radices, in the order in which they are divided out of a length."""


def _number(value: float, real: str) -> str:
    return f"{value.hex()}{'f' if real == 'ga_float' else ''}"


def _named(name: str, x: str, y: str) -> str:
    """C text that gives a complex number a name."""
    return f"const FFT_T {name} = FFT_MAKE({x}, {y});"


def _product(name: str, source: str, factor: complex, real: str) -> str:
    """C text that names the product of a value and a constant."""
    a, b = _number(factor.real, real), _number(factor.imag, real)
    x = f"{source}.x * {a} - {source}.y * {b}"
    y = f"{source}.x * {b} + {source}.y * {a}"
    return _named(name, x, y)


def _binary_butterfly(values: list[str], real: str, tag: str) -> Any:
    """The transform of values whose number is a power of 2: names, and C text."""
    n = len(values)
    if n == 1:
        return values, []
    evens, text = _binary_butterfly(values[::2], real, f"{tag}e")
    odds, more = _binary_butterfly(values[1::2], real, f"{tag}o")
    text = text + more
    low, high = [], []
    for k, (even, odd) in enumerate(zip(evens, odds, strict=True)):
        turned = f"{tag}t{k}"
        if k == 0:
            turned = odd
        elif 4 * k == n:
            text.append(_named(turned, f"{odd}.y", f"-{odd}.x"))
        else:
            text.append(_product(turned, odd, cmath.exp(-2j * math.pi * k / n), real))
        for name, sign in ((f"{tag}p{k}", "+"), (f"{tag}m{k}", "-")):
            x, y = (f"{even}.{part} {sign} {turned}.{part}" for part in "xy")
            text.append(_named(name, x, y))
        low.append(f"{tag}p{k}")
        high.append(f"{tag}m{k}")
    return low + high, text


def _odd_butterfly(values: list[str], real: str) -> Any:
    """The transform of an odd number of values, which pairs up conjugate roots."""
    n, half = len(values), (len(values) - 1) // 2
    text = []
    for r in range(1, half + 1):
        a, b = values[r], values[n - r]
        text.append(_named(f"s{r}", f"{a}.x + {b}.x", f"{a}.y + {b}.y"))
        text.append(_named(f"d{r}", f"{a}.x - {b}.x", f"{a}.y - {b}.y"))
    rows = range(1, half + 1)
    for part in "xy":
        total = " + ".join([f"{values[0]}.{part}", *(f"s{r}.{part}" for r in rows)])
        text.append(f"const FFT_REAL z0{part} = {total};")
    text.append(_named("z0", "z0x", "z0y"))
    names = ["z0", *([""] * (n - 1))]
    for k in rows:
        for part in "xy":
            roots = [cmath.exp(2j * math.pi * k * r / n) for r in rows]
            near = [
                f"{_number(root.real, real)} * s{r}.{part}"
                for r, root in enumerate(roots, start=1)
            ]
            far = [
                f"{_number(root.imag, real)} * d{r}.{part}"
                for r, root in enumerate(roots, start=1)
            ]
            first = " + ".join([f"{values[0]}.{part}", *near])
            text.append(f"const FFT_REAL a{k}{part} = {first};")
            text.append(f"const FFT_REAL b{k}{part} = {' + '.join(far)};")
        x, y, p, q = f"a{k}x", f"a{k}y", f"b{k}x", f"b{k}y"
        text.append(_named(f"z{k}", f"{x} + {q}", f"{y} - {p}"))
        text.append(_named(f"z{n - k}", f"{x} - {q}", f"{y} + {p}"))
        names[k], names[n - k] = f"z{k}", f"z{n - k}"
    return names, text


def complex_type(real: str) -> str:
    """The C type of complex numbers of ``real`` parts.

    >>> complex_type("ga_float")
    'ga_cfloat'
    """
    return f"ga_c{real.removeprefix('ga_')}"


def _text(
    stem: str, name: str, real: str, source: str, wide: bool, **others: str
) -> str:
    """The text of a kernel that reads an array of type ``source``."""
    swapped, plain = "in[at].y, in[at].x", "in[at]"
    if source == real:
        swapped, plain = "0, in[at]", "FFT_MAKE(in[at], 0)"
    types = {
        "FFT_T": complex_type(real),
        "FFT_REAL": real,
        "FFT_MAKE": f"ga_fft_make_{real[3]}",
    }
    words = {
        **types,
        "FFT_NAME": name,
        "FFT_SOURCE": source,
        "FFT_INDEX": "ga_size" if wide else "ga_uint",
        "FFT_LOAD(at, swap)": f"(swap ? FFT_MAKE({swapped}) : {plain})",
        **others,
    }
    make = once(kernel_text(__package__, "make", types))
    return make + kernel_text(__package__, stem, words)


@cache
def pass_source(
    radix: int, real: str, source: str, first: bool, wide: bool
) -> tuple[str, str]:
    """The name and the text of the kernel of a pass."""
    values = [f"v{r}" for r in range(radix)]
    if radix % 2:
        names, butterfly = _odd_butterfly(values, real)
    else:
        names, butterfly = _binary_butterfly(values, real, "u")
    words = {
        "FFT_RADIX": str(radix),
        "FFT_IS_FIRST": str(int(first)),
        "FFT_OTHERS(F)": " ".join(f"F({r})" for r in range(1, radix)),
        "FFT_BUTTERFLY": " ".join(butterfly),
        "FFT_RESULTS(F)": " ".join(f"F({r}, {z})" for r, z in enumerate(names)),
    }
    name = f"fft_pass_{radix}_{source}_{real}{'_first' * first}{'_wide' * wide}"
    return name, _text("pass", name, real, source, wide, **words)


OTHERS = ("fft_chirp_in", "fft_multiply", "fft_chirp_out", "fft_mirror")
"""The kernels of Bluestein's convolution, and of real input's mirrored half."""


def other_source(stem: str, real: str, source: str, wide: bool) -> tuple[str, str]:
    """The name and the text of one of the ``OTHERS``."""
    name = f"{stem}_{source}_{real}{'_wide' * wide}"
    return name, _text(stem.removeprefix("fft_"), name, real, source, wide)


def sources() -> list[tuple[str, str]]:
    """The name and the text of each kernel, for tests that compile them all."""
    texts = []
    for real in ("ga_float", "ga_double"):
        kind = complex_type(real)
        for radix in RADICES:
            texts.append(pass_source(radix, real, real, True, False))
            texts.append(pass_source(radix, real, kind, False, True))
        texts += [other_source(stem, real, kind, False) for stem in OTHERS]
    return texts
