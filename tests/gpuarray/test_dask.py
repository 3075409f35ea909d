"""Arrays as chunks of Dask, in this process and on a cluster."""

import re
import subprocess
import sys
from pathlib import Path

import dask
import dask.array
import gpuarray
import numpy as np
import pytest
import scipy.linalg
from dask.array import linalg
from dask.sizeof import sizeof
from distributed.protocol import deserialize, serialize
from gpuarray._interop import pickling
from launched import need_cards

HOST = np.random.default_rng(3).random((40, 60)).astype("f4")
TALL = np.random.default_rng(4).random((40, 6))
SQUARE = TALL.T @ TALL

PROGRAMS = {
    "sum": lambda x: (x + 1).sum(),
    "mean": lambda x: (x * 2).mean(axis=0),
    "product": lambda x: x @ x.T,
    "slices": lambda x: x[::3, 5:50],
    "exp": lambda x: np.exp(x).max(axis=1),
    "joined": lambda x: x.T.reshape(-1)[3:17],
    "contracted": lambda x: np.tensordot(x, x, axes=((1,), (1,))),
    "covariance": lambda x: np.cov(x[:5]),
    "corners": lambda x: np.trunc(x * 3 - 1) + np.angle(x - 1, deg=True),
}


@pytest.fixture
def on_device(first_context):
    """Dask in this thread, on the first context; nothing is copied unasked."""
    before = gpuarray.get_default_context()
    gpuarray.set_default_context(first_context)
    with dask.config.set(scheduler="sync"), gpuarray.implicit_conversion(False):
        yield
    gpuarray.set_default_context(before)


def chunked(host, chunks):
    return dask.array.from_array(gpuarray.asarray(host), chunks=chunks)


def computed(x):
    """The elements of Dask's array, whose chunks and meta are ours."""
    assert isinstance(x._meta, gpuarray.Array)
    result = x.compute()
    assert isinstance(result, gpuarray.Array)
    assert (result.dtype, result.shape) == (x.dtype, x.shape)
    return result.get()


@pytest.mark.parametrize("program", PROGRAMS)
def test_chunks(on_device, first_context, program):
    x = chunked(HOST, (20, 20))
    result = PROGRAMS[program](x).compute()
    assert isinstance(result, gpuarray.Array)
    assert result.context is first_context
    expected = PROGRAMS[program](HOST)
    np.testing.assert_allclose(result.get(), expected, rtol=1e-4, atol=1e-6)


# ---- linear algebra ----


@pytest.mark.filterwarnings("ignore::gpuarray.HostNotice")
def test_factors_of_tall_and_wide_arrays(on_device):
    for host, chunks in ((TALL, (10, 6)), (TALL.T, (6, 10))):
        x = chunked(host, chunks)
        u, s, v = linalg.svd(x)
        expected = np.linalg.svd(host, compute_uv=False)
        np.testing.assert_allclose(computed(s), expected)
        np.testing.assert_allclose(computed((u * s) @ v), host)
        q, r = linalg.qr(x)
        np.testing.assert_allclose(computed(q @ r), host)
    x, rng = chunked(TALL, (20, 3)), gpuarray.random.default_rng(1)
    s = linalg.svd_compressed(x, 6, seed=dask.array.random.default_rng(rng))[1]
    np.testing.assert_allclose(computed(s), expected)


@pytest.mark.filterwarnings("ignore::gpuarray.HostNotice")
def test_linear_systems(on_device):
    a, b = chunked(SQUARE, (3, 3)), chunked(SQUARE[:, 2] + 1, 3)
    expected = np.linalg.solve(SQUARE, SQUARE[:, 2] + 1)
    np.testing.assert_allclose(computed(linalg.solve(a, b, assume_a="pos")), expected)
    lower = computed(linalg.cholesky(a, lower=True))
    np.testing.assert_allclose(lower, np.linalg.cholesky(SQUARE), atol=1e-12)
    x = linalg.lstsq(chunked(TALL, (10, 6)), chunked(TALL @ expected, 10))[0]
    np.testing.assert_allclose(computed(x), expected)
    numpys = dask.array.from_array(np.tril(SQUARE), chunks=3)
    x = linalg.solve_triangular(numpys, numpys[:, 0], lower=True)
    np.testing.assert_allclose(x.compute(), np.eye(6)[0], atol=1e-12)


