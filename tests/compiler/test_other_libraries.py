"""Ops computed by PyOpenCL, PyCUDA, CuPy, Numba and Triton, as their page writes them.

The code of the page runs as a module, since some of these libraries read its source.
"""

import importlib.util
import re
import sys
from pathlib import Path

import gpuarray
import numpy as np
import pytest
from gpuarray.compiler import function, grad, tensor as T
from gpuarray.compiler.ops.variables.transfer import HostFromGpu

PAGE = Path(__file__).parents[2] / "docs" / "compiler" / "ops-with-other-libraries.md"

# The context's kind, what has to be installed, and the page's ops.
LIBRARIES = {
    "PyOpenCL": ("opencl", ["pyopencl"], ["ByPyOpenCL", "ByTheirArrays"]),
    "PyCUDA": ("cuda", ["pycuda.driver"], ["ByPyCUDA"]),
    "CuPy": ("cuda", ["cupy"], ["ByCuPy"]),
    "Numba": ("cuda", ["numba.cuda", "numba.cuda.np.arrayobj"], ["ByNumba"]),
    "Triton": ("cuda", ["torch", "triton"], ["ByTriton"]),
}

pytestmark = [
    pytest.mark.every_case,
    pytest.mark.filterwarnings("ignore::pyopencl.CompilerWarning"),
    pytest.mark.filterwarnings("ignore:.*Grid size"),  # Numba's, of few blocks
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def code_of(section):
    return "\n".join(re.findall(r"```python\n(.*?)```", section, re.DOTALL))


def sections():
    """The page's code, by headings; what all share under the empty one."""
    first, *rest = PAGE.read_text().split("\n## ")
    found = {each.partition("\n")[0]: code_of(each) for each in rest}
    return {"": code_of(first)} | {head: code for head, code in found.items() if code}


def test_the_page_has_a_section_for_each_library():
    assert list(sections()) == ["", *LIBRARIES]


@pytest.fixture
def load(on_context, tmp_path, monkeypatch):
    """What makes the module of a library's section; it runs the section's checks."""

    def loaded(library):
        kind, modules, _ = LIBRARIES[library]
        if on_context.kind != kind:
            pytest.skip(f"{library} works on {kind}")
        for module in modules:
            try:
                importlib.import_module(module)
            except (ImportError, AttributeError) as error:  # or not for this NumPy
                pytest.skip(f"{module} does not load: {error}")
        path = tmp_path / f"page_of_{library.lower()}.py"
        path.write_text(sections()[""] + "\n" + sections()[library])
        spec = importlib.util.spec_from_file_location(path.stem, path)
        found = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, path.stem, found)
        spec.loader.exec_module(found)
        return found

    return loaded


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_section_runs_and_its_ops_are_in_order(load, library, on_context):
    page = load(library)
    x = T.fmatrix("x")
    given = [gpuarray.full((600, 700), i, "float32", on_context) for i in range(8)]
    for name in LIBRARIES[library][2]:
        op = getattr(page, name)()
        f = function([x], (op(op(x + 1) * 3) - x).transfer(None))
        f(given[0])
        results = [f(each) for each in given]
        for turn, result in enumerate(results):
            assert np.allclose(result, 12 * (turn + 1) - turn + np.zeros((600, 700)))


@pytest.mark.parametrize("library", LIBRARIES)
def test_its_ops_are_in_order_on_another_queue(load, library, on_context):
    page = load(library)
    x = T.fmatrix("x")
    op = getattr(page, LIBRARIES[library][2][0])()
    f = function([x], (op(x + 1) * 3).transfer(None))
    given = [gpuarray.full((600, 700), i, "float32", on_context) for i in range(8)]
    with on_context.new_queue():
        results = [f(each) for each in given]
    for turn, result in enumerate(results):
        assert np.allclose(result, 6 * (turn + 1) + np.zeros((600, 700)))


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_host_waits_for_nothing(load, library, on_context):
    page = load(library)
    x = T.fmatrix("x")
    given = gpuarray.ones((60, 70), "float32", on_context)
    op = getattr(page, LIBRARIES[library][2][0])()
    f = function([x], (op(x + 1) * 3).transfer(None))
    assert not any(isinstance(n.op, HostFromGpu) for n in f.maker.fgraph.toposort())
    f(given)
    waits = on_context.waits
    result = f(given)
    assert on_context.waits == waits
    assert np.allclose(result, 12)


# ---- what the page does not show ----


def test_two_outputs_and_strides_by_cupy(load, on_context):
    page = load("CuPy")
    cupy = page.cupy

    class SumAndDifference(page.theano.Op):
        __props__ = ()

        def make_node(self, *inputs):
            name = page.infer_context_name(*inputs)
            inputs = [page.as_gpuarray_variable(each, name) for each in inputs]
            kinds = [each.type for each in inputs]
            return page.theano.Apply(self, inputs, [kind() for kind in kinds])

        def perform(self, node, inputs, output_storage):
            a, b = map(cupy.from_dlpack, inputs)
            for cell, each in zip(output_storage, (a + b, a - b), strict=True):
                cell[0] = each

        def grad(self, inputs, gradients):
            return [gradients[0] + gradients[1], gradients[0] - gradients[1]]

    check_two_outputs(SumAndDifference(), on_context)


def test_two_outputs_and_strides_by_pyopencl(load, on_context):
    page = load("PyOpenCL")

    class SumAndDifference(page.theano.Op):
        __props__ = ()

        def make_node(self, *inputs):
            name = page.infer_context_name(*inputs)
            inputs = [
                page.gpu_contiguous(page.as_gpuarray_variable(each, name))
                for each in inputs
            ]
            kinds = [each.type for each in inputs]
            return page.theano.Apply(self, inputs, [kind() for kind in kinds])

        def perform(self, node, inputs, output_storage):
            a, b = (each.as_pyopencl() for each in inputs)
            output_storage[0][0] = a + b
            output_storage[1][0] = a - b

        def grad(self, inputs, gradients):
            return [gradients[0] + gradients[1], gradients[0] - gradients[1]]

    check_two_outputs(SumAndDifference(), on_context)


def check_two_outputs(op, context):
    x, y = T.fmatrices("xy")
    total, difference = op(x, y)
    f = function([x, y], [total, difference, *grad((total * difference).sum(), [x, y])])
    values = np.random.RandomState(0).rand(2, 20, 10).astype("float32")
    ours = [gpuarray.asarray(each, context=context)[::-1, ::2] for each in values]
    a, b = (each[::-1, ::2] for each in values)
    for got, expected in zip(f(*ours), (a + b, a - b, 2 * a, -2 * b), strict=True):
        np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-5, atol=1e-6)


def test_work_on_a_stream_that_does_not_wait_for_ours(load, on_context):
    page = load("CuPy")
    cupy = page.cupy

    class OnAnother(page.Twice):
        def perform(self, node, inputs, output_storage):
            with cupy.cuda.Stream(non_blocking=True) as stream:
                y = cupy.from_dlpack(inputs[0]) * 1
                for _ in range(10):
                    y += 1
                output_storage[0][0] = y
                stream.synchronize()

    x = T.fmatrix("x")
    f = function([x], OnAnother()(x * 3) + 1)
    for turn in range(5):
        value = np.full((1000, 1000), turn, "float32")
        assert np.allclose(f(value), 3 * value + 11)
