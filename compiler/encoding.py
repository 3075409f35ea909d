"""JSON of values of a closed list of types, decoded without running code of a file.

A tuple is a list there, and a type that JSON lacks is an object of one key:
``{"complex": [1.0, 2.0]}``, or the name of a record and its fields. Decoding calls the
constructors of the records that a decoder knows, and nothing else.
"""

from __future__ import annotations

import base64
import json
import math
import types
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from gpuarray.dtypes import OF_TYPECODE

PLAIN = (type(None), bool, int, float, str)
"""The types that JSON has, too."""
DTYPES = {dtype.name: dtype for dtype in OF_TYPECODE.values()}
Check = Callable[[Any], bool]


class Unencodable(ValueError):
    """A value that cannot be encoded, or a text that cannot be decoded."""


class Encoding:
    """An encoder and decoder; ``records`` are its dataclasses and named tuples.

    A record's fields are of the types that its class declares, among them any record.
    """

    def __init__(self, records: Iterable[type]) -> None:
        self._names = {record: record_name(record) for record in records}
        self._classes = {record.__name__: record for record in self._names}
        self._declared: dict[type, Sequence[tuple[str, Check]]] = {}
        self._records = {name: record for record, name in self._names.items()}
        self._writers: dict[type, Callable[[Any], Any]] = {
            tuple: self._items,
            list: lambda value: {"list": self._items(value)},
            dict: lambda value: {"dict": [self._items(pair) for pair in value.items()]},
            complex: lambda value: {"complex": [value.real, value.imag]},
            bytes: lambda value: {"bytes": _text(value)},
            type(Ellipsis): lambda value: {"ellipsis": []},
            np.ndarray: lambda value: {"array": _array(value)},
        }
        self._readers: dict[str, Callable[[Any], Any]] = {
            "list": lambda content: list(self._values(content)),
            "dict": self._dict,
            "complex": _complex,
            "bytes": _bytes,
            "ellipsis": lambda content: Ellipsis,
            "array": _array_of,
            "scalar": lambda content: _array_of(content)[()],
            "dtype": _dtype,
        }

    def encode(self, value: Any) -> bytes:
        """Return the text of a value. Raises Unencodable if it has none."""
        try:
            return json.dumps(self._tree(value), separators=(",", ":")).encode()
        except (ValueError, RecursionError) as error:
            raise Unencodable(str(error)) from None

    def decode(self, text: bytes) -> Any:
        """Return the value of a text. Raises Unencodable if it has none."""
        try:
            return self._value(json.loads(text))
        except (ValueError, RecursionError, MemoryError) as error:
            raise Unencodable(str(error)) from None

    def _tree(self, value: Any) -> Any:
        kind = type(value)
        if kind in PLAIN:
            return value
        if kind in self._names:
            return {self._names[kind]: self._fields(value)}
        if kind in self._writers:
            return self._writers[kind](value)
        if isinstance(value, np.generic):
            return {"scalar": _array(np.asarray(value))}
        if isinstance(value, np.dtype) and DTYPES.get(value.name) == value:
            return {"dtype": value.name}
        raise Unencodable(f"a value of type {kind.__qualname__}")

    def _items(self, values: Iterable[Any]) -> list[Any]:
        return [v if type(v) in PLAIN else self._tree(v) for v in values]

    def _fields(self, record: Any) -> list[Any]:
        kind = type(record)
        values = [getattr(record, name) for name, _ in self._fields_of(kind)]
        self._check(kind, values)
        return self._items(values)

    def _fields_of(self, kind: Any) -> Sequence[tuple[str, Check]]:
        """Return the fields of a record, and checks of their values' types."""
        if kind not in self._declared:
            hints = get_type_hints(kind, localns=self._classes)
            named = getattr(kind, "_fields", None)
            names = named or [field.name for field in fields(kind)]
            self._declared[kind] = [(name, _check_of(hints[name])) for name in names]
        return self._declared[kind]

    def _check(self, kind: type, values: Sequence[Any]) -> None:
        declared = self._fields_of(kind)
        if len(values) != len(declared):
            raise Unencodable(f"{kind.__qualname__} of {len(values)} fields")
        for (name, is_right), value in zip(declared, values, strict=True):
            if not is_right(value):
                type_name = type(value).__name__
                raise Unencodable(f"{kind.__qualname__}.{name} is a {type_name}")

    def _value(self, tree: Any) -> Any:
        kind = type(tree)
        if kind in PLAIN:
            return tree
        if kind is list:
            return self._values(tree)
        if len(tree) != 1:
            raise Unencodable(f"an object of {len(tree)} keys")
        ((name, content),) = tree.items()
        record = self._records.get(name)
        if record is not None:
            values = self._values(content)
            self._check(record, values)
            names = [field for field, _ in self._fields_of(record)]
            return record(**dict(zip(names, values, strict=True)))
        if name not in self._readers:
            raise Unencodable(f"a record named {name!r}")
        return self._readers[name](content)

    def _values(self, trees: Any) -> tuple[Any, ...]:
        return tuple([v if type(v) in PLAIN else self._value(v) for v in _list(trees)])

    def _dict(self, content: Any) -> dict[Any, Any]:
        pairs = self._values(content)
        if not all(type(pair) is tuple and len(pair) == 2 for pair in pairs):
            raise Unencodable("a dictionary that is not of pairs")
        try:
            return dict(pairs)
        except TypeError as error:  # an unhashable key
            raise Unencodable(str(error)) from None


