"""ElementwiseKernel: custom elementwise kernels, compiled at the first call."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuarray._core.base import BaseArray
from gpuarray._core.context import Context
from gpuarray._core.opening import context as find_context
from gpuarray._custom_kernels.reduction_kernel import (
    as_argument,
    declared,
    only_context,
    unique_name,
)
from gpuarray._kernels.apply import call_elemwise, fail, new_elemwise
from gpuarray._kernels.codegen import loaded, rounded
from gpuarray._kernels.kernel import GpuKernel
from gpuarray._kernels.numbers import Number, number_of
from gpuarray._kernels.parameters import (
    Parameter,
    dtype_of,
    parse,
    resolve_types,
    with_types,
)
from gpuarray._native import ARRAY, check, ffi, lib
from gpuarray.array import Array
from gpuarray.dtypes import (
    INPUT,
    OFFSET,
    dtype_to_ctype,
    dtype_to_typecode,
    work_ctype,
    work_dtype,
)
from gpuarray.errors import BadType, BadValue

DType = np.dtype[Any]


class ElementwiseKernel:
    """A kernel of C statements for each element; CuPy's class, and PyCUDA's.

    As CuPy's: ``ElementwiseKernel("T x, T y", "T z", "z = x * y", "product")``.
    Parameters are dtypes or capital letters, which stand for the arguments' dtypes.
    Inputs broadcast, and may be numbers; outputs are allocated by default. ``raw T x``
    is not broadcast, and the text indexes it: ``x[i]``, with ``i`` the number of the
    element and ``n`` the number of elements.

    As PyCUDA's: ``ElementwiseKernel("float a, float *x, float *y", "y[i] = a * x[i]",
    "scale")``: pointers are arrays, contiguous and of the size of the first one.

    >>> difference = gpuarray.ElementwiseKernel("T x, T y", "T z", "z = x - y")
    >>> print(difference(gpuarray.arange(3), 1))
    [-1  0  1]
    """

    def __init__(
        self,
        in_params: str,
        out_params: str,
        operation: str | None = None,
        name: str = "kernel",
        preamble: str = "",
        *,
        no_return: bool = False,
        return_tuple: bool = False,
    ) -> None:
        if "*" in in_params:
            if operation is not None:
                name = operation
            in_params, out_params, operation = in_params, "", out_params
            no_return = True
        if operation is None:
            raise BadType("ElementwiseKernel: no operation is given")
        self.name = name
        self.operation = operation
        self.preamble = preamble
        self._ins = parse(in_params, name)
        self._outs = parse(out_params, name)
        self._no_return = no_return
        self._return_tuple = return_tuple
        words = set(re.findall(r"\w+", operation))
        every = [*self._ins, *self._outs]
        is_indexed = "i" in words and all(parameter.name != "i" for parameter in every)
        self._is_indexed = is_indexed or any(parameter.is_array for parameter in every)
        self._kernels: dict[Any, Any] = {}

    def __call__(self, *arguments: Any, size: int | None = None) -> Any:
        """Return the outputs: one array, or a tuple of them."""
        n = len(self._ins)
        if len(arguments) not in (n, n + len(self._outs)):
            raise BadType(
                f"{self.name}: {len(arguments)} arguments, expected {n} inputs, and "
                f"then no output or {len(self._outs)}"
            )
        ins = [as_argument(self.name, x) for x in arguments[:n]]
        outs = list(arguments[n:])
        arrays = [x for x in (*ins, *outs) if isinstance(x, BaseArray)]
        for x in outs:
            if not isinstance(x, BaseArray):
                raise BadType(
                    f"{self.name}: an output is of {type(x).__name__}, expected a "
                    "gpuarray array"
                )
        context = only_context(self.name, arrays) if arrays else find_context(None)
        types = self._types(ins, outs)
        run = self._run_indexed if self._is_indexed else self._run
        results = run(context, types, ins, outs, size)
        if self._no_return:
            return None
        return (
            results[0]
            if len(results) == 1 and not self._return_tuple
            else tuple(results)
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_kernels": {}}  # to be compiled again

    def _types(self, ins: Sequence[Any], outs: Sequence[BaseArray]) -> dict[str, DType]:
        kinds = [getattr(x, "dtype", None) for x in ins]
        arrays = [
            dtype if isinstance(x, BaseArray) else None
            for dtype, x in zip(kinds, ins, strict=True)
        ]
        out_dtypes: list[DType | None] = [x.dtype for x in outs]
        out_dtypes = out_dtypes or [None] * len(self._outs)
        types = resolve_types(
            [*self._ins, *self._outs], [*arrays, *out_dtypes], self.name
        )
        for parameter, x in zip(self._ins, ins, strict=True):
            if parameter.generic and parameter.generic not in types:
                types[parameter.generic] = np.dtype(getattr(x, "dtype", type(x)))
        return types

    # ---- any layout, by the library's elementwise operations ----

    def _run(
        self,
        context: Context,
        types: dict[str, DType],
        ins: list[Any],
        outs: list[BaseArray],
        size: int | None,
    ) -> list[Any]:
        is_array = tuple(isinstance(x, BaseArray) for x in ins)
        if not any(is_array) and not outs:
            outs = [
                self._output(context, types, parameter, (size,))
                for parameter in self._outs
            ]
        key = context, tuple(types.values()), is_array, bool(outs)
        kernel = self._kernels.get(key)
        if kernel is None:
            kernel = self._compile(context, types, is_array, bool(outs))
            self._kernels[key] = kernel
        handle, numbers = kernel
        values = [x for x, array in zip(ins, is_array, strict=True) if not array]
        inputs = [x._struct for x, array in zip(ins, is_array, strict=True) if array]
        inputs += [number.pointer(x) for number, x in zip(numbers, values, strict=True)]
        if outs:
            status = call_elemwise(handle, [*(x._struct for x in outs), *inputs])
            if status:
                fail(status, self.name, context, ins)
            return outs
        structs = [ffi.new(ARRAY) for _ in self._outs]
        listed = ffi.new("GpuArray *[]", structs)
        status = lib.GpuElemwise_apply(handle, listed, ffi.new("void *[]", inputs))
        if status:
            fail(status, self.name, context, ins)
        first = next(x for x in ins if isinstance(x, BaseArray))
        dtypes = [dtype_of(parameter, types, self.name) for parameter in self._outs]
        return [
            first.wrap(struct, context, dtype, dtype_to_typecode(dtype))
            for struct, dtype in zip(structs, dtypes, strict=True)
        ]

    def _output(
        self,
        context: Context,
        types: dict[str, DType],
        parameter: Parameter,
        shape: tuple[int | None, ...],
    ) -> Any:
        if None in shape:
            raise BadValue(
                f"{self.name}: nothing says how many elements there are; give an "
                "array, or size="
            )
        dtype = dtype_of(parameter, types, self.name)
        lengths = tuple(length for length in shape if length is not None)
        return Array.allocate(lengths, dtype, context, operation=self.name)

    def _compile(
        self,
        context: Context,
        types: dict[str, DType],
        is_array: Sequence[bool],
        are_given: bool,
    ) -> tuple[Any, list[Number]]:
        write = lib.GE_WRITE | (lib.GE_READ if are_given else 0)
        arguments = []
        for parameter in self._outs:
            code = dtype_to_typecode(dtype_of(parameter, types, self.name))
            arguments.append((parameter.name, code, write))
        numbers, passed, lines = [], [], []
        for parameter, array in zip(self._ins, is_array, strict=True):
            dtype = dtype_of(parameter, types, self.name)
            if array:
                arguments.append(
                    (parameter.name, dtype_to_typecode(dtype), lib.GE_READ)
                )
                continue
            number = number_of(None, 0, dtype)
            numbers.append(number)
            passed.append((f"{parameter.name}_given", number.typecode, lib.GE_SCALAR))
            lines.append(declared(parameter.name, number))
        text = with_types(self.operation, types)
        preamble = with_types(self.preamble, types)
        expression = "\n".join([*lines, f"{text};"])
        arguments += passed
        handle = new_elemwise(context, preamble, expression, arguments, self.name)
        return handle, numbers

    # ---- indexed by position, over contiguous arrays ----

    def _run_indexed(
        self,
        context: Context,
        types: dict[str, DType],
        ins: list[Any],
        outs: list[BaseArray],
        size: int | None,
    ) -> list[Any]:
        shape = self._shape(ins, outs, size)
        results: list[Any] = [
            *outs,
            *(
                self._output(context, types, parameter, shape)
                for parameter in self._outs[len(outs) :]
            ),
        ]
        arguments: list[Any] = []
        targets = []
        for out in results:
            packed = out if out.flags.c_contiguous else out.copy()
            targets.append(packed)
            arguments += [packed, packed.offset]
        for parameter, x in zip(self._ins, ins, strict=True):
            if not isinstance(x, BaseArray):
                arguments.append(x)
                continue
            arguments += self._packed(parameter, x, shape)
        count = int(np.prod([length for length in shape if length is not None]))
        kernel = self._indexed(context, types, ins)
        if count:
            kernel(*arguments, count, n=count)
        for out, packed in zip(results, targets, strict=True):
            if out is not packed:
                check(lib.GpuArray_move(out._struct, packed._struct), self.name)
        return results

    def _packed(
        self, parameter: Parameter, x: BaseArray, shape: tuple[int | None, ...]
    ) -> list[Any]:
        if not parameter.is_array:
            x = x.broadcast_to(tuple(length or 0 for length in shape))
        elif parameter.is_raw:  # read in the work type
            x = x.astype(work_dtype(x._dtype), copy=False)
        if x.flags.c_contiguous:
            return [x, x.offset]
        if parameter.is_array and not parameter.is_raw:
            raise BadValue(
                f"{self.name}: {parameter.name} is not contiguous; give "
                f"{parameter.name}.copy()"
            )
        copied = x.copy()
        return [copied, copied.offset]

    def _shape(
        self, ins: Sequence[Any], outs: Sequence[BaseArray], size: int | None
    ) -> tuple[int | None, ...]:
        """Return the shape of the outputs, else the inputs' broadcast shape."""
        if size is not None:
            return (size,)
        if outs:
            return outs[0].shape
        named = list(zip(self._ins, ins, strict=True))
        arrays = [(parameter, x) for parameter, x in named if isinstance(x, BaseArray)]
        broadcast = [x.shape for parameter, x in arrays if not parameter.is_array]
        if broadcast:
            return np.broadcast_shapes(*broadcast)
        if not self._outs:  # PyCUDA's
            return next((x.shape for parameter, x in arrays), (None,))
        return (None,)

    def _indexed(
        self, context: Context, types: dict[str, DType], ins: Sequence[Any]
    ) -> GpuKernel:
        is_array = tuple(isinstance(x, BaseArray) for x in ins)
        key = context, tuple(types.values()), is_array
        kernel: GpuKernel | None = self._kernels.get(key)
        if kernel is None:
            kernel = self._kernels[key] = self._write(context, types, is_array)
        return kernel

    def _write(
        self, context: Context, types: dict[str, DType], is_array: Sequence[bool]
    ) -> GpuKernel:
        """Return the kernel of the text: one work item an element."""
        head, before, after = [], [], []
        kinds: list[Any] = []
        moves = []
        every = [*((parameter, True) for parameter in self._outs)]
        every += list(zip(self._ins, is_array, strict=True))
        for parameter, array in every:
            dtype = dtype_of(parameter, types, self.name)
            ctype = dtype_to_ctype(dtype)
            name = parameter.name
            if not array:
                head.append(f"{ctype} {name}_given")
                kinds.append(dtype)
                value = loaded(f"{name}_given", dtype)
                moves.append(f"  const {work_ctype(dtype)} {name} = {value};")
                continue
            pointer = name if parameter.is_array else f"{name}_all"
            ctype = work_ctype(dtype) if parameter.is_raw else ctype
            head += [f"GLOBAL_MEM {ctype} *{pointer}", f"ga_size {pointer}_off"]
            is_input = parameter in self._ins and not parameter.is_raw
            kinds += [INPUT if is_input else BaseArray, OFFSET]
            cast = f"(GLOBAL_MEM {ctype} *)((GLOBAL_MEM char *){pointer}"
            moves.append(f"  {pointer} = {cast} + {pointer}_off);")
            if not parameter.is_array:
                value = loaded(f"{pointer}[i]", dtype)
                before.append(f"    {work_ctype(dtype)} {name} = {value};")
                if parameter in self._outs:
                    after.append(f"    {pointer}[i] = {rounded(name, dtype)};")
        text = with_types(self.operation, types)
        body = "\n".join(
            [
                "  KERNEL_BEGIN;",
                *moves,
                "  for (ga_long i = (ga_long)(GID_0 * LDIM_0 + LID_0); i < n;",
                "       i += (ga_long)(GDIM_0 * LDIM_0)) {",
                *before,
                f"    {text};",
                *after,
                "  }",
                "}",
            ]
        )
        preamble = with_types(self.preamble, types)
        listed = ", ".join([*head, "ga_long n"])
        name = unique_name(self.name, preamble + listed + body)
        source = f"{preamble}\nKERNEL void {name}({listed}) {{\n{body}\n"
        return GpuKernel(source, name, [*kinds, np.int64], context)

    def __repr__(self) -> str:
        return f"<gpuarray kernel {self.name!r}>"
