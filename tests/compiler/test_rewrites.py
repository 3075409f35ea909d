"""Every rule's `before -> after` lines, run; what the phases together must reach."""

import importlib
import itertools
import math
import pkgutil
import re
import sys

import numpy as np
import pytest
from gpuarray.compiler import rewrites, tensor as T
from gpuarray.compiler.config import config
from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.graph.core import Constant, constant
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.traverse import ancestors
from gpuarray.compiler.ifelse import ifelse
from gpuarray.compiler.ops.control.gradient_markers import grad_clip, zero_grad
from gpuarray.compiler.ops.creation.creation import counted
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.compiler.ops.linalg.linalg import Gemm, Gemv
from gpuarray.compiler.ops.linalg.products import BatchedGemm
from gpuarray.compiler.ops.nnet import nnet
from gpuarray.compiler.ops.shape.shape import (
    DimShuffle,
    dimshuffle,
    reshape,
    shape,
    shape_i,
)
from gpuarray.compiler.ops.slicing.lengths import is_of_lengths
from gpuarray.compiler.ops.slicing.subtensor import Subtensor
from gpuarray.compiler.ops.variables.basic import MakeVector
from gpuarray.compiler.rewrites.arithmetic import hyperbolic
from gpuarray.compiler.rewrites.arithmetic.exponentials import (
    finite,
    logsumexp,
    multiple,
    pivot,
    shifted_term,
    weighed,
)
from gpuarray.compiler.rewrites.arithmetic.weighted import softplus_or
from gpuarray.compiler.rewrites.arrays.subtensor import view
from gpuarray.compiler.rewrites.engine import engine
from gpuarray.compiler.rewrites.engine.engine import Fixpoint, Log, RewriteError, Rule
from gpuarray.compiler.rewrites.engine.patterns import (
    call,
    constant_of,
)
from gpuarray.compiler.rewrites.passes import RULES, all_rules
from run_graph import run_graph
from test_rewritten_functions import optimized

EXACT = {phase.name: phase.is_exact for phase in rewrites.PHASES}

LINE = [-math.inf, -1e3, -15.0, -2.5, -1.0, -1e-20, -0.0, 0.0]
LINE += [1e-20, 0.5, 1.0, 3.0, 15.0, 1e3, math.inf, math.nan]


LEAVES = dict.fromkeys("xyzuv", T.dvector) | dict.fromkeys("XYABC", T.dmatrix)
LEAVES |= dict.fromkeys("QR", T.dtensor3)
LEAVES |= {"a": T.dscalar, "i": T.ivector, "k": T.lvector}


def leaves(names=tuple(LEAVES)):
    """The variables that examples may name, or those of them that are named."""
    return {name: make(name) for name, make in LEAVES.items() if name in names}


def values_of(variable):
    """Values for a leaf: x, y and z together take all triples of the line."""
    name = variable.name
    if name == "i":
        return np.array([-5, -1, 0, 1, 2, 1000] * 3, dtype="int32")
    if name == "k":
        return np.array([2, 0, 3, 1])
    if name in "xyz":
        combinations = np.array(list(itertools.product(LINE, repeat=3)))
        return combinations[:, "xyz".index(name)].copy()
    rng = np.random.default_rng(ord(name))
    if name == "a":
        return np.array(1.5)
    if name in "QR":
        return rng.normal(size=(2, 4, 4))
    return rng.normal(size=(4, 4)) if name in "XYABC" else rng.normal(size=4)


def subtensor(x, part):
    """`x[part]` as a node, also where it is known what that is."""
    pieces = [part.start, part.stop, part.step] if isinstance(part, slice) else [part]
    made = [each if each is None else constant(each, "int64") for each in pieces]
    return view(x, [tuple(made) if isinstance(part, slice) else made[0]])


def first_rows(v, k, x):
    """`v`, as many elements as `k` has, then zeros for the other rows of `x`."""
    return nnet.FirstRows()(v, shape_i(k, 0), shape_i(x, 0))


def max_pool(x):
    return T.signal.pool.pool_2d(x, (2, 3), stride=(1, 2), ignore_border=True)


