"""The kernel of a row program: C text.

A row is walked once for each level of its folds, and once more for what is stored; only
the first walk goes to memory, as long as a row stays in the caches. `lanes` items walk
along a row side by side, and a block has `slots` rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch

import numpy as np
from gpuarray._kernels.codegen import (
    convert,
    identity_text,
    loaded,
    rounded,
)
from gpuarray.compiler.gpukernels.folds import (
    accumulator,
    fold_function,
    lane_function,
    row_tree,
)
from gpuarray.compiler.gpukernels.source import Operand, expression
from gpuarray.compiler.ops.elemwise import CompositeStep
from gpuarray.compiler.ops.rowwise import (
    CELL,
    COLUMN,
    LENGTH,
    ONE,
    ROW,
    TABLE,
    At,
    Fold,
    Head,
    Line,
    Place,
    Program,
    Taken,
    Within,
)
from gpuarray.compiler.ops.steps import ProgramStep
from gpuarray.dtypes import dtype_to_ctype, work_ctype
from gpuarray.scalars import SCALARS

BLOCK = 256
"""Work items of a block, a power of 2."""
RUN = 64
"""Elements of an accumulator that are combined apart, so that long sums stay exact."""

NUMBERS = {TABLE: "mrc", CELL: "rc", ROW: "r", COLUMN: "c"}
"""Of an input what the kernel is told beside its place, by kind.

