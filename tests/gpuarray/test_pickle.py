"""Pickles, copies and files of arrays."""

import copy
import io
import pickle
import subprocess
import sys

import gpuarray
import numpy as np
import pytest
from layouts import LAYOUTS, values

HERE_ONLY = """
import pickle, sys, gpuarray
a = pickle.loads(sys.stdin.buffer.read())
print(a.context.name, a.tolist())
"""


def there(pickled, **environment):
    """What a fresh process says of a pickle."""
    import os

    return subprocess.run(
        [sys.executable, "-c", HERE_ONLY],
        input=pickled,
        capture_output=True,
        env=os.environ | environment,
        check=False,
    )


@pytest.mark.parametrize("protocol", [0, 2, 5])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_comes_back(context, layout, protocol):
    make = LAYOUTS[layout]
    a = make(gpuarray.asarray(values("f4"), context=context))
    b = pickle.loads(pickle.dumps(a, protocol))
    assert (b.context, b.dtype, b.shape) == (context, a.dtype, a.shape)
    np.testing.assert_array_equal(b, make(values("f4")))


def test_a_pickle_names_the_context(context):
    a = gpuarray.asarray(np.arange(6.0, dtype="f4").reshape(2, 3).T, context=context)
    b = pickle.loads(pickle.dumps(a))
    assert b.context is context
    assert b.flags.f_contiguous
    np.testing.assert_array_equal(b, a)


def test_bfloat16_is_pickled(null):
    a = gpuarray.asarray(np.arange(4).astype(gpuarray.bfloat16), context=null)
    b = pickle.loads(pickle.dumps(a))
    assert b.dtype == gpuarray.bfloat16
    assert b.tolist() == [0, 1, 2, 3]


def test_elements_travel_out_of_band(null):
    a = gpuarray.asarray(np.arange(10000.0), context=null)
    buffers = []
    pickled = pickle.dumps(a, 5, buffer_callback=buffers.append)
    assert len(pickled) < 1000
    assert [len(one.raw()) for one in buffers] == [80000]
    np.testing.assert_array_equal(pickle.loads(pickled, buffers=buffers), a)


def test_the_current_context_takes_what_is_loaded(first_context, null):
    pickled = pickle.dumps(gpuarray.zeros((3,), "f4", first_context))
    with null:
        assert pickle.loads(pickled).context is null
    assert pickle.loads(pickled).context is first_context


def of_nowhere(null):
    """A pickle of a device that no machine has."""
    pickled = pickle.dumps(gpuarray.asarray([1.0, 2.0], context=null))
    return pickled.replace(b"\x8c\x04null", b"\x8c\x06cuda99")


def test_a_machine_without_that_device(null):
    said = there(of_nowhere(null), GPUARRAY_DEVICE="null")
    assert said.stdout == b"null [1.0, 2.0]\n", said.stderr.decode()


def test_a_machine_without_any_device(null):
    said = there(of_nowhere(null), GPUARRAY_DEVICE="cuda98")
    last = said.stderr.decode().splitlines()[-1]
    assert "DeviceNotFound" in last
    assert "was on cuda99" in last
    assert "pip install intel-opencl-rt" in last
    assert len(said.stderr.splitlines()) <= 40


def test_contexts_and_queues_are_not_pickled(null):
    for one in (null, null.queue, null.record()):
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(one)


def test_copies_of_the_copy_module(null):
    a = gpuarray.asarray(np.arange(6.0).reshape(2, 3), context=null)
    for made in (copy.copy(a), copy.deepcopy(a), copy.deepcopy([a])[0]):
        assert not gpuarray.may_share_memory(made, a)
        assert made.context is null
        np.testing.assert_array_equal(made, a)


# ---- files ----


@pytest.mark.parametrize("dtype", ["f4", "i8", "bool", "c8", "f2", "bfloat16"])
def test_a_file_of_one_array(null, tmp_path, dtype):
    host = (
        np.arange(6)
        .reshape(2, 3)
        .T.astype(gpuarray.bfloat16 if dtype == "bfloat16" else dtype)
    )
    a = gpuarray.asarray(host, context=null)
    gpuarray.save(tmp_path / "a", a)
    b = gpuarray.load(tmp_path / "a.npy", null)
    assert b.dtype == a.dtype
    assert b.flags.f_contiguous
    assert np.asarray(b).tobytes() == np.asarray(a).tobytes()


@pytest.mark.parametrize("save", [gpuarray.savez, gpuarray.savez_compressed])
def test_a_file_of_several(null, tmp_path, save):
    a = gpuarray.asarray(np.arange(4.0), context=null)
    save(str(tmp_path / "several.npz"), a, half=a[2:])
    with gpuarray.load(str(tmp_path / "several.npz"), null) as found:
        assert sorted(found.files) == sorted(found) == ["arr_0", "half"]
        assert found["half"].tolist() == [2, 3]
        assert found["arr_0"].context is null
        assert "arr_0" in repr(found)
    with np.load(tmp_path / "several.npz") as host:
        np.testing.assert_array_equal(host["arr_0"], np.arange(4.0))


def test_files_that_are_open(null):
    file = io.BytesIO()
    gpuarray.save(file, gpuarray.zeros((2,), context=null))
    file.seek(0)
    assert gpuarray.load(file, null).tolist() == [0, 0]


def test_what_is_no_array_of_ours(null, tmp_path):
    with pytest.raises(TypeError, match="save: got ndarray"):
        gpuarray.save(tmp_path / "a", np.zeros(3))
    np.save(tmp_path / "objects.npy", np.array([None]))
    with pytest.raises(ValueError, match="allow_pickle"):
        gpuarray.load(tmp_path / "objects.npy", null)
    np.save(tmp_path / "texts.npy", np.array(["a"]))
    with pytest.raises(TypeError, match="load"):
        gpuarray.load(tmp_path / "texts.npy", null)
