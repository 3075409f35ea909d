"""The values and the steps that plans are made of."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from gpuarray.compiler.plan import BodyPlan


@dataclass(frozen=True, slots=True)
class ArrayValue:
    """An array on the device; an axis marked in ``broadcastable`` has length 1.

    ``place`` names the context of an input or a constant that is not on the plan's own.
    """

    dtype: str
    broadcastable: tuple[bool, ...]
    place: str | None = None

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.broadcastable)

    def __str__(self) -> str:
        axes = ", ".join("1" if b else "n" for b in self.broadcastable)
        where = f" on {self.place}" if self.place is not None else ""
        return f"{self.dtype}[{axes}]{where}"


@dataclass(frozen=True, slots=True)
class IntValue:
    """A host integer that shapes depend on."""

    def __str__(self) -> str:
        return "int"


Value = ArrayValue | IntValue


@dataclass(frozen=True, slots=True)
class Step:
    """The base of steps: a label for people, and the user's line it came from.

    ``mark`` comes before the label on the device, where a profile is to tell steps
    apart. The step runs only ``when`` each of some host integers is true, or is false,
    and on the plan's own context unless ``place`` names another. ``text`` is the
    listing's lines on the computation; ``$0`` stands in them for the first input,
    ``@0`` for the first output.
    """

    label: str
    origin: str
    outs: tuple[int, ...]
    ins: tuple[int, ...]
    mark: str = field(default="", kw_only=True)
    when: tuple[tuple[int, bool], ...] = field(default=(), kw_only=True)
    place: str | None = field(default=None, kw_only=True)
    text: tuple[str, ...] = field(default=(), kw_only=True)

    @property
    def marked(self) -> str:
        """The name on the device."""
        return f"{self.mark}{self.label}"

    @property
    def reads(self) -> tuple[int, ...]:
        """The values that it needs: its inputs and conditions."""
        return (*self.ins, *(number for number, _ in self.when))

    @property
    def pauses(self) -> bool:
        """True if the host takes part in the step at each run."""
        return False

    def detail(self) -> str:
        """Return the listing's note after the label and the values."""
        return ""

    def lines(self) -> list[str]:
        """Return the lines of ``text`` with the numbers of the step's values."""
        values = {"$": self.ins, "@": self.outs}
        return [
            re.sub(r"([$@])(\d+)", lambda m: f"%{values[m[1]][int(m[2])]}", line)
            for line in self.text
        ]


@dataclass(frozen=True, slots=True)
class HostInt(Step):
    """A constant host integer."""

    value: int

    def detail(self) -> str:
        """Return the integer."""
        return str(self.value)


@dataclass(frozen=True, slots=True)
class DeviceInt(Step):
    """A property of the device as a host integer, one of `DEVICE_INTS`."""

    property: str

    def detail(self) -> str:
        """Return the property."""
        return self.property


DEVICE_INTS = ("is_processor", "processors")
"""Device properties: 1 for a CPU, and its number of multiprocessors or cores."""


@dataclass(frozen=True, slots=True)
class Dim(Step):
    """The length of an axis of an array."""

    axis: int

    def detail(self) -> str:
        """Return the axis."""
        return f"axis {self.axis}"


INT_OPS = (
    "add",
    "sub",
    "mul",
    "floor_divide",
    "maximum",
    "minimum",
    "mod",
    "lt",
    "le",
    "eq",
    "bitwise_and",
    "bitwise_or",
    "cast",
)
"""The executor's arithmetic of host integers, for shapes.

All are rows of two operands but ``cast``, whose second operand is a typecode.
"""


@dataclass(frozen=True, slots=True)
class IntOp(Step):
    """Arithmetic of two host integers; ``label`` is one of `INT_OPS`."""


INDEX = "index"
"""The dtype, in a launch, of an input that is the element's number, a uint64."""


@dataclass(frozen=True, slots=True)
class LaunchStep(Step):
    """An elementwise kernel of any number of outputs.

    ``expr`` is C statements over variables named ``names`` (inputs) and ``out_names``.
    An input of the dtype `INDEX` is an array that gives a shape, in which the variable
    is the element's number.
    ``inplace`` has for each output the input whose memory it takes over, or -1.
    """

    expr: str
    preamble: str
    names: tuple[str, ...]
    in_dtypes: tuple[str, ...]
    out_names: tuple[str, ...]
    inplace: tuple[int, ...]

    def detail(self) -> str:
        """Return what is overwritten."""
        over = [f"%{self.ins[i]}" for i in self.inplace if i >= 0]
        return f"in place of {', '.join(over)}" if over else ""


