"""Pickles whose arrays are files in a zip."""

import io

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import shared
from gpuarray.compiler.misc import pkl_utils


def stored(value):
    file = io.BytesIO()
    pkl_utils.dump(value, file)
    file.seek(0)
    return file


def test_arrays_are_files_of_numpy_by_the_names_of_shared_variables():
    x, w = T.dmatrix("x"), shared(np.ones((2, 2)), name="w")
    array, other = np.arange(3, dtype="int8"), shared(np.zeros(2), name="w")
    file = stored(
        {"y": T.dot(x, w).sum(), "x": x, "ws": [w, other], "a": [array, array]}
    )
    arrays = np.load(file)
    assert arrays["w"].shape == (2, 2) and arrays["w_1"].shape == (2,)
    assert sorted(arrays.files) == ["array_2", "pkl", "w", "w_1"]
    file.seek(0)
    made = pkl_utils.load(file)
    assert made["y"].eval({made["x"]: np.ones((1, 2))}) == 4
    assert made["ws"][0].name == "w" and made["ws"][1].get_value().tolist() == [0, 0]
    assert made["a"][0] is made["a"][1] and made["a"][0].dtype == "int8"


def test_objects_of_arrays_are_pickled_with_them(tmp_path):
    value = np.array([{"a": 1}, None], dtype=object)
    with (tmp_path / "x.zip").open("wb") as file:
        pkl_utils.dump({"objects": value, "number": 3}, file)
    made = pkl_utils.load(str(tmp_path / "x.zip"))
    assert made["objects"].tolist() == value.tolist() and made["number"] == 3


def test_what_is_no_such_file_is_refused():
    with pytest.raises(Exception, match="not a zip file"):
        pkl_utils.load(io.BytesIO(b"no"))
