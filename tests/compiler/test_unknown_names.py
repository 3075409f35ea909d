"""Names that are not offered: the nearest is suggested, what is to come is told."""

from pathlib import Path

import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import pytest
from gpuarray.compiler.errors import (
    MissingInputError,
    UnusedInputError,
)

ROOT = Path(__file__).parent.parent.parent

x = T.dvector("x")


@pytest.mark.parametrize(
    ("module", "name", "near"),
    [
        (theano, "functon", "function"),
        (theano.gradient, "jacobain", "jacobian"),
        (theano.printing, "debugprnt", "debugprint"),
        (theano.sandbox, "gpuaray", "gpuarray"),
        (T, "dvectr", "dvector"),
        (T, "argmx", "argmax"),
        (T.nnet, "softmx", "softmax"),
        (T.nlinalg, "matrix_invers", "matrix_inverse"),
        (T.slinalg, "choleski", "cholesky"),
        (T.extra_ops, "cumsun", "cumsum"),
    ],
)
def test_a_module_suggests_the_name_that_is_near(module, name, near):
    with pytest.raises(AttributeError) as told:
        getattr(module, name)
    assert str(told.value) == (
        f"module {module.__name__!r} has no attribute {name!r}; did you mean {near!r}?"
    )
    assert not hasattr(module, name)


@pytest.mark.parametrize(
    ("expression", "near"),
    [
        ("x.reshpe", "reshape"),
        ("(x + 1).dimshufle", "dimshuffle"),
        ("theano.shared(1.0).get_valu", "get_value"),
        ("theano.function([x], x).profil", "profile"),
        ("T.dvector.brodcastable", "broadcastable"),
    ],
)
def test_python_suggests_the_attributes_of_objects(expression, near):
    scope = {"x": x, "T": T, "theano": theano}
    with theano.config.use(device="null"), pytest.raises(AttributeError) as told:
        eval(expression, scope)
    assert (told.value.name, told.value.obj) != (None, None)
    assert near in dir(told.value.obj)
    assert len(dir(told.value.obj)) < 750, "more names than Python looks through"


def test_other_imports_are_refused_by_python():
    for statement in (
        "import gpuarray.compiler.nothing",
        "import gpuarray.compiler.tensor.nnet.nothing",
        "import shared_randomstreams",
    ):
        with pytest.raises(ModuleNotFoundError, match="No module named"):
            exec(statement)


def test_an_expression_as_an_input_is_told_as_such():
    y = x + 1
    with pytest.raises(UnusedInputError, match=r"is computed, not an .*givens="):
        theano.function([x + 1], y)
    with pytest.raises(MissingInputError, match="of y, given as computed"):
        y.name = "y"
        theano.function([y], y * x)
    with pytest.raises(UnusedInputError) as told:
        theano.function([x, T.dvector("z")], y)
    assert "computed" not in str(told.value)


def test_a_variable_that_is_computed_may_be_an_input(context):
    y = x + 1
    with theano.config.use(device=context.name):
        assert list(theano.function([y], y * 2)([1.0, 3.0])) == [2.0, 6.0]