That is how many rows there are, and the strides along and within them.
"""


@dataclass(frozen=True, slots=True)
class Form:
    """What of a kernel does not follow from its program.

    ``sources`` has for each input ``"array"``, ``"int"``, or the text of a constant.
    With ``is_unit`` neighbours in a row are neighbours in memory; ``is_wide`` rows have
    2**31 elements or more. ``kept`` is how many elements of a row each of ``lanes``
    items keeps, in packs of ``pack`` neighbours. Outputs may lie where the inputs
    ``taken`` do, and nowhere else. Of one walk alone an item reads ``ahead`` elements
    before it folds them. What is folded over all rows at the places of an item's first
    ``own`` elements is in its registers, that of the others in local memory.
    """

    sources: tuple[str, ...]
    taken: frozenset[int]
    is_unit: bool
    is_wide: bool
    kept: int = 0
    lanes: int = 0
    ahead: int = 0
    pack: int = 1
    own: int = 0


class RowText:
    """Writes the kernel; it has state because statements name earlier values.

    ``texts`` has for each value that is known in the text where it is read from,
    ``cached`` the values of elements that were read by an earlier walk.
    """

    block = str(BLOCK)
    kernel = "KERNEL"
    restrict = "GA_RESTRICT "
    lanes = "(ga_int)LDIM_0"
    slots, slot = "(ga_ssize)LDIM_1", "(ga_ssize)LID_1"
    more: tuple[str, ...] = ("ga_ssize per_group",)
    room = ""

    def __init__(self, program: Program, form: Form) -> None:
        self.program = program
        self.form = form
        self.count = len(program.inputs)
        self.given = program.kinds[: self.count]
        self.reports = program.reports
        self.kinds, self.levels = program.kinds, program.levels
        self.folds = list(program.folds)
        self.last = max((self.levels[fold] for fold in self.folds), default=0)
        self.divisors = divisors(program)
        self.supports: dict[str, None] = {}
        self.texts: dict[int, Operand] = {}
        self.parameters: list[str] = []
        self.cached: set[int] = set()

    def fold(self, value: int) -> Fold:
        """The fold that gives a value."""
        return self.program.folds[value]

    def accumulator(self, value: int) -> np.dtype[np.generic]:
        """The dtype that a fold is computed in."""
        return accumulator(self.fold(value))

    def index(self) -> str:
        """The type of places in a row."""
        return "ga_ssize" if self.form.is_wide else "ga_int"

    # ---- what a value is ----

    def element(self, value: int, line: str = "") -> str:
        """An input of each element, or of each place in a row, at ``p``.

        ``line`` is where a table's row begins.
        """
        array = line or f"x{value}"
        if self.form.is_unit:
            return f"{array}[p]"
        ctype = dtype_to_ctype(np.dtype(self.program.dtypes[value]))
        return (
            f"*(GLOBAL_MEM const {ctype} *)((GLOBAL_MEM const char *){array} + "
            f"(ga_ssize)p * c{value})"
        )

    def loaded(self, value: int, text: str) -> str:
        """An input's value in the type that it is computed in."""
        dtype = np.dtype(self.program.dtypes[value])
        return f"const {work_ctype(dtype)} v{value} = {self.working(value, text)};"

    def working(self, value: int, text: str) -> str:
        """The text of an input's element in the type that it is computed in."""
        return loaded(text, np.dtype(self.program.dtypes[value]))

    def step(self, value: int) -> str:
        """The statement of a step that is no fold."""
        return statement(self.program.steps[value - self.count], value, self)

    def assigned(self, value: int, text: str) -> str:
        """The statement that gives a value its name."""
        ctype = work_ctype(np.dtype(self.program.dtypes[value]))
        return f"const {ctype} v{value} = {text};{self.inverse(value)}"

    def applied(self, value: int, made: CompositeStep) -> str:
        """The text of a row of the scalar table."""
        by = self.divisors.get(value)
        if by is not None:
            return f"ga_ratio({self.operand(made.operands[0])[0]}, d{by})"
        if is_share(self.program, value):
            return f"ga_inverse({self.operand(made.operands[0])[0]})"
        text, support = expression(made, [self.operand(v) for v in made.operands])
        if support:
            self.supports[support] = None
        return text

    def inverse(self, value: int) -> str:
        """The statement that goes with a value of the row that elements divide by."""
        if value not in self.divisors.values():
            return ""
        return f" const ga_divisor d{value} = ga_divide_by(v{value});"

    def place(self, value: int, operand: int, length: str) -> str:
        """A place that is in the row; another one is reported and becomes the first."""
        text, _ = self.operand(operand)
        v, end = f"v{value}", f"(ga_long){length}"
        return (
            f"ga_long {v} = (ga_long)({text});\n"
            f"if ({v} < -{end} || {v} >= {end}) {{\n"
            f"  if (lane == 0 && mine) ga_report_index(word, word_off, site, {v}, "
            f"{end});\n  {v} = 0;\n}}\nif ({v} < 0) {v} += {end};"
        )

    def line(self, value: int, made: Line) -> str:
        """A row of a table: its place, and where it begins."""
        table = made.table
        ctype = dtype_to_ctype(np.dtype(self.program.dtypes[table]))
        return (
            f"{self.place(value, made.operand, f'm{table}')}\n"
            f"GLOBAL_MEM const {ctype} *y{value} = (GLOBAL_MEM const {ctype} *)"
            f"((GLOBAL_MEM const char *)x{table}_ + v{value} * r{table});"
        )

    def at(self, value: int, made: At) -> str:
        """What a value is at a place: computed anew, in a scope of its own."""
        body = self.cells([made.operand])
        text, _ = self.operand(made.operand)
        place = f"v{made.place}"
        ctype = work_ctype(np.dtype(made.dtype))
        return "\n".join(
            [
                f"{ctype} v{value} = 0;",
                f"if ({place} < (ga_long)length) {{",
                f"  const {self.index()} p = ({self.index()}){place};",
                *(f"  {line}" for line in body),
                f"  v{value} = {text};",
                "}",
            ]
        )

    def operand(self, value: int) -> Operand:
        """A value's name and dtype."""
        return self.texts.get(value, (f"v{value}", self.program.dtypes[value]))

    def cells(self, wanted: Iterable[int], known: Collection[int] = ()) -> list[str]:
        """The statements for the wanted values of the element at ``p``, save known."""
        made, _ = reached(self.program, wanted, known)
        return [
            self.loaded(value, self.element(value))
            if value < self.count
            else self.step(value)
            for value in sorted(made)
        ]

    # ---- the parts of the kernel ----

    def pointer(self, name: str, dtype: str, is_input: bool, is_apart: bool) -> str:
        """A parameter that is an array; the statement that makes it a pointer.

        What lies apart from all other arrays is read before what is stored sooner.
        """
        ctype = dtype_to_ctype(np.dtype(dtype))
        kind = f"GLOBAL_MEM {'const ' if is_input else ''}{ctype} *"
        apart = self.restrict if is_apart else ""
        self.parameters += [f"{kind}{apart}{name}_all", f"ga_size {name}_off"]
        const = "const " if is_input else ""
        return (
            f"{kind}{name}_ = ({kind})((GLOBAL_MEM {const}char *){name}_all + "
            f"{name}_off);"
        )

    def begin(self) -> list[str]:
        """The parameters, and the values that are the same for all rows."""
        lines = []
        for number, value in enumerate(self.program.outputs):
            dtype = self.program.dtypes[value]
            lines.append(self.pointer(f"o{number}", dtype, False, not self.form.taken))
        for value, (dtype, _) in enumerate(self.program.inputs):
            source, kind = self.form.sources[value], self.given[value]
            if kind == LENGTH:
                continue
            if source == "int":
                self.parameters.append(f"ga_long i{value}")
                text = convert(f"i{value}", np.dtype("int64"), np.dtype(dtype))
                lines.append(f"const {work_ctype(np.dtype(dtype))} v{value} = {text};")
            elif source == "array":
                is_apart = value not in self.form.taken
                lines.append(self.pointer(f"x{value}", dtype, True, is_apart))
                if kind == ONE:
                    lines.append(self.loaded(value, f"*x{value}_"))
                self.parameters += [
                    f"ga_ssize {name}{value}" for name in NUMBERS.get(kind, "")
                ]
            else:
                self.texts[value] = (source, dtype)
        if self.reports:
            self.parameters += ["GLOBAL_MEM ga_uint *word", "ga_size word_off"]
            self.parameters.append("ga_uint site")
        self.parameters += ["ga_ssize rows", f"{self.index()} length", *self.more]
        return lines

    def row(self) -> list[str]:
        """Where the row's inputs begin, and its own values."""
        lines = []
        for value, (dtype, _) in enumerate(self.program.inputs):
            kind = self.given[value]
            if self.form.sources[value] != "array" or kind in (ONE, LENGTH, TABLE):
                continue
            ctype = dtype_to_ctype(np.dtype(dtype))
            at = f"x{value}_"
            if kind != COLUMN:
                at = f"(GLOBAL_MEM const char *){at} + row * r{value}"
            lines.append(
                f"GLOBAL_MEM const {ctype} *x{value} = (GLOBAL_MEM const {ctype} *)"
                f"({at});"
            )
            if kind == ROW:
                lines.append(self.loaded(value, f"*x{value}") + self.inverse(value))
        return [*lines, *self.row_steps(0)]

    def row_steps(self, level: int) -> list[str]:
        """The steps of the row that are known once `level` walks are done."""
        return [
            self.step(value)
            for value, step in enumerate(self.program.steps, self.count)
            if self.kinds[value] == ROW
            and not step.is_fold
            and self.levels[value] == level
        ]

    def functions(self, value: int) -> str:
        """The device functions of a fold."""
        dtype = self.accumulator(value)
        name = f"$name_fold{value}"
        text, support = fold_function(name, self.fold(value).monoid, dtype)
        if support:
            self.supports[support] = None
        return f"{text}\n{lane_function(f'$name_of{value}', dtype)}"

    def helpers(self) -> list[str]:
        """The device functions of all folds."""
        return [self.functions(fold) for fold in self.folds]

    def walk(self, level: int) -> list[str]:
        """One walk along the row, items side by side: the folds of a level."""
        folds = [fold for fold in self.folds if self.levels[fold] == level]
        types = {fold: work_ctype(self.accumulator(fold)) for fold in folds}
        nothing = {
            fold: identity_text(SCALARS[self.fold(fold).monoid], self.accumulator(fold))
            for fold in folds
        }
        lines = [f"{types[fold]} a{fold} = {nothing[fold]};" for fold in folds]
        lines += self.runs(folds, nothing)
        lines += self.tree(folds)
        for fold in folds:
            dtype = np.dtype(self.fold(fold).dtype)
            text = convert(f"a{fold}", self.accumulator(fold), dtype)
            lines.append(
                f"const {work_ctype(dtype)} v{fold} = {text};{self.inverse(fold)}"
            )
        return [*lines, *self.row_steps(level)]

    def runs(self, folds: Sequence[int], nothing: Mapping[int, str]) -> list[str]:
        """The elements' part of a walk: `b` of each run is added to `a`."""
        index = self.index()
        types = {fold: work_ctype(self.accumulator(fold)) for fold in folds}
        if self.form.ahead:
            return self.read_ahead(folds, nothing)
        lines = [f"for ({index} p = lane; p < length;) {{"]
        lines.append(f"  {index} stop = length - p > {RUN} * lanes ? p + {RUN} * lanes")
        lines.append("                             : length;")
        lines += [f"  {types[fold]} b{fold} = {nothing[fold]};" for fold in folds]
        operands = [self.fold(fold).operand for fold in folds]
        lines += [self.unroll(operands), "  for (; p < stop; p += lanes) {"]
        lines += [f"    {line}" for line in self.added(folds)]
        lines.append("  }")
        lines += [f"  a{f} = $name_fold{f}(a{f}, b{f});" for f in folds]
        return [*lines, "}"]

    def read_ahead(self, folds: Sequence[int], nothing: Mapping[int, str]) -> list[str]:
        """The same by steps of some elements; beyond a row's end one is read again.

        So nothing is asked before it is read, and there is one wait for all of them.
        """
        index, ahead = self.index(), self.form.ahead
        kept = [f"b{f} = at < length ? {self.with_element(f)} : b{f};" for f in folds]
        body = self.cells(self.fold(fold).operand for fold in folds)
        return [
            "#pragma unroll 1",
            f"for ({index} next = lane; next < length; next += {ahead} * lanes) {{",
            *(
                f"  {work_ctype(self.accumulator(f))} b{f} = {nothing[f]};"
                for f in folds
            ),
            "#pragma unroll",
            f"  for (int j = 0; j < {ahead}; j++) {{",
            f"    const {index} at = next + j * lanes, p = at < length ? at : next;",
            *(f"    {line}" for line in (*body, *kept)),
            "  }",
            *(f"  a{f} = $name_fold{f}(a{f}, b{f});" for f in folds),
            "}",
        ]

    def with_element(self, fold: int) -> str:
        """A run with one more element."""
        text, dtype = self.operand(self.fold(fold).operand)
        text = convert(text, np.dtype(dtype), self.accumulator(fold))
        return f"$name_fold{fold}(b{fold}, {text})"

    def added(self, folds: Sequence[int], known: Collection[int] = ()) -> list[str]:
        """The statements that add the element at ``p`` to runs."""
        lines = self.cells((self.fold(fold).operand for fold in folds), known)
        return [*lines, *(f"b{fold} = {self.with_element(fold)};" for fold in folds)]

    def stored(self, number: int, at: str) -> str:
        """The statement that stores an output."""
        value = self.program.outputs[number]
        text, dtype = self.operand(value)
        return f"o{number}_[{at}] = {rounded(text, np.dtype(dtype))};"

    def stored_cell(self, number: int) -> str:
        """The statement that stores an output's element at ``p``."""
        return self.stored(number, "row * length + p")

    def finish(self) -> list[str]:
        """The outputs of the row."""
        outputs = self.program.outputs
        cells = [i for i, value in enumerate(outputs) if self.kinds[value] == CELL]
        lines = [
            f"if (lane == 0 && mine) {self.stored(number, 'row')}"
            for number in range(len(outputs))
            if number not in cells
        ]
        if self.program.wanted:
            body = self.cells(self.program.wanted, self.known_at_last())
            body += [self.stored_cell(number) for number in cells]
            body += self.summed()
            lines += ["if (mine) {", *self.stores(body), "}"]
        return lines

    def summed(self) -> list[str]:
        """The statements that fold the element at ``p`` over all rows."""
        return []

    def known_at_last(self) -> Collection[int]:
        """The values of elements that need not be computed to be stored."""
        return ()

    def stores(self, body: list[str]) -> list[str]:
        """The elements' part of what is stored.

        Nothing is read before what is stored sooner if that may be the same: then there
        is one element in flight, however many copies of the statements.
        """
        head = f"for ({self.index()} p = lane; p < length; p += lanes) {{"
        unroll = self.unroll(self.program.wanted)
        if self.form.taken:
            unroll = "#pragma unroll 1"
        return [unroll, head, *(f"  {line}" for line in body), "}"]

    def unroll(self, wanted: Iterable[int]) -> str:
        """How many elements a walk to values has in flight.

        They are fewer where an earlier walk has brought them to the caches: each copy
        of the statements takes the compiler as long as the first.
        """
        made, _ = reached(self.program, wanted, ())
        fresh = {value for value in made if self.is_read(value)} - self.cached
        self.cached |= fresh
        return f"#pragma unroll {4 if fresh else 2}"

    def is_read(self, value: int) -> bool:
        """Whether an element's value comes from an array."""
        if value < self.count:
            return value not in self.texts
        return self.program.steps[value - self.count].is_element

    def tree(self, folds: Sequence[int]) -> list[str]:
        """What folds the accumulators of a row's items."""
        return row_tree(folds)

    def tiles(self) -> list[str]:
        """The head of the loop over the tiles of a block, of `slots` rows each."""
        return [
            "ga_ssize tile = (ga_ssize)GID_0 * per_group;",
            "const ga_ssize last = tile + per_group;",
            "for (; tile < last && tile * slots < rows; tile++) {",
        ]

    def opening(self) -> list[str]:
        """What a block does before its rows."""
        return []

    def closing(self) -> list[str]:
        """What a block does after its rows."""
        return []

    def words(self) -> dict[str, object]:
        """What stands in the text for numbers of the form: those that have them."""
        return {}

    def text(self) -> str:
        """The whole kernel, `$name`, with the words in it that `words` has.

        Its arguments: each output and its offset; for each input the array, its offset,
        of a table its length, and its strides in bytes, or the integer; what indices
        are reported with; rows, length, and the tiles of a group.
        """
        index = self.index()
        begin = self.begin()
        shared = [
            f"  LOCAL_MEM {work_ctype(self.accumulator(f))} shared{f}[{self.block}];"
            for f in self.folds
        ]
        body = self.row()
        for level in range(1, self.last + 1):
            body += self.walk(level)
        body += self.finish()
        functions = self.helpers()
        opening, closing = self.opening(), self.closing()
        places = [
            *shared,
            f"  const {index} lane = ({index})LID_0, lanes = {self.lanes};",
            f"  const ga_ssize slots = {self.slots}, slot = {self.slot};",
            "  const ga_uint item = (ga_uint)(slot * lanes + lane);",
        ]
        lines = [
            *self.supports,
            *functions,
            f"{self.kernel} void $name({', '.join(self.parameters)}{self.room}) {{",
            *places,
            *(f"  {line}" for line in [*begin, *opening]),
            *(f"  {line}" for line in self.tiles()),
            "    const ga_ssize asked = tile * slots + slot;",
            "    const int mine = asked < rows;",
            "    const ga_ssize row = mine ? asked : rows - 1;",
            *(f"    {line}" for line in body),
            "  }",
            *(f"  {line}" for line in closing),
            "}",
        ]
        return "\n".join(lines)


