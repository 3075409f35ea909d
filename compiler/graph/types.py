"""The types of variables: arrays on the host and arrays on a context."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import InitVar, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from gpuarray import Array, asarray, zeros
from gpuarray._core.context import Context
from gpuarray._kernels.argument_conversion import check_shape, check_strict, fitted
from gpuarray.compiler.config import config
from gpuarray.compiler.contexts import get_context
from gpuarray.compiler.errors import CompilerError, GraphTypeError, GraphValueError
from gpuarray.dtypes import as_dtype, dtype_to_typecode, result_type
from gpuarray.errors import BadType

if TYPE_CHECKING:
    from gpuarray.compiler.graph.core import Constant, Variable

Pattern = tuple[bool, ...]

DTYPES = (
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)

_NAMES = frozenset(DTYPES)
_FLAGS = frozenset({bool})  # the types of a pattern's parts

PATTERN_NAMES: dict[Pattern, str] = {
    (): "scalar",
    (False,): "vector",
    (False, False): "matrix",
    (True, False): "row",
    (False, True): "col",
}


def dtype_name(dtype: Any) -> str:
    """Return the canonical name of ``dtype``; ``"floatX"`` is the configured float.

    >>> dtype_name(np.float32)
    'float32'
    """
    if isinstance(dtype, str) and dtype == "floatX":
        return str(config.floatX)
    if isinstance(dtype, str) and dtype in DTYPES:
        return dtype
    try:
        name: str = np.dtype(dtype).name
    except (TypeError, ValueError) as error:
        raise GraphTypeError(
            f"dtype: {dtype!r} is no dtype; use one of {DTYPES}"
        ) from error
    if name not in DTYPES:
        raise GraphTypeError(f"dtype: {name} is not offered; use one of {DTYPES}")
    return name


def is_float_name(dtype: str) -> bool:
    """Return True for a dtype of floats.

    >>> is_float_name("bfloat16"), is_float_name("complex64")
    (True, False)
    """
    return dtype.startswith(("float", "bfloat"))


def is_integer_name(dtype: str) -> bool:
    """Return True for bool or a dtype of integers.

    >>> is_integer_name("bool"), is_integer_name("float16")
    (True, False)
    """
    return dtype.startswith(("bool", "int", "uint"))


def asarray_of(
    a: Any, dtype: Any, order: Literal["C", "F", "A", "K"] | None = None
) -> np.ndarray[Any, Any]:
    """Return ``a`` as a NumPy array of exactly this dtype; ``"floatX"`` is configured.

    >>> asarray_of([1, 2], "float32").dtype
    dtype('float32')
    """
    return np.asarray(a, as_dtype(dtype_name(dtype)), order)


def promoted(*dtypes: str) -> str:
    """Return NumPy's common dtype, by name; bfloat16 promotes as float16 does.

    >>> promoted("int8", "float32")
    'float32'
    """
    return result_type(*map(as_dtype, dtypes)).name


def pattern_name(broadcastable: Pattern) -> str:
    """The name of a pattern: ``vector``, ``row``, ``3D``, or the tuple itself."""
    if broadcastable in PATTERN_NAMES:
        return PATTERN_NAMES[broadcastable]
    return str(broadcastable) if any(broadcastable) else f"{len(broadcastable)}D"


class Type:
    """The type of a variable. It is a value: it compares, hashes and prints."""

    __slots__ = ()

    variable_class: ClassVar[type[Any]]
    constant_class: ClassVar[type[Any]]

    def __call__(self, name: str | None = None) -> Variable:
        """Return a fresh variable of this type."""
        variable: Variable = self.variable_class(self, name=name)
        return variable

    def make_variable(self, name: str | None = None) -> Variable:
        """Return a fresh variable of this type, as calling the type does."""
        return self(name)

    def make_constant(self, value: Any, name: str | None = None) -> Constant:
        """A constant of this type. Raises TypeError if it cannot hold the value."""
        result: Constant = self.constant_class(self, value, name)
        return result

    def is_valid_value(self, value: Any) -> bool:
        """Return True if the type holds the value as it is."""
        try:
            self.filter(value, strict=True)
        except CompilerError:
            return False
        return True

    def filter(
        self, value: Any, strict: bool = False, allow_downcast: bool | None = None
    ) -> Any:
        """Return ``value`` as this type holds it. Raises TypeError if it cannot.

        If ``strict``, it must be of this type already.
        """
        raise NotImplementedError(f"{type(self).__name__}.filter")


class NumericType(Type):
    """The base of types of arrays and sparse matrices: elements have a dtype."""

    __slots__ = ()

    dtype: str

    @property
    def is_float(self) -> bool:
        """True if values are real floats."""
        return is_float_name(self.dtype)

    @property
    def is_complex(self) -> bool:
        """True if values are complex numbers."""
        return self.dtype.startswith("complex")


class ArrayType(NumericType):
    """The base of array types: a dtype, and the axes that always have length 1."""

    __slots__ = ()

    broadcastable: Pattern

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.broadcastable)

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        """The NumPy dtype object; bfloat16 needs the package ml_dtypes."""
        return as_dtype(self.dtype)

    def __call__(self, name: str | None = None) -> Variable:
        """Return a fresh variable; ``config.warn_float64`` may warn of float64."""
        if self.dtype == "float64" and config.warn_float64 != "ignore":
            _mind_float64(self, config.warn_float64)
        return super().__call__(name)

    def _normalise(self) -> None:
        if type(self.dtype) is not str or self.dtype not in _NAMES:
            object.__setattr__(self, "dtype", dtype_name(self.dtype))
        pattern = self.broadcastable
        if type(pattern) is not tuple or not _FLAGS.issuperset(map(type, pattern)):
            pattern = tuple(bool(flag) for flag in pattern)
            object.__setattr__(self, "broadcastable", pattern)

    def _check_shape(self, describe: Callable[[], str], shape: tuple[int, ...]) -> None:
        try:
            check_shape(describe, shape, self.broadcastable, self)
        except BadType as error:
            raise GraphTypeError(str(error)) from None


def fits(kind: ArrayType, place: ArrayType) -> bool:
    """True if values of a type fit the type ``place``, on any context.

    They may broadcast along more axes than ``place``, not along fewer.
    """
    return (
        kind.dtype == place.dtype
        and kind.ndim == place.ndim
        and all(
            is_one or not must_be_one
            for is_one, must_be_one in zip(
                kind.broadcastable, place.broadcastable, strict=True
            )
        )
    )


def _mind_float64(kind: ArrayType, reaction: str) -> None:
    message = (
        f"a variable of {kind} is made: float64, which warn_float64={reaction!r} asks "
        "to be told of; cast an operand, or set floatX"
    )
    if reaction == "raise":
        raise GraphTypeError(message)
    warnings.warn(message, stacklevel=3)


@dataclass(frozen=True, slots=True)
class TensorType(ArrayType):
    """The type of arrays in host memory. Called with a name or none it makes variables.

    Types of one ``dtype`` and one pattern are equal; ``name`` is only printed.
    ``sparse_grad`` is accepted for programs of Theano.

    >>> TensorType("float32", (False,))
    TensorType(float32, vector)
    """

    dtype: str
    broadcastable: Pattern
    name: str | None = field(default=None, compare=False)
    sparse_grad: InitVar[bool] = False

    def __post_init__(self, sparse_grad: bool) -> None:
        self._normalise()

    def __repr__(self) -> str:
        if self.name is not None:
            return self.name
        return f"TensorType({self.dtype}, {pattern_name(self.broadcastable)})"

    __str__ = __repr__

    def clone(
        self, dtype: Any = None, broadcastable: Pattern | None = None
    ) -> TensorType:
        """Return the type with another dtype or pattern."""
        return TensorType(
            self.dtype if dtype is None else dtype,
            self.broadcastable if broadcastable is None else broadcastable,
        )

    def filter(
        self, value: Any, strict: bool = False, allow_downcast: bool | None = None
    ) -> np.ndarray[Any, Any]:
        """Return ``value`` as an array of exactly this type; itself if it is one.

        Values widen silently, and narrow only where nothing is lost from a Python
        number or list, where a Python float meets floatX, or where ``allow_downcast``
        is true. If ``strict``, only arrays of the dtype are taken.
        """
        if isinstance(value, Type) or hasattr(value, "owner"):
            raise GraphTypeError(
                f"expected a value for {self}, given the symbolic {value}; a value is "
                "a number or an array"
            )
        rounds = self.dtype == config.floatX
        try:
            if strict:
                check_strict(value, self.numpy_dtype)
            return fitted(
                value,
                self.numpy_dtype,
                self.broadcastable,
                self,
                allow_downcast,
                rounds,
            )
        except BadType as error:
            raise GraphTypeError(str(error)) from None

    def value_zeros(self, shape: Sequence[int]) -> np.ndarray[Any, Any]:
        """Return an array of zeros of this type."""
        return np.zeros(tuple(shape), self.numpy_dtype)


@dataclass(frozen=True, slots=True)
class GpuArrayType(ArrayType):
    """The type of arrays on a context; the name ``None`` means the default one.

    >>> GpuArrayType("float32", (False,), "cuda0")
    GpuArrayType<cuda0>(float32, vector)
    """

    dtype: str
    broadcastable: Pattern
    context_name: str | None = None

    def __post_init__(self) -> None:
        self._normalise()
        if self.context_name == "cpu":
            raise GraphValueError(
                "GpuArrayType: 'cpu' is the host, not a context; use TensorType"
            )

    def __repr__(self) -> str:
        pattern = pattern_name(self.broadcastable)
        return f"GpuArrayType<{self.context_name}>({self.dtype}, {pattern})"

    __str__ = __repr__

    def clone(
        self, dtype: Any = None, broadcastable: Pattern | None = None
    ) -> GpuArrayType:
        """Return the type with another dtype or pattern, on the same context."""
        return GpuArrayType(
            self.dtype if dtype is None else dtype,
            self.broadcastable if broadcastable is None else broadcastable,
            self.context_name,
        )

    def filter(
        self, value: Any, strict: bool = False, allow_downcast: bool | None = None
    ) -> Any:
        """Return ``value``, a device array that fits or else a checked host array."""
        if not hasattr(value, "context"):
            return self.host.filter(value, strict, allow_downcast)
        self._check_shape(lambda: f"an array of {value.dtype}", tuple(value.shape))
        if value.dtype != self.numpy_dtype:
            raise GraphTypeError(
                f"given an array of dtype {value.dtype}, expected {self}; convert it "
                f"with .astype({self.dtype!r})"
            )
        return value

    def value_zeros(self, shape: Sequence[int]) -> Array:
        """Return an array of zeros of this type."""
        return zeros(tuple(shape), self.numpy_dtype, context=self.context)

    @property
    def host(self) -> TensorType:
        """The type of the same array on the host."""
        return TensorType(self.dtype, self.broadcastable)

    @property
    def typecode(self) -> int:
        """The library's code of the dtype."""
        return dtype_to_typecode(self.dtype)

    @property
    def context(self) -> Context:
        """The open context of the name.

        Raises ContextNotDefined (a ValueError) for an unknown name.
        """
        return get_context(self.context_name)

    def on_context(self, value: Any) -> Array:
        """Return ``value``, from anywhere, as an array of the type's context."""
        return asarray(value, self.numpy_dtype, context=self.context)


