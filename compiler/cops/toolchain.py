"""The system's C compiler: finding it, running it, and what it says of bad code."""

from __future__ import annotations

import linecache
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
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
    """A C compiler: how it is called, and which one it is."""

    command: tuple[str, ...]
    version: str

    def __str__(self) -> str:
        return shlex.join(self.command)


def find_compiler(environment: Mapping[str, str] = os.environ) -> Compiler:
    """The compiler that CC names, else the first of cc, gcc and clang on the PATH.

    Raises NoCompilerError if there is none.
    """
    chosen = shlex.split(environment.get("CC", ""))
    path = environment.get("PATH", "")
    for command in [chosen] if chosen else [[name] for name in KNOWN]:
        program = shutil.which(command[0], path=path)
        if program is not None:
            return _identified((program, *command[1:]))
    asked = f"CC={shlex.join(chosen)}" if chosen else ", ".join(KNOWN)
    raise NoCompilerError(
        f"no C compiler was found ({asked}); install one, such as gcc, or name it in "
        "the environment variable CC"
    )


@lru_cache(maxsize=16)
def _identified(command: tuple[str, ...]) -> Compiler:
    try:
        said = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise NoCompilerError(
            f"{shlex.join(command)} --version failed ({error}); name a C compiler in "
            "the environment variable CC"
        ) from None
    return Compiler(command, said.stdout)


def compile_source(
    compiler: Compiler, source: str, options: Sequence[str], links: Sequence[str]
) -> bytes:
    """The shared library that the compiler makes of C text.

    Raises CCodeError with what the compiler said and the lines that it speaks of.
    """
    with tempfile.TemporaryDirectory(prefix="gpuarray-op-") as folder:
        text, made = Path(folder, SOURCE_FILE), Path(folder, "op.so")
        text.write_text(source)
        command = [*compiler.command, *options, str(text), "-o", str(made), *links]
        # The language of messages is one that the log is read in.
        done = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}
        )
        if done.returncode != 0:
            log = done.stderr.replace(f"{folder}/", "")
            raise CCodeError(f"with {compiler}\n{explained(log, source)}")
        return made.read_bytes()


def explained(log: str, source: str) -> str:
    """The compiler's errors, each with the line of the source that it is about.

    With the setting ``exception_verbosity=high`` it is all that the compiler said and
    the whole source.
    """
    lines = source.splitlines()
    if config.exception_verbosity == "high":
        numbered = "\n".join(_numbered(lines, range(1, len(lines) + 1)))
        return f"{log.rstrip()}\n{numbered}"
    found = list(_PLACE.finditer(log))
    if not found:
        return "\n".join(f"  {line}" for line in log.splitlines()[-LOG_LINES:])
    told: list[str] = []
    for file, number, said in (match.groups() for match in found[:SHOWN_ERRORS]):
        told.append(f"  {file}:{number}: {said}")
        own = lines if file == SOURCE_FILE else linecache.getlines(file)
        told += _numbered(own, [n for n in (int(number),) if n <= len(own)])
    if len(found) > SHOWN_ERRORS:
        told.append(f"  and {len(found) - SHOWN_ERRORS} more errors")
    told.append("  exception_verbosity=high shows the whole log and source")
    return "\n".join(told)


def _numbered(lines: Sequence[str], numbers: Sequence[int] | range) -> Iterator[str]:
    """Some lines of a text, with their numbers from 1 on."""
    for number in numbers:
        yield f"  {number:5} | {lines[number - 1].rstrip()}"
