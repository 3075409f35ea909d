"""One call with NumPy on the host and with the package on a device, and the comparison.

As a program it draws many: python tests/differential.py --context cuda0 --cases 100000
"""

from __future__ import annotations

import argparse
import ctypes
import inspect
import math
import sys
import time
import warnings
from collections import Counter

import gpuarray
import numpy as np
from functions import CASES, Case, Draw, elementwise, named
from judge import RTOL

SAME_PLACE = {"partition", "argpartition"}  # any order but for one place


def cases() -> dict[str, Case]:
    """Every case by its name: the table's ufuncs that NumPy has, and those by hand."""
    functions = {name: getattr(gpuarray, name) for name in dir(gpuarray)}
    made = {
        name: elementwise(name, function.nin)
        for name, function in functions.items()
        if hasattr(function, "nin") and isinstance(getattr(np, name, None), np.ufunc)
    }
    return made | CASES


def on(context, host):
    """The same elements in the same layout on a context."""
    if host.flags.c_contiguous or host.size == 0:
        return gpuarray.asarray(host, context=context)
    steps = [s * (n - 1) for s, n in zip(host.strides, host.shape, strict=True)]
    low, high = sum(min(s, 0) for s in steps), sum(max(s, 0) for s in steps)
    raw = ctypes.string_at(host.ctypes.data + low, high - low + host.itemsize)
    flat = gpuarray.asarray(np.frombuffer(raw, host.dtype), context=context)
    return flat.strided(host.shape, host.strides, -low)


def moved(value, context):
    """An argument, with its arrays on a context."""
    if isinstance(value, np.ndarray):
        return on(context, value)
    if isinstance(value, list | tuple):
        return type(value)(moved(one, context) for one in value)
    return value


def arrays_of(result):
    """The arrays of a result, which may be nested in tuples and lists."""
    if isinstance(result, list | tuple):
        return [array for one in result for array in arrays_of(one)]
    return [result]


def outcome(function, args, options):
    """What a call gives, or the exception that it raises."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*args, **options)
    except Exception as error:
        return error


def differences(case: Case, seed: int, context) -> str:
    """How the package's outcome differs from NumPy's; empty if it does not."""
    args, options = case.draw(Draw(seed))
    expected = outcome(case.numpy(), args, options)
    options = without_defaults(case.numpy(), options) if seed % 2 else options
    theirs = [moved(one, context) for one in args]
    keywords = {key: moved(value, context) for key, value in options.items()}
    got = outcome(named(gpuarray, case.name), theirs, keywords)
    if not isinstance(got, Exception):
        waited = outcome(context.sync, (), {})
        got = waited if isinstance(waited, Exception) else got
    found = _compared(case, expected, got, args)
    if not found:
        return ""
    given = ", ".join(map(_short, (*args, *options.items())))
    return f"{case.name}({given}), seed {seed}: {found}"


def without_defaults(function, options):
    """The options that are not what NumPy's function takes without them."""
    try:
        known = inspect.signature(function).parameters
    except ValueError:
        return options
    return {
        key: value
        for key, value in options.items()
        if key not in known
        or not isinstance(value, bool | int | float | str | None)
        or (type(value), value) != (type(known[key].default), known[key].default)
    }


def _short(value):
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    return str(value) if not isinstance(value, list) else str(list(map(_short, value)))


def _compared(case, expected, got, args):
    if isinstance(expected, Exception):
        own = (ArithmeticError, IndexError, TypeError, ValueError, NotImplementedError)
        kinds = tuple(kind for kind in own if isinstance(expected, kind)) or Exception
        if isinstance(got, Exception):
            fits = isinstance(got, kinds)
            name = type(expected).__name__
            return "" if fits else f"{type(got).__name__}: {got}; NumPy: {name}"
        return f"no error; NumPy: {type(expected).__name__}: {expected}"
    if isinstance(got, Exception):
        return f"{type(got).__name__}: {got}"
    many = [isinstance(each, list | tuple) for each in (got, expected)]
    if many[0] != many[1]:
        return f"{type(got).__name__}, NumPy: {type(expected).__name__}"
    ours, theirs = arrays_of(got), arrays_of(expected)
    if len(ours) != len(theirs):
        return f"{len(ours)} results, NumPy: {len(theirs)}"
    scale = max((_scale(one) for one in arrays_of(args)), default=0.0)
    pairs = zip(ours, theirs, strict=True)
    texts = (_unlike(case, one, np.asarray(other), scale) for one, other in pairs)
    return next(filter(None, texts), "")


def _scale(value):
    """The largest finite magnitude of an argument."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fciu":
        return 0.0
    wide = np.abs(value.astype(complex if value.dtype.kind == "c" else float))
    return float(wide[np.isfinite(wide)].max(initial=0.0))


def _unlike(case, got, expected, scale):
    host = np.asarray(got)
    if host.shape != expected.shape:
        return f"shape {host.shape}, NumPy: {expected.shape}"
    if hasattr(got, "dtype") and host.dtype != expected.dtype:
        return f"dtype {host.dtype}, NumPy: {expected.dtype}"
    if case.name in SAME_PLACE:
        return ""
    if expected.dtype.name not in RTOL:
        same = np.array_equal(host, expected)
    else:
        rtol = RTOL[expected.dtype.name] * case.rtol
        size = _scale(expected)
        atol = rtol * (1e-2 * size if case.rtol <= 4 else max(size, scale))
        with np.errstate(all="ignore"):
            close = np.isclose(host, expected, rtol, atol, equal_nan=True)
        if expected.dtype.kind == "c":  # which of the parts overflowed is nobody's
            close |= ~np.isfinite(host) & ~np.isfinite(expected)
        same = close.all()
    return "" if same else f"got\n{host}\nNumPy:\n{expected}"


def main():
    """Draw cases of all functions, or of those named; print what differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--context", required=True)
    parser.add_argument("--cases", type=int, default=10000)
    parser.add_argument("--seconds", type=float, default=math.inf, help="at most")
    parser.add_argument("--seed", type=int, default=0, help="of the first draw of each")
    parser.add_argument("--short", action="store_true", help="a line a difference")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    context = gpuarray.context(options.context)
    chosen = cases()
    if options.names:
        chosen = {name: chosen[name] for name in options.names}
    wrong: Counter[str] = Counter()
    names = list(chosen)
    done, end = 0, time.monotonic() + options.seconds
    while done < options.cases and time.monotonic() < end:
        case = chosen[names[done % len(names)]]
        found = differences(case, options.seed + done // len(names), context)
        done += 1
        if found:
            wrong[case.name] += 1
            if wrong[case.name] <= 3:
                found = found.replace("\n", " ")[:240] if options.short else found
                print(found, flush=True)
    print(
        f"{options.context}, seed {options.seed}: {done} cases of {len(names)} "
        f"functions: {dict(wrong) or 'alike'}"
    )
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
