"""The values of a row program as C text: reads, and the expression of each step."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import singledispatch

import numpy as np
from gpuarray._kernels.codegen import as_stored, loaded
from gpuarray.compiler.gpukernels.rows.form import Form
from gpuarray.compiler.gpukernels.source import Operand, decisive, expression
from gpuarray.compiler.ops.elemwise.elemwise import CompositeStep
from gpuarray.compiler.ops.elemwise.steps import ProgramStep
from gpuarray.compiler.ops.fused.row_steps import (
    CELL,
    COLUMN,
    NUMBER,
    ROW,
    At,
    Head,
    Line,
    Place,
    Taken,
    Within,
)
from gpuarray.compiler.ops.fused.rowwise import Program
from gpuarray.dtypes import dtype_to_ctype, work_ctype


class ValueText:
    """Writes the statements of values; it has state because they name earlier ones.

    ``texts`` has the text of each value that is read in place; ``supports`` the device
    functions that statements call.
    """

    def __init__(self, program: Program, form: Form) -> None:
        self.program = program
        self.form = form
        self.count = len(program.inputs)
        self.kinds, self.levels = program.kinds, program.levels
        self.divisors = divisors(program)
        self.decisive = decisive(program.steps, [dtype for dtype, _ in program.inputs])
        self.supports: dict[str, None] = {}
        self.texts: dict[int, Operand] = {}

    def element(self, value: int, line: str = "") -> str:
        """Return an input's element, or its column's value, at ``p``.

        ``line`` is a pointer to a table's row.
        """
        array = line or f"x{value}"
        if self.form.is_unit:
            return f"{array}[p]"
        ctype = dtype_to_ctype(np.dtype(self.program.dtypes[value]))
        return (
            f"*(GLOBAL_MEM const {ctype} *)((GLOBAL_MEM const char *){array} + "
            f"(ga_ssize)p * c{value})"
        )

    def is_number(self, value: int) -> bool:
        """True if an input is the number of each element, which no array has."""
        return value < self.count and self.program.inputs[value][1] == NUMBER

    def number(self, value: int) -> str:
        """Return the statement that computes the number of the element at ``p``."""
        return f"const ga_ulong v{value} = (ga_ulong)row * (ga_ulong)length + p;"

    def loaded(self, value: int, text: str) -> str:
        """Return the statement that reads an input's value in its work type."""
        dtype = np.dtype(self.program.dtypes[value])
        return f"const {work_ctype(dtype)} v{value} = {self.working(value, text)};"

    def working(self, value: int, text: str) -> str:
        """Return an input's element in its work type."""
        return loaded(text, np.dtype(self.program.dtypes[value]))

    def step(self, value: int) -> str:
        """Return the statement of a step that is no fold."""
        return statement(self.program.steps[value - self.count], value, self)

    def assigned(self, value: int, text: str) -> str:
        """Return the statement that gives a value its name."""
        ctype = work_ctype(np.dtype(self.program.dtypes[value]))
        text = self.decided(value, text)
        return f"const {ctype} v{value} = {text};{self.inverse(value)}"

    def decided(self, value: int, text: str) -> str:
        """Return a value's text: rounded, where something is decided by it."""
        if value not in self.decisive:
            return text
        return as_stored(text, np.dtype(self.program.dtypes[value]))

    def applied(self, value: int, step: CompositeStep) -> str:
        """Return the expression of a row of the scalar table."""
        by = self.divisors.get(value)
        if by is not None:
            return f"ga_ratio({self.operand(step.operands[0])[0]}, d{by})"
        if is_share(self.program, value):
            return f"ga_inverse({self.operand(step.operands[0])[0]})"
        text, support = expression(step, [self.operand(v) for v in step.operands])
        if support:
            self.supports[support] = None
        return text

    def inverse(self, value: int) -> str:
        """Return the reciprocal of a row's value that elements divide by; else ""."""
        if value not in self.divisors.values():
            return ""
        return f" const ga_divisor d{value} = ga_divide_by(v{value});"

    def place(self, value: int, operand: int, length: str) -> str:
        """Return a bounds-checked index; a wrong one is reported and becomes 0."""
        text, _ = self.operand(operand)
        v, end = f"v{value}", f"(ga_long){length}"
        return (
            f"ga_long {v} = (ga_long)({text});\n"
            f"if ({v} < -{end} || {v} >= {end}) {{\n"
            f"  if (lane == 0 && mine) ga_report_index(word, word_off, site, {v}, "
            f"{end});\n  {v} = 0;\n}}\nif ({v} < 0) {v} += {end};"
        )

    def line(self, value: int, step: Line) -> str:
        """Return a row of a table: its index, and its pointer."""
        table = step.table
        ctype = dtype_to_ctype(np.dtype(self.program.dtypes[table]))
        return (
            f"{self.place(value, step.operand, f'm{table}')}\n"
            f"GLOBAL_MEM const {ctype} *y{value} = (GLOBAL_MEM const {ctype} *)"
            f"((GLOBAL_MEM const char *)x{table}_ + v{value} * r{table});"
        )

    def at(self, value: int, step: At) -> str:
        """Return a value at an index: recomputed, in a scope of its own."""
        lines = self.cells([step.operand])
        text, _ = self.operand(step.operand)
        place = f"v{step.place}"
        ctype = work_ctype(np.dtype(step.dtype))
        return "\n".join(
            [
                f"{ctype} v{value} = 0;",
                f"if ({place} < (ga_long)length) {{",
                f"  const ga_int p = (ga_int){place};",
                *(f"  {line}" for line in lines),
                f"  v{value} = {self.decided(value, text)};",
                "}",
            ]
        )

    def operand(self, value: int) -> Operand:
        """Return a value's name and dtype."""
        return self.texts.get(value, (f"v{value}", self.program.dtypes[value]))

    def cells(self, wanted: Iterable[int], known: Collection[int] = ()) -> list[str]:
        """Return the statements for the wanted values at ``p`` that are not known."""
        computed, _ = reached(self.program, wanted, known)
        lines = []
        for value in sorted(computed):
            if self.is_number(value):
                lines.append(self.number(value))
            elif value < self.count:
                lines.append(self.loaded(value, self.element(value)))
            else:
                lines.append(self.step(value))
        return lines


