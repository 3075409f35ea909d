"""What ops hand to their C code, and what computes where there is none."""

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from c_ops import (
    FILL,
    Text,
    VectorTimesScalar,
    WithPerform,
    X,
    run,
)
from gpuarray.compiler import Apply
from gpuarray.compiler.cops import (
    CEnumType,
    COp,
    EnumList,
    EnumType,
    Generic,
    Params,
    ParamsType,
    Scalar,
    generic,
)
from gpuarray.compiler.graph.types import TensorType
from gpuarray.errors import HostNotice

pytestmark = pytest.mark.usefixtures("on_null")


# ---- params ----


class Scaled(COp):
    """a x + b with what it is scaled by as params."""

    __props__ = ("a", "b", "mode")
    modes = EnumList("ADD", ("SUBTRACT", "-"))
    params_type = ParamsType(
        a=Scalar("float64"), b=TensorType("float32", (False,)), mode=modes
    )

    def __init__(self, a, b, mode):
        self.a, self.b, self.mode = a, b, mode

    def make_node(self, x):
        x = T.as_tensor_variable(x)
        return Apply(self, [x], [x.type()])

    def c_code(self, node, name, inp, out, sub):
        return (
            FILL
            + """%(params)s->a * ((dtype_%(x)s *)PyArray_DATA(%(x)s))[i] +
            (%(params)s->mode == SUBTRACT ? -1 : 1) *
            ((DTYPE_PARAM_b *)PyArray_DATA(%(params)s->b))[i];
        """
        ) % {"x": inp[0], "z": out[0], **sub}


def test_params_are_numbers_arrays_and_names(tmp_path, monkeypatch):
    monkeypatch.setenv("GPUARRAY_CACHE_DIR", str(tmp_path))  # others compile, too
    built = gpuarray.compiler.cops.module.build
    before = set(_files())
    for a, mode, sign in ((2.0, "ADD", 1), (0.5, "-", -1)):
        op = Scaled(a, (1.0, 2.0, 3.0, 4.0), mode)
        expected = a * X + sign * np.array([1, 2, 3, 4])
        np.testing.assert_array_equal(run(op, X), expected)
    assert len(set(_files()) - before) <= 1  # values compile nothing
    assert built.cache_info().currsize > 0


def _files():
    return gpuarray.compiler.cops.module.LIBRARIES.folder().glob("*.so")


def test_a_single_param_is_the_value_itself():
    class Plus(Text):
        __props__ = ("code", "parts", "by")
        params_type = Scalar("int16")
        by = 7

        def get_params(self, node):
            return self.by

    assert run(Plus(FILL + "%(params)s;"), X[:1]) == 7


class Constant(COp):
    """Adds a constant that C knows by name, and one of the op's own text."""

    __props__ = ("largest", "own")
    params_type = ParamsType(
        largest=CEnumType("SCHAR_MAX", ("SHRT_MAX", "short")),
        own=CEnumType("HALF", "WHOLE", ctype="double"),
    )

    def __init__(self, largest, own):
        self.largest, self.own = largest, own

    def make_node(self, x):
        x = T.as_tensor_variable(x)
        return Apply(self, [x], [x.type()])

    def c_headers(self):
        return ["<limits.h>"]

    def c_support_code(self):
        return "#define HALF 0.5\n#define WHOLE 1.0"

    def c_code(self, node, name, inp, out, sub):
        return (
            FILL
            + """((dtype_%(x)s *)PyArray_DATA(%(x)s))[i] +
            %(params)s->largest + %(params)s->own;
        """
        ) % {"x": inp[0], "z": out[0], **sub}


def test_constants_of_c_go_by_their_names():
    for largest, own, expected in (
        ("SCHAR_MAX", "HALF", 127.5),
        ("short", "WHOLE", 32768),
    ):
        np.testing.assert_array_equal(run(Constant(largest, own), X), X + expected)
    kind = CEnumType("EOF", ("SEEK_END", "end"))
    assert kind.EOF == "EOF" and kind.filter("end") == "SEEK_END"
    with pytest.raises(KeyError, match="'begin' is none of EOF, SEEK_END, end"):
        kind.filter("begin")
    with pytest.raises(AttributeError, match="has no constant 'SEEK_SET'"):
        _ = kind.SEEK_SET
    with pytest.raises(ValueError, match="is no name of a constant"):
        CEnumType("eof")