@pytest.mark.filterwarnings("ignore::gpuarray.HostNotice")
@pytest.mark.parametrize(
    ("dtype", "chunks"), [("f8", 4), ("c8", (1, 6, 2, 3)), ("i4", 12)]
)
def test_lu_factors_and_what_is_solved_by_them(on_device, dtype, chunks):
    """Rows are exchanged over whole columns, as LAPACK does."""
    host = np.random.default_rng(5).normal(size=(12, 12)) * 9
    host = (host + 1j * host.T).astype(dtype) if dtype == "c8" else host.astype(dtype)
    x, right = chunked(host, (chunks, chunks)), chunked(host[:, 2:5] + 1, (chunks, 2))
    close = {"rtol": 1e-3, "atol": 1e-3} if dtype == "c8" else {"atol": 1e-9}
    for found, wanted in zip(linalg.lu(x), scipy.linalg.lu(host), strict=True):
        np.testing.assert_allclose(computed(found), wanted, **close)
        assert found.dtype == wanted.dtype
    np.testing.assert_allclose(computed(linalg.inv(x)), np.linalg.inv(host), **close)
    wanted = np.linalg.solve(host, host[:, 2:5] + 1)
    np.testing.assert_allclose(computed(linalg.solve(x, right)), wanted, **close)
    vector = linalg.solve(x, right[:, 0])
    np.testing.assert_allclose(computed(vector), wanted[:, 0], **close)


@pytest.mark.filterwarnings("ignore::gpuarray.HostNotice")
def test_a_matrix_whose_chunks_cannot_be_inverted(on_device):
    turned = np.eye(6)[::-1]
    np.testing.assert_array_equal(computed(linalg.inv(chunked(turned, 2))), turned)
    p, lower, upper = linalg.lu(chunked(np.ones((4, 4)), 2))  # a pivot of 0
    np.testing.assert_array_equal(computed(p @ lower @ upper), np.ones((4, 4)))
    with pytest.raises(np.linalg.LinAlgError, match="inv: the matrix is singular"):
        linalg.inv(chunked(np.ones((4, 4)), 2)).compute().get()
    with pytest.raises(ValueError, match=r"lu: an array of shape \(40, 6\)"):
        linalg.lu(chunked(TALL, 2))
    with pytest.raises(ValueError, match=r"rows are in chunks of \(3, 3\), columns"):
        linalg.inv(chunked(SQUARE, (3, 2)))
    with pytest.raises(TypeError, match="inv: float16 is unsupported"):
        linalg.inv(chunked(SQUARE.astype("f2"), 3))


CALLED = {
    "cholesky": lambda: linalg.cholesky(chunked(SQUARE, 3)),
    "compression_level": lambda: (),  # a number
    "compression_matrix": lambda: linalg.compression_matrix(chunked(TALL, 20), 3),
    "inv": lambda: linalg.inv(chunked(SQUARE, 3)),
    "lstsq": lambda: linalg.lstsq(chunked(TALL, (10, 6)), chunked(TALL[:, 0], 10)),
    "lu": lambda: linalg.lu(chunked(SQUARE, 3)),
    "norm": lambda: linalg.norm(chunked(TALL, 20), "fro"),
    "qr": lambda: linalg.qr(chunked(TALL, (10, 6))),
    "sfqr": lambda: linalg.sfqr(chunked(TALL.T, (6, 10))),
    "solve": lambda: linalg.solve(chunked(SQUARE, 3), chunked(SQUARE, 3)),
    "solve_triangular": lambda: linalg.solve_triangular(
        chunked(SQUARE, 3), chunked(SQUARE[0], 3)
    ),
    "svd": lambda: linalg.svd(chunked(TALL, (10, 6))),
    "svd_compressed": lambda: linalg.svd_compressed(chunked(TALL, 20), 3),
    "tsqr": lambda: linalg.tsqr(chunked(TALL, (10, 6))),
}