@singledispatch
def statement(step: ProgramStep, value: int, k: ValueText) -> str:
    """Return the C statement of a step that is no fold."""
    raise NotImplementedError(f"a row kernel has no {type(step).__name__}")


@statement.register
def _(step: CompositeStep, value: int, k: ValueText) -> str:
    return k.assigned(value, k.applied(value, step))


@statement.register
def _(step: Place, value: int, k: ValueText) -> str:
    return k.assigned(value, f"({work_ctype(np.dtype(step.dtype))})p")


@statement.register
def _(step: Head, value: int, k: ValueText) -> str:
    return k.assigned(value, f"row < v{step.count}")


@statement.register
def _(step: Within, value: int, k: ValueText) -> str:
    return k.place(value, step.operand, "length")


@statement.register
def _(step: At, value: int, k: ValueText) -> str:
    return k.at(value, step)


@statement.register
def _(step: Line, value: int, k: ValueText) -> str:
    return k.line(value, step)


@statement.register
def _(step: Taken, value: int, k: ValueText) -> str:
    return k.loaded(value, k.element(step.table, f"y{step.place}"))


def divisors(program: Program) -> dict[int, int]:
    """Return the row value that divides each element's quotient.

    Its reciprocal, which a row has once, gives the same digits.
    """
    kinds, dtypes, divisor_of = program.kinds, program.dtypes, {}
    for value, step in enumerate(program.steps, len(program.inputs)):
        if not isinstance(step, CompositeStep) or step.op != "true_div":
            continue
        by = step.operands[1]
        is_single = {dtypes[v] for v in (value, *step.operands)} == {"float32"}
        if is_single and kinds[value] == CELL and kinds[by] == ROW:
            divisor_of[value] = by
    return divisor_of


def is_share(program: Program, value: int) -> bool:
    """True if a value is one divided by an integer, as for a mean."""
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
    """Return the values computed for the wanted ones, and the known ones they read."""
    kinds, count = program.kinds, len(program.inputs)
    computed: set[int] = set()
    read: set[int] = set()
    stack = list(wanted)
    while stack:
        value = stack.pop()
        if value in computed or kinds[value] not in (CELL, COLUMN):
            continue
        if value in known:
            read.add(value)
            continue
        computed.add(value)
        if value >= count:
            stack.extend(program.steps[value - count].operands)
    return computed, read
