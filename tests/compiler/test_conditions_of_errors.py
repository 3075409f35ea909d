"""Each mistake in a graph or in values is told: its class, a fact of its text."""

import gpuarray.compiler.tensor as T
import mistakes_of_functions
import numpy as np
import pytest
from evaluate import evaluate
from gpuarray.compiler import as_op
from gpuarray.compiler.compile.ops import Rebroadcast, Shape_i
from gpuarray.compiler.gradient import grad_clip
from gpuarray.compiler.ifelse import ifelse
from gpuarray.compiler.printing import Print
from gpuarray.compiler.tensor.opt import Assert
from mistakes import BUILT, RUN
from written import ARRAYS, REPEATING

NAMES = {
    "T": T,
    "np": np,
    "Assert": Assert,
    "Print": Print,
    "Rebroadcast": Rebroadcast,
    "Shape_i": Shape_i,
    "as_op": as_op,
    "grad_clip": grad_clip,
    "ifelse": ifelse,
}


def _text(row):
    return row.partition(" !! ")[0]


def space():
    variables = {
        name: T.tensor(
            value.dtype, REPEATING.get(name, (False,) * np.ndim(value)), name
        )
        for name, value in ARRAYS.items()
    }
    return variables, {**NAMES, **variables}


def assert_told(error, kind, fact):
    assert type(error.value).__name__ == kind
    assert fact in str(error.value)


@pytest.mark.parametrize("row", [*BUILT, *mistakes_of_functions.BUILT], ids=_text)
def test_a_mistake_in_a_graph_is_told(row):
    text, kind, fact = row.split(" !! ")
    _, names = space()
    with pytest.raises(Exception) as error:
        eval(text, names)
    assert_told(error, kind, fact)


@pytest.mark.parametrize("row", RUN, ids=_text)
def test_a_mistake_in_values_is_told(row):
    text, kind, fact = row.split(" !! ")
    variables, names = space()
    built = eval(text, names)
    values = {variables[name]: ARRAYS[name] for name in ARRAYS}
    with pytest.raises(Exception) as error:
        evaluate(built, values)
    assert_told(error, kind, fact)
