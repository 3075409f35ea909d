"""Calls with one argument that is not as it should be: NumPy says what is refused.

Each call that a case draws is made again with one of its arguments spoiled: an array
with an axis more or less, a number out of range, a word that is none. What NumPy
refuses is refused.
"""

import gpuarray
import numpy as np
import pytest
from differential import _short, cases, moved, outcome
from functions import Draw, named

CASES = {
    name: case
    for name, case in cases().items()
    if not isinstance(case.numpy(), np.ufunc)
}
SEEDS = range(2)


def spoiled(value):
    """What may be given by mistake in the place of an argument."""
    if is_array(value):
        found = [value[None], value[..., None], value.ravel(), value.reshape(-1)[:0]]
        found = [one for one in found if one.shape != value.shape]
        wider = {"f": ["complex128"], "c": []}
        kinds = wider.get(value.dtype.kind, ["float64", "complex128"])
        return found + [value.astype(kind) for kind in kinds]
    if isinstance(value, bool | None):
        return []
    if isinstance(value, str):
        return ["nonsense", ""]
    if isinstance(value, int):
        return [value + 50, -50]
    if isinstance(value, tuple | list) and any(map(is_array, value)):
        return [[x, *value[1:]] for x in spoiled(value[0])]
    if isinstance(value, tuple | list):
        return [type(value)([*value, *value[:1]]), value[:-1]]
    return []


def is_array(value):
    return isinstance(value, np.ndarray)


def calls(name):
    """The calls of some seeds with an argument spoiled."""
    for seed in SEEDS:
        arguments, options = CASES[name].draw(Draw(seed, special=False))
        for place, value in enumerate(arguments):
            for wrong in spoiled(value):
                yield (*arguments[:place], wrong, *arguments[place + 1 :]), options
        for key, value in options.items():
            for wrong in spoiled(value):
                yield arguments, {**options, key: wrong}


@pytest.mark.parametrize("name", sorted(CASES))
def test_what_numpy_refuses_is_refused(name, first_context):
    for arguments, options in calls(name):
        expected = outcome(CASES[name].numpy(), arguments, options)
        if not isinstance(expected, Exception) or is_odd(name, arguments, options):
            continue
        theirs = [moved(one, first_context) for one in arguments]
        keywords = {key: moved(one, first_context) for key, one in options.items()}
        got = outcome(named(gpuarray, name), theirs, keywords)
        late = outcome(first_context.sync, (), {})  # of indices on the device
        got = late if isinstance(late, Exception) else got
        given = ", ".join(map(_short, (*arguments, *options.items())))
        said = f"{name}({given}): {got!r}, NumPy: {expected!r}"
        assert isinstance(got, gpuarray.GpuArrayError), said


def is_odd(name, arguments, options):
    """Whether NumPy stumbles over what has no elements."""
    if name == "linalg.tensorinv":
        return arguments[0].size == 0
    bins = options.get("bins", ())
    return isinstance(bins, list) and not all(map(np.size, bins))
