"""Every function that NumPy has too, with NumPy as the judge over all that it takes."""

import types

import gpuarray
import numpy as np
import pytest
from differential import arrays_of, cases, differences
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from judge import assert_same

CASES = cases()
# Made from numbers, files or types and not from arrays, or in place: tested elsewhere.
ELSEWHERE = {
    *("arange", "array", "asanyarray", "asarray", "ascontiguousarray"),
    *("asfortranarray", "astype", "empty", "empty_like", "eye", "from_dlpack", "full"),
    *("full_like", "geomspace", "identity", "indices", "linspace", "logspace", "ones"),
    *("ones_like", "tri", "zeros", "zeros_like", "ix_", "broadcast_shapes"),
    *("can_cast", "finfo", "iinfo", "isdtype", "result_type", "einsum_path"),
    *("load", "save", "savez", "savez_compressed", "may_share_memory", "put"),
    *("put_along_axis", "ravel_multi_index", "unravel_index"),
    *("permute_dims", "fft.fftfreq", "fft.rfftfreq", "get_include"),
    *("tril_indices", "triu_indices", "diag_indices", "fromfunction"),
    *("apply_along_axis", "apply_over_axes"),
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
            if name.startswith("_") or not hasattr(theirs, name):
                continue
            if isinstance(function, types.FunctionType) or hasattr(function, "nin"):
                yield f"{prefix}.{name}" if prefix else name


def test_every_function_has_a_case():
    assert set(functions()) - set(CASES) == ELSEWHERE


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_function_gives_what_numpy_gives(name, first_context):
    found = [differences(CASES[name], seed, first_context) for seed in range(3)]
    assert list(filter(None, found)) == []


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
