"""Settings of the compiler: one frozen dataclass, read from the environment once.

``config.floatX`` reads the setting in force; ``with config.use(floatX="float32"):``
changes it for the block, in this thread or task only.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args, get_type_hints

from gpuarray.compiler.errors import ConfigError, ConfigFrozenError

DEVICE = re.compile(r"|cpu|null|cuda\d*|opencl(\d+:\d+)?")


@dataclass(frozen=True, slots=True)
class Config:
    """What a user may choose; every field has a default that is safe.

    ``device`` names the context that computes: ``cuda0``, ``opencl0:1``, ``cpu`` (the
    first OpenCL device that is a processor), ``null`` (runs no kernel), or nothing for
    the default context of ``gpuarray``. ``contexts`` maps names of a program to
    devices: ``dev0->cuda0;dev1->cuda1``.
    """

    floatX: Literal["float16", "float32", "float64"] = "float64"
    device: str = ""
    contexts: str = ""
    cast_policy: Literal["custom", "numpy+floatX"] = "custom"
    mode: Literal["FAST_RUN", "FAST_COMPILE", "DebugMode", "ProfileMode"] = "FAST_RUN"
    rewrites: Literal["none", "safe", "all"] = "all"
    fuse: bool = True
    allow_gc: bool = True
    profile: bool = False
    on_unused_input: Literal["raise", "warn", "ignore"] = "raise"
    exception_verbosity: Literal["low", "high"] = "low"

    def __post_init__(self) -> None:
        for name, hint in get_type_hints(Config).items():
            check_value(name, hint, getattr(self, name))
        if not DEVICE.fullmatch(self.device):
            raise ConfigError(
                f"config: device={self.device!r} names no device; write cpu, cuda, "
                "cuda0, opencl0:0, or nothing for the default"
            )
        context_map(self.contexts)


def context_map(text: str) -> dict[str, str]:
    """The devices that a program's names of contexts stand for.

    >>> context_map("dev0->cuda0;dev1->cuda1")
    {'dev0': 'cuda0', 'dev1': 'cuda1'}
    """
    devices: dict[str, str] = {}
    for pair in filter(None, text.split(";")):
        name, arrow, device = (part.strip() for part in pair.partition("->"))
        if not arrow or not name or not device or DEVICE.fullmatch(name):
            raise ConfigError(
                f"config: contexts={text!r} holds {pair!r}; write name->device pairs "
                "with names that are no devices, such as dev0->cuda0;dev1->cuda1"
            )
        if not DEVICE.fullmatch(device):
            raise ConfigError(f"config: contexts={text!r}: {device!r} is no device")
        devices[name] = device
    return devices


def check_value(name: str, hint: Any, value: Any) -> None:
    """Raise ConfigError unless a field of type ``hint`` takes ``value``."""
    allowed = get_args(hint)
    if allowed and value not in allowed:
        raise ConfigError(
            f"config: {name}={value!r} is not known; it takes one of {list(allowed)}"
        )
    if not allowed and not isinstance(value, hint):
        raise ConfigError(
            f"config: {name}={value!r} is a {type(value).__name__}, not a "
            f"{hint.__name__}"
        )


def parse_flags(text: str, *, strict: bool = True) -> Config:
    """The Config that ``text`` asks for: ``"floatX=float32,device=cuda0"``.

    The older names of a device, ``gpu`` and ``gpu0``, mean ``cuda`` and ``cuda0``. An
    unknown name is an error where ``strict``, else it is left to the program that it is
    meant for.

    >>> parse_flags("floatX=float32,device=gpu0").device
    'cuda0'
    """
    hints = get_type_hints(Config)
    changes: dict[str, Any] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (part.strip() for part in item.partition("="))
        if name in hints:
            changes[name] = read_value(name, hints[name], value)
        elif strict or not equals:
            raise ConfigError(
                f"config: flag {item!r} is not known; write name=value with a name "
                f"among {sorted(hints)}"
            )
    return Config(**changes)


def read_value(name: str, hint: Any, text: str) -> Any:
    """The value that ``text`` means for a field of type ``hint``."""
    if hint is bool:
        words = {"1": True, "true": True, "0": False, "false": False}
        if text.lower() not in words:
            raise ConfigError(f"config: {name}={text!r} is neither True nor False")
        return words[text.lower()]
    if name == "device":
        return re.sub(r"^gpu", "cuda", text)
    return text


def from_environment(environment: Mapping[str, str]) -> Config:
    """The Config of GPUARRAY_FLAGS, or else of THEANO_FLAGS."""
    if "GPUARRAY_FLAGS" in environment:
        return parse_flags(environment["GPUARRAY_FLAGS"])
    return parse_flags(environment.get("THEANO_FLAGS", ""), strict=False)


_DEFAULT = from_environment(os.environ)
_CURRENT: ContextVar[Config] = ContextVar("gpuarray.compiler.config", default=_DEFAULT)


class Settings:
    """Reads as the Config that is in force for this thread or task."""

    def __getattr__(self, name: str) -> Any:
        return getattr(_CURRENT.get(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        raise ConfigFrozenError(
            f"config: {name} cannot be assigned; write `with "
            f"config.use({name}={value!r}):`, "
            f"or start the program with GPUARRAY_FLAGS={name}={value}"
        )

    def __dir__(self) -> list[str]:
        return [*(field.name for field in fields(Config)), "current", "use"]

    def __repr__(self) -> str:
        return repr(_CURRENT.get())

    def current(self) -> Config:
        """The frozen Config in force."""
        return _CURRENT.get()

    @contextmanager
    def use(self, **changes: Any) -> Iterator[Config]:
        """Change settings for the block; they come back at its end.

        >>> with config.use(floatX="float32"):
        ...     config.floatX
        'float32'
        """
        known = {field.name for field in fields(Config)}
        if unknown := sorted(set(changes) - known):
            raise ConfigError(
                f"config: no setting is named {unknown[0]!r}; there are {sorted(known)}"
            )
        token = _CURRENT.set(replace(_CURRENT.get(), **changes))
        try:
            yield _CURRENT.get()
        finally:
            _CURRENT.reset(token)


config = Settings()