def test_perform_gets_the_params_too():
    class Plus(Text):
        __props__ = ("code", "parts")
        params_type = ParamsType(by=EnumType(HALF=0.5))

        def get_params(self, node):
            return self.params_type.get_params(by="HALF")

        def c_code(self, *given):
            raise NotImplementedError("in Python")

        def perform(self, node, inputs, output_storage, params):
            output_storage[0][0] = inputs[0] + np.float32(params.by)

    np.testing.assert_array_equal(run(Plus(""), X), X + 0.5)


TABLE = {"by": 2.5}


@pytest.mark.parametrize("kind", [generic, ParamsType(table=Generic())])
def test_objects_of_python_are_for_perform_and_refused_to_c_code(kind):
    class Refused(Text):
        __props__ = ("code", "parts")
        params_type = kind
        table = TABLE

        def get_params(self, node):
            return TABLE if kind is generic else super().get_params(node)

    class InPython(Refused):
        def perform(self, node, inputs, output_storage, params):
            found = getattr(params, "table", params)
            assert found is TABLE
            output_storage[0][0] = inputs[0] + np.float32(found["by"])

    code = FILL + "17;"
    np.testing.assert_array_equal(run(InPython(code), X), X + 2.5)
    said = r"^Refused \(.*no Python behind it.*(Generic).*or compute in perform"
    with pytest.raises(NotImplementedError, match=said) as error:
        run(Refused(code), X)
    assert "made at" in str(error.value)


def test_a_type_of_params_compares_and_extends():
    kind = ParamsType(a=Scalar("int8"))
    assert kind == ParamsType(a=Scalar("int8")) != kind.extended(b=Scalar("int8"))
    assert kind.extended(b=Scalar("int8")).get_params(Params(a=1), b=2).b == 2
    with pytest.raises(KeyError, match="no value for 'a'"):
        kind.get_params(object())
    with pytest.raises(TypeError, match="C code cannot be given"):
        ParamsType(a=object())
    with pytest.raises(KeyError, match="'X' is none of ADD, SUBTRACT, -"):
        Scaled.modes.fromalias("X")
    with pytest.raises(ValueError, match="given 3, expected one of"):
        Scaled.modes.filter(3)
    with pytest.raises(ValueError, match="no name of a constant"):
        EnumList("lower")


# ---- in Python where C is not to be had ----


def test_an_op_without_c_code_for_its_node_runs_in_python():
    class Undecided(WithPerform):
        def c_code(self, *given):
            raise NotImplementedError("not for these types")

    np.testing.assert_array_equal(run(Undecided(""), X), X + 100)


def test_without_a_compiler_perform_computes_or_one_error_says_so(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("CC", raising=False)
    code = FILL + "11;"
    np.testing.assert_array_equal(run(WithPerform(code), X), X + 100)
    with pytest.raises(NotImplementedError, match="no C compiler was found") as error:
        run(Text(code), X)
    message = str(error.value)
    assert message.startswith("Text (") and "environment variable CC" in message
    assert "made at" in message and len(message.splitlines()) <= 15


def test_cc_names_the_compiler(monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler -m64")
    with pytest.raises(NotImplementedError, match="CC=no-such-compiler -m64"):
        run(Text(FILL + "12;"), X)


def test_float16_is_refused_to_code_that_is_not_ready():
    x = X.astype("float16")
    with pytest.warns(HostNotice, match="Disabling C code for WithPerform .*float16"):
        np.testing.assert_array_equal(run(WithPerform(FILL + "13;"), x), x + 100)
    with pytest.raises(NotImplementedError, match="float16, and it has no perform"):
        run(Text(FILL + "13;"), x)

    class Ready(Text):
        _f16_ok = True

    bits = np.float16(1).view("uint16")
    np.testing.assert_array_equal(run(Ready(f"{FILL} {bits};"), x), np.ones(4, "f2"))


def test_an_op_without_perform_is_evaluated_by_its_c_code():
    op = VectorTimesScalar()
    x, y = T.dvector("x"), T.dscalar("y")
    node = op(x, y).owner
    (found,) = op.evaluate(node, [np.ones(2), np.array(3.0)])
    np.testing.assert_array_equal(found, [3, 3])