@pytest.mark.filterwarnings("ignore::gpuarray.HostNotice")
def test_each_function_of_dasks_linear_algebra(on_device):
    """None is left to NumPy's chunks, nor is one that a later Dask has."""
    public = {
        name
        for name, function in vars(linalg).items()
        if getattr(function, "__module__", "") == linalg.__name__ and name[0] != "_"
    }
    assert public == set(CALLED)
    with dask.config.set({"array.backend": "gpuarray"}):
        for name, call in CALLED.items():
            results = call()
            for result in results if isinstance(results, tuple) else (results,):
                assert isinstance(result.compute(), gpuarray.Array), name


# ---- what Dask creates ----


def test_the_backend_creates_chunks(on_device):
    import dask.array as da

    with dask.config.set({"array.backend": "gpuarray"}):
        assert (computed(da.ones((4, 3), chunks=2)) == 1).all()
        assert (computed(da.full((4, 3), 7, chunks=2)) == 7).all()
        assert (computed(da.arange(7, chunks=3)) == np.arange(7)).all()
        x = da.from_array(HOST, chunks=20).to_backend("gpuarray")
        assert (computed(x) == HOST).all() and x.to_backend() is x
        assert isinstance(x.to_backend("numpy").compute(), np.ndarray)
        draws = computed(da.random.default_rng(5).random((30, 2), chunks=10))
        assert np.unique(draws).size == 60
        again = computed(da.random.default_rng(5).random((30, 2), chunks=10))
        assert (draws == again).all()
        for x in (
            *(da.random.random((9, 2), chunks=5), da.random.randint(3, size=9)),
            *(da.random.random_integers(3, size=9), da.random.normal(2, 1, size=9)),
            *(da.random.default_rng(1).choice(9, 5), da.random.permutation(9)),
        ):
            assert np.isfinite(computed(x)).all()


def test_a_generator_of_ours_draws_for_dask(on_device):
    rng = gpuarray.random.default_rng(2)
    draw = dask.array.random.default_rng(rng).integers
    first, second = (computed(draw(0, 99, 40, chunks=10)) for _ in range(2))
    assert (first != second).any() and np.unique(first).size > 20
    source = rng.bit_generator
    assert gpuarray.random.default_rng(source) is rng
    assert source.seed_seq.spawn_key == () and source.seed_seq.n_children_spawned == 8
    words = np.random.SeedSequence(3)
    assert gpuarray.random.BitGenerator(words).seed_seq is words


def test_percentiles_of_chunks(first_context, on_device):
    with gpuarray.implicit_conversion(True):  # Dask reads the few of each chunk
        x = dask.array.percentile(chunked(TALL.T.reshape(-1), 240), [20, 50])
        np.testing.assert_allclose(computed(x), np.percentile(TALL, [20, 50]))


def test_chunks_are_named_by_their_elements(null):
    a = gpuarray.asarray(HOST, context=null)
    name = dask.base.tokenize(a)
    assert name == dask.base.tokenize(a.copy())
    assert name != dask.base.tokenize(gpuarray.asarray(HOST + 1, context=null))
    assert name != dask.base.tokenize(gpuarray.asarray(HOST.T, context=null))


def test_how_large_they_are(null):
    a = gpuarray.asarray(HOST, context=null)
    dask.base.tokenize(a)
    assert sizeof(a) == a.nbytes


@pytest.mark.parametrize("serializers", [["dask"], ["pickle"]])
@pytest.mark.parametrize("dtype", ["f4", "bool", "c16", "bfloat16"])
def test_what_is_sent(null, dtype, serializers):
    kind = gpuarray.bfloat16 if dtype == "bfloat16" else dtype
    a = gpuarray.asarray((HOST * 3).astype(kind), context=null)
    header, frames = serialize(a, serializers=serializers)
    assert header["serializer"] == serializers[0]
    assert sum(memoryview(frame).nbytes for frame in frames) < a.nbytes + 1000
    b = deserialize(header, frames)
    assert (b.dtype, b.shape, b.context) == (a.dtype, a.shape, null)
    assert b.tolist() == a.tolist()


