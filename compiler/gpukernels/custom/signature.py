"""The signature of a `kernel_op`: its inputs and outputs, parsed from text.

``"T x[n, m], int64 k -> T y[n, k]"``: arrays have lengths in brackets, integers of the
host have none. A capital letter stands for a dtype of the inputs, a name of a length
for one of the inputs' shapes. Lengths of results are arithmetic on these.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any

from gpuarray.compiler.errors import GraphTypeError, GraphValueError
from gpuarray.compiler.gpukernels.custom.symbolic import HostInteger, same
from gpuarray.compiler.graph.types import dtype_name, is_integer_name

_PIECE = re.compile(r"(\w+)\s+([A-Za-z_]\w*)\s*(?:\[([^\]]*)\])?")
_LETTER = re.compile(r"[A-Z]")
_ARITHMETIC = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.Name, ast.Load, ast.Constant, ast.Call,
    ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.USub, ast.Tuple,
)  # fmt: skip
FUNCTIONS = ("min", "max")
ALL = "size"
"""The length of an array that is written ``[...]``: the number of its elements."""


@dataclass(frozen=True, slots=True)
class Operand:
    """An array, or an integer of the host (``lengths`` is None).

    ``lengths`` are texts; ``("...",)`` is an array of any number of axes.
    """

    dtype: str
    name: str
    lengths: tuple[str, ...] | None

    @property
    def is_any_shape(self) -> bool:
        """True if the array may have any number of axes."""
        return self.lengths == ("...",)

    def __str__(self) -> str:
        brackets = "" if self.lengths is None else f"[{', '.join(self.lengths)}]"
        return f"{self.dtype} {self.name}{brackets}"


@dataclass(frozen=True, slots=True)
class Signature:
    """The inputs and outputs of a kernel."""

    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]

    @property
    def arrays(self) -> tuple[Operand, ...]:
        """All arrays, the inputs first."""
        return tuple(
            operand
            for operand in (*self.inputs, *self.outputs)
            if operand.lengths is not None
        )

    @property
    def integers(self) -> tuple[Operand, ...]:
        """The integers of the host."""
        return tuple(operand for operand in self.inputs if operand.lengths is None)

    @property
    def lengths(self) -> tuple[str, ...]:
        """The names of lengths, in the order of the inputs."""
        names = (
            ALL if length == "..." else length
            for operand in self.inputs
            for length in operand.lengths or ()
            if not length.isdigit()
        )
        return tuple(dict.fromkeys(names))

    @property
    def letters(self) -> tuple[str, ...]:
        """The letters that stand for dtypes."""
        letters = (
            operand.dtype for operand in self.inputs if _LETTER.fullmatch(operand.dtype)
        )
        return tuple(dict.fromkeys(letters))

    def __str__(self) -> str:
        sides = (", ".join(map(str, side)) for side in (self.inputs, self.outputs))
        return " -> ".join(sides)


def parsed(text: str) -> Signature:
    """Parse a signature. Raises ValueError for a wrong one.

    >>> signature = parsed("T x[n, m], int64 k -> T y[n, m + k]")
    >>> signature.lengths, signature.letters, str(signature.outputs[0])
    (('n', 'm'), ('T',), 'T y[n, m + k]')
    """
    sides = text.split("->")
    if len(sides) != 2:
        raise _wrong(text, "expected inputs -> outputs, such as 'T x[n] -> T y[n]'")
    inputs, outputs = (tuple(_operands(side, text)) for side in sides)
    signature = Signature(inputs, outputs)
    _check(signature, text)
    return signature


def _wrong(text: str, why: str) -> GraphValueError:
    return GraphValueError(f"kernel_op: the signature {text!r}: {why}")


def _operands(side: str, text: str) -> list[Operand]:
    operands = []
    for piece in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", side):
        match = _PIECE.fullmatch(piece.strip())
        if match is None:
            raise _wrong(
                text, f"{piece.strip()!r} is no operand; write a dtype or a capital "
                "letter, a name, and for an array lengths in brackets: T x[n, m]"
            )  # fmt: skip
        dtype, name, lengths = match.groups()
        if not _LETTER.fullmatch(dtype):
            dtype = dtype_name(dtype)
        inside = None
        if lengths is not None:
            inside = tuple(
                length.strip() for length in lengths.split(",") if length.strip()
            )
        operands.append(Operand(dtype, name, inside))
    return operands


def _check(signature: Signature, text: str) -> None:
    names = [operand.name for operand in (*signature.inputs, *signature.outputs)]
    twice = {name for name in names if names.count(name) > 1}
    clash = {*names} & {*signature.lengths}
    if twice or clash:
        raise _wrong(text, f"the name {min(twice | clash)!r} stands for two things")
    for argument in signature.inputs:
        _check_input(argument, text)
    for output in signature.outputs:
        _check_output(output, signature, text)


def _check_input(operand: Operand, text: str) -> None:
    if operand.lengths is None and not is_integer_name(operand.dtype):
        mend = f"write {operand.dtype} {operand.name}[] for a number on the device"
        raise _wrong(text, f"{operand}: only integers are given by the host; {mend}")
    for length in operand.lengths or ():
        if not (length.isidentifier() or length.isdigit() or operand.is_any_shape):
            raise _wrong(text, f"{operand}: {length!r} is no name of a length")


def _check_output(operand: Operand, signature: Signature, text: str) -> None:
    known = {*signature.lengths, *(integer.name for integer in signature.integers)}
    if operand.lengths is None:
        raise _wrong(text, f"{operand}: outputs are arrays; write their lengths")
    if _LETTER.fullmatch(operand.dtype) and operand.dtype not in signature.letters:
        raise _wrong(text, f"{operand}: no input has the dtype {operand.dtype}")
    if operand.is_any_shape and ALL not in known:
        raise _wrong(text, f"{operand}: no input is of any shape, [...]")
    for length in () if operand.is_any_shape else operand.lengths:
        compiled(length, frozenset(known))


@lru_cache(maxsize=1024)
def compiled(text: str, known: Collection[str]) -> CodeType:
    """Compile arithmetic on known names. Raises ValueError for anything else."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError:
        raise GraphValueError(f"kernel_op: {text!r} is no expression") from None
    for node in ast.walk(tree):
        is_known = not isinstance(node, ast.Name) or node.id in {*known, *FUNCTIONS}
        if not isinstance(node, _ARITHMETIC) or not is_known:
            raise GraphValueError(
                f"kernel_op: {text!r} is not made of {', '.join(sorted(known))}, whole "
                f"numbers, + - * // % and {', '.join(FUNCTIONS)}"
            )
    return compile(tree, "<kernel_op>", "eval")