@singledispatch
def statement(step: ProgramStep, value: int, k: RowText) -> str:
    """The C statement of a step of some kind, which is no fold, in a kernel's text."""
    raise NotImplementedError(f"a row kernel has no {type(step).__name__}")


@statement.register
def _(step: CompositeStep, value: int, k: RowText) -> str:
    return k.assigned(value, k.applied(value, step))


@statement.register
def _(step: Place, value: int, k: RowText) -> str:
    return k.assigned(value, f"({work_ctype(np.dtype(step.dtype))})p")


@statement.register
def _(step: Head, value: int, k: RowText) -> str:
    return k.assigned(value, f"row < v{step.count}")


@statement.register
def _(step: Within, value: int, k: RowText) -> str:
    return k.place(value, step.operand, "length")


@statement.register
def _(step: At, value: int, k: RowText) -> str:
    return k.at(value, step)


@statement.register
def _(step: Line, value: int, k: RowText) -> str:
    return k.line(value, step)


@statement.register
def _(step: Taken, value: int, k: RowText) -> str:
    return k.loaded(value, k.element(step.table, f"y{step.place}"))


def divisors(program: Program) -> dict[int, int]:
    """The divisor of each element's quotient that all elements of a row have.

    The same digits come of its reciprocal, which a row has once.
    """
    kinds, dtypes, found = program.kinds, program.dtypes, {}
    for value, step in enumerate(program.steps, len(program.inputs)):
        if not isinstance(step, CompositeStep) or step.op != "true_div":
            continue
        by = step.operands[1]
        is_single = {dtypes[v] for v in (value, *step.operands)} == {"float32"}
        if is_single and kinds[value] == CELL and kinds[by] == ROW:
            found[value] = by
    return found


def is_share(program: Program, value: int) -> bool:
    """Whether a value is one divided by a whole number, as for a mean."""
    dtypes = [program.dtypes[value]]
    for op in ("reciprocal", "cast"):
        at = value - len(program.inputs)
        step = program.steps[at] if at >= 0 else None
        if not isinstance(step, CompositeStep) or step.op != op:
            return False
        (value,) = step.operands
        dtypes.append(program.dtypes[value])
    *singles, whole = dtypes
    return {*singles} == {"float32"} and np.dtype(whole).kind in "iu"


def reached(
    program: Program,
    wanted: Iterable[int],
    known: Collection[int],
) -> tuple[set[int], set[int]]:
    """The values of elements computed for others, and those known that they read."""
    kinds, count = program.kinds, len(program.inputs)
    made: set[int] = set()
    read: set[int] = set()
    stack = list(wanted)
    while stack:
        value = stack.pop()
        if value in made or kinds[value] not in (CELL, COLUMN):
            continue
        if value in known:
            read.add(value)
            continue
        made.add(value)
        if value >= count:
            stack.extend(program.steps[value - count].operands)
    return made, read
