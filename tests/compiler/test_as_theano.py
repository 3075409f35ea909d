"""``import theano`` finds the compiler's modules, where a program asks for it."""

import importlib
import subprocess
import sys
from types import ModuleType

import gpuarray.compiler as compiler
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import as_theano
from gpuarray.compiler.errors import MissingModuleError


@pytest.fixture
def installed():
    as_theano.install()
    yield
    as_theano.remove()


@pytest.mark.parametrize(
    "name, module",
    [
        ("theano", compiler),
        ("theano.tensor", T),
        ("theano.tensor.basic", T),
        ("theano.tensor.nnet.nnet", T.nnet),
        ("theano.tensor.nnet.sigm", T.nnet),
        ("theano.tensor.shared_randomstreams", T.shared_randomstreams),
        ("theano.gof.graph", compiler.gof.graph),
        ("theano.misc.pkl_utils", compiler.misc.pkl_utils),
        ("theano.sandbox.gpuarray.dnn", compiler.gpuarray.dnn),
        ("theano.sandbox.cuda.dnn", compiler.gpuarray.dnn),
        ("theano.sandbox.rng_mrg", compiler.sandbox.rng_mrg),
        ("theano.sparse.basic", compiler.sparse.basic),
        ("theano.compile.sharedvalue", compiler.compile.sharedvalue),
        ("theano.scan_module.scan_utils", compiler.scan_module.scan_utils),
    ],
)
def test_modules_are_the_compilers_own(name, module, installed):
    assert importlib.import_module(name) is module
    assert not module.__spec__.name.startswith("theano")


def test_imports_leave_what_is_no_module_as_it_is(installed):
    settings = compiler.config
    names = importlib.import_module("theano.tensor.var")
    importlib.import_module("theano.config")
    assert compiler.config is settings and settings.floatX
    assert names.TensorVariable is T.TensorVariable
    assert callable(T.var)


def test_six_is_found_within_compat_where_it_is_installed():
    code = (
        "import sys; from types import ModuleType as M; from gpuarray.compiler import "
        "as_theano; six = sys.modules['six'] = M('six'); six.__spec__ = M('spec'); "
        "six.moves = M('six.moves'); six.moves.xrange = range; as_theano.install(); "
        "from theano.compat.six.moves import xrange; import theano; "
        "assert xrange is range and theano.compat.six is six"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_unknown_modules_are_refused_as_python_does(installed):
    with pytest.raises(
        MissingModuleError, match=r"no module theano\.tensor\.nosuch.*nnet"
    ):
        importlib.import_module("theano.tensor.nosuch")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("theano.nosuch.inner")


def test_another_theano_stays(monkeypatch):
    another = ModuleType("theano")
    monkeypatch.setitem(sys.modules, "theano", another)
    with pytest.raises(NotImplementedError, match="imported already"):
        as_theano.install()
    as_theano.remove()
    assert sys.modules["theano"] is another


def test_it_can_be_undone():
    as_theano.install()
    as_theano.install()
    as_theano.remove()
    as_theano.remove()
    assert not [name for name in sys.modules if name.split(".")[0] == "theano"]
    assert not [finder for finder in sys.meta_path if "as_theano" in str(finder)]


def test_truth_is_theanos_while_it_is_installed():
    x, lengths = T.dvector("x"), list(T.lscalars("m", "n"))
    for asked in (lambda: bool(x), lambda: np.prod(lengths)):
        with pytest.raises(TypeError, match="symbolic"):
            asked()
    as_theano.install()
    try:
        assert x and (x + 1) and T.eq(x, x) and compiler.shared(np.zeros(2))
        assert (x or None) is x
        for comparison in (x < 1, x <= 1, x > 1, x >= 1):
            with pytest.raises(TypeError, match="ifelse"):
                bool(comparison)
        assert np.prod(lengths).eval({lengths[0]: 3, lengths[1]: 4}) == 12
    finally:
        as_theano.remove()
    with pytest.raises(TypeError, match="symbolic"):
        bool(x)


def test_a_setting_of_before_comes_back():
    compiler.config.protocols = "theano"
    try:
        as_theano.install()
        as_theano.remove()
        assert compiler.config.protocols == "theano"
    finally:
        compiler.config.protocols = "strict"
    as_theano.install()
    as_theano.remove()
    assert compiler.config.protocols == "strict"


def test_a_program_runs_with_its_arguments(tmp_path):
    (tmp_path / "beside.py").write_text("from theano import tensor\n")
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\nimport theano\nfrom beside import tensor as T\n"
        "x = T.dvector()\n"
        "if __name__ == '__main__':\n"
        "    print(sys.argv[1:], theano.gof.graph.inputs([x]) == [x])\n"
    )
    run = [sys.executable, "-m", "gpuarray.compiler.as_theano"]
    done = subprocess.run(
        [*run, str(program), "--epochs", "3"], capture_output=True, text=True
    )
    assert done.stdout == "['--epochs', '3'] True\n", done.stderr
    missing = subprocess.run([*run, "nosuch.py"], capture_output=True, text=True)
    assert missing.returncode == 2 and "'nosuch.py' is no file" in missing.stderr


