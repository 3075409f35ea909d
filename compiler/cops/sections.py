"""C files with sections, for ops that keep their code outside of Python."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gpuarray.compiler.errors import CFileError
from gpuarray.compiler.gpukernels.custom.kernel import Kernel

TAGS = (
    "init_code",
    "init_code_apply",
    "init_code_struct",
    "support_code",
    "support_code_apply",
    "support_code_struct",
    "cleanup_code_struct",
    "code",
    "code_cleanup",
)
KERNELS = "kernels"

FLAGS = {
    "GA_USE_CLUDA": (),
    "GA_USE_SMALL": ("have_small",),
    "GA_USE_DOUBLE": ("have_double",),
    "GA_USE_COMPLEX": ("have_complex",),
    "GA_USE_HALF": ("have_half",),
}
"""The flags of libgpuarray's kernels, with those of `Kernel`."""

_SECTION = re.compile(r"^[ \t]*#[ \t]*section[ \t]+(\S*)[ \t]*$", re.MULTILINE)
_KERNEL = re.compile(r"^[ \t]*#[ \t]*kernel\b(.*)$", re.MULTILINE)
_BLANK = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_FORM = "#kernel name : params : flags"


@dataclass(frozen=True, slots=True)
class Piece:
    """The text of one section of a file, and the number of its first line."""

    file: str
    line: int
    text: str


def read_sections(
    files: Iterable[Path], tags: Iterable[str] = TAGS
) -> dict[str, tuple[Piece, ...]]:
    """Return the sections of all files by tag; those of one tag follow each other.

    Raises CFileError (a ValueError) for a file that cannot be read, one without
    sections, text before the first, and an unknown tag.
    """
    known = tuple(tags)
    sections: dict[str, tuple[Piece, ...]] = {}
    for path in files:
        for tag, piece in _pieces(path, known):
            sections[tag] = (*sections.get(tag, ()), piece)
    return sections


def _pieces(path: Path, known: tuple[str, ...]) -> Iterable[tuple[str, Piece]]:
    try:
        text = path.read_text()
    except OSError as error:
        raise CFileError(
            f"{path}: the op's C file cannot be read: {error.strerror}; paths are "
            "relative to the file of the op's class"
        ) from None
    marks = list(_SECTION.finditer(text))
    if not marks:
        raise CFileError(f"{path}: no section; begin with a line such as #section code")
    before = _BLANK.sub("", text[: marks[0].start()], count=1)
    if before:
        line = 1 + text.count("\n", 0, text.index(before))
        raise CFileError(
            f"{path}:{line}: code before the first section; put it after #section "
            "support_code"
        )
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    for mark, end in zip(marks, ends, strict=True):
        line = text.count("\n", 0, mark.start()) + 1
        if mark[1] not in known:
            raise CFileError(
                f"{path}:{line}: {mark[1]!r} is no section; known are "
                f"{', '.join(known)}"
            )
        yield mark[1], Piece(str(path), line + 1, text[mark.end() + 1 : end])


RESTORE = "#line restore"
"""The end of a file's text: the module's own follows."""


def joined(pieces: Iterable[Piece]) -> str:
    """The text of sections of one tag; the C compiler's errors refer to the files."""
    parts = [
        f'#line {piece.line} "{piece.file}"\n{piece.text.rstrip()}\n{RESTORE}\n'
        for piece in pieces
    ]
    return "".join(parts)


# ---- kernels ----


def read_kernels(pieces: Iterable[Piece], prefix: str) -> list[Kernel]:
    """The kernels of ``kernels`` sections; ``prefix`` comes before each one's text.

    Raises CFileError for text before the first ``#kernel`` line, and for a bad one.
    """
    return [kernel for piece in pieces for kernel in _kernels(piece, prefix)]


def _kernels(piece: Piece, prefix: str) -> Iterable[Kernel]:
    marks = list(_KERNEL.finditer(piece.text))
    first = marks[0].start() if marks else len(piece.text)
    if not marks or _BLANK.fullmatch(piece.text[:first]) is None:
        raise CFileError(
            f"{piece.file}:{piece.line}: a section of kernels begins with a line "
            f"{_FORM}"
        )
    ends = [mark.start() for mark in marks[1:]] + [len(piece.text)]
    for mark, end in zip(marks, ends, strict=True):
        line = piece.line + piece.text.count("\n", 0, mark.start())
        try:
            yield _kernel(mark[1], piece.text[mark.end() + 1 : end], prefix)
        except (ValueError, TypeError) as error:
            message = f"{piece.file}:{line}: #kernel{mark[1].rstrip()}: {error}"
            raise CFileError(message) from None


def _kernel(head: str, text: str, prefix: str) -> Kernel:
    parts = [part.strip() for part in head.split(":")]
    if not 2 <= len(parts) <= 3 or not parts[0].isidentifier():
        raise ValueError(
            f"expected {_FORM}, such as #kernel k : *, size : GA_USE_DOUBLE"
        )
    name, params, flags = (*parts, "")[:3]
    names = [flag.strip() for flag in flags.split("|") if flag.strip()]
    unknown = [flag for flag in names if flag not in FLAGS]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is no flag; known are {', '.join(FLAGS)}")
    return Kernel(
        code=prefix + text,
        params=[param.strip() for param in params.split(",")] if params else [],
        name=name,
        flags={have: True for flag in names for have in FLAGS[flag]},
    )
