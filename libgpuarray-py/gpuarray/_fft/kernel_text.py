"""C texts of the kernels of ``transforms``. Pure.

A kernel is made for a radix and a type. Where ``wide`` is not set its indices have 32
bits. Complex numbers are made by a function of a name that depends on their type.
"""

from __future__ import annotations

import cmath
import math
from functools import cache
from typing import Any

from gpuarray._kernels.texts import kernel_text

RADICES = (8, 13, 11, 7, 5, 3, 4, 2)
"""In the order in which they are divided out of a length."""


def _number(value: float, real: str) -> str:
    return f"{value.hex()}{'f' if real == 'ga_float' else ''}"


def _named(name: str, x: str, y: str, words: dict[str, str]) -> str:
    """C text that gives a complex number a name."""
    return f"const {words['T']} {name} = {words['make']}({x}, {y});"


def _product(name: str, source: str, factor: complex, words: dict[str, str]) -> str:
    """C text that names the product of a value and a constant."""
    real, imag = (_number(part, words["real"]) for part in (factor.real, factor.imag))
    x = f"{source}.x * {real} - {source}.y * {imag}"
    y = f"{source}.x * {imag} + {source}.y * {real}"
    return _named(name, x, y, words)


def _binary_butterfly(values: list[str], words: dict[str, str], tag: str) -> Any:
    """The transform of values whose number is a power of 2: names, and C text."""
    n = len(values)
    if n == 1:
        return values, []
    evens, text = _binary_butterfly(values[::2], words, f"{tag}e")
    odds, more = _binary_butterfly(values[1::2], words, f"{tag}o")
    text = text + more
    low, high = [], []
    for k, (even, odd) in enumerate(zip(evens, odds, strict=True)):
        turned = f"{tag}t{k}"
        if k == 0:
            turned = odd
        elif 4 * k == n:
            text.append(_named(turned, f"{odd}.y", f"-{odd}.x", words))
        else:
            text.append(_product(turned, odd, cmath.exp(-2j * math.pi * k / n), words))
        for name, sign in ((f"{tag}p{k}", "+"), (f"{tag}m{k}", "-")):
            x, y = (f"{even}.{part} {sign} {turned}.{part}" for part in "xy")
            text.append(_named(name, x, y, words))
        low.append(f"{tag}p{k}")
        high.append(f"{tag}m{k}")
    return low + high, text


def _odd_butterfly(values: list[str], words: dict[str, str]) -> Any:
    """The transform of an odd number of values, which pairs up conjugate roots."""
    n, half = len(values), (len(values) - 1) // 2
    make, kind = words["make"], words["T"]
    text = []
    for r in range(1, half + 1):
        a, b = values[r], values[n - r]
        text.append(f"const {kind} s{r} = {make}({a}.x + {b}.x, {a}.y + {b}.y);")
        text.append(f"const {kind} d{r} = {make}({a}.x - {b}.x, {a}.y - {b}.y);")
    rows = range(1, half + 1)
    for part in "xy":
        total = " + ".join([f"{values[0]}.{part}", *(f"s{r}.{part}" for r in rows)])
        text.append(f"const {words['real']} z0{part} = {total};")
    text.append(f"const {kind} z0 = {make}(z0x, z0y);")
    names = ["z0", *([""] * (n - 1))]
    for k in rows:
        for part in "xy":
            roots = [cmath.exp(2j * math.pi * k * r / n) for r in rows]
            near = [
                f"{_number(root.real, words['real'])} * s{r}.{part}"
                for r, root in enumerate(roots, start=1)
            ]
            far = [
                f"{_number(root.imag, words['real'])} * d{r}.{part}"
                for r, root in enumerate(roots, start=1)
            ]
            first = " + ".join([f"{values[0]}.{part}", *near])
            text.append(f"const {words['real']} a{k}{part} = {first};")
            text.append(f"const {words['real']} b{k}{part} = {' + '.join(far)};")
        x, y, p, q = f"a{k}x", f"a{k}y", f"b{k}x", f"b{k}y"
        text.append(f"const {kind} z{k} = {make}({x} + {q}, {y} - {p});")
        text.append(f"const {kind} z{n - k} = {make}({x} - {q}, {y} + {p});")
        names[k], names[n - k] = f"z{k}", f"z{n - k}"
    return names, text


def type_words(real: str, wide: bool) -> dict[str, str]:
    """The words of a text that depend on the type: T, real, make and index."""
    letter = "f" if real == "ga_float" else "d"
    return {
        "T": f"ga_c{real[3:]}",
        "real": real,
        "make": f"ga_fft_make_{letter}",
        "index": "ga_size" if wide else "ga_uint",
    }


def _support(words: dict[str, str]) -> str:
    make, kind, real = words["make"], words["T"], words["real"]
    return (
        f"#ifndef GA_ONCE_{make}\n#define GA_ONCE_{make}\n"
        f"GA_INLINE {kind} {make}({real} x, {real} y) {{\n"
        f"  {kind} z;\n  z.x = x;\n  z.y = y;\n  return z;\n}}\n#endif\n"
    )


