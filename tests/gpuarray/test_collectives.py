"""Collectives: cliques without a device, errors of devices that have none.

Ranks that talk to each other need several of NVIDIA's cards (tests/two_ranks.py). A
clique of one is tested where there is a CUDA device.
"""

import pickle

import gpuarray
import numpy as np
import pytest
from gpuarray import collectives
from gpuarray.collectives import COMM_ID_BYTES, GpuComm, GpuCommCliqueId, _operation
from vendor_libraries import Ranks


def clique(fill, null):
    return GpuCommCliqueId(null, comm_id=bytes([fill]) * COMM_ID_BYTES)


def test_an_id_has_the_bytes_it_was_made_of(null):
    given = bytes(range(128)) + b"more"
    made = GpuCommCliqueId(null, comm_id=bytearray(given))
    assert made.comm_id == given[:128]
    made.comm_id = np.full(130, 7, "u1")
    assert made.comm_id == b"\x07" * 128


def test_an_id_that_is_too_short(null):
    with pytest.raises(ValueError, match="got 127 bytes, expected at least 128"):
        GpuCommCliqueId(null, comm_id=b"x" * 127)


def test_ids_compare_by_their_bytes(null):
    assert clique(1, null) == clique(1, null) != clique(2, null)
    assert clique(1, null) < clique(2, null) <= clique(2, null)
    assert clique(3, null) > clique(2, null) >= clique(1, null)
    assert hash(clique(1, null)) == hash(clique(1, null))
    with pytest.raises(TypeError):
        assert clique(1, null) < "text"
    assert clique(1, null) != "text"


def test_an_id_is_not_pickled(null):
    with pytest.raises(TypeError, match="send bytes"):
        pickle.dumps(clique(1, null))


@pytest.mark.parametrize(
    ("names", "code"),
    [("+ sum ADD", 0), ("* prod product mul", 1), ("max Maximum", 2), ("min", 3)],
)
def test_operations_by_their_names(names, code):
    assert {_operation(name) for name in names.split()} == {code}


@pytest.mark.parametrize("name", ["", "mean", 0, None])
def test_an_operation_that_is_none(name):
    with pytest.raises(ValueError, match="expected one of"):
        _operation(name)


def test_a_device_without_collectives(null):
    with pytest.raises(gpuarray.Unsupported, match="offered on CUDA, by NCCL"):
        GpuCommCliqueId(null)
    with pytest.raises(gpuarray.Unsupported, match="offered on CUDA, by NCCL"):
        GpuComm(clique(1, null), 1, 0)


def test_opencl_has_no_collectives(context):
    if context.kind == "cuda":
        pytest.skip("CUDA has them")
    with pytest.raises(
        gpuarray.Unsupported, match=f"{context.name} has no collectives"
    ):
        GpuComm(clique(1, context), 1, 0)


# ---- one of three ranks, whose library NumPy stands for ----


@pytest.fixture(params=[0, 2])
def one(request, first_context, monkeypatch):
    """A rank, and the library."""
    library = Ranks(first_context, 3, request.param)
    monkeypatch.setattr(collectives, "lib", library)
    clique = GpuCommCliqueId(first_context, comm_id=bytes(range(128)))
    return GpuComm(clique, 3, request.param), library


LAYOUTS = {
    "c": lambda host: host,
    "fortran": np.asfortranarray,
    "vector": lambda host: host[:, 0, 0].copy(),
}


@pytest.fixture(params=LAYOUTS)
def mine(request, first_context):
    """An array of a rank's, and its elements."""
    host = LAYOUTS[request.param](np.arange(1.0, 73).reshape(6, 2, 6))
    return gpuarray.asarray(host, context=first_context), host


def outermost(host):
    """The axis of the largest stride."""
    return int(np.argmax(host.strides))


def same_layout(got, host):
    np.testing.assert_array_equal(got, host)
    assert got.dtype == host.dtype
    assert np.argsort(got.strides).tolist() == np.argsort(host.strides).tolist()


def test_a_rank_knows_its_number(one):
    comm, library = one
    assert (comm.count, comm.rank) == (3, library.rank)


