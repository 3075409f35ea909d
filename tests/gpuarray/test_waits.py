"""What calls do not do: wait for the device, or compile again for a new shape."""

import gpuarray
import numpy as np
import pytest
from counters import MOST, called, kernels_of, may_wait, waits
from differential import cases
from functions import Draw

CASES = cases()
NAMES = sorted(CASES)
PARTS = 8
HOST = np.arange(60.0, dtype="f4").reshape(12, 5)

# What has no case of its own: indexing, assignment, views, and what makes arrays.
PROGRAMS = {
    "a[2:7, 1]": lambda a, i: a[2:7, 1],
    "a[..., None, ::-1]": lambda a, i: a[..., None, ::-1],
    "a[i]": lambda a, i: a[i],
    "a[i, 1:3]": lambda a, i: a[i, 1:3],
    "a[i, i % 5]": lambda a, i: a[i, i % 5],
    "a[a > 3] = 0": lambda a, i: a.__setitem__(a > 3, 0),
    "a[i] = a[i] + 1": lambda a, i: a.__setitem__(i, a[i] + 1),
    "a[2:4] *= 2": lambda a, i: a[2:4].__imul__(2),
    "a.T.copy()": lambda a, i: a.T.copy(),
    "a.astype": lambda a, i: a.astype("i2").astype("f8"),
    "add.at": lambda a, i: gpuarray.add.at(a, i, 1),
    "add.reduceat": lambda a, i: gpuarray.add.reduceat(a, [0, 3, 7]),
    "add.accumulate": lambda a, i: gpuarray.add.accumulate(a, 1),
    "where=": lambda a, i: gpuarray.exp(a, where=a > 3, out=a),
    "zeros": lambda a, i: gpuarray.zeros((3, 4), context=a.context),
    "full": lambda a, i: gpuarray.full((3, 4), 7, context=a.context),
    "eye": lambda a, i: gpuarray.eye(4, context=a.context),
    "put": lambda a, i: gpuarray.put(a, i, 5),
    "putmask": lambda a, i: gpuarray.putmask(a, a > 3, [1, 2]),
    "place": lambda a, i: gpuarray.place(a, a > 3, [1, 2]),
    "copyto": lambda a, i: gpuarray.copyto(a, 5, where=a > 3),
    "fill_diagonal": lambda a, i: gpuarray.fill_diagonal(a, [1, 2], wrap=True),
    "put_along_axis": lambda a, i: gpuarray.put_along_axis(a, i[:, None] % 5, 2, 1),
    "ravel_multi_index": lambda a, i: gpuarray.ravel_multi_index((i, i), (12, 12)),
    "unravel_index": lambda a, i: gpuarray.unravel_index(i, (4, 3)),
    "einsum": lambda a, i: gpuarray.einsum("ij,kj->ik", a, a),
    "float of a sum is late": lambda a, i: a.sum() + 1,
}


@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_waits_but_what_says_so(context, part):
    hidden, needless = [], []
    for name in NAMES[part::PARTS]:
        case = CASES[name]
        count = sum(called(case, Draw(seed), context, waits) for seed in range(3))
        if count and not may_wait(case, context):
            hidden.append(name)
        if not count and case.waits == "values":
            needless.append(name)
    assert (hidden, needless) == ([], [])


@pytest.mark.parametrize("program", PROGRAMS)
def test_indexing_and_making_arrays_do_not_wait(context, program):
    array = gpuarray.asarray(HOST, context=context)
    places = gpuarray.asarray(np.arange(12)[::-1].copy(), context=context)
    context.sync()
    before = context.waits
    PROGRAMS[program](array, places)
    assert context.waits == before


def test_what_goes_to_the_host_is_counted(context):
    array = gpuarray.asarray(HOST, context=context)
    context.sync()
    for read in (
        lambda: array.get(),
        lambda: float(array[0, 0]),
        lambda: bool(array.any()),
        lambda: array.tolist(),
        lambda: array[array > 3],
        context.sync,
    ):
        before = context.waits
        read()
        assert context.waits == before + 1


def test_writing_that_waits_for_queued_work_is_counted(context):
    """What is too large to be queued is written when the memory is surely free."""
    if not context.is_cpu:
        pytest.skip("bytes for a GPU lie in pinned memory until it is their turn")
    large = gpuarray.zeros(1 << 22, "f4", context)
    other = np.ones(1 << 16, "f4")
    context.sync()
    before = context.waits
    for _ in range(20):
        gpuarray.sin(large, out=large)
    gpuarray.asarray(other, context=context)
    assert context.waits == before + 1


@pytest.mark.parametrize("part", range(PARTS))
def test_new_shapes_compile_nothing(first_context, part, request):
    """Up to a few kernels for classes of shapes, which are told in ``counters``."""
    shapes = request.config.getoption("--shapes")
    made = {
        name: sum(kernels_of(CASES[name], shapes, first_context))
        for name in NAMES[part :: PARTS * (1 if shapes > 100 else 4)]
    }
    assert {name: count for name, count in made.items() if count > MOST} == {}
