"""Cases of draws at places, and of the places of elements."""

import numpy as np
from cases import case, f64
from gpuarray.compiler import tensor as T
from gpuarray.compiler.ops.control.gradient_markers import without_gradient
from gpuarray.compiler.ops.elemwise.draws import DRAWS
from gpuarray.compiler.ops.random.draws import draw_at
from gpuarray.compiler.ops.random.positions import Positions

STATE = np.array([5, 1, 7], "uint64")


def drawn(name, *parameters):
    """The draw of a state whose parameters are the given array and numbers."""

    def build(x):
        state = [T.constant(word) for word in STATE]
        numbers = [T.cast(value, x.type.dtype) for value in parameters]
        return draw_at(name, *state, Positions()(x.shape), x, *numbers)

    def reference(x):
        places = np.arange(x.size, dtype="uint64").reshape(x.shape)
        numbers = [np.asarray(value, x.dtype) for value in parameters]
        return DRAWS[f"draw_{name}"].reference(*STATE, places, x, *numbers)

    return build, reference


def numbered(places, in_memory):
    """A sum of places that a kernel computes and of those that a reduction reads."""
    return places * 2 + in_memory.sum(0).astype("int64")


case(
    "positions",
    lambda x: numbered(T.cast(Positions()(x.shape), "int64"), Positions()(x.shape)),
    lambda x: numbered(*[np.arange(x.size).reshape(x.shape)] * 2),
    f64(3, 4),
    has_gradient=False,
)
case("draw_uniform", *drawn("uniform", 30.0), f64(3, 4))
case("draw_normal", *drawn("normal", 2.0), f64(3, 4))
case(
    "without_gradient",
    lambda x, p: without_gradient(x * 2, [p], "of a test") + 1,
    lambda x, p: x * 2 + 1,
    f64(3, 4),
    f64(3, 4),
    has_gradient=False,
)
