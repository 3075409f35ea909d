"""Every op that can be lowered is saved, and runs from its file without the compiler.

Cases are found by rule: of the table of cases the first with each op class that has a
lowering, of real and of complex numbers, and a share of the others; all rows of the
table of scalars; and a few functions for what only rewrites make. Each function is
saved without a call, and a process in which the compiler cannot be imported runs it on
every device, at the table's shapes and at longer ones. The function in Python is the
judge, at the table's shapes NumPy. What only Python does is named when it is saved:
what `ALONE` and `PARTLY` list, and no others.
"""

import os
import pickle
import re
import subprocess
import sys
import warnings
import zlib

import gpuarray
import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from c_ops import VectorTimesScalar
from cases import CASES
from gpuarray import distributed as processes
from gpuarray.compiler import config, distributed, gradient, plan
from gpuarray.compiler.derivatives.batching_fallback import MapRows
from gpuarray.compiler.gpuarray import dnn
from gpuarray.compiler.gpukernels import LOWERINGS, STEP_FUNCTIONS
from gpuarray.compiler.gpukernels.basic_ops import (
    as_gpuarray_variable,
    infer_context_name,
)
from gpuarray.compiler.gpukernels.bodies import IN_PLANS
from gpuarray.compiler.graph.core import Apply, Op
from gpuarray.compiler.graph.traverse import toposort
from gpuarray.compiler.ops.collective.messages import MESSAGES
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.compiler.ops.index.advanced import Nonzero
from gpuarray.compiler.ops.random.draws import draw
from gpuarray.compiler.ops.sorting.sorting import Sort
from gpuarray.compiler.ops.variables.transfer import GpuContiguous
from gpuarray.scalars import SCALARS
from own_kernels import Branching
from own_ops import scan_rows

pytestmark = pytest.mark.filterwarnings("ignore::gpuarray.HostNotice")

SHARE = 40
"""One of so many of the cases that no new class of ops is in."""

WARNINGS = re.compile(r"^\d+ warnings? generated\.$", re.MULTILINE)
"""What PoCL's compiler says of kernels on its own."""

ALONE = {
    "c_code": "it is C code of the program's own, compiled for this host",
    "collective": "ranks meet in it",
    "load": "it reads a file of NumPy at each run",
    "perform": "it is Python",
    "print": "it prints as NumPy does",
    "reference": "it is Python",
    "thunk": "it is Python",
}
"""Step functions that no file has, and why."""

BOUND = {"rowwise"}
"""The steps that the library binds by their bodies in compiled functions, too."""
PARTLY = {
    "kernels": "the op's gpu_launches branches on lengths",
    "map_rows": "a loop's body may not wait, as for how many places there are",
    "searchsorted": "its kernel has no order of complex numbers",
    "unique": "parts along an axis take a sort for each of their elements",
}
"""Step functions that a file has for some inputs, and why not for all."""

# ---- cases ----


class Function:
    """What is saved: inputs, outputs, updates, and the arguments of some calls.

    ``expected`` has NumPy's results of the first call, or None.
    """

    def __init__(self, inputs, outputs, calls, expected=None, updates=(), mode=None):
        self.inputs = inputs
        self.outputs = list(outputs) if isinstance(outputs, (list, tuple)) else outputs
        self.calls = calls
        self.expected = expected
        self.updates = dict(updates)
        self.mode = mode


def is_ours(registered):
    """Whether it is of the package; other tests register their own."""
    return registered.__module__.startswith("gpuarray.")


def lowered_class(op):
    """The class that the op's lowering is registered for."""
    return next((cls for cls in type(op).__mro__ if cls in LOWERINGS), None)


def longer(arrays):
    """The same numbers in arrays whose axes are longer, all of one length as long."""
    return [
        np.resize(a, [2 * n + 1 if n > 1 else n for n in a.shape]).astype(a.dtype)
        for a in arrays
    ]


def kind_of(node):
    """The class of the node's op, and whether it computes with complex numbers.

    An op that stands for a graph has no lowering: its own class.
    """
    dtypes = [each.type.dtype for each in (*node.inputs, *node.outputs)]
    cls = type(node.op) if node.op.is_graph else lowered_class(node.op)
    return cls, any(each.startswith("c") for each in dtypes)


def classes_of(f):
    """The classes of the operations that a function does."""
    return {lowered_class(node.op) for node in f.maker.fgraph.toposort()}


