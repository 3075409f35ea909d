"""The system's C compiler: its search, its calls, and its errors."""

from __future__ import annotations

import linecache
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from gpuarray.compiler.config import config
from gpuarray.compiler.errors import CCodeError, NoCompilerError

KNOWN = ("cc", "gcc", "clang")
STANDARD = ("-std=gnu11", "-O3", "-fPIC", "-shared", "-fvisibility=hidden")
MISTAKES = (
    "-Werror=implicit-function-declaration",
    "-Werror=int-conversion",
    "-Werror=incompatible-pointer-types",
)
SHOWN_ERRORS = 3
LOG_LINES = 6

SOURCE_FILE = "op.c"

_PLACE = re.compile(r"^(.+?):(\d+):(?:\d+:)? (?:fatal )?error: (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C compiler: its command and its version."""

    command: tuple[str, ...]
    version: str

    def __str__(self) -> str:
        return shlex.join(self.command)


def find_compiler() -> Compiler:
    """The compiler that CC names, else the first of cc, gcc and clang on the PATH.

    Raises NoCompilerError if there is none.
    """
    cc = shlex.split(os.environ.get("CC", ""))
    path = os.environ.get("PATH", "")
    for command in [cc] if cc else [[name] for name in KNOWN]:
        program = shutil.which(command[0], path=path)
        if program is not None:
            return _identified((program, *command[1:]))
    tried = f"CC={shlex.join(cc)}" if cc else ", ".join(KNOWN)
    raise NoCompilerError(
        f"no C compiler was found ({tried}); install one, such as gcc, or name it in "
        "the environment variable CC"
    )


@lru_cache(maxsize=16)
def _identified(command: tuple[str, ...]) -> Compiler:
    try:
        version = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise NoCompilerError(
            f"{shlex.join(command)} --version failed ({error}); name a C compiler in "
            "the environment variable CC"
        ) from None
    return Compiler(command, version.stdout)


def compile_source(
    compiler: Compiler, source: str, options: Sequence[str], links: Sequence[str]
) -> bytes:
    """Return the shared library compiled from C text.

    Raises CCodeError with the compiler's errors and their lines.
    """
    with tempfile.TemporaryDirectory(prefix="gpuarray-op-") as folder:
        text, library = Path(folder, SOURCE_FILE), Path(folder, "op.so")
        text.write_text(source)
        command = [*compiler.command, *options, str(text), "-o", str(library), *links]
        # Messages in the language that the log's parser expects.
        process = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}
        )
        if process.returncode != 0:
            log = process.stderr.replace(f"{folder}/", "")
            raise CCodeError(f"with {compiler}\n{explained(log, source)}")
        return library.read_bytes()


def explained(log: str, source: str) -> str:
    """Return the compiler's errors, each with its line of the source.

    With the setting ``exception_verbosity=high`` it is the whole log and source.
    """
    lines = source.splitlines()
    if config.exception_verbosity == "high":
        numbered = "\n".join(_numbered(lines, range(1, len(lines) + 1)))
        return f"{log.rstrip()}\n{numbered}"
    errors = list(_PLACE.finditer(log))
    if not errors:
        return "\n".join(f"  {line}" for line in log.splitlines()[-LOG_LINES:])
    text: list[str] = []
    for file, number, message in (match.groups() for match in errors[:SHOWN_ERRORS]):
        text.append(f"  {file}:{number}: {message}")
        own = lines if file == SOURCE_FILE else linecache.getlines(file)
        text += _numbered(own, [n for n in (int(number),) if n <= len(own)])
    if len(errors) > SHOWN_ERRORS:
        text.append(f"  and {len(errors) - SHOWN_ERRORS} more errors")
    text.append("  exception_verbosity=high shows the whole log and source")
    return "\n".join(text)


def _numbered(lines: Sequence[str], numbers: Sequence[int] | range) -> Iterator[str]:
    """Return some lines of a text, with their numbers from 1 on."""
    for number in numbers:
        yield f"  {number:5} | {lines[number - 1].rstrip()}"
