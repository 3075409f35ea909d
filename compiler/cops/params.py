"""Params: what an op hands to its C code besides inputs, and how C declares it.

The values are an op's own, and reach compiled code when it is opened: another value
compiles nothing anew.
"""

from __future__ import annotations

import keyword
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from gpuarray._native import address, ffi
from gpuarray.compiler.errors import (
    GraphKeyError,
    GraphTypeError,
    GraphValueError,
    NotOfferedError,
)
from gpuarray.compiler.graph.types import (
    Generic,
    GpuContextType,
    TensorType,
    Type,
    dtype_name,
)
from gpuarray.dtypes import as_dtype, dtype_to_typecode

HOST_DECLARATION = "PyArrayObject *"
CONTEXT_DECLARATION = "PyGpuContextObject *"


@dataclass(frozen=True, slots=True)
class Scalar(Type):
    """One number among an op's params; C sees it as ``npy_<dtype>``.

    >>> Scalar("float32").filter(0.5)
    0.5
    """

    dtype: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", dtype_name(self.dtype))

    def filter(
        self, value: Any, strict: bool = False, allow_downcast: bool | None = None
    ) -> Any:
        """``value``, which the dtype must hold. Raises TypeError otherwise."""
        return TensorType(self.dtype, ()).filter(value, strict, allow_downcast).item()


@dataclass(frozen=True, slots=True)
class Enum(Type):
    """A number that goes by a name; C knows the names as macros.

    ``members`` has the names with their values, ``aliases`` other names of theirs, and
    ``ctype`` is the type in C.
    """

    members: tuple[tuple[str, int | float], ...]
    aliases: tuple[tuple[str, str], ...]
    ctype: str

    def __getattr__(self, name: str) -> int | float:
        values: dict[str, int | float] = dict(object.__getattribute__(self, "members"))
        if name not in values:
            raise AttributeError(f"{type(self).__name__} has no constant {name!r}")
        return values[name]

    def fromalias(self, alias: str) -> int | float:
        """The value that a name or an alias stands for."""
        name = dict(self.aliases).get(alias, alias)
        values = dict(self.members)
        if name not in values:
            known = ", ".join([*values, *dict(self.aliases)])
            raise GraphKeyError(f"enumeration: {alias!r} is none of {known}")
        return values[name]

    def filter(
        self, value: Any, strict: bool = False, allow_downcast: bool | None = None
    ) -> Any:
        """The number for a value, a name or an alias. Raises ValueError otherwise."""
        number = self.fromalias(value) if isinstance(value, str) else value
        if number not in dict(self.members).values():
            raise GraphValueError(
                f"enumeration: given {value!r}, expected one of {dict(self.members)}"
            )
        return number


@dataclass(frozen=True, slots=True)
class CEnum(Type):
    """A constant of C that goes by a name; only C code knows its value.

    ``names`` are those of the constants, ``aliases`` other names of theirs, and
    ``ctype`` is the type in C.
    """

    names: tuple[str, ...]
    aliases: tuple[tuple[str, str], ...]
    ctype: str

    def __getattr__(self, name: str) -> str:
        if name not in object.__getattribute__(self, "names"):
            raise AttributeError(f"{type(self).__name__} has no constant {name!r}")
        return name

    def fromalias(self, alias: str) -> str:
        """The constant's name for a name or an alias. Raises KeyError otherwise."""
        name = dict(self.aliases).get(alias, alias)
        if name not in self.names:
            known = ", ".join([*self.names, *dict(self.aliases)])
            raise GraphKeyError(f"enumeration: {alias!r} is none of {known}")
        return name

    def filter(
        self, value: Any, strict: bool = False, allow_downcast: bool | None = None
    ) -> str:
        """The constant's name for a name or an alias. Raises KeyError otherwise."""
        return self.fromalias(value)


def _named(name: str) -> str:
    if not name.isidentifier() or not name.isupper() or keyword.iskeyword(name):
        raise GraphValueError(
            f"enumeration: {name!r} is no name of a constant; expected capitals"
        )
    return name