def test_a_processor_keeps_no_memory_of_what_is_spilled(first_context):
    a = [gpuarray.zeros((64, 1000), "f4", first_context) for _ in range(4)]
    while a:
        serialize(a.pop(), serializers=["dask"])
    last = gpuarray.zeros(100, "f4", first_context)
    serialize(last, serializers=["dask"])
    cached = first_context.memory_info().cached
    assert (cached <= last.nbytes) == first_context.is_cpu


@pytest.mark.parametrize("order", ["gpuarray distributed", "distributed gpuarray"])
def test_the_order_of_imports_does_not_matter(order):
    imports = "".join(f"import {name}\n" for name in order.split())
    program = """
from dask.array.dispatch import numel_lookup
from dask.sizeof import sizeof
from distributed.protocol import deserialize, serialize
a = gpuarray.zeros((20, 30), "float32", "null")
header, frames = serialize(a, serializers=["dask"])
assert deserialize(header, frames).shape == (20, 30)
assert sizeof(a) == a.nbytes
assert numel_lookup.dispatch(type(a)).__module__ == 'gpuarray._interop.dask'
"""
    subprocess.run([sys.executable, "-c", imports + program], check=True)


def test_the_package_does_not_load_dask():
    program = "import gpuarray, sys; sys.exit('dask' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_an_array_elsewhere_is_no_frame_of_cuda(null):
    a = gpuarray.asarray(HOST, context=null)
    header, _ = serialize(a, serializers=["cuda", "dask"])
    assert header["serializer"] == "dask"


# ---- a cluster of two workers ----

PAGE = Path(__file__).parents[2] / "docs" / "dask.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.M | re.S)


@pytest.fixture(scope="module")
def chapter():
    """What the page's first block makes, which starts the cluster; the last ends it."""
    scope = {"__name__": "__main__"}
    with dask.config.set({"array.backend": None}):
        exec(BLOCKS[0], scope)
        yield scope
        exec(BLOCKS[-1], scope)
    pickling.unpickle_at_default(False)


@pytest.mark.filterwarnings("ignore::gpuarray.HostNotice")
def test_the_chapter_on_arrays_larger_than_a_device(chapter):
    assert len(BLOCKS) == 4
    for block in BLOCKS[1:-1]:
        exec(block, chapter)


def test_a_device_for_each_worker(chapter, request):
    client = chapter["client"]
    names = request.config.gpuarray_contexts[:2]
    names = [*names, *names][:2]
    found = gpuarray.distributed.one_device_per_worker(client, names)
    assert sorted(found.values()) == sorted(names)
    x = dask.array.from_array(gpuarray.asarray(HOST), chunks=(20, 60))
    places = x.map_blocks(lambda x: np.array([[x.context.name]]), dtype=object)
    assert set(places.compute().ravel()) <= set(names)
    result = ((x + 1) @ x.T).mean(axis=0).compute()
    assert result.context is gpuarray.get_default_context()
    expected = ((HOST + 1) @ HOST.T).mean(axis=0)
    np.testing.assert_allclose(result.get(), expected, rtol=1e-4)
    if gpuarray.context(names[0]).kind == "cuda":
        need_cards(2)
    results = gpuarray.distributed.run_on_dask(client, on_its_device)
    assert sorted(results) == sorted(names)


def test_a_worker_without_such_a_device(chapter):
    client = chapter["client"]
    with pytest.raises(gpuarray.BadArgument, match="nowhere"):
        gpuarray.distributed.one_device_per_worker(client, ["nowhere"])


def on_its_device():
    with gpuarray.distributed.init() as comm:
        return comm.context.name


def test_a_process_has_one_device(null):
    from gpuarray._dask import workers

    before = gpuarray.get_default_context()
    plugin, other = workers.DevicePlugin(["null"]), workers.DevicePlugin(["null"])
    plugin.setup(None)
    (lock,) = workers._held.values()
    plugin.setup(None)  # of another worker in the same process
    assert lock is workers._held[plugin.token] and Path(lock.name).exists()
    assert workers._lock(f"{plugin.token}-null-0") is None
    other.setup(None)
    assert lock.closed and not Path(lock.name).exists()
    other.teardown(None)
    pickling.unpickle_at_default(False)
    gpuarray.set_default_context(before)