def namespace(variables):
    """What examples are written with."""
    return {
        **{name: getattr(T, name) for name in T.__all__ if hasattr(T, name)},
        **variables,
        "inf": math.inf,
        "max_pool": max_pool,
        **{name: getattr(nnet, name) for name in vars(nnet) if name[0] != "_"},
        **{name: getattr(T.nlinalg, name) for name in ("det", "matrix_inverse")},
        **{name: getattr(T.slinalg, name) for name in T.slinalg.__all__},
        "row": lambda v: dimshuffle(v, "x", 0),
        "col": lambda v: dimshuffle(v, 0, "x"),
        "counted": counted,
        "at": lambda k, n: T.eq(
            dimshuffle(counted(n), "x", 0), dimshuffle(nnet.InBounds()(k, n), 0, "x")
        ),
        "first": nnet.FirstRows(),
        "first_axis": lambda a: dimshuffle(a, "x"),
        "are_first": lambda n, total: nnet.FirstRows()(
            constant(np.ones(1, "bool")), n, total
        ),
        "picked": lambda x, k: nnet.FirstOf()(
            nnet.pick(x, first_rows(k, k, x)), shape_i(k, 0)
        ),
        "times": lambda gate, x: call("where_nonzero", gate, gate * x),
        "spread_first": lambda x, k, u: nnet.spread(
            first_rows(u, k, x), first_rows(k, k, x), shape_i(x, 1)
        ),
        "dimshuffle": dimshuffle,
        "ifelse": ifelse,
        "reshape": reshape,
        "shape": shape,
        "shape_i": shape_i,
        "constant": constant,
        "subtensor": subtensor,
        "grad_clip": grad_clip,
        "zero_grad": zero_grad,
        "assert_op": T.opt.assert_op,
        "make_vector": lambda *lengths: MakeVector("int64")(*lengths),
        "pivot": lambda x, axis: pivot(x, (axis,)),
        "logsumexp": lambda x, axis, *weights: logsumexp(x, (axis,), *weights),
        "weighed": weighed,
        "either": lambda is_far, x, place, far, near: hyperbolic.either(
            is_far, x, T.constant(place, dtype=x.dtype), far, near
        ),
        "shifted": lambda x, weight, m: shifted_term(x, weight, m)[1],
        "share": lambda top, bottom, m: top(finite(m)) / bottom(finite(m)),
        "softplus_or": softplus_or,
        "multiple": multiple,
        "log1p_of_exp": hyperbolic.log1p_of_exp,
        "log_of_expm1": hyperbolic.log_of_expm1,
        "log_less": lambda terms, m: T.log(terms(finite(m))) + finite(m),
        "gemv": lambda y, a, x, *props: Gemv(*props)(y, a, x),
        "gemm": lambda c, a, b, *props: Gemm(*props)(c, a, b),
        "batched_gemm": lambda c, a, b, *props: BatchedGemm(*props)(c, a, b),
    }


def is_same(a, b):
    """Whether two graphs are one, numbers compared by value."""
    if a is b or (isinstance(a, Constant) and a.equals(b)):
        return True
    known = constant_of(a), constant_of(b)
    if known[0] is not None and known[1] is not None:
        return bool(known[0] == known[1])
    if a.owner is None or b.owner is None or a.owner.op != b.owner.op:
        return False
    return a.index == b.index and all(map(is_same, a.owner.inputs, b.owner.inputs))


CASES = [
    pytest.param(rule, example, id=f"{rule.name}: {example.before}")
    for rule in all_rules()
    for example in rule.examples
]


@pytest.mark.parametrize(("rule", "example"), CASES)
def test_a_rule_does_what_its_docstring_says(rule, example):
    variables = leaves()
    scope = namespace(variables)
    before, after = (eval(text, scope) for text in (example.before, example.after))
    fgraph = FunctionGraph(list(variables.values()), [before])
    Fixpoint(fgraph, [rule], Log()).run()
    fgraph.check()
    after = FunctionGraph(list(variables.values()), [after]).outputs[0]
    assert is_same(fgraph.outputs[0], after), text_of(fgraph.outputs[0])