def functions_of_cases():
    """The first case with each kind of node, and one of `SHARE` others."""
    seen = set()
    for case in CASES:
        variables = case.variables()
        built = case.build(*variables)
        outputs = list(built) if isinstance(built, (list, tuple)) else [built]
        found = {kind_of(node) for node in toposort(outputs)} - seen
        if found or zlib.crc32(case.name.encode()) % SHARE == 0:
            seen |= found
            expected = case.expected(*case.arrays)
            expected = expected if isinstance(expected, tuple) else (expected,)
            calls = [list(case.arrays), longer(case.arrays)]
            yield case.name, Function(variables, built, calls, expected)


def functions_of_rows():
    """All rows of the table of scalars, several in a function."""
    x, y, z = (T.dvector(name) for name in "xyz")
    i, j = T.lvector("i"), T.lvector("j")
    given = [np.linspace(0.1, 0.9, n) for n in (4, 7)]
    whole = [np.arange(1, n + 1) for n in (4, 7)]
    made = {True: [], False: []}
    for name in sorted(SCALARS):
        row = SCALARS[name]
        for is_float, operands in ((True, (x, y, z)), (False, (i, j, j))):
            try:
                made[is_float].append(Elemwise(row)(*operands[: row.arity]))
            except TypeError:  # the row is of the other kind
                continue
            break
    for start in range(0, len(made[True]), 12):
        calls = [[v, v[::-1] + 0.05, v > 0.3] for v in given]
        outputs = made[True][start : start + 12]
        yield f"rows {start}", Function([x, y, z], outputs, calls)
    calls = [[v, v[::-1]] for v in whole]
    yield "rows of integers", Function([i, j], made[False], calls)


class Doubled(Op):
    """Twice its input, by NumPy."""

    __props__ = ()

    def make_node(self, x):
        x = T.as_tensor_variable(x)
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, outputs):
        outputs[0][0] = 2 * inputs[0]


class Threefold(Doubled):
    """Three times an array of a device, by a thunk."""

    def make_thunk(self, node, storage_map, compute_map, no_recycling):
        (x,), (y,) = (
            [storage_map[v] for v in vs] for vs in (node.inputs, node.outputs)
        )

        def thunk():
            y[0] = x[0] * 3

        return thunk


class OnDevice(Doubled):
    """Twice an array of a device, by NumPy's functions of it."""

    def make_node(self, x):
        x = as_gpuarray_variable(x, infer_context_name(x))
        return Apply(self, [x], [x.type()])


def functions_of_rewrites():
    """What the table has no case for: classes of ops that only rewrites make."""
    x, v, i = T.dmatrix("x"), T.dvector("v"), T.lvector("i")
    w = theano.shared(np.ones(3), name="w")
    sizes = [np.linspace(-1, 1, 3 * n).reshape(n, 3) for n in (4, 7)]
    alone = [[each] for each in sizes]
    vectors = [[each[:, 0]] for each in sizes]
    centred = x - x.mean(1, keepdims=True)
    marked = gradient.disconnected_grad(x) * x
    several = [x.sum(), (x * x).sum(), x.max()]
    kept = w + T.sqr(x[i]).sum(0)
    placed = [[each, [0, 2, 1]] for each in sizes]
    plain = theano.compile.Mode(optimizer=None)
    images, theta = T.dtensor4("images"), T.dtensor3("theta")
    larger = T.nnet.abstract_conv.bilinear_upsampling(images, 2)
    turned = dnn.dnn_spatialtf(images, theta)
    drawn = [np.random.default_rng(n).random((2, 3, n, n + 1)) for n in (4, 5)]
    maps = np.random.default_rng(0).random((2, 2, 3))
    state = T.TensorType("uint64", (False,))("state")
    noise = draw("gumbel", state, (0.0, 1.0), size=x.shape, dtype="float64")[1]
    with_states = [
        [each, np.array([7, 1, n], "uint64")] for n, each in enumerate(sizes)
    ]
    table = next(case for case in CASES if case.name == "spread")
    of_table = table.variables()
    return {
        "softmax": Function([x], T.nnet.softmax(x), alone, mode=plain),
        "logsoftmax": Function([x], T.nnet.logsoftmax(x), alone, mode=plain),
        "spread": Function(
            of_table, table.build(*of_table), [list(table.arrays)], mode=plain
        ),
        "norm": Function([x], centred / T.sqrt(T.sqr(centred).mean(1))[:, None], alone),
        "extremum": Function([x], T.max_and_argmax(x, 1), alone),
        "several folds": Function([x], several, alone),
        "argmax of draws": Function([x, state], T.argmax(x + noise, 1), with_states),
        "folds of several": Function([x], [x.sum(0), (x * x).sum(1), x.std(0)], alone),
        "a fold of a row": Function([x], T.exp(x).sum(1), alone),
        "kernel": Function([x], scan_rows(x), alone),
        "rows": Function([x], MapRows(Sort(0), (True,))(x), alone),
        "mark": Function([x], theano.grad(marked.sum(), x), alone),
        "mark that stays": Function([x], marked, alone, mode=plain),
        "shape": Function([x], T.shape(x) * 2, alone, mode=plain),
        "contiguous": Function([x], GpuContiguous()(x.T) * 2, alone),
        "requires": Function([v], T.set_subtensor(v[1:3], v[:2]) * 2, vectors),
        "reports": Function([x, i], x.sum(), placed, updates={w: kept}),
        "upsampling back": Function(
            [images],
            theano.grad(T.sqr(larger).sum(), images),
            [[each] for each in drawn],
        ),
        "transformer back": Function(
            [images, theta],
            theano.grad(T.sqr(turned).sum(), [images, theta]),
            [[each, maps] for each in drawn],
        ),
        "cut": Function(
            [v], theano.grad(gradient.grad_clip(v * v, -1, 1).sum(), v), vectors
        ),
    }


