"""What every library gives to be measured, and names for those that are like NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks.rows import Array, Row

Call = Callable[[], Any]

EPSILON = 1e-5
"""Added to the variance of batch norm."""


class NotOffered(Exception):
    """The library cannot do the row, or not in a way worth comparing."""


@dataclass
class Prepared:
    """A row made ready in a library: nothing has run yet."""

    call: Call
    """Does the work once; need not wait."""
    wait: Call
    """Until what was called is done."""
    results: Callable[[], list[Any]]
    """The latest outputs and the state, as NumPy arrays."""
    resize: Callable[[list[Array]], Call] | None = None
    """The same function for other data, which it puts in place at once."""
    peak: Callable[[], float] | None = None
    """Bytes of arrays at the worst moment of a call; calls."""
    is_asynchronous: bool = True
    """Whether calls return before the work is done."""


def scan(
    step: Callable[..., list[Any]], states: list[Any], rows: Any, stack: Any
) -> tuple[list[Any], Any]:
    """Python's loop over rows: the last states, and the first state after each row."""
    kept = []
    for row in rows:
        states = step(states, row)
        kept.append(states[0])
    return states, stack(kept)


def repeat(step: Callable[[Any], Any], state: Any, turns: int) -> Any:
    """The state after so many turns."""
    for _ in range(turns):
        state = step(state)
    return state


def until(
    step: Callable[[Any], Any], is_done: Callable[[Any], Any], state: Any, most: int
) -> Any:
    """The state after the turn that began where all was done, or the last one."""
    for _ in range(most):
        done = bool(is_done(state).all())
        state = step(state)
        if done:
            break
    return state