@pytest.mark.parametrize(("rule", "example"), CASES)
def test_both_sides_of_a_rule_are_equal_over_the_whole_line(rule, example):
    variables = leaves()
    scope = namespace(variables)
    before, after = (eval(text, scope) for text in (example.before, example.after))
    values = {v: values_of(v) for v in variables.values()}
    left, right = run_graph(FunctionGraph(list(values), [before, after]), values)
    assert left.dtype == right.dtype
    assert left.shape == right.shape
    wanted = np.ones(left.shape, dtype=bool)
    if not EXACT[rule.phase] and left.shape == values[variables["x"]].shape:
        used = [v for v in ancestors([before]) if v.name in list("xyz")]
        given_nan = np.isnan([values[v] for v in used]).any(0)
        wanted = np.isfinite(left) | given_nan
    for name, exempt in exemptions(example.note):
        wanted &= ~np.isin(values[variables[name]], exempt) & ~(
            np.isnan(exempt) & np.isnan(values[variables[name]])
        )
    tolerance = 1e-14 if EXACT[rule.phase] and rule.phase != "blas" else 1e-8
    np.testing.assert_allclose(
        right[wanted],
        left[wanted],
        rtol=tolerance,
        atol=0 if EXACT[rule.phase] else 1e-9,
    )


@pytest.mark.parametrize(
    ("rule", "example"), [each for each in CASES if each.values[0].wants_graph]
)
def test_a_rule_makes_nothing_twice_for_others_who_read_a_part(rule, example):
    variables = leaves()
    before = eval(example.before, namespace(variables))
    parts = [v for v in ancestors([before]) if v.owner is not None][1:]
    for also_read in (parts, *([part] for part in parts)):
        fgraph = FunctionGraph(list(variables.values()), [before, *also_read])
        count = how_many_compute(fgraph)
        Fixpoint(fgraph, [rule], Log()).run()
        assert how_many_compute(fgraph) <= count, list(map(text_of, fgraph.outputs))


def how_many_compute(fgraph):
    """The number of nodes that are no views of one array, nor integers of the host."""
    views = DimShuffle | Subtensor
    return sum(
        not isinstance(node.op, views) and not is_of_lengths(node.outputs[0])
        for node in fgraph.apply_nodes
    )


def test_every_rule_is_applied():
    applied = {id(rule) for rules in RULES.values() for rule in rules}
    for info in pkgutil.walk_packages(rewrites.__path__, f"{rewrites.__name__}."):
        for name, rule in vars(importlib.import_module(info.name)).items():
            assert not isinstance(rule, Rule) or id(rule) in applied, name


def test_rules_that_do_not_come_to_rest_are_left_out_from_then_on(monkeypatch):
    @engine.rewrite(phase="canonicalize", ops=["arctan2"])
    def turn_for_ever(node):
        """arctan2(x, y) -> arctan2(-y, x)"""
        x, y = node.inputs
        return T.arctan2(-y, x)

    monkeypatch.setitem(RULES, "canonicalize", [*RULES["canonicalize"], turn_for_ever])
    x, y = T.dvectors("xy")
    fgraph = FunctionGraph([x, y], [T.exp(T.arctan2(x, y)) + 0])
    with pytest.warns(UserWarning, match="does not come to rest") as told:
        log = rewrites.optimize(fgraph)
    assert len(told) == 1 and log.restless == {"turn_for_ever"}


def exemptions(note):
    """The places that a line's comment leaves out: `but at x = -15, 15`."""
    found = re.match(r"but at (\w) = (\S+(, \S+)*)$", note)
    return [(found[1], float(place)) for place in found[2].split(", ")] if found else []


def text_of(variable):
    if variable.owner is None:
        return str(variable)
    return f"{variable.owner.op}({', '.join(map(text_of, variable.owner.inputs))})"


def test_the_log_names_rules_and_both_sides():
    x = T.dvector("x")
    log = rewrites.optimize(
        FunctionGraph([x], [T.log(1 + x)]), ["stabilize"], keep_text=True
    )
    (entry,) = [each for each in log.entries if each.rule == "log_of_one_plus"]
    assert "log" in entry.before
    assert "log1p" in entry.after


def test_an_unknown_phase_is_an_error():
    with pytest.raises(GraphValueError, match="polish"):
        rewrites.optimize(FunctionGraph([], []), ["polish"])


def test_a_rule_without_an_example_cannot_be_registered():
    with pytest.raises(RewriteError, match="before -> after"):

        @engine.rewrite(phase="simplify", ops=["exp"])
        def change(node):
            """Changes things."""