@pytest.mark.parametrize(("op", "fold"), [
    ("sum", lambda x: 3 * x), ("prod", lambda x: x**3), ("max", np.copy),
    ("min", np.copy),
])  # fmt: skip
def test_reductions_of_ranks(one, mine, first_context, op, fold):
    (comm, library), (a, host) = one, mine
    wanted = np.asarray(fold(host), order="K")
    parts = np.split(wanted, 3, outermost(host))
    for root in (-1, comm.rank):
        same_layout(comm.reduce(a, op, root=root), wanted)
    same_layout(comm.all_reduce(a, op), wanted)
    part = comm.reduce_scatter(a, op)
    np.testing.assert_array_equal(part, np.asarray(parts[comm.rank]))
    out = gpuarray.zeros(host.shape, "float64", first_context)
    for call in (comm.all_reduce, comm.reduce):
        out[...] = 0
        assert call(a, op, out) is None
        assert float(np.asarray(out).sum()) == wanted.sum()
    half = gpuarray.zeros(host.size // 3, "float64", first_context)
    assert comm.reduce_scatter(a, op, half) is None
    assert float(np.asarray(half).sum()) == parts[comm.rank].sum()
    assert library.sent == []


def test_what_is_reduced_for_another_rank_is_sent(one, mine):
    (comm, library), (a, host) = one, mine
    assert comm.reduce(a, "max", root=1) is None
    assert library.sent == [(1, 2, host.ravel("K").tolist())]


def test_an_axis_of_one_row_for_each_rank_is_dropped(one, first_context):
    comm, _ = one
    for order, shape in (("C", (3, 4, 2)), ("F", (4, 2, 3))):
        host = np.asarray(np.arange(24.0).reshape(shape), order=order)
        part = comm.reduce_scatter(gpuarray.asarray(host, context=first_context), "sum")
        assert part.shape == (4, 2)
        row = host[comm.rank] if order == "C" else host[..., comm.rank]
        np.testing.assert_array_equal(part, 3 * row)
        assert part.flags.f_contiguous == (order == "F")


def test_broadcasts_of_ranks(one, mine):
    (comm, library), (a, host) = one, mine
    comm.broadcast(a)
    comm.broadcast(a, root=comm.rank)
    assert library.sent == [(comm.rank, host.ravel("K").tolist())] * 2
    np.testing.assert_array_equal(a, host)
    comm.broadcast(a, root=1)
    np.testing.assert_array_equal(a, np.full(host.shape, 1.0))


@pytest.mark.parametrize("up", [0, 1, 2, 3])
def test_gathering_of_ranks(one, mine, first_context, up):
    (comm, _), (a, host) = one, mine
    is_fortran = outermost(host) > 0
    if up == 0:
        wanted = np.concatenate([host] * 3, outermost(host))
    else:
        wanted = np.stack([host] * 3, -1 if is_fortran else 0)
        for _ in range(up - 1):
            wanted = wanted[..., None] if is_fortran else wanted[None]
    got = comm.all_gather(a, nd_up=up)
    np.testing.assert_array_equal(got, wanted)
    assert got.flags.f_contiguous == (is_fortran or host.ndim + up == 1)
    out = gpuarray.zeros(3 * host.size, "float64", first_context)
    assert comm.all_gather(a, out) is None
    np.testing.assert_array_equal(out, np.tile(host.ravel("K"), 3))


def test_what_ranks_cannot_divide_is_refused(one, first_context):
    comm, _ = one
    scalar = gpuarray.zeros((), context=first_context)
    with pytest.raises(TypeError, match="0-d array cannot be divided among ranks"):
        comm.reduce_scatter(scalar, "sum")
    with pytest.raises(TypeError, match="0-d array has no axis to grow"):
        comm.all_gather(scalar, nd_up=0)
    assert comm.all_gather(scalar).shape == (3,)
    for shape, order, axis in (((4, 3), "C", 0), ((3, 4), "F", 1)):
        a = gpuarray.zeros(shape, context=first_context)
        a = a.copy("F") if order == "F" else a
        with pytest.raises(TypeError, match=f"axis {axis} .* not divisible by 3 ranks"):
            comm.reduce_scatter(a, "sum")
    with pytest.raises(ValueError, match="nd_up is -1, expected 0 or more"):
        comm.all_gather(scalar, nd_up=-1)
    with pytest.raises(TypeError, match="expected a gpuarray array"):
        comm.all_reduce(np.zeros(3), "sum")


# ---- one rank on a card ----


@pytest.fixture(scope="module")
def alone():
    """A clique of one on cuda0."""
    try:
        cuda = gpuarray.context("cuda0")
    except (gpuarray.DeviceNotFound, gpuarray.LibraryMissing):
        pytest.skip("there is no CUDA device")
    return GpuComm(GpuCommCliqueId(cuda), 1, 0)


def numbers(alone, shape, dtype="float32", order="C"):
    host = np.arange(1, 1 + np.prod(shape)).reshape(shape).astype(dtype)
    return gpuarray.asarray(np.asarray(host, order=order), context=alone.context), host


def test_a_clique_of_one(alone):
    assert (alone.count, alone.rank) == (1, 0)


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64", "f2", "f4", "f8"]
)
@pytest.mark.parametrize("op", ["sum", "prod", "max", "min"])
def test_reductions_of_one_rank_give_its_elements(alone, dtype, op):
    a, host = numbers(alone, (3, 4), dtype)
    np.testing.assert_array_equal(alone.all_reduce(a, op), host)
    np.testing.assert_array_equal(alone.reduce(a, op), host)
    out = gpuarray.zeros((12,), dtype, alone.context)
    assert alone.reduce(a, op, out, root=0) is None
    np.testing.assert_array_equal(out, host.ravel())