@dataclass(frozen=True, slots=True)
class GpuContextType(Type):
    """The type of a context among an op's params (``params_type``).

    >>> gpu_context_type.filter(gpuarray.context("null"))
    <context 'null': null (host memory, runs no kernel)>
    """

    def filter(
        self, value: Any, strict: bool = False, allow_downcast: bool | None = None
    ) -> Context:
        """Return ``value``, which must be a context. Raises TypeError otherwise."""
        if not isinstance(value, Context):
            raise GraphTypeError(
                f"gpu_context_type: given {value!r}, a {type(value).__name__}, "
                "expected a context; take that of an input's type, "
                "node.inputs[0].type.context"
            )
        return value


gpu_context_type = GpuContextType()
"""The type of params that are a context."""


@dataclass(frozen=True, slots=True)
class Generic(Type):
    """The type of any Python object, for shared variables and the params of ops.

    C code of ops runs without Python and cannot take one: an op that has such a param
    runs by its ``perform``. No function computes with such a variable.

    >>> Generic().filter({"any": "object"})
    {'any': 'object'}
    """

    def filter(
        self, value: Any, strict: bool = False, allow_downcast: bool | None = None
    ) -> Any:
        """Return ``value`` itself."""
        return value


generic = Generic()
"""The type of any Python object."""