def test_kinds_of_variables():
    x, shared = T.fvector("x"), compiler.shared(np.zeros(2))
    on_device = compiler.GpuArrayType("float32", (False,))()
    matrix = compiler.sparse.csr_matrix("m")
    kinds = T.TensorVariable, T.TensorConstant, T.sharedvar.TensorSharedVariable
    for variable, expected in (
        (x, (True, False, False)),
        (x + 1, (True, False, False)),
        (T.constant(1.0), (False, True, False)),
        (shared, (False, False, True)),
        (on_device, (False, False, False)),
        (matrix, (False, False, False)),
        (3, (False, False, False)),
    ):
        assert tuple(isinstance(variable, kind) for kind in kinds) == expected
    made = T.TensorVariable(x.type, name="made")
    assert made.type == x.type and isinstance(made, T.TensorVariable)


def test_graphs_are_walked_as_theano_walks_them():
    graph = compiler.gof.graph
    x, y, shared = T.dvector("x"), T.dvector("y"), compiler.shared(np.zeros(2))
    product = x * y
    result = product + shared
    assert graph.inputs([result]) == [x, y, shared]
    assert graph.inputs([x, y]) == [y, x]  # the last output's come first
    assert graph.ancestors([result], blockers=[product]) == [result, product, shared]
    assert graph.inputs([result], blockers=[product]) == [shared]
    assert graph.orphans([x, y], [result]) == {shared}
    assert graph.variables([x, y], [result]) == {x, y, shared, product, result}
    assert graph.variables_and_orphans([x, y], [result])[1] == {shared}
    nodes = [product.owner, result.owner]
    assert graph.io_toposort([x, y], [result]) == nodes
    assert graph.ops([product], [result]) == {result.owner}
    assert graph.is_in_ancestors(result.owner, product.owner)
    assert not graph.is_in_ancestors(product.owner, result.owner)


def test_graphs_are_copied():
    graph = compiler.gof.graph
    x, shared = T.dvector("x"), compiler.shared(np.zeros(2))
    result = x * 2.0 + shared
    (other,), (copy,) = graph.clone([x], [result])
    assert other is not x and other.type == x.type and copy.owner is not result.owner
    assert shared in graph.inputs([copy]) and other in graph.inputs([copy])
    (same,), (copy,) = graph.clone([x], [result], copy_inputs=False)
    assert same is x and copy is not result and x in graph.inputs([copy])
    known = graph.clone_get_equiv([x], [result], memo={x: other})
    assert known[x] is other and other in graph.inputs([known[result]])


def test_graphs_are_compared():
    graph, (x, y) = compiler.gof.graph, T.dvectors("x", "y")
    assert graph.is_same_graph(x * 2, x * 2)
    assert not graph.is_same_graph(x * 2, y * 2)
    assert graph.is_same_graph(x * 2, y * 2, givens={x: y})
    assert graph.is_same_graph(x * 2, y * 2, givens={y: x})
    equal = compiler.scan_module.scan_utils.equal_computations
    assert equal([x * 2], [y * 2], [x], [y])
    assert not equal([x * 2, x], [x * 2, y])
    with pytest.raises(ValueError, match="1 xs and 0 ys"):
        equal([x], [])


def test_values_for_checks_while_expressions_are_built():
    op = compiler.gof.op
    x, y = T.dvectors("x", "y")
    x.tag.test_value = np.ones(3)
    assert op.get_debug_values(x) == []
    op.debug_assert(False)  # test values are off
    with compiler.config.use(compute_test_value="ignore"):
        ((value, number),) = op.get_debug_values(x, 4)
        assert len(value) == 3 and number == 4
        assert op.get_debug_values(x, y) == []
        with pytest.raises(AssertionError, match="too long"):
            op.debug_assert(len(value) < 3, "too long")
    raising = compiler.config.use(compute_test_value="raise")
    with raising, pytest.raises(AttributeError, match="y of"):
        op.get_debug_values(x, y)
    warning = compiler.config.use(compute_test_value="warn")
    with warning, pytest.warns(UserWarning, match="y of"):
        assert op.get_debug_values(y) == []


def test_correlations_of_devices_have_their_names():
    names = compiler.gpuarray.blas
    x, w = T.tensor4("x"), T.tensor4("w")
    assert names.GpuCorrMM(border_mode="half")(x, w).type.ndim == 4
    for name in names.__all__:
        assert issubclass(getattr(names, name), compiler.Op)


def test_scalars_are_arrays_without_axes():
    scalar = compiler.scalar
    x = scalar.float32("x")
    assert x.type == T.fscalar and scalar.add is T.add
    assert scalar.upcast("int8", "uint8") == "int16"
    assert {"bool", "int64", "complex128"} <= set(scalar.all_types)
    assert scalar.tanh(x).eval({x: 0}) == 0
    with pytest.raises(AttributeError, match="did you mean 'sqrt'"):
        getattr(scalar, "sqrtt")  # noqa: B009


def test_programs_look_into_loops_and_elementwise_operations():
    x, w = T.dvector("x"), T.dscalar("w")
    states, _ = compiler.scan(lambda item, state: item * w + state, x, T.zeros(()))
    apply = compiler.gof.graph.io_toposort([x, w], [states])
    (loop,) = [
        node.op
        for node in apply
        if isinstance(node.op, compiler.scan_module.scan_op.Scan)
    ]
    names = [
        str(node.op)
        for node in compiler.gof.graph.io_toposort(loop.inputs, loop.outputs)
    ]
    assert names == ["Elemwise{mul,no_inplace}", "Elemwise{add,no_inplace}"]
    assert (x + 1).owner.op.scalar_op is (x + 2).owner.op.scalar_op
    assert (x * 2).owner.op.scalar_op is not (x + 2).owner.op.scalar_op