def test_a_result_of_another_type_is_an_error():
    @engine.rewrite(phase="simplify", ops=["exp"])
    def narrow(node):
        """exp(x) -> cast(exp(x), "float32")"""
        return T.cast(node.out, "float32")

    x = T.dvector("x")
    with pytest.raises(RewriteError, match=r"narrow.*float32.*float64"):
        Fixpoint(FunctionGraph([x], [T.exp(x)]), [narrow], Log()).run()


def test_rules_that_do_not_come_to_rest_are_named():
    @engine.rewrite(phase="simplify", ops=["exp"])
    def turn_to_sine(node):
        """exp(x) -> sin(-x)"""
        return T.sin(-node.inputs[0])

    @engine.rewrite(phase="simplify", ops=["sin"])
    def turn_to_exponential(node):
        """sin(x) -> exp(-x)"""
        return T.exp(-node.inputs[0])

    x = T.dvector("x")
    with pytest.raises(RewriteError, match=r"turn_to_\w+ \d+x, turn_to_\w+ \d+x"):
        Fixpoint(
            FunctionGraph([x], [T.exp(x)]), [turn_to_sine, turn_to_exponential], Log()
        ).run()


def test_rules_that_undo_each_other_come_to_rest():
    @engine.rewrite(phase="simplify", ops=["exp"])
    def turn_to_sine(node):
        """exp(x) -> sin(x)"""
        return T.sin(*node.inputs)

    @engine.rewrite(phase="simplify", ops=["sin"])
    def turn_to_exponential(node):
        """sin(x) -> exp(x)"""
        return T.exp(*node.inputs)

    x, log = T.dvector("x"), Log()
    fgraph = FunctionGraph([x], [T.exp(x)])
    Fixpoint(fgraph, [turn_to_sine, turn_to_exponential], log).run()
    fgraph.check()
    assert sum(log.fired.values()) < 4


def test_a_graph_whose_rules_do_not_come_to_rest_is_compiled_with_a_warning(
    monkeypatch,
):
    @engine.rewrite(phase="simplify", ops=["exp"])
    def turn_about(node):
        """exp(x) -> exp(neg(neg(x)))"""
        return T.exp(T.neg(T.neg(node.inputs[0])))

    for phase in RULES:
        monkeypatch.setitem(RULES, phase, [turn_about] if phase == "simplify" else [])
    x = T.dvector("x")
    fgraph = FunctionGraph([x], [T.exp(x) * 2])
    with pytest.warns(UserWarning, match="turn_about .*goes on with what there is"):
        rewrites.optimize(fgraph)
    np.testing.assert_allclose(
        run_graph(fgraph, {x: np.ones(2)})[0], 2 * np.exp(np.ones(2))
    )


@pytest.mark.parametrize(
    ("setting", "phases"),
    [
        ({"rewrites": "none"}, 0),
        ({"rewrites": "safe"}, 6),
        ({"rewrites": "all"}, 7),
        ({"rewrites": "all", "fuse": False}, 6),
    ],
)
def test_settings_choose_phases(setting, phases):
    with config.use(**setting):
        assert len(rewrites.phases_of(config)) == phases


def calls_of(function):
    """How many calls a function makes, those of its callees included."""
    calls = itertools.count()
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, _: event.endswith("call") and next(calls))
    try:
        function()
    finally:
        sys.setprofile(before)
    return next(calls)


def test_work_grows_with_the_graph_not_with_its_square():
    def work(layers):
        ws = [T.dmatrix() for _ in range(layers)]
        h = x = T.dmatrix("x")
        for w in ws:
            h = T.tanh(T.dot(h, w) + 1)
        gradients = T.grad(T.sqr(h).mean(), ws)
        fgraph = FunctionGraph(
            [x, *ws], [w - 0.1 * g for w, g in zip(ws, gradients, strict=True)]
        )
        return calls_of(lambda: rewrites.optimize(fgraph))

    work(2)
    assert work(32) < 5 * work(8)


CHAINS = {
    "lengths of inputs": lambda z, k: T.tanh(z) if k % 2 else T.sort(z, axis=0),
    "lengths of parts": lambda z, k: T.concatenate([z[1:], z[:1]], axis=0),
    "lengths of branches": lambda z, k: ifelse(T.gt(z.sum(), k), T.tanh(z), z * 2),
    "rows of one array": lambda z, k: z - z.sum(axis=1, keepdims=True),
    "a quotient": lambda z, k: z / (z + k),
}


