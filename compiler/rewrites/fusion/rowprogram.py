"""Recognition of row computations, and the composition of row programs."""

from __future__ import annotations

from dataclasses import dataclass

from gpuarray._ufunc.reduction import needs_elements
from gpuarray.compiler.graph.core import Apply, Constant, Variable
from gpuarray.compiler.graph.types import GpuArrayType
from gpuarray.compiler.ops.broadcast.broadcast import BroadcastTo
from gpuarray.compiler.ops.creation.creation import ARange
from gpuarray.compiler.ops.elemwise.elemwise import (
    Cast,
    Composite,
    CompositeStep,
    Elemwise,
)
from gpuarray.compiler.ops.fused import row_steps
from gpuarray.compiler.ops.fused.row_steps import (
    CELL,
    COLUMN,
    COUNT,
    FEW,
    LENGTH,
    NUMBER,
    ONE,
    ROW,
    TABLE,
    AnyStep,
    At,
    Fold,
    Head,
    Line,
    Place,
    Taken,
    Total,
)
from gpuarray.compiler.ops.fused.rowwise import Program, Rowwise
from gpuarray.compiler.ops.index.advanced import ARRAY, Picks
from gpuarray.compiler.ops.linalg.linalg import Dot
from gpuarray.compiler.ops.nnet.nnet import FirstRows, InBounds, Pick
from gpuarray.compiler.ops.random.positions import are_positions
from gpuarray.compiler.ops.reduce.reduce import Reduce
from gpuarray.compiler.ops.shape.shape import DimShuffle, dimshuffle
from gpuarray.compiler.rewrites.engine.patterns import is_constant
from gpuarray.compiler.rewrites.fusion.partition import is_fusible
from gpuarray.scalars import SCALARS


@dataclass(frozen=True, slots=True)
class Domain:
    """The axes of the elements: which of those before the last have length 1."""

    lead: tuple[bool, ...]

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.lead) + 1

    def kind(self, variable: Variable) -> str | None:
        """The kind of a variable: CELL, ROW, COLUMN, ONE; None if it does not fit."""
        flags = getattr(variable.type, "broadcastable", None)
        if flags == (*self.lead, False):
            return CELL
        if flags in ((*self.lead, True), self.lead):
            return ROW
        if flags is None or len(flags) != self.ndim or not all(flags[:-1]):
            return None
        return ONE if flags[-1] else COLUMN

    def is_fold(self, node: Apply) -> bool:
        """True if the node reduces rows to one value each."""
        op = node.op
        return (
            isinstance(op, Reduce)
            and op.axes == (self.ndim - 1,)
            and self.kind(node.inputs[0]) == CELL
            and is_real(node)
        )

    def is_total(self, node: Apply) -> bool:
        """True if the node folds elements over all rows, of which none is valid."""
        op = node.op
        return (
            type(op) is Reduce
            and self.ndim > 1
            and op.axes == tuple(range(self.ndim - 1))
            and self.kind(node.inputs[0]) == CELL
            and not needs_elements(SCALARS[op.monoid])
            and is_real(node)
        )

    def is_link(self, node: Apply) -> bool:
        """True if the node adds or drops the last axis of row values.

        Also if it broadcasts one value to all rows, or changes its axes.
        """
        op, operand, out = node.op, node.inputs[0], node.outputs[0]
        if self.is_one(operand):
            is_repeated = isinstance(op, BroadcastTo) and self.kind(out) == ROW
            return is_repeated or self.is_one(out)
        return (
            isinstance(op, DimShuffle)
            and self.kind(operand) == ROW == self.kind(out)
            and tuple(axis for axis in op.new_order if axis != "x")
            == tuple(range(len(self.lead)))
        )

    def fits(self, node: Apply) -> bool:
        """True if the node computes rows, or elements of them."""
        if isinstance(node.op, Reduce):
            return self.is_fold(node)
        if isinstance(node.op, DimShuffle | BroadcastTo):
            return self.is_link(node)
        if isinstance(node.op, Pick | InBounds):
            return self.picks(node)
        if isinstance(node.op, Picks):
            return takes_rows(node) and self.lead == (False,)
        if isinstance(node.op, FirstRows):
            return is_real(node) and self.is_of_rows(node) and is_plain(node)
        if type(node.op) is not Elemwise or not is_fusible(node) or not is_real(node):
            return False
        if any(are_positions(v) and self.kind(v) != CELL for v in node.inputs):
            return False
        if self.is_one(node.outputs[0]):
            return True
        kind = self.kind(node.outputs[0])
        accepted = {CELL: (CELL, ROW, COLUMN), ROW: (ROW,)}.get(kind or "", ())
        return all(self.kind(v) in accepted or self.is_one(v) for v in node.inputs)

    def picks(self, node: Apply) -> bool:
        """True if the node reads one index of each row."""
        x = node.inputs[0]
        is_fitting = isinstance(node.op, InBounds) or self.kind(x) == CELL
        return is_fitting and is_real(node) and self.is_of_rows(node)

    def is_of_rows(self, node: Apply) -> bool:
        """True if the result has an element for each row, of several rows."""
        flags: tuple[bool, ...] = node.outputs[0].type.broadcastable
        return flags == self.lead and not all(flags)

    def is_one(self, variable: Variable) -> bool:
        """True if a variable is one number, of no more axes than the elements."""
        flags = variable.type.broadcastable
        return all(flags) and len(flags) <= self.ndim