@dataclass(frozen=True, slots=True)
class ReduceComponent:
    """One more result of a reduction, with fields as in `ReduceStep`."""

    map: str
    combine: str
    identity: str
    acc_dtype: str


@dataclass(frozen=True, slots=True)
class ReduceStep(Step):
    """A reduction over ``axes`` of ``map``, an expression of the inputs.

    ``prologue`` is C statements before the expression, with its variables. With
    ``needs_elements`` reducing none is an error. ``more`` has the results after the
    first. With ``is_position`` the result is the position, among those reduced, of the
    first element that ``combine`` prefers.
    """

    prologue: str
    map: str
    preamble: str
    names: tuple[str, ...]
    in_dtypes: tuple[str, ...]
    combine: str
    identity: str
    acc_dtype: str
    axes: tuple[int, ...]
    needs_elements: bool = False
    more: tuple[ReduceComponent, ...] = ()
    is_position: bool = False

    def detail(self) -> str:
        """Return the axes."""
        return f"axes {', '.join(map(str, self.axes))}"


@dataclass(frozen=True, slots=True)
class Library(Step):
    """A matrix product: ``alpha op(a) op(b) + beta c`` by the routine ``label``."""

    label: Literal["gemv", "gemm"]
    alpha: float
    beta: float
    transpose_a: bool
    transpose_b: bool
    inplace: bool

    def detail(self) -> str:
        """Return scaling, transposition, and what is overwritten."""
        parts = []
        if self.alpha != 1:
            parts.append(f"alpha {self.alpha:g}")
        if self.beta != 0:
            parts.append(f"beta {self.beta:g}")
        if self.transpose_a:
            parts.append("a.T")
        if self.transpose_b:
            parts.append("b.T")
        if self.inplace:
            parts.append(f"in place of %{self.ins[2]}")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class View(Step):
    """A permutation of axes; -1 in ``pattern`` is a new axis of length 1."""

    pattern: tuple[int, ...]

    def detail(self) -> str:
        """Return the new order."""
        return "{" + ", ".join("x" if i < 0 else str(i) for i in self.pattern) + "}"


@dataclass(frozen=True, slots=True)
class ReshapeStep(Step):
    """The same elements in another shape: a view where strides permit, else a copy.

    The inputs are the array and the new lengths.
    """


@dataclass(frozen=True, slots=True)
class Broadcast(Step):
    """A view repeated along axes of length 1 and new axes on the left.

    The inputs are the array and the new lengths.
    """


@dataclass(frozen=True, slots=True)
class Index(Step):
    """A view by integers and slices of the first axes.

    The inputs are the array and the host integers of the index, in order. ``form`` has
    for each axis the parts of a slice that are given, of ``"start"``, ``"stop"`` and
    ``"step"``, or None for an integer.
    """

    form: tuple[tuple[str, ...] | None, ...]

    def detail(self) -> str:
        """Return the index."""
        rest = (f"%{number}" for number in self.ins[1:])
        entries = []
        for parts in self.form:
            if parts is None:
                entries.append(next(rest))
                continue
            bounds = {part: next(rest) for part in parts}
            text = ":".join(bounds.get(part, "") for part in ("start", "stop"))
            entries.append(f"{text}:{bounds['step']}" if "step" in bounds else text)
        return ", ".join(entries)


@dataclass(frozen=True, slots=True)
class Copy(Step):
    """A new C-contiguous copy."""


@dataclass(frozen=True, slots=True)
class TransferStep(Step):
    """A new C-contiguous copy, on the step's context, of an array of another."""


@dataclass(frozen=True, slots=True)
class Choose(Step):
    """A view of one of two arrays: of the second input where the first is true.

    The first input is a host integer; of the two others one need not be computed.
    """