def evaluated(
    text: Any, values: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]]
) -> Any:
    """Evaluate an expression of lengths; numbers stay as they are.

    >>> evaluated("max(n, 2) * m", {"n": 1, "m": 3}, {"max": max})
    6
    """
    if not isinstance(text, str):
        return text
    code = compiled(text, frozenset(values))
    return eval(code, {"__builtins__": {}, **functions}, dict(values))


def bound_lengths(
    signature: Signature,
    shapes: Sequence[Sequence[Any]],
    who: str,
    arrays: Sequence[Any] = (),
) -> dict[str, Any]:
    """Return the lengths by name. Raises where shapes known as numbers do not agree.

    For ``arrays`` of a file a step checks that.
    """
    lengths: dict[str, Any] = {}
    first: dict[str, str] = {}
    for place, (operand, shape) in enumerate(
        zip(signature.inputs, shapes, strict=True)
    ):
        if operand.lengths is None or operand.is_any_shape:
            continue
        for name, length in zip(operand.lengths, shape, strict=True):
            expected = int(name) if name.isdigit() else lengths.setdefault(name, length)
            first_operand = first.setdefault(name, operand.name)
            are_numbers = isinstance(expected, int) and isinstance(length, int)
            if isinstance(length, HostInteger) and expected is not length:
                mismatch = (
                    f"{who}: {name} is another length in {first_operand} and "
                    f"{operand.name}"
                )
                same(expected, length, arrays[place], mismatch)
            elif are_numbers and expected != length:
                raise GraphValueError(
                    f"{who}: {name} is {expected} in {first_operand} and {length} in "
                    f"{operand.name}; the signature is {signature}"
                )
    return lengths


def check_count(signature: Signature, count: int, who: str) -> None:
    """Raise TypeError for a wrong number of operands."""
    if count != len(signature.inputs):
        raise GraphTypeError(
            f"{who}: given {count} operands, expected {len(signature.inputs)}: "
            f"{signature}"
        )
