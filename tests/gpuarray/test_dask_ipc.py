"""Chunks that go between Dask's workers by handles of their memory.

Without a card a file stands in for the memory of another process: it is there while the
array is, so that who reads it later finds that it has gone.
"""

import contextlib
import os
import sys
import tempfile
import weakref
from pathlib import Path

import dask.array
import gpuarray
import numpy as np
import pytest

LARGE = 1 << 18  # of float64: what is sent by handles at least
counts = {"handles": 0, "opened": 0, "bytes": 0}  # of a worker's process


@contextlib.contextmanager
def two_workers(devices, prepare):
    """A client of two workers, which have run a function before they take devices."""
    from distributed import Client, LocalCluster
    from gpuarray._interop import pickling

    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(processes=True, **settings) as cluster, Client(cluster) as client:
        client.run(sys.path.insert, 0, str(Path(__file__).parent))
        client.run(prepare)
        gpuarray.distributed.one_device_per_worker(client, devices)
        yield client
    pickling.unpickle_at_default(False)


def count():
    """Count what this worker sends and opens."""
    from distributed.protocol.serialize import dask_serialize
    from gpuarray._dask import cuda_ipc

    to_bytes = dask_serialize.dispatch(gpuarray.Array)
    to_handle, opens = cuda_ipc.pygpu_array.get_ipc_handle, cuda_ipc._opened

    @dask_serialize.register(gpuarray.Array)
    def counted(x, context=None):
        counts["bytes"] += 1
        return to_bytes(x, context)

    def handle(x):
        counts["handles"] += 1
        return to_handle(x)

    def opened(header, where):
        counts["opened"] += 1
        return opens(header, where)

    cuda_ipc.pygpu_array.get_ipc_handle = handle
    cuda_ipc._opened = opened


def stand_in():
    """Have handles of this worker name files."""
    from gpuarray._dask import cuda_ipc

    def handle(x):
        number, name = tempfile.mkstemp()
        os.write(number, x.get().tobytes())
        os.close(number)
        weakref.finalize(x, Path(name).unlink)
        return name.encode()

    def opened(header, where):
        content = Path(header["handle"].decode()).read_bytes()
        host = np.frombuffer(content, header["dtype"]).reshape(header["shape"])
        return gpuarray.asarray(host, context=where)

    cuda_ipc.pygpu_array.get_ipc_handle = handle
    cuda_ipc._opened = opened
    count()


def refuse():
    """Have this worker open no handle."""
    from gpuarray._dask import cuda_ipc

    def opened(header, where):
        raise gpuarray.BadValue("cuIpcOpenMemHandle: no access to the peer")

    cuda_ipc._opened = opened


def forget(dask_worker):
    """Have this worker not know which others open its handles."""
    dask_worker.handlers["get_data"].__self__._opens.clear()


def on_each(client, size):
    """An array with a chunk on each worker."""
    parts = [
        client.submit(chunk, size, number, workers=[address], pure=False)
        for number, address in enumerate(sorted(client.run(os.getpid)))
    ]
    kinds = {"shape": (size,), "dtype": float}
    return [dask.array.from_delayed(part, **kinds) for part in parts]


def chunk(size, number):
    return gpuarray.arange(size, dtype=float) + number


def total(client, size):
    """The sum of chunks of both workers, one of which moves."""
    one, other = on_each(client, size)
    found = (one + other).sum().compute()
    assert float(found) == size * (size - 1) + size
    counted = client.run(lambda: __import__("test_dask_ipc").counts)
    return {name: sum(c[name] for c in counted.values()) for name in counts}


def test_chunks_move_by_handles(first_context):
    with two_workers([first_context.name], stand_in) as client:
        found = total(client, LARGE)
        assert found["handles"] == found["opened"] == 2  # one is a trial
        again = total(client, LARGE)
        assert 3 <= again["handles"] == again["opened"] <= 4
        assert again["bytes"] == 2  # the sums, which this process reads
        small = total(client, LARGE - 1)
        assert small["bytes"] == 4 and small["handles"] == again["handles"]
        client.run(refuse)
        lost = total(client, LARGE)  # asked for again, and sent as bytes
        assert lost["bytes"] == 6 and lost["opened"] == again["opened"]
        client.run(forget)
        total(client, LARGE)
        tried = total(client, LARGE)
        assert tried["handles"] <= lost["handles"] + 2  # a trial of each
        assert tried["bytes"] == 10 and tried["opened"] == again["opened"]


def layout(kind, size):
    """A chunk that is a view."""
    x = gpuarray.arange(size, dtype="float32")
    if kind == "columns":
        return x.reshape(size // 64, 64).T
    return x[7:][::-1] if kind == "backwards" else x[5::3].astype(gpuarray.bfloat16)


def is_same(x, kind, size):
    return bool((x == layout(kind, size)).all())


def test_chunks_move_from_card_to_card(request):
    """Or from one worker to another on one card."""
    cards = [n for n in request.config.gpuarray_contexts if n.startswith("cuda")]
    if not cards:
        pytest.skip("needs a CUDA device")
    with two_workers(cards[:2], count) as client:
        found = total(client, LARGE)
        assert found["handles"] == found["opened"] == 2
        addresses = sorted(client.run(os.getpid))
        for kind in ("columns", "backwards", "bfloat16"):
            here, there = (
                {"workers": [address], "pure": False} for address in addresses
            )
            x = client.submit(layout, kind, 16 * LARGE, **here)
            assert client.submit(is_same, x, kind, 16 * LARGE, **there).result()
        assert total(client, LARGE)["bytes"] == 2  # the sums, which this process reads


def test_nothing_but_large_arrays_of_cuda_has_a_handle(null):
    from gpuarray._dask import cuda_ipc

    for x in (3, np.zeros(LARGE), gpuarray.zeros(LARGE, context=null)):
        with pytest.raises(NotImplementedError):
            cuda_ipc._dumps(x)
    header = {"handle": bytes(64), "size": 8, "offset": 0, "dtype": "float64"}
    header |= {"shape": (1,), "strides": (8,), "context": "null"}
    with pytest.raises(OSError, match=r"CUDA IPC: .* only CUDA shares memory"):
        cuda_ipc._loads(header, [])