@dataclass(frozen=True, slots=True)
class Call(Step):
    """A call of the step function named ``function`` on the inputs.

    ``options`` are its keyword arguments. ``groups`` has for each argument -1 for one
    input, or how many integers make it a tuple. ``inplace`` is as in `LaunchStep`. A
    call that is not ``recorded`` when the plan is bound is made at each run, between
    two parts of the plan. With a ``body`` the library binds its plan and calls no
    function.
    """

    function: str
    options: tuple[tuple[str, Any], ...]
    groups: tuple[int, ...]
    inplace: tuple[int, ...]
    recorded: bool
    body: BodyPlan | None = None

    @property
    def pauses(self) -> bool:
        """True if Python calls the function at each run."""
        return not self.recorded

    def detail(self) -> str:
        """Return the options, what is overwritten, and whether the plan pauses."""
        over = ", ".join(f"%{self.ins[i]}" for i in self.inplace if i >= 0)
        options = () if self.text else self.options
        parts = [f"{name}={_text(value)}" for name, value in options]
        parts += [f"in place of {over}"] if over else []
        return ", ".join(parts if self.recorded else [*parts, "pauses"])


OVERWRITTEN = {
    "put": 0,
    "add_at": 0,
    "assign": 0,
    "ger": 0,
    "kernel": 0,
    "product": 2,
    "sparse_product_add": 4,
    "sparse_solve": 3,
}
"""The input that the result of a routine overwrites, as in the library's table."""
OVERWRITTEN_BY_PARAMS = ("rows", "row_products", "row_totals")
"""The routines whose last params are these inputs, one for each result."""
VIEWED = (
    "contiguous",
    "diagonal",
    "require",
    "assert",
    "mask",
    "length",
    "at_most",
)
"""The routines whose result may be the memory of their first input."""


@dataclass(frozen=True, slots=True)
class Routine(Step):
    """A call of the library's routine named ``name`` on arrays and integers.

    ``params`` are its integers, ``texts`` its texts. The C header of plans tells what
    each takes.
    """

    name: str
    params: tuple[int, ...] = ()
    texts: tuple[str, ...] = ()

    @property
    def inplace(self) -> tuple[int, ...]:
        """For each output the input whose memory it takes over, or -1."""
        if self.name in OVERWRITTEN_BY_PARAMS:
            count = len(self.outs)
            return self.params[-count:] if len(self.params) > count else ()
        return (OVERWRITTEN.get(self.name, -1),)

    def detail(self) -> str:
        """Return its parameters."""
        return ", ".join([*map(str, self.params), *map(repr, self.texts)])


@dataclass(frozen=True, slots=True)
class LoopStep(Step):
    """A loop that runs ``body`` once an iteration.

    The first input is the number of iterations, an integer. ``takes`` has a letter for
    each of the others: ``r`` an array with a row for each iteration, ``c`` a carried
    state, ``u`` one that ends the loop, ``s`` one shared by all; ``a`` an affine state,
    ``f`` its factor and ``+`` a sum, for a loop in chunks. The first results are the
    final states; the others have an iteration's results in rows. The library starts
    the iterations of a loop ``by_host`` one after another at each run. Python runs
    those of a loop that is not ``recorded``, as a `Call`.
    """

    takes: str
    body: BodyPlan
    recorded: bool = True

    @property
    def by_host(self) -> bool:
        """True if the body waits, or is of several contexts."""
        body = self.body.plan
        waits = any(step.pauses for step in body.steps)
        return waits or any(place is not None for place in body.places())

    @property
    def pauses(self) -> bool:
        """True if the host starts the iterations at each run."""
        return self.by_host or not self.recorded

    def detail(self) -> str:
        """Return how the inputs are taken, and who starts the iterations."""
        words = {"r": "row of", "c": "carried", "u": "until", "s": "same"}
        words |= {"a": "affine", "f": "factor", "+": "sum"}
        pairs = zip(self.takes, self.ins[1:], strict=True)
        parts = [f"{words[letter]} %{number}" for letter, number in pairs]
        if self.pauses:
            parts.append("by the host" if self.recorded else "pauses")
        return ", ".join(parts)

    def lines(self) -> list[str]:
        """Return the lines of the body."""
        return str(self.body.plan).splitlines()


@dataclass(frozen=True, slots=True)
class ReportsStep(Step):
    """The device's count of index errors that were not raised yet."""


@dataclass(frozen=True, slots=True)
class Read(Step):
    """The elements of an array of integers as host integers: the plan waits for it."""

    @property
    def pauses(self) -> bool:
        """True."""
        return True

    def detail(self) -> str:
        """Return that the plan waits."""
        return "waits"


def _text(value: Any) -> str:
    text = str(value).replace("\n", " ")
    return text if len(text) < 40 else text[:37] + "..."
