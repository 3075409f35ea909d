"""C text by which a multi-tensor kernel reads its inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from gpuarray._kernels.codegen import convert, loaded
from gpuarray.compiler.gpukernels.source import Operand
from gpuarray.dtypes import INPUT, OFFSET, dtype_to_ctype, work_ctype

Sources = tuple[str, ...]
"""The sources of a part's inputs: ``"array"``, ``"int"``, or a constant's text."""


def numbers_of(
    dtypes: Sequence[str], sources: Sources, name: str = "i"
) -> Iterator[tuple[str, Operand]]:
    """Yield the inputs' sources, and their names in a kernel."""
    for index, (source, dtype) in enumerate(zip(sources, dtypes, strict=True)):
        text = f"{name}{index}"
        if source == "int":
            text = convert(text, np.dtype("int64"), np.dtype(dtype))
            yield source, (text, dtype)
        else:
            yield source, (text if source == "array" else source, dtype)


def chosen(texts: Mapping[int, str]) -> str:
    """The text that goes with the part that a block is of, by the parts' numbers.

    >>> chosen({0: "a", 2: "b"})
    '(number == 0 ? a : b)'
    >>> chosen({0: "a", 2: "a"})
    'a'
    """
    *others, (_, last) = texts.items()
    if set(texts.values()) == {last}:
        return last
    return f"({''.join(f'number == {n} ? {text} : ' for n, text in others)}{last})"


class InputText:
    """Writes the reads of parts; it has state because they share a kernel's parameters.

    The part ``number`` is being written: ``before`` is computed once, ``mapped`` for
    each element ``q`` that a total folds, ``each`` for each element ``p``. Equal parts,
    ``numbers``, have one text, which selects among their parameters.
    """

    def __init__(self) -> None:
        self.parameters: list[str] = []
        self.types: list[Any] = []
        self.supports: dict[str, None] = {}
        self.number = 0
        self.numbers: list[int] = []
        self.before: list[str] = []
        self.mapped: list[str] = []
        self.each: list[str] = []

    def number_of(self, name: str) -> None:
        """Add a parameter: a count of elements, rows or blocks."""
        self.parameters.append(f"ga_int {name}")
        self.types.append(np.int32)

    def pointer(self, name: str, dtype: str, kind: Any = INPUT) -> None:
        """Add an array parameter, as a pointer to its elements."""
        ctype = dtype_to_ctype(np.dtype(dtype))
        own = f"{name}_{self.number}"
        self.parameters += [f"GLOBAL_MEM {ctype} *{own}", f"ga_size {own}_off"]
        self.types += [kind, OFFSET]
        begin, offset = self.given(name), self.given(name, "_off")
        self.before.append(
            f"GLOBAL_MEM {ctype} *{name} = (GLOBAL_MEM {ctype} *)"
            f"((GLOBAL_MEM char *){begin} + {offset});"
        )

    def given(self, name: str, more: str = "") -> str:
        """Return the text that selects a parameter among the equal parts'."""
        return chosen({number: f"{name}_{number}{more}" for number in self.numbers})

    def load(
        self, names: tuple[str, str, str], source: str, dtype: str, lines: list[str]
    ) -> None:
        """Add the value of an input, to ``lines`` where it is an array's.

        ``names`` are the value's, the array's, and that of the element's index.
        """
        name, array, place = names
        if source == "int":
            self.parameters.append(f"ga_long {name}_{self.number}")
            self.types.append(np.int64)
            self.before.append(f"const ga_long {name} = {self.given(name)};")
        elif source == "array":
            kind = np.dtype(dtype)
            self.pointer(array, dtype)
            text = loaded(f"{array}[{place}]", kind)
            lines.append(f"const {work_ctype(kind)} {name} = {text};")