def takes_rows(node: Apply) -> bool:
    """True if the node takes rows of a matrix by a vector known only at run time."""
    if not isinstance(node.op, Picks) or node.op.idx_list != (ARRAY,):
        return False
    x, index = node.inputs
    is_known = isinstance(index, Constant)  # its bounds are checked at once
    is_matrix = x.type.ndim == 2 and not x.type.broadcastable[1]
    return (
        is_matrix
        and index.type.broadcastable == (False,)
        and not is_known
        and is_real(node)
    )


def is_row_product(node: Apply) -> bool:
    """True if the node multiplies a matrix of contiguous rows with a vector.

    Its kernels sum in the elements' dtype.
    """
    if not isinstance(node.op, Dot) or not is_real(node):
        return False
    matrix, vector = node.inputs
    owner = matrix.owner
    is_turned = owner is not None and isinstance(owner.op, DimShuffle)
    return (
        matrix.type.broadcastable == (False, False)
        and vector.type.broadcastable == (False,)
        and matrix.type.dtype in ("float32", "float64")
        and not is_turned
    )


def is_plain(node: Apply) -> bool:
    """True if first rows are a vector's elements, or a mask."""
    (x, *_) = node.inputs
    is_true = x.type.dtype == "bool" and is_constant(x, 1)
    return is_true or x.type.broadcastable == (False,)


def is_real(node: Apply) -> bool:
    """True if the node has host types and no complex numbers."""
    return all(
        not v.type.dtype.startswith("complex") and not isinstance(v.type, GpuArrayType)
        for v in (*node.inputs, *node.outputs)
    )


