"""Ops of C text for tests, and how they are run."""
# ruff: noqa: UP031 (C code has braces)

from typing import ClassVar

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import Apply, function
from gpuarray.compiler.cops import (
    COp,
)


class VectorTimesScalar(COp):
    """As Theano's tutorial has it: strides are walked, the output's memory reused."""

    __props__ = ()

    def make_node(self, x, y):
        x, y = T.as_tensor_variable(x), T.as_tensor_variable(y)
        return Apply(self, [x, y], [x.type()])

    def c_code(self, node, name, inp, out, sub):
        x, y = inp
        (z,) = out
        fail = sub["fail"]
        return """
        if (NULL == %(z)s || PyArray_DIMS(%(x)s)[0] != PyArray_DIMS(%(z)s)[0]) {
            Py_XDECREF(%(z)s);
            %(z)s = (PyArrayObject*)PyArray_EMPTY(1, PyArray_DIMS(%(x)s),
                                                  PyArray_TYPE(%(x)s), 0);
            if (!%(z)s) {
                %(fail)s;
            }
        }
        {
            dtype_%(y)s y0 = ((dtype_%(y)s*)PyArray_DATA(%(y)s))[0];
            for (int i = 0; i < PyArray_DIMS(%(x)s)[0]; i++)
                *(dtype_%(z)s*)PyArray_GETPTR1(%(z)s, i) =
                    *(dtype_%(x)s*)PyArray_GETPTR1(%(x)s, i) * y0;
        }
        """ % {"x": x, "y": y, "z": z, "fail": fail}

    def infer_shape(self, node, shapes):
        return [shapes[0]]


class Text(COp):
    """An op of one output like its input whose C code and other parts are given."""

    __props__: ClassVar = ("code", "parts")
    perform: ClassVar

    def __init__(self, code, **parts):
        self.code = code
        self.parts = tuple(parts.items())

    def make_node(self, *inputs):
        inputs = [T.as_tensor_variable(each) for each in inputs]
        return Apply(self, inputs, [inputs[0].type()])

    def _part(self, name, default=""):
        return dict(self.parts).get(name, default)

    def c_code(self, node, name, inp, out, sub):
        names = {f"x{i}": each for i, each in enumerate(inp)}
        return self.code % {**names, "x": inp[0], "z": out[0], **sub}

    def c_support_code(self):
        return self._part("support")

    def c_support_code_apply(self, node, name):
        return self._part("support_apply") % {"name": name}

    def c_support_code_struct(self, node, name):
        return self._part("struct")

    def c_init_code(self):
        return [self._part("init")]

    def c_init_code_struct(self, node, name, sub):
        return self._part("init_struct") % sub

    def c_cleanup_code_struct(self, node, name):
        return self._part("cleanup_struct")

    def c_code_cleanup(self, node, name, inp, out, sub):
        return self._part("cleanup")

    def c_headers(self):
        return self._part("headers", ())

    def c_compile_args(self):
        return self._part("args", ())

    def c_no_compile_args(self):
        return self._part("no_args", ())

    def c_libraries(self):
        return self._part("libraries", ())


class WithPerform(Text):
    """The same with a way in Python, which adds 100."""

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] + np.array(100, inputs[0].dtype)


FILL = """
%(z)s = (PyArrayObject *)PyArray_EMPTY(PyArray_NDIM(%(x)s), PyArray_DIMS(%(x)s),
                                       PyArray_TYPE(%(x)s), 0);
if (%(z)s == NULL) %(fail)s
for (npy_intp i = 0; i < PyArray_SIZE(%(z)s); i++)
  ((dtype_%(z)s *)PyArray_DATA(%(z)s))[i] = """

X = np.arange(4.0, dtype="float32")


def run(op, *values):
    names = [T.as_tensor_variable(np.asarray(v)).type() for v in values]
    return function(names, op(*names))(*values)


class Shaped(Text):
    """The same with a rule for the shape: its plan calls the code without a pause."""

    def infer_shape(self, node, shapes):
        return [shapes[0]]


def failing(op, *values):
    with pytest.raises(Exception) as error:
        run(op, *values)
    text = "\n".join([str(error.value), *getattr(error.value, "__notes__", ())])
    assert len(text.splitlines()) <= 15, text
    return error.value, text