@pytest.mark.parametrize("order", ["C", "F"])
def test_scatter_and_gather(alone, order):
    """The outermost axis is the first in C order and the last in Fortran order."""
    outward = slice(None) if order == "C" else slice(None, None, -1)
    a, host = numbers(alone, (1, 2, 4)[outward], order=order)
    part = alone.reduce_scatter(a, "+")
    assert part.shape == (2, 4)[outward]
    np.testing.assert_array_equal(part, host.reshape(part.shape))
    for up, shape in ((0, (1, 2, 4)), (1, (1, 1, 2, 4)), (3, (1, 1, 1, 1, 2, 4))):
        gathered = alone.all_gather(a, nd_up=up)
        assert gathered.shape == shape[outward]
        np.testing.assert_array_equal(gathered, host.reshape(gathered.shape))
    with pytest.raises(ValueError, match="nd_up"):
        alone.all_gather(a, nd_up=-1)


def test_messages_and_exchanges_with_itself(alone):
    a, host = numbers(alone, (4, 3))
    np.testing.assert_array_equal(alone.all_to_all(a.T), host.T)
    out = gpuarray.zeros((4, 3), "float32", alone.context)
    assert alone.gather(a, out, 0) is None
    np.testing.assert_array_equal(out, host)
    assert alone.scatter(a[::-1], out, 0) is None
    np.testing.assert_array_equal(out, host[::-1])
    assert alone.all_to_all(out, out) is None
    np.testing.assert_array_equal(out, host[::-1])
    alone.check_state()


def test_an_aborted_clique():
    try:
        cuda = gpuarray.context("cuda0")
    except (gpuarray.DeviceNotFound, gpuarray.LibraryMissing):
        pytest.skip("there is no CUDA device")
    comm = GpuComm(GpuCommCliqueId(cuda), 1, 0)
    comm.abort()
    comm.abort()
    for call in (
        comm.check_state,
        lambda: comm.broadcast(gpuarray.zeros(3, "f4", cuda)),
    ):
        with pytest.raises(gpuarray.BackendError, match="was closed or aborted"):
            call()


def test_strided_arrays_go_by_copies(alone):
    a, host = numbers(alone, (6, 8))
    out = gpuarray.zeros((6, 8), "float32", alone.context)
    alone.all_reduce(a[::2, ::-2], "sum", out[::2, 1::2])
    expected = np.zeros((6, 8), "float32")
    expected[::2, 1::2] = host[::2, ::-2]
    np.testing.assert_array_equal(out, expected)
    alone.broadcast(out[:, ::3])
    np.testing.assert_array_equal(out, expected)


def test_types_that_are_only_moved(alone):
    a, host = numbers(alone, (5,), "int16")
    alone.broadcast(a, root=0)
    np.testing.assert_array_equal(alone.all_gather(a, nd_up=0), host)
    with pytest.raises(gpuarray.BadArgument, match="int16 cannot be reduced"):
        alone.all_reduce(a, "sum")


def test_arguments_that_do_not_fit(alone):
    a, _ = numbers(alone, (5,))
    with pytest.raises(ValueError, match="root 1 of 1"):
        alone.broadcast(a, root=1)
    with pytest.raises(ValueError, match="expected 1 elements of the source"):
        alone.all_reduce(a, "sum", gpuarray.zeros((4,), "float32", alone.context))
    with pytest.raises(TypeError, match="expected a gpuarray array"):
        alone.all_reduce(np.zeros(3), "sum")
