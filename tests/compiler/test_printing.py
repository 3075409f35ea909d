"""Graphs as text, in the form that users of Theano know."""

import io
import re

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import FunctionGraph, function, pp, pprint, printing, shared
from gpuarray.compiler.graph.printing import PrettyPrinter, letters, listing
from gpuarray.compiler.rewrites import optimize


def logistic():
    x = T.matrix("x")
    w, b = shared(np.ones(3), name="w"), shared(0.0, name="b")
    p_1 = 1 / (1 + T.exp(-T.dot(x, w) - b))
    return x, w, b, p_1 > 0.5


def test_pprint_gives_the_formula_of_the_slides():
    *_, prediction = logistic()
    assert pprint(prediction) == (
        r"gt((TensorConstant{1} / (TensorConstant{1} + exp(((-(x \dot w)) - b)))), "
        "TensorConstant{0.5})"
    )
    assert pp is pprint


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda x, y: x**2, "(x ** TensorConstant{2})"),
        (lambda x, y: x.T, "x.T"),
        (lambda x, y: x // y % 2, "((x // y) % TensorConstant{2})"),
        (lambda x, y: x.sum(axis=0), "Sum{[0]}(x)"),
        (lambda x, y: T.switch(T.eq(x, y), x, -y), "where(eq(x, y), x, (-y))"),
        (lambda x, y: x.astype("int8"), "Cast{int8}(x)"),
        (lambda x, y: x.reshape((4,)), "reshape(x, TensorConstant{(1,) of 4})"),
        (lambda x, y: x.shape[0] * y.shape[1], "(x.shape[0] * y.shape[1])"),
        (lambda x, y: x, "x"),
    ],
)
def test_pprint_writes_operators_between_and_functions_before(build, text):
    assert pprint(build(T.dmatrix("x"), T.dmatrix("y"))) == text


def test_debugprint_gives_the_tree_of_the_slides():
    *_, prediction = logistic()
    text = printing.debugprint(prediction, file="str")
    assert text == "\n".join(
        [
            "Elemwise{gt,no_inplace} [id A] ''",
            " |Elemwise{true_div,no_inplace} [id B] ''",
            " | |InplaceDimShuffle{x} [id C] ''",
            " | | |TensorConstant{1} [id D]",
            " | |Elemwise{add,no_inplace} [id E] ''",
            " |   |InplaceDimShuffle{x} [id F] ''",
            " |   | |TensorConstant{1} [id D]",
            " |   |Elemwise{exp,no_inplace} [id G] ''",
            " |     |Elemwise{sub,no_inplace} [id H] ''",
            " |       |Elemwise{neg,no_inplace} [id I] ''",
            " |       | |dot [id J] ''",
            " |       |   |x [id K]",
            " |       |   |w [id L]",
            " |       |InplaceDimShuffle{x} [id M] ''",
            " |         |b [id N]",
            " |InplaceDimShuffle{x} [id O] ''",
            "   |TensorConstant{0.5} [id P]",
        ]
    )


def test_debugprint_spells_a_node_out_once_and_numbers_the_nodes_of_a_function():
    x = T.dvector("x")
    a = T.exp(x)
    a.name = "a"
    fgraph = FunctionGraph([x], [a * a, a])
    assert printing.debugprint(fgraph, file="str") == "\n".join(
        [
            "Elemwise{mul,no_inplace} [id A] ''   1",
            " |Elemwise{exp,no_inplace} [id B] 'a'   0",
            " | |x [id C]",
            " |Elemwise{exp,no_inplace} [id B] 'a'   0",
            "Elemwise{exp,no_inplace} [id B] 'a'   0",
        ]
    )


def test_debugprint_takes_theanos_options():
    x = T.fvector("x")
    y = T.exp(x)
    y.name = "y"
    z = y + 1
    assert printing.debugprint(z, depth=1, ids="", file="str") == (
        "Elemwise{add,no_inplace} ''"
    )
    stopped = printing.debugprint(z, stop_on_name=True, ids="int", file="str")
    assert stopped.splitlines()[1] == " |Elemwise{exp,no_inplace} [id 1] 'y'"
    assert " |InplaceDimShuffle{x}" in stopped.splitlines()[2]
    typed = printing.debugprint(x, print_type=True, file="str")
    assert typed == "x [id A] <TensorType(float32, vector)>"
    stream = io.StringIO()
    assert printing.debugprint([x, x], file=stream) is None
    assert stream.getvalue() == "x [id A]\nx [id A]\n"


def test_debugprint_writes_to_the_standard_output(capsys):
    printing.debugprint(T.vector("x"))
    assert capsys.readouterr().out == "x [id A]\n"