def _load(words: dict[str, str], source: str, place: str, swap: str) -> str:
    """C text of an element that is read, of a real or a complex array."""
    make = words["make"]
    if source != words["T"]:
        return f"{swap} ? {make}(0, in[{place}]) : {make}(in[{place}], 0)"
    return f"{swap} ? {make}(in[{place}].y, in[{place}].x) : in[{place}]"


@cache
def pass_source(
    radix: int, real: str, source: str, first: bool, wide: bool
) -> tuple[str, str]:
    """The name and the text of the kernel of a pass: a work item makes one butterfly.

    The first pass has no factors, converts from ``source``, takes what is beyond its
    ``given`` elements as 0, and exchanges the parts if ``swap_in``.
    """
    words = type_words(real, wide)
    kind, ix = words["T"], words["index"]
    values = [f"v{r}" for r in range(radix)]
    if radix % 2:
        names, butterfly = _odd_butterfly(values, words)
    else:
        names, butterfly = _binary_butterfly(values, words, "u")
    loads = []
    for r in range(radix):
        if first:
            place = f"base + (j + {r} * m) * inner_"
            inside = f"j + {r} * m < given_"
            value = _load(words, source, place, "swap_in")
            loads.append(f"{kind} v{r} = {words['make']}(0, 0);")
            loads.append(f"if ({inside}) v{r} = {value};")
        elif r == 0:
            loads.append(f"const {kind} v0 = in[base + j * inner_];")
        else:
            loads.append(f"const {kind} x{r} = in[base + (j + {r} * m) * inner_];")
            loads.append(f"const {kind} w{r} = w[{r} * k * step];")
            x = f"x{r}.x * w{r}.x - x{r}.y * w{r}.y"
            y = f"x{r}.x * w{r}.y + x{r}.y * w{r}.x"
            loads.append(_named(f"v{r}", x, y, words))
    stores = [
        f"out[to + {r} * done_ * inner_] = swap_out ? "
        f"{words['make']}({z}.y * scale, {z}.x * scale) : "
        f"{words['make']}({z}.x * scale, {z}.y * scale);"
        for r, z in enumerate(names)
    ]
    body = "\n    ".join([*loads, *butterfly, *stores])
    unused = "" if not first else "(void)w; (void)step;"
    name = f"fft_pass_{radix}_{source}_{real}{'_first' * first}{'_wide' * wide}"
    text = f"""{_support(words)}KERNEL void {name}(
    GLOBAL_MEM {kind} *out, ga_size out_off, GLOBAL_MEM const {source} *in,
    ga_size in_off, GLOBAL_MEM const {kind} *w, ga_size w_off, ga_size total, ga_size n,
    ga_size inner, ga_size done, ga_size given, ga_uint swap_in, ga_uint swap_out,
    {real} scale) {{
  out = (GLOBAL_MEM {kind} *)((GLOBAL_MEM char *)out + out_off);
  in = (GLOBAL_MEM const {source} *)((GLOBAL_MEM const char *)in + in_off);
  w = (GLOBAL_MEM const {kind} *)((GLOBAL_MEM const char *)w + w_off);
  const {ix} inner_ = ({ix})inner, done_ = ({ix})done, given_ = ({ix})given;
  const {ix} m = ({ix})n / {radix}, step = m / done_;
  {unused}
  for (ga_size at = GID_0 * LDIM_0 + LID_0; at < total; at += GDIM_0 * LDIM_0) {{
    const {ix} g = ({ix})at, t = g / inner_, i = g - t * inner_;
    const {ix} o = t / m, j = t - o * m, k = j % done_;
    const {ix} base = o * given_ * inner_ + i;
    const {ix} to = (o * ({ix})n + (j - k) * {radix} + k) * inner_ + i;
    {body}
  }}
}}
"""
    return name, text


OTHERS = ("fft_chirp_in", "fft_multiply", "fft_chirp_out", "fft_mirror")
"""What is done around a convolution, and the whole of an array from its half."""


def other_source(stem: str, real: str, source: str, wide: bool) -> tuple[str, str]:
    """The name and the text of one of the ``OTHERS``."""
    words = type_words(real, wide)
    name = f"{stem}_{source}_{real}{'_wide' * wide}"
    load = _load(words, source, "from", "swap")
    text = kernel_text(
        __package__,
        stem.removeprefix("fft_"),
        {
            "FFT_NAME": name,
            "FFT_T": words["T"],
            "FFT_REAL": real,
            "FFT_SOURCE": source,
            "FFT_MAKE": words["make"],
            "FFT_INDEX": words["index"],
            "FFT_LOAD": f"({load})",
        },
    )
    return name, _support(words) + text


def sources() -> list[tuple[str, str]]:
    """The name and the text of each kernel, for tests that compile them all."""
    found = []
    for real in ("ga_float", "ga_double"):
        kind = type_words(real, False)["T"]
        for radix in RADICES:
            found.append(pass_source(radix, real, real, True, False))
            found.append(pass_source(radix, real, kind, False, True))
        found += [other_source(stem, real, kind, False) for stem in OTHERS]
    return found