class Composer:
    """Composes the program of nodes; it has state because values are numbered in order.

    ``value`` maps variables to the numbers of their values; ``host`` maps lengths,
    counts, tables, vectors of the first rows and of columns, by kind, to inputs.
    ``totals`` are folded over all rows.
    """

    def __init__(self, domain: Domain, nodes: list[Apply]) -> None:
        self.domain = domain
        self.nodes = nodes
        self.value: dict[Variable, int] = {}
        self.host: dict[tuple[Variable, str], int] = {}
        self.inputs: list[tuple[Variable, str]] = []
        self.steps: dict[AnyStep, int] = {}
        self.totals: dict[Variable, Total] = {}
        inside = set(nodes)
        outer = dict.fromkeys(
            v for node in nodes for v in values_read(node) if v.owner not in inside
        )
        places = {v: arange_of(v, domain.ndim) for v in outer}
        for variable, length in places.items():
            if length is not None:
                self.add_input(length, LENGTH)
                continue
            aligned = self.aligned(variable)
            kind = NUMBER if are_positions(variable) else domain.kind(aligned)
            assert kind is not None
            self.value[variable] = self.input(aligned, kind)
        for node in nodes:
            self.add_inputs(node)
        for variable, length in places.items():
            if length is not None:
                place = Place(self.host[length, LENGTH], variable.type.dtype)
                self.value[variable] = self.add(place)
        for node in nodes:
            self.add_node(node)

    def input(self, variable: Variable, kind: str) -> int:
        """Return the number of an input, which may be new."""
        pair = variable, kind
        if pair not in self.inputs:
            self.inputs.append(pair)
        return self.inputs.index(pair)

    def add_input(self, variable: Variable, kind: str) -> None:
        """Add an input that is no row value: a length, a count, a table or a vector."""
        if (variable, kind) not in self.host:
            matrix = variable
            if kind in (FEW, COLUMN):
                matrix = dimshuffle(variable, *((0, "x") if kind == FEW else ("x", 0)))
            self.host[variable, kind] = self.input(matrix, kind)

    def add_inputs(self, node: Apply) -> None:
        """Add a member's inputs that are no row values."""
        if isinstance(node.op, InBounds):
            self.add_input(node.inputs[1], LENGTH)
        elif isinstance(node.op, Picks):
            self.add_input(node.inputs[0], TABLE)
        elif isinstance(node.op, Dot):
            self.add_input(node.inputs[1], COLUMN)
        elif isinstance(node.op, FirstRows):
            x, n, _ = node.inputs
            if x.type.broadcastable == (True,):
                self.add_input(n, COUNT)
            else:
                self.add_input(x, FEW)

    def add(self, step: AnyStep) -> int:
        """Return the number of a step's value, which may exist already."""
        return self.steps.setdefault(step, len(self.inputs) + len(self.steps))

    def aligned(self, variable: Variable) -> Variable:
        """Return an outer variable with all axes of the elements."""
        missing = self.domain.ndim - variable.type.ndim
        if missing == 0:
            return variable
        if isinstance(variable, Constant) and variable.data.size == 1:
            data = variable.data.reshape((1,) * self.domain.ndim)
            return Constant(variable.type.clone(broadcastable=data.shape), data)
        if self.domain.kind(variable) == ROW:
            return dimshuffle(variable, *range(variable.type.ndim), "x")
        return dimshuffle(variable, *("x",) * missing, *range(variable.type.ndim))

    def add_node(self, node: Apply) -> None:
        """Add the steps of a member."""
        op = node.op
        operands = tuple(self.value[v] for v in values_read(node))
        if self.domain.is_total(node):
            assert isinstance(op, Reduce)
            (out,), dtype = node.outputs, node.outputs[0].type.dtype
            acc_dtype = op.acc_dtype or dtype
            self.totals[out] = Total(op.monoid, operands[0], dtype, acc_dtype)
            return
        if isinstance(op, DimShuffle | BroadcastTo):
            results = list(operands)
        elif isinstance(op, Reduce):
            out = node.outputs[0].type.dtype
            fold = Fold(op.monoid, operands[0], out, op.acc_dtype or out, op.of_none)
            results = [self.add(fold)]
        elif isinstance(op, InBounds):
            results = [self.add(row_steps.Within(operands[0]))]
        elif isinstance(op, Pick):
            place = self.place(operands[1])
            results = [self.add(At(operands[0], place, node.outputs[0].type.dtype))]
        elif isinstance(op, Picks):
            table = self.host[node.inputs[0], TABLE]
            line = self.add(Line(operands[0], table))
            results = [self.add(Taken(table, line, node.outputs[0].type.dtype))]
        elif isinstance(op, FirstRows):
            results = [self.first_rows(node)]
        elif isinstance(op, Dot):
            dtype = node.outputs[0].type.dtype
            column = self.host[node.inputs[1], COLUMN]
            product = self.add(CompositeStep("mul", (operands[0], column), dtype))
            results = [self.add(Fold("add", product, dtype, dtype))]
        else:
            assert isinstance(op, Elemwise)
            results = self.add_rows(op, node, operands)
        self.value.update(zip(node.outputs, results, strict=True))

    def place(self, value: int) -> int:
        """Return a value as a bounds-checked index in its row."""
        known = (
            v for step, v in self.steps.items() if isinstance(step, row_steps.Within)
        )
        return value if value in known else self.add(row_steps.Within(value))

    def first_rows(self, node: Apply) -> int:
        """Return the value of each of the first rows, zero for the others."""
        x, n, _ = node.inputs
        if (x, FEW) in self.host:
            return self.host[x, FEW]
        return self.add(Head(self.host[n, COUNT]))

    def add_rows(
        self, op: Elemwise, node: Apply, operands: tuple[int, ...]
    ) -> list[int]:
        """Return the values of an elementwise member's results."""
        if isinstance(op.scalar, Composite):
            values = list(operands)
            for step in op.scalar.steps:
                places = tuple(values[operand] for operand in step.operands)
                values.append(self.add(CompositeStep(step.op, places, step.dtype)))
            return [values[output] for output in op.scalar.outputs]
        name = "cast" if isinstance(op.scalar, Cast) else op.scalar.name
        return [self.add(CompositeStep(name, operands, node.outputs[0].type.dtype))]

    def results(self, outputs: list[Variable]) -> list[Variable]:
        """Return the program's results in place of the nodes' outputs."""
        plain = [output for output in outputs if output not in self.totals]
        values = tuple(dict.fromkeys(self.value[output] for output in plain))
        dtypes = tuple((v.type.dtype, kind) for v, kind in self.inputs)
        totals = tuple(self.totals.values())
        op = Rowwise(Program(dtypes, tuple(self.steps), values, totals))
        computed = op.make_node(*(v for v, _ in self.inputs)).outputs
        columns = dict(zip(self.totals, computed[len(values) :], strict=True))
        replacements = []
        for output in outputs:
            if output in columns:
                replacements.append(dimshuffle(columns[output], self.domain.ndim - 1))
                continue
            result = computed[values.index(self.value[output])]
            if output.type.ndim < result.type.ndim:
                result = dimshuffle(result, *range(output.type.ndim))
            replacements.append(result)
        return replacements


def values_read(node: Apply) -> list[Variable]:
    """Return the inputs whose row values a node reads.

    Lengths, tables, and vectors with a value for each column are not among them.
    """
    if isinstance(node.op, FirstRows):
        return []
    if isinstance(node.op, Dot):
        return node.inputs[:1]
    if isinstance(node.op, Picks):
        return node.inputs[1:]
    is_with_lengths = isinstance(node.op, BroadcastTo | InBounds)
    return node.inputs[:1] if is_with_lengths else node.inputs


def arange_of(variable: Variable, ndim: int) -> Variable | None:
    """Return the length of a range along the last axis; None for another variable.

    ``ndim`` is the elements' number of axes: a range of fewer may lie along another.
    """
    owner = variable.owner
    if variable.type.ndim != ndim:
        return None
    if owner is not None and isinstance(owner.op, DimShuffle):
        *new, last = owner.op.new_order
        if last != 0 or any(axis != "x" for axis in new):
            return None
        owner = owner.inputs[0].owner
    if owner is None or not isinstance(owner.op, ARange):
        return None
    length: Variable = owner.inputs[0]
    return length