def record_name(kind: type) -> str:
    """Return the name of a record in texts."""
    return f"{kind.__module__.rpartition('.')[2]}.{kind.__qualname__}"


# ---- what JSON has not ----


def _list(content: Any, length: int | None = None) -> list[Any]:
    """A list, of a length."""
    if type(content) is not list or length not in (None, len(content)):
        raise Unencodable(f"expected a list, given a {type(content).__name__}")
    return content


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _bytes(content: Any) -> bytes:
    if type(content) is not str:
        raise Unencodable(f"expected bytes, given a {type(content).__name__}")
    return base64.b64decode(content, validate=True)


def _complex(content: Any) -> complex:
    real, imaginary = _list(content, 2)
    if type(real) is not float or type(imaginary) is not float:
        raise Unencodable("a complex number that is not of floats")
    return complex(real, imaginary)


def _dtype(name: Any) -> np.dtype[Any]:
    if type(name) is not str or name not in DTYPES:
        raise Unencodable(f"no dtype is named {name!r}")
    return DTYPES[name]


def _array(array: np.ndarray[Any, Any]) -> list[Any]:
    """Dtype, order of the elements in memory, lengths, bytes."""
    if DTYPES.get(array.dtype.name) != array.dtype:
        raise Unencodable(f"an array of {array.dtype}")
    is_f = array.flags.f_contiguous and not array.flags.c_contiguous
    order: Literal["C", "F"] = "F" if is_f else "C"
    return [array.dtype.name, order, list(array.shape), _text(array.tobytes(order))]


def _array_of(content: Any) -> np.ndarray[Any, Any]:
    name, order, shape, text = _list(content, 4)
    dtype, data = _dtype(name), _bytes(text)
    lengths: Sequence[int] = _list(shape)
    is_shape = all(type(n) is int and n >= 0 for n in lengths)
    if not is_shape or len(data) != math.prod(lengths) * dtype.itemsize:
        raise Unencodable(f"{len(data)} bytes for shape {lengths} of {dtype}")
    if order not in ("C", "F"):
        raise Unencodable(f"an order {order!r}")
    return np.frombuffer(data, dtype).reshape(lengths, order=order).copy(order)


# ---- types of fields ----


@cache
def _check_of(hint: Any) -> Check:
    """Return a check of values against an annotated type."""
    if hint is Any:
        return lambda value: True
    if hint is int:
        return lambda value: type(value) is int
    if hint is float:
        return lambda value: type(value) is float or type(value) is int
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return lambda value: type(value) is str and value in arguments
    if origin in (Union, types.UnionType):
        checks = [_check_of(argument) for argument in arguments]
        return lambda value: any([check(value) for check in checks])
    if origin is tuple:
        return _check_of_tuple(arguments)
    kind = origin or hint
    return lambda value: isinstance(value, kind)


def _check_of_tuple(arguments: tuple[Any, ...]) -> Check:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        check = _check_of(arguments[0])
        return lambda value: type(value) is tuple and all(map(check, value))
    checks = [_check_of(argument) for argument in arguments]
    return lambda value: (
        type(value) is tuple
        and len(value) == len(checks)
        and all([check(item) for check, item in zip(checks, value, strict=True)])
    )
