"""Contexts: what there is, and which one is the default where."""

import asyncio
import threading

import gpuarray
import numpy as np
import pytest
from gpuarray._core.opening import current_context


def test_what_there_is(context):
    found = {device.context: device for device in gpuarray.devices()}
    device = found[context.name]
    assert device.name == context.device_name
    assert device.kind == context.kind
    assert device.memory == context.total_memory > 0
    assert device.is_cpu == context.is_cpu
    assert device.problem == ""


def test_the_context_of_a_block(null, first_context):
    before = gpuarray.get_default_context()
    with first_context as chosen:
        assert chosen is first_context
        assert gpuarray.zeros((2,)).context is first_context
        with null:
            assert gpuarray.get_default_context() is null
            with null.as_default(), first_context:
                assert current_context() is first_context
            assert current_context() is null
        assert gpuarray.get_default_context() is first_context
    assert gpuarray.get_default_context() is before
    assert current_context() is None


def test_a_block_that_fails_ends(null):
    with pytest.raises(KeyError), null:
        raise KeyError
    assert current_context() is None


def test_other_threads_have_their_own(null):
    seen = []
    with null:
        thread = threading.Thread(target=lambda: seen.append(current_context()))
        thread.start()
        thread.join()
    assert seen == [None]


def test_tasks_have_their_own(null, first_context):
    async def within(context, mine, other):
        with context:
            mine.set()
            await other.wait()
            return current_context()

    async def both():
        a, b = asyncio.Event(), asyncio.Event()
        return await asyncio.gather(
            within(null, a, b), within(first_context.as_default(), b, a)
        )

    assert asyncio.run(both()) == [null, first_context]


def test_what_is_no_context():
    with pytest.raises(TypeError, match="a context or queue of PyOpenCL"):
        gpuarray.context(7)


def test_copies_between_contexts(null, context):
    a = gpuarray.asarray([[1.0, 2.0], [3.0, 4.0]], context=context)
    there = a.T.to_device(null)
    assert there.context is null
    assert there.tolist() == [[1, 3], [2, 4]]
    assert there.to_device(context).context is context
    assert a.to_device(context) is a
    assert a.transfer(context.name) is a


# ---- libgpuarray's names ----


def test_what_a_context_tells(context):
    assert context.devname == context.device_name
    assert context.ptr != 0
    assert context.numprocs == context.processors > 0
    assert context.lmemsize == context.local_memory > 0
    assert context.total_gmem >= context.free_gmem > 0
    assert context.largest_memblock > 0
    assert context.maxlsize0 >= context.maxlsize2 > 0
    assert min(context.maxgsize0, context.maxgsize1, context.maxgsize2) > 0
    assert context.maxlsize1 > 0
    assert isinstance(context.bin_id, bytes)
    if context.kind == "cuda":
        assert ":" in context.unique_id
    assert gpuarray.count_platforms(context.kind) > 0
    assert gpuarray.count_devices(context.kind, 0) > 0


def test_the_library_of_products_is_opened_meanwhile(context):
    context.open_blas()
    context.open_blas()
    a = gpuarray.asarray(np.eye(3, dtype="float32"), context=context)
    assert np.asarray(a @ a).tolist() == np.eye(3).tolist()


def test_a_context_that_opens_a_library_can_be_closed():
    made = gpuarray.context("null")
    made.open_blas()
    made.close()
    with pytest.raises(gpuarray.errors.ContextClosed):
        made.open_blas()


def test_init_takes_options(tmp_path):
    gpuarray.context("null").close()
    made = gpuarray.init(
        "null",
        sched="multi",
        single_stream=True,
        kernel_cache_path=str(tmp_path),
        max_cache_size=1 << 20,
        initial_cache_size=4096,
    )
    try:
        assert gpuarray.context("null") is made
        assert made.limit == 1 << 20
        with pytest.raises(NotImplementedError, match="a single stream"):
            made.new_queue()
        with pytest.raises(ValueError, match="null is open already"):
            gpuarray.init("null", single_stream=True)
        assert gpuarray.init("null") is made
    finally:
        made.close()


def test_options_that_are_refused():
    with pytest.raises(TypeError, match="sched is 'never'"):
        gpuarray.init("null", sched="never")
    with pytest.raises(ValueError, match="expected a name such as cuda0"):
        gpuarray.init("opencl", single_stream=True)
    gpuarray.context("null").close()
    with pytest.raises(ValueError, match="above the maximum"):
        gpuarray.init("null", max_cache_size=1, initial_cache_size=4096)
