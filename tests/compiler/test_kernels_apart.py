"""What one kernel's text says does not change what others of its plan compute."""

import itertools
import re

import numpy as np
import pytest
from gpuarray.compiler import elementwise_op, function, plan, tensor as T
from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.gpukernels.registry import LOWERINGS, lowers
from gpuarray.compiler.graph.core import Apply, Op
from gpuarray.compiler.ops.custom import own
from gpuarray.compiler.ops.custom.own import refuse_directives
from gpuarray.scalars import SCALARS

TEXTS = {
    "pragma": "#pragma OPENCL FP_CONTRACT OFF",
    "spelled otherwise": "#pragma STDC FP_CONTRACT OFF",
    "macro": "#define sqrt(x) (x)",
    "operator": '_Pragma("OPENCL FP_CONTRACT OFF")',
    "variable": "#define t0 wrong",
}

_numbers = itertools.count()


class Written(Op):
    """An elementwise kernel whose text is a program's own, of what it is given."""

    def __init__(self, preamble, expression):
        self.preamble, self.expression = preamble, expression

    def make_node(self, *inputs):
        return Apply(self, list(inputs), [inputs[0].type()])

    def reference(self, *inputs):
        raise NotImplementedError


@pytest.fixture(autouse=True)
def as_before():
    """The rows and lowerings are as before when a test is over."""

    @lowers(Written)
    def written(op, node, k):
        names = tuple(f"i{i}" for i in range(len(node.inputs)))
        k.add(
            plan.LaunchStep(
                label="written",
                origin=k.origin(node),
                outs=k.outputs(node),
                ins=tuple(k.number(each) for each in node.inputs),
                expr=op.expression,
                preamble=op.preamble,
                names=names,
                in_dtypes=("float32",) * len(names),
                out_names=("o0",),
                inplace=(-1,),
            )
        )

    tables = SCALARS, own.OWN
    before = [dict(each) for each in tables]
    yield
    del LOWERINGS[Written]
    for table, known in zip(tables, before, strict=True):
        table.clear()
        table.update(known)


def given():
    """Sums of a product and nearly its negative: all is in how these are rounded."""
    rng = np.random.default_rng(3)
    x, y, z = (rng.standard_normal(1000).astype("float32") for _ in range(3))
    return x, y, -x * y + z * np.float32(1e-6), np.abs(z[:7])


def graphs(x, y, z, w, factor):
    """Kernels that are other texts for each power of 2, and scale exactly."""
    added = Written("", f"o0 = (i0 * i1 + i2) * {factor}f")
    return [(x * y + z) * factor, T.sqrt(w) * factor, added(x, y, z)]


@pytest.mark.every_case
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_text_of_a_programs_own_is_compiled_by_itself(on_context, text):
    names = [T.fvector(name) for name in "xyzw"]
    factor = np.float32(2.0 ** (next(_numbers) % 50))
    first = Written(text, "o0 = i0")(names[3])
    handed_on, *found = function(names, [first, *graphs(*names, factor)])(*given())
    np.testing.assert_array_equal(handed_on, given()[3])
    for graph, result in zip(graphs(*names, 2 * factor), found, strict=True):
        expected = function(names, graph, on_unused_input="ignore")(*given())
        np.testing.assert_array_equal(result * 2, expected)


def own_op(text, expression="handed_on(x)"):
    """An operation that gives what it gets, and whose device function says more."""

    def handed_on(m, g, y, x):
        """The same."""
        return (g,)

    support = f"{text}\nGA_INLINE {{t}} handed_on({{t}} x) {{ return x; }}"
    return elementwise_op(expression, lambda x: x, support=support)(handed_on)


@pytest.mark.parametrize(
    "text",
    [*TEXTS.values(), "#  undef exp", "#include <math.h>", "%:define exp(x) (x)"],
)
def test_an_operation_that_would_change_others_is_refused(text):
    with pytest.raises(GraphValueError, match="would hold for what is fused"):
        own_op(text)
    with pytest.raises(GraphValueError, match="would hold for what is fused"):
        own_op("", f"handed_on(x)\n{text}")


def test_directives_of_its_own_are_an_operations(on_context):
    op = own_op(
        "#define ONE 1\nGA_INLINE {t} more({t} x) {\n#pragma unroll\n"
        "  for (int i = 0; i < 2; i++) x += ONE;\n  return x;\n}\n#undef ONE\n"
        "#if defined(ONE)\nno text\n#endif"
    )
    x = T.fvector("x")
    np.testing.assert_array_equal(function([x], op(x))(given()[3]), given()[3])


def test_rows_of_ours_leave_nothing_behind():
    assert all(row.is_ours for row in SCALARS.values())
    for row in SCALARS.values():
        for text in (row.expression, *row.by_kind.values(), *row.support.values()):
            refuse_directives("", text)


def left_behind(text):
    """The macros that a kernel's text defines and does not end, but for guards."""
    defined = set()
    for guard, define, undef in re.findall(
        r"^ *#ifndef (\w+)\n|^ *#define (\w+)|^ *#undef (\w+)", text, re.M
    ):
        defined |= {guard, define}
        defined -= {undef}
    guards = set(re.findall(r"^ *#ifndef (GA_ONCE_\w+)\n *#define \1\n", text, re.M))
    return defined - guards - {""}


def test_kernels_that_share_programs_leave_nothing_behind(
    on_context, tmp_path, monkeypatch
):
    monkeypatch.setenv("GPUARRAY_DUMP_KERNELS", str(tmp_path))
    x, z = T.fmatrix("x"), T.fvector("z")
    outputs = [
        T.dot(x, x),
        T.dot(x, x[0]),
        T.dot(x.T, x[0]),
        T.exp(x).sum(1),
        T.sqr(x).max(0),
        T.nnet.softmax(x.T * np.float32(2.0 ** next(_numbers))),
        T.argmax(T.sin(x), 1),
        T.arange(x.shape[0]) + z[0],
        T.dot(T.cast(x, "complex64"), T.cast(x[0], "complex64")),
    ]
    function([x, z], outputs)
    texts = [each.read_text() for each in tmp_path.iterdir()]
    assert len(texts) > 3  # CUDA has products compiled ahead
    for text in texts:
        assert not left_behind(text), text
        assert not re.findall(r"^ *#pragma (?!unroll|OPENCL FP_CONTRACT)", text, re.M)
