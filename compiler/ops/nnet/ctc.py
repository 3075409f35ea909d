"""Connectionist temporal classification: the cost of sequences of labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gpuarray.compiler.errors import GraphArgumentError
from gpuarray.compiler.graph.core import Apply, Op, Variable, is_float
from gpuarray.compiler.graph.op import Gradients, Variables
from gpuarray.compiler.graph.requirements import Requirement, equal
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.shape.shape import dimshuffle
from gpuarray.compiler.ops.variables.basic import as_tensor_variable
from gpuarray.dtypes import work_dtype


class ConnectionistTemporalClassification(Op):
    """The costs of sequences, see `ctc`, and with ``compute_grad`` their gradients.

    Called, it returns the costs alone, as in Theano.
    """

    __props__ = ("compute_grad",)

    def __init__(self, compute_grad: bool = True) -> None:
        self.compute_grad = bool(compute_grad)

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        """Return the costs."""
        found = super().__call__(*inputs, **options)
        return found[0] if isinstance(found, list) else found

    def make_node(self, activations: Any, labels: Any, input_lengths: Any) -> Apply:
        """Return a node over floats, and integers, which become int32."""
        x, rows, lengths = map(as_tensor_variable, (activations, labels, input_lengths))
        if x.type.ndim != 3 or not is_float(x):
            raise GraphArgumentError(
                f"ctc: given activations {x} of {x.type}, expected floats of 3 axes: "
                "time, batch, classes"
            )
        for name, variable, ndim in (
            ("labels", rows, 2),
            ("input_lengths", lengths, 1),
        ):
            if variable.type.ndim != ndim or variable.type.dtype[0] not in "iu":
                raise GraphArgumentError(
                    f"ctc: given {name} {variable} of {variable.type}, expected "
                    f"integers of {ndim} axes, one of them the batch"
                )
        costs = TensorType(str(work_dtype(x.type.dtype).name), (False,))
        outputs = [costs(), x.type.clone()()] if self.compute_grad else [costs()]
        inputs = [x, math.cast(rows, "int32"), math.cast(lengths, "int32")]
        return Apply(self, inputs, outputs)

    def reference(self, x: Any, labels: Any, lengths: Any) -> Any:
        """Return the results with NumPy, sequence by sequence, in float64."""
        costs = np.zeros(x.shape[1])
        slopes = np.zeros(x.shape)
        for b in range(x.shape[1]):
            ends = np.flatnonzero(labels[b] < 0)
            row = labels[b][: ends[0]] if ends.size else labels[b]
            n = int(lengths[b])
            is_known = 0 <= n <= x.shape[0] and ((row > 0) & (row < x.shape[2])).all()
            costs[b] = np.nan
            if is_known:
                costs[b], slopes[:n, b] = _cost(x[:n, b].astype("float64"), row)
        found = costs.astype(work_dtype(x.dtype)), slopes.astype(x.dtype)
        return found if self.compute_grad else found[:1]

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """Return each cost's gradient times that of the cost."""
        x, *integers = inputs
        if self.compute_grad:
            slopes = outputs[1]
        else:
            slopes = ConnectionistTemporalClassification().make_node(*inputs).outputs[1]
        g = output_gradients[0]
        if g is None or (self.compute_grad and output_gradients[1] is not None):
            return super().lop(inputs, outputs, output_gradients)
        total = math.cast(dimshuffle(g, "x", 0, "x"), x.type.dtype) * slopes
        return [total, *(None for _ in integers)]

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[tuple[Any, ...]]:
        """Return the batch, and the activations' shape."""
        shape = tuple(input_shapes[0])
        return [(shape[1],), shape][: len(node.outputs)]

    def requirements(self, node: Apply, input_shapes: Any) -> Iterable[Requirement]:
        """Require labels and a length for each sequence."""
        batch = input_shapes[0][1]
        yield from equal(input_shapes[1][0], batch)
        yield from equal(input_shapes[2][0], batch)


def _cost(x: Any, labels: Sequence[int]) -> tuple[float, Any]:
    """Return the cost of one sequence and the gradient, by sums over alignments."""
    with np.errstate(divide="ignore"):
        states = np.zeros(2 * len(labels) + 1, int)
        states[1::2] = labels
        skips = np.zeros(len(states), bool)
        skips[2:] = (states[2:] != 0) & (states[2:] != states[:-2])
        shifted = x - x.max(1, keepdims=True) if x.size else x
        logs = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
        forth = _ways(logs[:, states], skips)
        back = _ways(logs[::-1, states[::-1]], np.roll(skips[::-1], 2))[::-1, ::-1]
        if not len(x):
            return (0.0 if len(states) == 1 else np.inf), np.zeros_like(x)
        total = np.logaddexp.reduce(forth[-1, -2:])
        if total == -np.inf:
            return np.inf, np.zeros_like(x)
        shares = np.exp(forth + back - logs[:, states] - total)
    slopes = np.exp(logs)
    for state, label in enumerate(states):
        slopes[:, label] -= shares[:, state]
    return -total, slopes


def _ways(logs: Any, skips: Any) -> Any:
    """Return for each time and state the logarithm of the sum of all ways to it."""
    ways = np.full(logs.shape, -np.inf)
    ways[:1, :2] = logs[:1, :2]
    for t in range(1, len(logs)):
        before = ways[t - 1]
        one = np.concatenate([[-np.inf], before[:-1]])
        two = np.concatenate([[-np.inf] * 2, before])[: len(before)]
        two = np.where(skips, two, -np.inf)
        ways[t] = np.logaddexp(np.logaddexp(before, one), two) + logs[t]
    return ways


def ctc(activations: Any, labels: Any, input_lengths: Any) -> Variable:
    """Return the costs of sequences, by connectionist temporal classification.

    A cost is minus the logarithm of the probability of a sequence's labels, summed over
    all ways to align them with time, with blanks between.

    ``activations`` are (time, batch, classes), floats that a softmax makes
    probabilities; class 0 is the blank. ``labels`` are (batch, length), integers from
    1; a negative number ends a row that is shorter. ``input_lengths`` has the times of
    each sequence. A cost is infinite, and its gradient 0, where a sequence is too short
    for its labels; it is NaN where there is no such class or time.
    """
    result: Variable = ConnectionistTemporalClassification()(
        activations, labels, input_lengths
    )
    return result


def ctc_available() -> bool:
    """Return True: there is no other library to install."""
    return True
