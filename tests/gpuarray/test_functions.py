"""Every function that NumPy has too, with NumPy as the judge over all that it takes."""

import inspect
import types

import gpuarray
import numpy as np
import pytest
from differential import arrays_of, cases, differences
from functions import Draw, named
from gpuarray._names import OF_NUMPY
from hypothesis import HealthCheck, given, settings, strategies as st
from judge import assert_same

CASES = cases()
# Made from numbers, files or types and not from arrays, or in place: tested elsewhere.
ELSEWHERE = {
    *("arange", "array", "asanyarray", "asarray", "ascontiguousarray"),
    *("asfortranarray", "astype", "empty", "empty_like", "eye", "from_dlpack", "full"),
    *("full_like", "identity", "indices", "ones"),
    *("ones_like", "tri", "zeros", "zeros_like", "broadcast_shapes"),
    *("can_cast", "finfo", "iinfo", "isdtype", "result_type", "einsum_path"),
    *("load", "save", "savez", "savez_compressed", "may_share_memory", "put"),
    *("put_along_axis", "ravel_multi_index", "unravel_index"),
    *("permute_dims", "fft.fftfreq", "fft.rfftfreq", "get_include"),
    *("tril_indices", "triu_indices", "diag_indices", "fromfunction"),
    *("apply_along_axis", "apply_over_axes", "iscomplexobj", "isfortran", "isrealobj"),
    *("ndim", "shape", "shares_memory", "size", "common_type", "min_scalar_type"),
    *("promote_types", "copyto", "putmask", "place", "fill_diagonal", "piecewise"),
    *("array2string", "array_repr", "array_str", "ndenumerate"),
    *("bartlett", "blackman", "hamming", "hanning", "kaiser", "mask_indices"),
    *("asarray_chkfinite", "frombuffer", "fromfile", "fromiter", "fromstring"),
    # What they give is not unique; test_linalg_functions.py puts it together again.
    *("linalg.eig", "linalg.eigh", "linalg.eigvals", "linalg.qr", "linalg.svd"),
}


def functions():
    """Every public function that NumPy has by the same name."""
    for prefix in ("", "linalg", "fft"):
        ours = getattr(gpuarray, prefix) if prefix else gpuarray
        theirs = getattr(np, prefix) if prefix else np
        for name in dir(ours):
            function = getattr(ours, name)
            if name.startswith("_") or not hasattr(theirs, name) or name in OF_NUMPY:
                continue
            if isinstance(function, types.FunctionType) or hasattr(function, "nin"):
                yield f"{prefix}.{name}" if prefix else name


def test_every_function_has_a_case():
    assert set(functions()) - set(CASES) == ELSEWHERE


SEEDS = range(60)
# What has no meaning on a device, or is told elsewhere: where results go and how.
NOT_DRAWN = {
    *("out", "dtype", "device", "overwrite_input", "casting", "order"),
    "descending",  # NumPy's since 2.5; test_sort has it
}


def given_by(name, seed):
    """What a call gives: each parameter by its name."""
    arguments, options = CASES[name].draw(Draw(seed))
    try:
        parameters = inspect.signature(CASES[name].numpy())
    except ValueError:  # of functions in C that tell nothing of themselves
        return {**dict(enumerate(arguments)), **options}
    return parameters.bind(*arguments, **options).arguments


def form_of(value):
    """What tells two values of a parameter apart for the one who computes with them."""
    if isinstance(value, np.ndarray):
        return value.ndim, value.dtype.kind, value.size > 1
    if isinstance(value, list | tuple):
        return len(value), *map(form_of, value[:1])
    if isinstance(value, float):
        return float
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return np.sign(value) if is_number else str(value)


def telling(name, most):
    """A few seeds that together give as many forms of the parameters as they can."""
    forms = {
        seed: {(key, form_of(value)) for key, value in given_by(name, seed).items()}
        for seed in SEEDS
    }
    chosen, seen = [], set()
    while len(chosen) < most:
        seed = max(forms, key=lambda seed: len(forms[seed] - seen))
        if forms[seed] <= seen:
            break
        chosen.append(seed)
        seen |= forms[seed]
    return chosen


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_function_gives_what_numpy_gives(name, first_context):
    is_row = isinstance(CASES[name].numpy(), np.ufunc)  # whose rows have many tests
    seeds = telling(name, 2 if is_row else 8)
    found = [differences(CASES[name], seed, first_context) for seed in seeds]
    assert list(filter(None, found)) == []


@pytest.mark.parametrize("name", sorted(CASES))
def test_every_option_that_numpy_has_too_is_drawn(name):
    ours, theirs = named(gpuarray, name), CASES[name].numpy()
    if isinstance(theirs, np.ufunc):
        return
    try:
        known = set(inspect.signature(theirs).parameters)
    except ValueError:
        return
    shared = known & set(inspect.signature(ours).parameters) - NOT_DRAWN
    drawn = {each for seed in SEEDS for each in given_by(name, seed)}
    assert shared <= drawn


NUMBERS_ON_THE_DEVICE = {
    "roll": lambda xp, a, n: xp.roll(a, n),
    "split": lambda xp, a, n: xp.split(a, n),
    "array_split": lambda xp, a, n: xp.array_split(a, n),
    "histogram": lambda xp, a, n: xp.histogram(a, n),
    "var": lambda xp, a, n: xp.var(a, ddof=n),
    "nanstd": lambda xp, a, n: xp.nanstd(a, ddof=n),
    "repeat": lambda xp, a, n: xp.repeat(a, n),
    "linspace": lambda xp, a, n: xp.linspace(a[0], a[n], 5),
}


@pytest.mark.parametrize("name", NUMBERS_ON_THE_DEVICE)
def test_a_number_may_be_an_array(first_context, name):
    """It is read, as NumPy does with its arrays of no axis."""
    host = np.linspace(0, 3, 12), np.array(2)
    device = [gpuarray.asarray(one, context=first_context) for one in host]
    got = arrays_of(NUMBERS_ON_THE_DEVICE[name](gpuarray, *device))
    expected = arrays_of(NUMBERS_ON_THE_DEVICE[name](np, *host))
    for one, other in zip(got, expected, strict=True):
        assert_same(one, other)


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
@given(name=st.sampled_from(sorted(CASES)), seed=st.integers(100, 2**32 - 1))
def test_any_call_gives_what_numpy_gives(name, seed, context):
    assert differences(CASES[name], seed, context) == ""
