"""Theano's ``tensor.shared_randomstreams``: random streams with shared states.

>>> from gpuarray.compiler import function, tensor as T
>>> streams = T.shared_randomstreams.RandomStreams(234, engine="numpy")
>>> draw = function([], streams.uniform((2, 2), dtype="float64"))
>>> print(draw())
[[0.12672381 0.97091597]
 [0.13989098 0.88754825]]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.names import suggest_names
from gpuarray.compiler.ops.random import host
from gpuarray.compiler.random import Streams
from gpuarray.compiler.shared import Container, SharedVariable
from gpuarray.compiler.tensor import raw_random

ENGINES = ("philox", "numpy")
_SEEDS = 2**30  # of the states of draws, as Theano draws them


class RandomStateSharedVariable(SharedVariable):
    """The state of a draw of NumPy's; its value is a numpy.random.RandomState."""

    def get_value(
        self, borrow: bool = False, return_internal_type: bool = False
    ) -> Any:
        """Return a generator in this state: set the variable to it to go on there."""
        if return_internal_type:
            return super().get_value(borrow, return_internal_type)
        return host.unpacked(super().get_value(True))

    def set_value(self, new_value: Any, borrow: bool = False) -> None:
        """Set the state to that of a generator of NumPy's, or to its 628 integers."""
        if isinstance(new_value, np.random.RandomState):
            new_value = host.packed(new_value)
        super().set_value(new_value, borrow)


class RandomStreams(Streams):
    """Draws by Theano's names and arguments.

    ``engine="philox"`` draws on the device, the numbers of `gpuarray.random`: those of
    draw k are a generator's of stream k. ``engine="numpy"`` draws NumPy's and Theano's
    own numbers on the host, one after another; profiles name it as RandomFunction.
    """

    def __init__(self, seed: Any = None, engine: str = "philox") -> None:
        if engine not in ENGINES:
            raise GraphValueError(
                f"RandomStreams: engine is {engine!r}, expected 'philox' or 'numpy'"
            )
        self.engine = engine
        super().__init__(seed)

    def _root(self, seed: Any) -> Any:
        if self.engine == "philox":
            return super()._root(seed)
        try:
            self.gen_seedgen = np.random.RandomState(seed)
        except (ValueError, TypeError) as error:
            raise GraphValueError(
                f"RandomStreams: seed is {seed!r}, expected what "
                f"numpy.random.RandomState takes: {error}"
            ) from None
        return None

    def _state(self, number: int) -> Any:
        if self.engine == "philox":
            return super()._state(number)
        return np.random.RandomState(int(self.gen_seedgen.randint(_SEEDS)))

    def _variable(self, state: Any) -> SharedVariable:
        if self.engine == "philox":
            return super()._variable(state)
        kind = TensorType(host.STATE, (False,))
        variable = RandomStateSharedVariable(kind, None, Container(None, "cpu"))
        variable.set_value(state)
        return variable

    def uniform(
        self,
        size: Any = None,
        low: Any = 0.0,
        high: Any = 1.0,
        ndim: int | None = None,
        dtype: Any = None,
    ) -> Any:
        """Return uniform numbers in [low, high)."""
        return self.gen(raw_random.uniform, size, low, high, ndim, dtype)

    def normal(
        self,
        size: Any = None,
        avg: Any = 0.0,
        std: Any = 1.0,
        ndim: int | None = None,
        dtype: Any = None,
    ) -> Any:
        """Return normal numbers of mean ``avg`` and deviation ``std``."""
        return self.gen(raw_random.normal, size, avg, std, ndim, dtype)

    def binomial(
        self,
        size: Any = None,
        n: Any = 1,
        p: Any = 0.5,
        ndim: int | None = None,
        dtype: Any = "int64",
        prob: Any = None,
    ) -> Any:
        """Return numbers of successes in ``n`` trials of probability ``p``."""
        return self.gen(raw_random.binomial, size, n, p, ndim, dtype, prob)

    def poisson(
        self,
        size: Any = None,
        lam: Any = 1.0,
        ndim: int | None = None,
        dtype: Any = "int64",
    ) -> Any:
        """Return numbers of Poisson's distribution of mean ``lam``."""
        return self.gen(raw_random.poisson, size, lam, ndim, dtype)

    def random_integers(
        self,
        size: Any = None,
        low: Any = 0,
        high: Any = 1,
        ndim: int | None = None,
        dtype: Any = "int64",
    ) -> Any:
        """Return integers from ``low`` to ``high``, both included."""
        return self.gen(raw_random.random_integers, size, low, high, ndim, dtype)

    def choice(
        self,
        size: Any = (),
        a: Any = 2,
        replace: Any = True,
        p: Any = None,
        ndim: int | None = None,
        dtype: Any = "int64",
    ) -> Any:
        """Return choices of the integers below ``a``, or of a vector's elements."""
        return self.gen(raw_random.choice, size, a, replace, p, ndim, dtype)

    def permutation(
        self,
        size: Any = None,
        n: Any = 1,
        ndim: int | None = None,
        dtype: Any = "int64",
    ) -> Any:
        """Return permutations of the integers below ``n``."""
        return self.gen(raw_random.permutation, size, n, ndim, dtype)

    def multinomial(
        self,
        size: Any = None,
        n: Any = 1,
        pvals: Any = (0.5, 0.5),
        ndim: int | None = None,
        dtype: Any = "int64",
    ) -> Any:
        """Return how often each outcome comes in ``n`` draws."""
        return self.gen(raw_random.multinomial, size, n, pvals, ndim, dtype)

    def dirichlet(
        self,
        size: Any = None,
        alpha: Any = (1.0, 1.0),
        ndim: int | None = None,
        dtype: Any = None,
    ) -> Any:
        """Return vectors of shares that add to one."""
        return self.gen(raw_random.dirichlet, size, alpha, ndim, dtype)

    def multivariate_normal(
        self,
        size: Any = None,
        mean: Any = (0.0, 0.0),
        cov: Any = ((1.0, 0.0), (0.0, 1.0)),
        ndim: int | None = None,
        dtype: Any = None,
    ) -> Any:
        """Return normal vectors of a mean and a covariance matrix."""
        return self.gen(raw_random.multivariate_normal, size, mean, cov, ndim, dtype)

    def shuffle_row_elements(self, input: Any) -> Any:
        """Return the rows of ``input``, each in a random order of its own."""
        return self.gen(raw_random.shuffle_row_elements, input)


suggest_names(__name__)