def test_debugprint_takes_what_has_a_graph():
    class Function:
        class Maker:
            x = T.dvector("x")
            fgraph = FunctionGraph([x], [x + 1])

        maker = Maker()

    text = printing.debugprint(Function(), file="str")
    assert text.startswith("Elemwise{add,no_inplace} [id A] ''   1")
    assert pprint(Function()) == "(x + TensorConstant{1})"
    with pytest.raises(TypeError, match="expected a variable"):
        printing.debugprint("nonsense")


def test_the_top_of_a_graph_prints_in_a_few_lines():
    x, y = T.dvector("x"), T.dvector("y")
    a = T.exp(x)
    assert printing.min_informative(a * a + y) == "\n".join(
        [
            "A. Elemwise{add,no_inplace}",
            " B. Elemwise{mul,no_inplace}",
            "  C. Elemwise{exp,no_inplace}",
            "   D. x",
            "  <C>",
            " E. y",
        ]
    )


def test_a_function_graph_prints_one_line_a_node():
    x = T.dvector("x")
    fgraph = FunctionGraph([x], [T.exp(x).sum()])
    assert listing(fgraph.toposort()) == (
        "0: Elemwise{exp,no_inplace}(x)\n"
        "1: Sum{axis=[0], acc_dtype=float64}(Elemwise{exp,no_inplace}.0)"
    )
    assert str(fgraph) == "FunctionGraph(x -> Sum{axis=[0], acc_dtype=float64}.0)"


def test_names_of_nodes_go_on_after_z():
    assert [letters(n) for n in (0, 25, 26, 51, 52, 26 * 26)] == [
        "A", "Z", "BA", "BZ", "CA", "BAA",
    ]  # fmt: skip


def test_long_formulas_do_not_recurse():
    x = T.dvector("x")
    y = x
    for _ in range(3000):
        y = T.exp(y)
    assert pprint(y).count("exp") == 3000
    assert printing.debugprint(y, file="str").count("\n") == 3000


def test_debugprint_marks_what_is_overwritten_what_is_a_view_and_where_it_is(context):
    x = T.dmatrix("x")
    f = function([x], T.cumsum(x.T, axis=0), mode="FAST_COMPILE")
    text = printing.debugprint(f, print_view_map=True, print_device=True, file="str")
    lines = text.splitlines()
    assert lines[0].startswith("HostFromGpu(gpuarray) [id A] on host ''  v={0: [0]} ")
    views = [line for line in lines if "InplaceDimShuffle{1,0}" in line]
    assert views and all("on device" in v and "v={0: [0]}" in v for v in views)
    w = shared(np.zeros(3), "w")
    g = function([], updates={w: T.exp(w)})
    text = printing.debugprint(g, print_destroy_map=True, file="str")
    assert text.splitlines()[0] == "GpuElemwise{exp}[(0, 0)] [id A] '' d={0: [0]}  0"
    assert "d=" not in printing.debugprint(g, file="str")
    kept = printing.debugprint(g, print_storage=True, file="str")
    assert kept.splitlines()[-1] == "w = [0. 0. 0.]"


def test_debugprint_shows_what_fused_kernels_compute():
    x, y = T.dmatrix("x"), T.dvector("y")
    fgraph = FunctionGraph([x, y], [T.exp(x * y)])
    optimize(fgraph)
    text = printing.debugprint(fgraph, print_fused=True, file="str")
    tree, _, groups = text.partition("\nFused groups:\n")
    assert "Composite{exp((i0 * i1))}" in tree and " >" not in tree
    assert groups.splitlines()[2:] == [
        " >Elemwise{exp,no_inplace} [id E] ''",
        " > |Elemwise{mul,no_inplace} [id F] ''",
        " >   |i0 [id G]",
        " >   |i1 [id H]",
    ]
    assert "Fused" not in printing.debugprint(x + y, print_fused=True, file="str")


def test_debugprint_says_who_reads_what_is_read_twice():
    x = T.dvector("x")
    a = T.exp(x)
    fgraph = FunctionGraph([x], [a * a, a])
    text = printing.debugprint(fgraph, print_clients=True, file="str")
    assert " |Elemwise{exp,no_inplace} [id B] ''   0 clients: [1, 1, 'output']" in text


def test_debugprint_goes_on_with_the_names_of_an_earlier_call():
    x = T.dvector("x")
    y = T.exp(x)
    ids, done = {}, {}
    printing.debugprint(y, used_ids=ids, done=done, file="str")
    text = printing.debugprint([y, T.log(x)], used_ids=ids, done=done, file="str")
    assert text.splitlines() == [
        "Elemwise{exp,no_inplace} [id A] ''",
        "Elemwise{log,no_inplace} [id C] ''",
        " |x [id B]",
    ]


