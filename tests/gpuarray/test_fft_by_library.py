"""``gpuarray.fft`` where a vendor has a library of transforms.

The tests of the functions themselves, with a library that NumPy stands for.
"""

import numpy as np
import pytest
from gpuarray._fft import vendor
from test_fft import (  # noqa: F401 (they are collected here, too)
    judged,
    test_axes_and_other_lengths,
    test_every_layout,
    test_norms,
    test_nothing_to_transform,
    test_one_element_is_its_own_transform,
    test_other_dtypes,
    test_several_axes,
    test_the_imaginary_parts_that_must_be_0_are_not_read,
    test_two_axes,
)
from vendor_libraries import Transforms


@pytest.fixture(autouse=True)
def library(context, monkeypatch):
    """A device whose vendor has the library."""
    if vendor.has_library(context):
        pytest.skip("the device's own library is tested with the functions")
    monkeypatch.delitem(context._kernels, "fft")
    seen = Transforms(context)
    monkeypatch.setattr(vendor, "lib", seen)
    assert vendor.has_library(context)
    return seen


@pytest.mark.parametrize(("axes", "calls"), [
    ((0,), 1), ((0, 2), 1), ((3, 1, 0), 1), ((0, 1, 2, 3), 4), ((1, 1), 2),
])  # fmt: skip
def test_up_to_three_axes_are_one_call(library, context, monkeypatch, axes, calls):
    ranks = []
    run = library.GpuArray_fft

    def counted(out, a, rank, inverse):
        ranks.append(rank)
        return run(out, a, rank, inverse)

    monkeypatch.setattr(library, "GpuArray_fft", counted, raising=False)
    host = np.random.default_rng(0).normal(size=(2, 3, 4, 5)).astype("complex64")
    judged("fftn", host, context, axes=axes)
    assert ranks == [len(axes)] if calls == 1 else ranks == [1] * calls
