"""Arrays as chunks of Dask, in this process and on a cluster."""

import subprocess
import sys

import dask
import dask.array
import gpuarray
import numpy as np
import pytest
from dask.sizeof import sizeof
from distributed import Client, LocalCluster
from distributed.protocol import deserialize, serialize

HOST = np.random.default_rng(3).random((40, 60)).astype("f4")

PROGRAMS = {
    "sum": lambda x: (x + 1).sum(),
    "mean": lambda x: (x * 2).mean(axis=0),
    "product": lambda x: x @ x.T,
    "slices": lambda x: x[::3, 5:50],
    "exp": lambda x: np.exp(x).max(axis=1),
    "joined": lambda x: x.T.reshape(-1)[3:17],
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_chunks(first_context, program):
    x = dask.array.from_array(
        gpuarray.asarray(HOST, context=first_context), chunks=(20, 20)
    )
    with dask.config.set(scheduler="sync"):
        result = PROGRAMS[program](x).compute()
    assert isinstance(result, gpuarray.Array)
    assert result.context is first_context
    np.testing.assert_allclose(result, PROGRAMS[program](HOST), rtol=1e-4)


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


def test_a_cluster(first_context):
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with cluster, Client(cluster):
        a = gpuarray.asarray(HOST, context=first_context)
        x = dask.array.from_array(a, chunks=(20, 30))
        result = ((x + 1) @ x.T).mean(axis=0).compute()
    assert isinstance(result, gpuarray.Array)
    np.testing.assert_allclose(result, ((HOST + 1) @ HOST.T).mean(axis=0), rtol=1e-4)