class Spelled(SimpleNamespace):
    """What is called by NumPy's words in a library that has its own."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"add {name} to the names in benchmarks/libraries")


class Plain:
    """Names of libraries that spell as NumPy does; gradients are written by hand."""

    def __init__(
        self, module: Any, generator: Any, asarray: Any = None, csr: Any = None
    ) -> None:
        """``generator`` and ``csr`` are spelled as NumPy's and SciPy's; ``asarray``
        gives an array in place."""
        self.module, self.generator, self.csr = module, generator, csr
        self.asarray = asarray or module.asarray
        self.matrices: dict[int, Any] = {}

    def __getattr__(self, name: str) -> Any:
        try:
            return getattr(self.module, name)
        except AttributeError:
            raise NotOffered(f"{self.module.__name__} has no {name}") from None

    def copy(self, a: Any) -> Any:
        """A C-contiguous copy."""
        return a.copy("C")

    def sum(self, a: Any, axis: int | None) -> Any:
        """The sum over an axis, or all of it."""
        return a.sum(axis=axis)

    def mean(self, a: Any, axis: int) -> Any:
        """The mean over an axis, which is kept."""
        return a.mean(axis=axis, keepdims=True)

    def argmax(self, a: Any, axis: int) -> Any:
        """Where the first largest is."""
        return a.argmax(axis=axis)

    def cumsum(self, a: Any, axis: int) -> Any:
        """Sums up to each place."""
        return a.cumsum(axis=axis)

    def take(self, a: Any, order: Any) -> Any:
        """Rows of a matrix."""
        return self.module.take(a, order, axis=0)

    def reverse(self, a: Any) -> Any:
        """The rows of a matrix from their ends."""
        return a[:, ::-1]

    def softmax(self, a: Any) -> Any:
        """Of each row."""
        e = self.exp(a - a.max(axis=1, keepdims=True))
        e /= e.sum(axis=1, keepdims=True)
        return e

    def crossentropy(self, a: Any, y: Any) -> Any:
        """The loss of each row of logits."""
        top = a.max(axis=1, keepdims=True)
        total = self.exp(a - top).sum(axis=1)
        return self.log(total) + top[:, 0] - a[self.module.arange(len(y)), y]

    def crossentropy_gradient(self, a: Any, y: Any) -> Any:
        """By the logits, of the sum of the losses."""
        p = self.softmax(a)
        p[self.module.arange(len(y)), y] -= 1
        return p

    def uniform(self, n: int) -> Any:
        """float32 in [0, 1)."""
        return self.generator.random(n, dtype="float32")

    def normal(self, n: int) -> Any:
        """float32 of mean 0 and variance 1."""
        return self.generator.standard_normal(n, dtype="float32")

    def mrg(self, n: int) -> Any:
        """float32 in [0, 1) by MRG31k3p."""
        raise NotOffered(f"{self.module.__name__} has no MRG31k3p")

    def gamma(self, shape: float, n: int) -> Any:
        """float32 of the gamma distribution of scale 1."""
        return self.generator.standard_gamma(shape, n, dtype="float32")

    def poisson(self, mean: float, n: int) -> Any:
        """Integers of Poisson's distribution."""
        return self.generator.poisson(mean, n)

    def binomial(self, trials: int, chance: float, n: int) -> Any:
        """How many of some trials come true."""
        return self.generator.binomial(trials, chance, n)

    def permutation(self, n: int) -> Any:
        """The integers below n, in random order."""
        return self.generator.permutation(n)

    def dropout(self, a: Any, keep: float) -> Any:
        """Some elements, at random, over their share; zeros for the rest."""
        kept = self.generator.random(a.shape, dtype="float32") < keep
        return a * kept * np.float32(1 / keep)

    def matrix(self, values: Any, indices: Any, starts: Any) -> Any:
        """The square matrix in compressed rows; made once."""
        if id(values) not in self.matrices:
            n = len(starts) - 1
            self.matrices[id(values)] = self.csr((values, indices, starts), (n, n))
        return self.matrices[id(values)]

    def product(self, a: Any, x: Any) -> Any:
        """Of a sparse matrix and a dense array."""
        return a @ x

    def parts(self, a: Any) -> Any:
        """Values and column indices of compressed rows in order."""
        a.sort_indices()
        return a.data, a.indices

    def transposed(self, a: Any) -> Any:
        """In compressed rows, too."""
        return self.parts(a.T.tocsr())

    def sparse_sum(self, a: Any, b: Any) -> Any:
        """Of two sparse matrices."""
        return self.parts(a + b)

    def sparse_product(self, a: Any, b: Any) -> Any:
        """Of two sparse matrices."""
        return self.parts(a @ b)

    def sampled(self, a: Any, x: Any, y: Any) -> Any:
        """The values of x @ y where a matrix has its own."""
        raise NotOffered(f"{self.module.__name__} has no sampled product")

    def gradient(self, cost: Any, state: Any, by_hand: Any) -> Any:
        """Outputs and gradients."""
        return by_hand()

    def scan(self, step: Any, states: Any, rows: Any) -> Any:
        """The states after all rows, and the first state after each."""
        return scan(step, states, rows, self.module.stack)

    repeat = staticmethod(lambda *arguments: repeat(*arguments))
    until = staticmethod(lambda *arguments: until(*arguments))


def eager(
    row: Row,
    names: Any,
    place: Callable[[Array], Any],
    wait: Call,
    fetch: Callable[[Any], Any],
    is_asynchronous: bool = True,
) -> Prepared:
    """A row in a library that does each operation when it is called."""
    if not row.eager:
        raise NotOffered("only of compilers")
    if row.measure == "first":
        raise NotOffered("compiles nothing")
    state = [place(array) for array in row.state()]
    data = [place(array) for array in row.data()]
    kept: list[list[Any]] = [state, []]

    def call() -> None:
        kept[0], outputs = row.work(names, kept[0], data)
        kept[1] = [fetch(output) for output in outputs] if row.to_host else outputs

    def resize(arrays: list[Array]) -> Call:
        data[:] = [place(array) for array in arrays]
        return call

    return Prepared(
        call,
        wait,
        lambda: [np.asarray(fetch(array)) for array in (*kept[1], *kept[0])],
        resize,
        is_asynchronous=is_asynchronous,
    )