def functions_alone(folder, comm):
    """For each step function that only Python has, a function with it."""
    x, v = T.dmatrix("x"), T.dvector("v")
    np.save(folder / "array.npy", np.arange(3.0))
    loaded = T.load(folder / "array.npy", "float64", (False,))
    collectives = [
        distributed.all_reduce(x, comm),
        distributed.all_gather(x, comm),
        distributed.reduce_scatter(x, comm),
        distributed.all_to_all(x, comm),
        distributed.broadcast(x, comm),
        distributed.reduce(x, comm),
    ]
    return {
        "c_code": ([v], VectorTimesScalar()(v, v.sum())),
        "collective": ([x], sum(collectives)),
        "load": ([v], v + loaded),
        "perform": ([v], OnDevice()(v.transfer("a"))),
        "print": ([v], theano.printing.Print("v")(v)),
        "reference": ([v], Doubled()(v)),
        "thunk": ([v], Threefold()(v)),
    }


def function_of_two_contexts():
    """A function whose copies between contexts are steps."""
    x = T.dmatrix("x")
    return [x], (x.transfer("a") * 2).transfer("b") + 1


def functions_partly():
    """For each step function that has a body for some inputs, one for which not."""
    x, y, z = T.dmatrix("x"), T.fmatrix("y"), T.zvector("z")
    return {
        "kernels": ([y], Branching()(y)),
        "map_rows": ([x], MapRows(Nonzero(), (True,))(x)),
        "searchsorted": ([z], T.extra_ops.searchsorted(z, z)),
        "unique": ([x], T.extra_ops.Unique(axis=0)(x)),
    }


# ---- saving ----


@pytest.fixture
def contexts(request, first_context):
    """The devices tested, the first one first."""
    names = request.config.gpuarray_contexts
    return [first_context, *(gpuarray.context(name) for name in names[1:])]


@pytest.fixture
def comm(contexts):
    """A communicator of one rank."""
    with processes.init(contexts[0], by="none") as made:
        yield made


def elsewhere(context):
    """Functions on a context ``a``, and a device that is always there as ``b``."""
    return config.use(device=context.name, contexts=f"a->{context.name};b->null")


def saved(inputs, outputs, path, updates=(), mode=None):
    """A function, the step functions it has, and what was said when it was saved."""
    options = {"on_unused_input": "ignore", "name": "f", "mode": mode}
    f = theano.function(inputs, outputs, updates=updates, **options)
    steps = [x for x in f.plan.steps if isinstance(x, plan.Call)]
    calls = {x.function: x.label for x in reversed(steps)}  # the first of a function
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        f.save(path, graph=False)
    texts = [str(each.message) for each in said]
    return f, calls, "\n".join(text for text in texts if text.startswith("save: "))


def names_step(text, label):
    """Whether a warning of saving names the step."""
    return re.search(rf"\b{re.escape(label)}\b", text.partition(":")[2]) is not None


