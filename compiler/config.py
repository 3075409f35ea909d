"""Settings of the compiler, from files, the environment and the program.

``config.floatX`` reads the current setting. ``with config.use(floatX="float32"):``
changes it for the block, in this thread or task only; ``config.floatX = "float32"`` for
the program. The initial settings are from ``~/.gpuarrayrc``, in which ``[global]`` has
the settings without a dot and ``[profiling]`` those of that section, and from
``GPUARRAY_FLAGS="device=cuda0,floatX=float32"``, which overrides the file.
"""

from __future__ import annotations

import configparser
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from gpuarray.compiler.errors import ConfigError
from gpuarray.compiler.flags import (
    CompilerFlags,
    changed,
    context_map,
    find,
    flags_of,
    known,
    read,
    sections,
    values_of,
)

__all__ = ["CompilerFlags", "Settings", "config", "context_map", "load", "parse_flags"]


def parse_flags(
    text: str, source: str = "GPUARRAY_FLAGS", *, strict: bool = True
) -> dict[str, Any]:
    """Return the settings in ``text``: ``"floatX=float32,device=cuda0"``.

    The older names of a device, ``gpu`` and ``gpu0``, mean ``cuda`` and ``cuda0``.
    ``source`` names the text's origin in errors. An unknown name is an error if
    ``strict``, else it is left to other programs.

    >>> parse_flags("floatX=float32,device=gpu0")
    {'floatX': 'float32', 'device': 'cuda0'}
    """
    pairs = []
    for item in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (part.strip() for part in item.partition("="))
        if not equals:
            raise ConfigError(
                f"{source}: config: flag {item!r} has no value; write {item}=value"
            )
        pairs.append((name, value))
    return values_of(pairs, source, strict=strict)


def read_file(path: Path) -> dict[str, Any]:
    """Return the settings of a file of sections; of a missing file, none."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        with path.open() as file:
            parser.read_file(file)
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, configparser.Error) as error:
        raise ConfigError(f"config: {path} cannot be read: {error}") from None
    pairs = [
        (name if section == "global" else f"{section}.{name}", value.strip())
        for section in parser.sections()
        for name, value in parser.items(section)
    ]
    return values_of(pairs, str(path), strict=True)


def load(environment: Mapping[str, str]) -> CompilerFlags:
    """Return the program's initial flags.

    ``GPUARRAYRC`` names the files to read, ``~/.gpuarrayrc`` by default; later ones
    override earlier ones. Without ``GPUARRAY_FLAGS``, ``THEANO_FLAGS`` is read.
    """
    home = Path(environment.get("HOME") or Path.home())
    listed = environment.get("GPUARRAYRC", str(home / ".gpuarrayrc"))
    values: dict[str, Any] = {}
    for name in filter(None, listed.split(os.pathsep)):
        values |= read_file(Path(name).expanduser())
    if "GPUARRAY_FLAGS" in environment:
        values |= parse_flags(environment["GPUARRAY_FLAGS"])
    else:
        text = environment.get("THEANO_FLAGS", "")
        values |= parse_flags(text, "THEANO_FLAGS", strict=False)
    return changed(CompilerFlags(), values)


class ProgramSettings:
    """The settings of the whole program: the initial ones, and assignments."""

    def __init__(self, config: CompilerFlags) -> None:
        self.config = config


_PROGRAM = ProgramSettings(load(os.environ))
_BLOCK: ContextVar[CompilerFlags | None] = ContextVar("gpuarray.compiler", default=None)


FOLLOWERS: list[Callable[[], None]] = []
"""Callbacks for when the current settings have changed."""


def follow() -> None:
    """Call the followers."""
    for follower in FOLLOWERS:
        follower()


class Settings:
    """The current flags, or one of their sections; prints every setting."""

    def __init__(self, prefix: str = "") -> None:
        object.__setattr__(self, "_prefix", prefix)

    def __getattr__(self, name: str) -> Any:
        full = f"{self._prefix}{name}"
        if full in sections():
            return Settings(f"{full}.")
        if name.startswith("__"):
            raise AttributeError(name)
        config = self.current()
        assigned = dict(config.others)
        return assigned[full] if full in assigned else read(config, find(full).name)

    def __setattr__(self, name: str, value: Any) -> None:
        config = changed(self.current(), {f"{self._prefix}{name}": value})
        if _BLOCK.get() is None:
            _PROGRAM.config = config
        else:
            _BLOCK.set(config)
        follow()

    def __dir__(self) -> list[str]:
        names = (
            name.removeprefix(self._prefix).partition(".")[0]
            for name in known()
            if name.startswith(self._prefix)
        )
        return sorted({*names, "change_flags", "current", "use"})

    def __repr__(self) -> str:
        lines = []
        for flag in flags_of(CompilerFlags):
            if flag.name.startswith(self._prefix):
                value = read(self.current(), flag.name)
                is_set = (
                    "" if value == flag.default else f", by default {flag.default!r}"
                )
                lines.append(f"{flag.name} = {value!r}  ({flag.choices}{is_set})")
                lines.append(f"    {flag.text}")
        return "\n".join(lines)

    def current(self) -> CompilerFlags:
        """Return the frozen flags."""
        return _BLOCK.get() or _PROGRAM.config

    @contextmanager
    def use(
        self,
        changed_to: Mapping[str, Any] | Iterable[tuple[str, Any]] = (),
        /,
        **changes: Any,
    ) -> Iterator[CompilerFlags]:
        """Change settings for the block, or for a function that this decorates.

        They are restored at its end. Dotted names are given in a dictionary, or a list
        of pairs.

        >>> with config.use(floatX="float32", **{"profiling.n_ops": 5}):
        ...     config.floatX, config.profiling.n_ops
        ('float32', 5)
        """
        values = {**dict(changed_to), **changes}
        token = _BLOCK.set(changed(self.current(), values))
        follow()
        try:
            yield self.current()
        finally:
            _BLOCK.reset(token)
            follow()

    change_flags = use

    @contextmanager
    def fixed(self, settings: CompilerFlags) -> Iterator[None]:
        """Replace all settings for the block."""
        token = _BLOCK.set(settings)
        try:
            yield
        finally:
            _BLOCK.reset(token)


config = Settings()