def test_debugprint_takes_nodes_functions_and_variables_together(context):
    x = T.dvector("x")
    f = function([x], x + 1)
    text = printing.debugprint([f, x, T.exp(x).owner], file="str")
    heads = [line for line in text.splitlines() if not line.startswith(" ")]
    assert [head.partition(" [")[0] for head in heads] == [
        "HostFromGpu(gpuarray)",
        "x",
        "Elemwise{exp,no_inplace}",
    ]
    assert "id " + str(id(x)) in printing.debugprint(x, ids="id", file="str")
    with pytest.raises(ValueError, match="it takes 'CHAR', 'int', 'id', ''"):
        printing.debugprint(x, ids="letters")


def test_the_trees_of_the_summer_school():
    x, w, b = T.vector("x"), T.matrix("W"), T.vector("b")
    dot = T.dot(x, w)
    out = T.nnet.sigmoid(dot + b)
    assert printing.debugprint(dot, file="str").splitlines() == [
        "dot [id A] ''",
        " |x [id B]",
        " |W [id C]",
    ]
    assert printing.debugprint(out, file="str").splitlines() == [
        "sigmoid [id A] ''",
        " |Elemwise{add,no_inplace} [id B] ''",
        "   |dot [id C] ''",
        "   | |x [id D]",
        "   | |W [id E]",
        "   |b [id F]",
    ]


def test_pprint_learns_other_ways_to_write():
    pretty = PrettyPrinter()
    x, y = T.dvector("x"), T.dvector("y")
    pretty.assign(T.exp(x).owner.op, printing.FunctionPrinter("e"))
    pretty.assign(type(T.dot(x, y).owner.op), printing.OperatorPrinter("@", -1, "left"))
    pretty.assign(
        lambda node: node.op == T.log(x).owner.op, printing.PatternPrinter("ln %(0)s")
    )
    pretty.assign(T.sqr(x).owner.op, printing.IgnorePrinter())
    assert pretty(T.exp(T.dot(x, T.log(T.sqr(y))))) == "e((x @ ln y))"
    assert pprint(T.exp(x)) == "exp(x)"
    assert pretty([x, x + y]) == "[x, (x + y)]"


def test_pprint_of_a_function_writes_all_outputs(context):
    x = T.dvector("x")
    text = pprint(function([x], [T.exp(x), T.log(x)]))
    assert text[0] == "[" and "exp(" in text and "log(" in text


def test_a_long_operation_is_spelled_out_once():
    x, y = T.matrix("x"), T.vector("y")
    p = T.nnet.sigmoid(T.dot(x, y))
    f = function([x, y], [p.sum(), (-T.log(p) * y.sum()).sum(), T.log1p(p * y.sum())])
    lines = printing.debugprint(f, file="str").splitlines()
    long = [each for each in lines if len(each) > 160]
    ids = [re.findall(r"\[id [A-Z]+\]", each)[0] for each in long]
    assert len(set(ids)) == len(ids)
    again = [each for each in lines if "{...}" in each]
    assert all(re.search(r"\w\{\.\.\.\}(\.\d+)? \[id ", each) for each in again)


def test_a_repeated_operation_has_its_kind_and_id():
    x = T.vector("x")
    several = T.exp(x) * 2 + T.tanh(x) * 3 - T.log(x) * T.sqrt(x + 1) - T.sin(x * 5)
    f = function([x], [several.transfer(None), T.cos(several).sum(), several.max()])
    text = printing.debugprint([*f.maker.fgraph.outputs], file="str")
    spelled = [each for each in text.splitlines() if "sqrt" in each]
    assert len(spelled) == len({re.search(r"\[id \w+\]", each)[0] for each in spelled})


def test_a_result_of_a_long_operation_is_called_by_its_kind():
    x = T.vector("x")
    long = T.exp(x) * 2 + T.tanh(x) * 3 - T.log(x) * T.sqrt(x + 1)
    f = function([x], long)
    (moved,) = [n for n in f.maker.fgraph.toposort() if "HostFromGpu" in str(n.op)]
    assert str(moved) == "HostFromGpu(gpuarray)(GpuElemwise{...}.0)"
    assert "sqrt" in str(moved.inputs[0].owner)
    assert str(T.exp(x)) == "Elemwise{exp,no_inplace}.0"


def test_constants_print_the_digits_of_their_dtype():
    for dtype in ("float16", "float32", "float64"):
        given = np.full((2, 1), 0.1, dtype)
        assert str(T.constant(given)) == "TensorConstant{(2, 1) of 0.1}"
        assert str(T.constant(given[0, 0])) == "TensorConstant{0.1}"