def EnumType(*, ctype: str = "double", **members: int | float) -> Enum:
    """Return the type of constants with these values.

    >>> EnumType(HALF=0.5, ONE=1.0).HALF
    0.5
    """
    return Enum(tuple((_named(n), v) for n, v in members.items()), (), ctype)


def EnumList(*names: str | tuple[str, str], ctype: str = "int") -> Enum:
    """Return the type of constants 0, 1, 2 and so on; a pair is a name and its alias.

    >>> modes = EnumList("VALID", ("FULL", "full"), "HALF")
    >>> modes.FULL, modes.fromalias("full")
    (1, 1)
    """
    own, aliases = _with_aliases(names)
    members = tuple((name, place) for place, name in enumerate(own))
    return Enum(members, aliases, ctype)


def CEnumType(*names: str | tuple[str, str], ctype: str = "int") -> CEnum:
    """Return the type of constants that the op's C code or its headers define.

    A pair is a name and its alias. In Python a constant is its name.

    >>> whence = CEnumType("SEEK_SET", ("SEEK_END", "end"))
    >>> whence.SEEK_SET, whence.fromalias("end")
    ('SEEK_SET', 'SEEK_END')
    """
    return CEnum(*_with_aliases(names), ctype)


def _with_aliases(
    names: Sequence[str | tuple[str, str]],
) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Return the names, and the aliases each with its name."""
    pairs = [(name, "") if isinstance(name, str) else name for name in names]
    aliases = tuple((alias, name) for name, alias in pairs if alias)
    return tuple(_named(name) for name, _ in pairs), aliases


class Params(SimpleNamespace):
    """Values of a `ParamsType`, as attributes.

    >>> Params(factor=2).factor
    2
    """


class ParamsType(Type):
    """The type of several params, each with a name: a struct in C.

    >>> kind = ParamsType(factor=Scalar("float64"), mode=EnumList("ADD", "MUL"))
    >>> kind.filter(Params(factor=2, mode="MUL"))
    Params(factor=2.0, mode=1)
    """

    __slots__ = ("fields",)

    def __init__(self, **fields: Type) -> None:
        for name, kind in fields.items():
            if not isinstance(kind, Generic):
                c_type(kind, f"ParamsType: {name}")
        self.fields = tuple(sorted(fields.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ParamsType) and self.fields == other.fields

    def __hash__(self) -> int:
        return hash((ParamsType, self.fields))

    def __repr__(self) -> str:
        return f"ParamsType({', '.join(f'{n}={kind!r}' for n, kind in self.fields)})"

    def filter(
        self, value: Any, strict: bool = False, allow_downcast: bool | None = None
    ) -> Params:
        """Return the values as their types hold them."""
        return Params(
            **{name: kind.filter(getattr(value, name)) for name, kind in self.fields}
        )

    def get_params(self, *sources: Any, **values: Any) -> Params:
        """Return the values given by name, and the attributes of objects."""
        params = {}
        for name, kind in self.fields:
            places = [values, *map(_attributes, sources)]
            place = next((source for source in places if name in source), None)
            if place is None:
                raise GraphKeyError(
                    f"ParamsType: no value for {name!r}; give it by name, or as an "
                    "attribute of the op"
                )
            params[name] = kind.filter(place[name])
        return Params(**params)

    def extended(self, **fields: Type) -> ParamsType:
        """Return the type with more fields."""
        return ParamsType(**dict(self.fields), **fields)


def _attributes(source: Any) -> Mapping[str, Any]:
    return {name: getattr(source, name) for name in dir(source) if name[:2] != "__"}


# ---- in C ----


def c_type(kind: Any, asked_by: str = "params_type") -> str:
    """Return the C type of a param. Raises TypeError for one that C code cannot take.

    For Python objects it raises NotImplementedError: `perform` may take them.
    """
    if isinstance(kind, GpuContextType):
        return CONTEXT_DECLARATION
    if isinstance(kind, TensorType):
        return HOST_DECLARATION
    if isinstance(kind, Scalar):
        return f"npy_{kind.dtype} "
    if isinstance(kind, (Enum, CEnum)):
        return f"{kind.ctype} "
    if isinstance(kind, Generic):
        raise NotOfferedError(
            f"{asked_by}: C code of ops has no Python behind it, so it cannot be given "
            "an object (Generic); give it what it needs of the object as Scalar, "
            "TensorType, EnumType or gpu_context_type, or compute in perform"
        )
    raise GraphTypeError(
        f"{asked_by}: C code cannot be given {kind!r}; expected gpu_context_type, "
        "Scalar(dtype), TensorType, EnumList, EnumType or CEnumType, or a ParamsType "
        "of these"
    )


def parts_of(kind: Any) -> Sequence[tuple[str, Any]]:
    """Return the names and types of the params; a lone type has no name."""
    if kind is None:
        return ()
    return kind.fields if isinstance(kind, ParamsType) else (("", kind),)


def declarations(kind: Any) -> list[str]:
    """Return the params in C: their type, macros, and the variable ``ga_op_params``."""
    lines: list[str] = []
    for name, part in parts_of(kind):
        if isinstance(part, Enum):
            lines += [f"#define {member} {value!r}" for member, value in part.members]
        if name and isinstance(part, (Scalar, TensorType)):
            lines.append(f"#define DTYPE_PARAM_{name} npy_{part.dtype}")
    if isinstance(kind, ParamsType):
        fields = "".join(
            f"  {c_type(part, f'params_type: {name}')}{name};\n"
            for name, part in kind.fields
        )
        lines += [
            f"typedef struct ga_op_params_type {{\n{fields}}} ga_op_params_type;",
            "#define PARAMS_TYPE ga_op_params_type",
            "static PARAMS_TYPE ga_op_params_struct;",
            "static PARAMS_TYPE *const ga_op_params = &ga_op_params_struct;",
        ]
    elif kind is not None:
        declared = c_type(kind)
        lines += [
            f"#define PARAMS_TYPE {declared.removesuffix('*').strip()}",
            f"static {declared}ga_op_params;",
        ]
    return lines


def assignments(kind: Any) -> list[str]:
    """Return the C statements that take the values from ``void *const *params``."""
    lines: list[str] = []
    for place, (name, part) in enumerate(parts_of(kind)):
        target = f"ga_op_params->{name}" if name else "ga_op_params"
        slot = f"params[{place}]"
        if isinstance(part, GpuContextType):
            lines.append(f"{target} = &ga_op_context;")
        elif isinstance(part, TensorType):
            typecode = dtype_to_typecode(part.dtype)
            lines += [
                f"{target} = ga_op_param({slot}, {typecode}, {part.ndim});",
                f"if ({target} == NULL)",
                "  goto ga_op_failed;",
            ]
        elif isinstance(part, CEnum):
            listed = ", ".join(part.names)
            constant = f"(const {c_type(part)}[]){{{listed}}}[*(int *){slot}]"
            lines.append(f"{target} = {constant};")
        else:
            lines.append(f"{target} = *({c_type(part)}*){slot};")
    return lines


def packed(kind: Any, value: Any) -> tuple[Any, list[Any]]:
    """The values as ``void *[]`` for C, and the objects that must live as long."""
    keep: list[Any] = []
    pointers = []
    for name, part in parts_of(kind):
        single = getattr(value, name) if name else value
        pointers.append(_pointer(part, part.filter(single), keep))
    return ffi.new("void *[]", pointers or [ffi.NULL]), keep


def _pointer(part: Any, value: Any, keep: list[Any]) -> Any:
    """A pointer to one value; an array's has its axes' lengths, then elements."""
    if isinstance(part, GpuContextType):
        return ffi.NULL
    if isinstance(part, Enum):
        place = ffi.new(f"{part.ctype} *", value)
    elif isinstance(part, CEnum):
        place = ffi.new("int *", part.names.index(value))
    elif isinstance(part, TensorType):
        elements = np.ascontiguousarray(value, part.numpy_dtype).reshape(-1).view("u1")
        content = np.array(np.shape(value), "int64").tobytes() + elements.tobytes()
        place = ffi.new("char[]", content)
    else:
        array = np.array([value], as_dtype(part.dtype)).view("u1")
        keep.append(array)
        place = address(array)
    keep.append(place)
    return ffi.cast("void *", place)