@pytest.mark.parametrize("name", CHAINS)
def test_work_grows_with_the_length_of_a_chain(name):
    def work(length):
        z = x = T.dmatrix("x")
        for k in range(length):
            z = CHAINS[name](z, k)
        fgraph = FunctionGraph([x], [T.grad(z.sum(), x)])
        return calls_of(lambda: rewrites.optimize(fgraph))

    work(2)
    assert work(80) < 8 * work(20)


@pytest.mark.parametrize("seed", range(30))
def test_random_sums_of_products_become_one_chain_of_routines(seed):
    rng = np.random.default_rng(seed)
    A, B, C = T.dmatrices("A", "B", "C")
    u, v = T.dvectors("u", "v")
    is_vector = seed % 2 == 0
    terms = [v, T.dot(A, u), T.dot(u, B), T.dot(C.T, u)]
    if not is_vector:
        terms = [C, T.dot(A, B), T.dot(B.T, A), T.dot(A, C.T)]
    first, *others = rng.permutation(4)
    total = terms[first]
    for index in others:
        scaled = terms[index] * float(rng.normal())
        steps = [total + scaled, total - scaled, (scaled - total) / 2, -total + scaled]
        total = steps[int(rng.integers(4))]
    inputs = [A, B, C, u, v]
    fgraph = optimized(inputs, [total], phases=["canonicalize", "simplify", "blas"])
    values = {x: rng.normal(size=(5,) * x.type.ndim) for x in inputs}
    wanted = run_graph(FunctionGraph(inputs, [total]), values)[0]
    np.testing.assert_allclose(
        run_graph(fgraph, values)[0], wanted, rtol=1e-9, atol=1e-12
    )
    routines = [node for node in fgraph.apply_nodes if isinstance(node.op, Gemv | Gemm)]
    assert len(routines) == 3
    assert not any(isinstance(node.op, Elemwise) for node in fgraph.apply_nodes)


def test_a_long_sum_of_products_is_looked_into_without_recursion():
    A, B, C = T.dmatrices("A", "B", "C")
    total = C
    for _ in range(700):  # two calls for each would be more than there may be
        total = total + T.dot(A, B) * 0.5
    fgraph = FunctionGraph([A, B, C], [total])
    Fixpoint(fgraph, RULES["blas"], Log()).run()
    values = {A: np.eye(2), B: np.ones((2, 2)), C: np.zeros((2, 2))}
    (found,) = run_graph(fgraph, values)
    np.testing.assert_allclose(found, np.full((2, 2), 350.0))


def test_a_cholesky_factor_says_nothing_of_the_determinant():
    """It reads one triangle; and it may be of a branch that is not taken."""
    A, choice = T.dmatrix("A"), T.bscalar("choice")
    determinant, factor = T.nlinalg.det(A), T.slinalg.cholesky(A)
    uneven = np.array([[2.0, 5.0], [0.5, 3.0]])
    found, _ = run_graph(optimized([A], [determinant, factor]), {A: uneven})
    np.testing.assert_allclose(found, np.linalg.det(uneven))
    outputs = [determinant, ifelse(choice, factor, A)]
    fgraph = optimized([A, choice], outputs)
    needed = {str(v.owner.op) for v in ancestors(fgraph.outputs[:1]) if v.owner}
    assert not any("Cholesky" in each for each in needed)


def test_an_inverse_that_others_read_is_not_solved_again():
    A, B = T.dmatrix("A"), T.dmatrix("B")
    inverse = T.nlinalg.matrix_inverse(A)
    fgraph = optimized([A, B], [inverse, T.dot(inverse, B)])
    assert not any("Solve" in str(node.op) for node in fgraph.toposort())


def test_expressions_of_equal_scalar_constants_are_one():
    c, x = T.dscalar("c"), T.dvector("x")
    fgraph = optimized([c, x], [ifelse(c > 0, T.exp(x), x), ifelse(c > 0, T.sin(x), x)])
    assert [str(node.op) for node in fgraph.toposort()].count(
        "Elemwise{gt,no_inplace}"
    ) == 1
    constants = [v for v in fgraph.clients if isinstance(v, Constant)]
    assert len(constants) == 1