CHILD = """
import pickle, sys
import numpy as np
sys.modules["gpuarray.compiler"] = None  # an import of it fails
import gpuarray
folder, count, wrong = sys.argv[1], 0, []
with open(f"{folder}/calls", "rb") as file:
    calls = pickle.load(file)
for device in sys.argv[2:]:
    context = gpuarray.context(device)
    for name, (path, given) in calls.items():
        said = f"{name} on {device}"
        try:
            f = gpuarray.load_function(path, context)
            for arguments, expected in given:
                said = f"{name} on {device} of {[np.shape(x) for x in arguments]}"
                results = f(*arguments)
                results = results if isinstance(results, list) else [results]
                for result, wanted in zip(results, expected, strict=True):
                    found = np.asarray(result)
                    assert found.dtype == wanted.dtype, found.dtype
                    if found.dtype.kind == "V":  # bfloat16
                        found, wanted = found.astype("f4"), wanted.astype("f4")
                    is_exact = found.dtype.itemsize // (1 + (found.dtype.kind == "c"))
                    rtol, atol = (1e-6, 1e-9) if is_exact == 8 else (1e-3, 1e-4)
                    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol)
                count += 1
        except Exception as error:
            wrong.append(f"{said}: {error!r}"[:600])
print(count)
print("\\n".join(wrong), file=sys.stderr)
"""


def results_of(f, arguments):
    """The results of a call as NumPy has them, in a list; None where it fails."""
    try:
        results = f(*arguments)
        results = results if isinstance(results, list) else [results]
        return [np.asarray(each) for each in results]
    except (ValueError, TypeError, IndexError, ArithmeticError, np.linalg.LinAlgError):
        return None


def calls_of(name, f, case):
    """Arguments and results of the calls that the function in Python can do."""
    found = []
    for number, arguments in enumerate(case.calls):
        results = results_of(f, arguments)
        assert results is not None or number > 0, name
        if results is None:  # of longer arrays some numbers in a case fit no more
            continue
        if number == 0 and case.expected is not None:
            results = [
                np.asarray(right).astype(each.dtype)
                for right, each in zip(case.expected, results, strict=True)
            ]
        found.append((arguments, results))
    return found


def test_all_that_is_lowered_runs_from_files(contexts, comm, tmp_path):
    classes, steps, calls = set(), set(), {}
    with elsewhere(contexts[0]):
        for inputs, output in functions_alone(tmp_path, comm).values():
            classes |= classes_of(theano.function(inputs, output))
        classes |= classes_of(theano.function(*function_of_two_contexts()))
    names = f"a->{contexts[0].name};b->{contexts[0].name}"
    with config.use(device=contexts[0].name, contexts=names), contexts[0]:
        functions = {
            **dict(functions_of_cases()),
            **dict(functions_of_rows()),
            **functions_of_rewrites(),
        }
        for name, case in functions.items():
            path = str(tmp_path / str(len(calls)))
            f, found, text = saved(
                case.inputs, case.outputs, path, case.updates, case.mode
            )
            classes |= classes_of(f)
            told = {step for step, label in found.items() if names_step(text, label)}
            assert told <= ALONE.keys() | PARTLY.keys(), (name, text)
            assert bool(told) == bool(text), (name, text)
            if not text:
                steps |= found.keys()
                calls[name] = path, calls_of(name, f, case)
    ours = {name for name, f in STEP_FUNCTIONS.items() if is_ours(f)}
    assert steps - ours == BOUND  # by their bodies alone
    # unique is called where no body says it, and is no call elsewhere.
    assert steps & ours == ours - ALONE.keys() - IN_PLANS - {"unique"}
    assert classes == {cls for cls in LOWERINGS if is_ours(cls)} - {*MESSAGES}
    with (tmp_path / "calls").open("wb") as file:
        pickle.dump(calls, file)
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path), *(each.name for each in contexts)],
        env={**os.environ, "GPUARRAY_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    said = WARNINGS.sub("", done.stderr).strip()
    assert done.returncode == 0 and not said, done.stderr
    count = sum(len(given) for _, given in calls.values())
    assert int(done.stdout) == count * len(contexts)


@pytest.mark.parametrize("listed", [ALONE, PARTLY], ids=["alone", "partly"])
def test_what_no_file_has_is_named_when_it_is_saved(contexts, comm, tmp_path, listed):
    with elsewhere(contexts[0]):
        made = (
            functions_alone(tmp_path, comm) if listed is ALONE else functions_partly()
        )
        assert made.keys() == listed.keys()
        for step, (inputs, outputs) in made.items():
            _, found, text = saved(inputs, outputs, tmp_path / "f")
            assert step in found, (step, found)
            assert names_step(text, found[step]), (step, text)
