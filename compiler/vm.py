"""Hands a plan to the C executor and runs it. It decides nothing: the plan says all."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np
from gpuarray import dtypes
from gpuarray._native import ARRAY, check, ffi, lib
from gpuarray.array import Array
from gpuarray.compiler import plan as p
from gpuarray.context import Context
from gpuarray.creation import asarray

INT_OPS = dict(
    zip(
        p.INT_OPS,
        (
            lib.GP_INT_ADD,
            lib.GP_INT_SUB,
            lib.GP_INT_MUL,
            lib.GP_INT_FLOORDIV,
            lib.GP_INT_MAX,
            lib.GP_INT_MIN,
        ),
        strict=True,
    )
)


class Encoder:
    """Gives a plan's steps to a GpuPlan.

    ``numbers`` maps the plan's values to the executor's, which writes the number of
    each new value to ``out``.
    """

    def __init__(self, native: Any, plan: p.Plan) -> None:
        self.native = native
        self.plan = plan
        self.numbers: dict[int, int] = {}
        self.out = ffi.new("unsigned int *")

    def result(self, number: int) -> None:
        """Note which of the executor's values the latest call made, as ``out`` says."""
        self.numbers[number] = self.out[0]

    def values(self, numbers: Sequence[int]) -> Any:
        """The executor's numbers of values, as a C list."""
        return ffi.new("unsigned int[]", [self.numbers[n] for n in numbers])

    def is_int(self, number: int) -> bool:
        """Whether a value is a host integer."""
        return isinstance(self.plan.values[number], p.IntValue)

    def arguments(
        self, names: Sequence[str], dtype_names: Sequence[str], flags: Sequence[int]
    ) -> tuple[Any, list[Any]]:
        """A C list of gpuelemwise_arg, and what keeps its texts alive."""
        texts = [ffi.new("char[]", name.encode()) for name in names]
        args = ffi.new("gpuelemwise_arg[]", max(len(names), 1))
        for i, text in enumerate(texts):
            args[i].name = text
            args[i].typecode = dtypes.dtype_to_typecode(dtype_names[i])
            args[i].flags = flags[i]
        return args, texts

    def input_arguments(self, step: p.Launch | p.Reduce) -> tuple[Any, list[Any], Any]:
        """The inputs' descriptions, what keeps them alive, axes that may stretch."""
        flags = [lib.GE_SCALAR if self.is_int(n) else lib.GE_READ for n in step.ins]
        args, texts = self.arguments(step.names, step.in_dtypes, flags)
        stretch = [0 if self.is_int(n) else self.broadcastable(n) for n in step.ins]
        return args, texts, ffi.new("unsigned int[]", stretch)

    def broadcastable(self, number: int) -> int:
        """The bits of the axes of length 1."""
        flags = self.plan.array(number).broadcastable
        return sum(1 << axis for axis, one in enumerate(flags) if one)


def _text(text: str) -> Any:
    return ffi.new("char[]", text.encode())


@singledispatch
def encode(step: p.Step, e: Encoder) -> None:
    """Add a step to the executor's plan."""
    raise NotImplementedError(f"the executor has no step {type(step).__name__}")


@encode.register
def _(step: p.HostInt, e: Encoder) -> None:
    check(lib.GpuPlan_int(e.native, e.out, step.value))
    e.result(step.outs[0])


@encode.register
def _(step: p.Dim, e: Encoder) -> None:
    check(lib.GpuPlan_dim(e.native, e.out, e.numbers[step.ins[0]], step.axis))
    e.result(step.outs[0])


@encode.register
def _(step: p.IntOp, e: Encoder) -> None:
    a, b = (e.numbers[n] for n in step.ins)
    check(lib.GpuPlan_int_op(e.native, e.out, INT_OPS[step.label], a, b))
    e.result(step.outs[0])


@encode.register
def _(step: p.Launch, e: Encoder) -> None:
    out_dtypes = [e.plan.array(n).dtype for n in step.outs]
    out_args, out_texts = e.arguments(
        step.out_names, out_dtypes, [lib.GE_WRITE] * len(step.outs)
    )
    in_args, in_texts, stretch = e.input_arguments(step)
    label, preamble, expr = map(_text, (step.label, step.preamble, step.expr))
    inplace = ffi.new("int[]", list(step.inplace))
    ins = e.values(step.ins)
    native = ffi.new("gpuplan_elemwise *")
    native.size = ffi.sizeof("gpuplan_elemwise")
    native.label, native.preamble, native.expr = label, preamble, expr
    native.n_out, native.out_args, native.inplace = len(step.outs), out_args, inplace
    native.n_in, native.in_args, native.ins = len(step.ins), in_args, ins
    native.stretch = stretch
    outs = ffi.new("unsigned int[]", len(step.outs))
    check(lib.GpuPlan_elemwise(e.native, outs, native))
    for number, value in zip(step.outs, outs, strict=True):
        e.numbers[number] = value
    del out_texts, in_texts  # alive until here


@encode.register
def _(step: p.Reduce, e: Encoder) -> None:
    args, texts, stretch = e.input_arguments(step)
    out_dtype = e.plan.array(step.outs[0]).dtype
    texts_of_step = (
        step.preamble, step.prologue, step.map, step.combine, step.identity,
    )  # fmt: skip
    keep = [_text(t) for t in texts_of_step]
    spec = ffi.new("gpureduction_spec *")
    spec.size = ffi.sizeof("gpureduction_spec")
    spec.preamble, spec.prologue, spec.map, spec.combine, spec.identity = keep
    spec.acc_typecode = dtypes.dtype_to_typecode(step.acc_dtype)
    spec.out_typecode = dtypes.dtype_to_typecode(out_dtype)
    spec.n, spec.inputs = len(step.ins), args
    spec.flags = lib.GA_REDUCTION_NEEDS_ELEMENTS if step.needs_elements else 0
    axes = sum(1 << axis for axis in step.axes)
    ins = e.values(step.ins)
    check(
        lib.GpuPlan_reduce(e.native, e.out, _text(step.label), spec, ins, stretch, axes)
    )
    e.result(step.outs[0])
    del texts  # alive until here


@encode.register
def _(step: p.Library, e: Encoder) -> None:
    a, b, *c = (e.numbers[n] for n in step.ins)
    c_value = c[0] if c else 0
    label = _text(step.label)
    if step.label == "gemv":
        status = lib.GpuPlan_gemv(
            e.native, e.out, label, step.alpha, a, step.transpose_a, b, step.beta,
            c_value, step.inplace,
        )  # fmt: skip
    else:
        status = lib.GpuPlan_gemm(
            e.native, e.out, label, step.alpha, a, step.transpose_a, b,
            step.transpose_b, step.beta, c_value, step.inplace,
        )  # fmt: skip
    check(status)
    e.result(step.outs[0])


@encode.register
def _(step: p.View, e: Encoder) -> None:
    pattern = ffi.new("int[]", list(step.pattern))
    status = lib.GpuPlan_dimshuffle(
        e.native, e.out, _text(step.label), e.numbers[step.ins[0]],
        len(step.pattern), pattern,
    )  # fmt: skip
    check(status)
    e.result(step.outs[0])


def _shaped(function: Any, step: p.Step, e: Encoder) -> None:
    dims = e.values(step.ins[1:])
    array = e.numbers[step.ins[0]]
    check(function(e.native, e.out, _text(step.label), array, len(dims), dims))
    e.result(step.outs[0])


@encode.register
def _(step: p.Reshape, e: Encoder) -> None:
    _shaped(lib.GpuPlan_reshape, step, e)


@encode.register
def _(step: p.Broadcast, e: Encoder) -> None:
    _shaped(lib.GpuPlan_broadcast, step, e)


@encode.register
def _(step: p.Copy, e: Encoder) -> None:
    check(lib.GpuPlan_copy(e.native, e.out, _text(step.label), e.numbers[step.ins[0]]))
    e.result(step.outs[0])


class Frame:
    """What one run writes to: a struct for each result, and the step that failed.

    ``results`` are the structs with the dtypes and typecodes of their arrays.
    """

    __slots__ = ("failed", "outs", "results")

    def __init__(self, kinds: Sequence[tuple[np.dtype[Any], int]]) -> None:
        self.results = tuple((ffi.new(ARRAY), *kind) for kind in kinds)
        self.outs = ffi.new("GpuArray *[]", [struct for struct, _, _ in self.results])
        self.failed = ffi.new("int *")


class Executable:
    """A plan loaded on a context; running it is one call into C.

    It has state because the executor has: its bindings, and here the structs that the
    next run writes its results to.
    """

    def __init__(self, plan: p.Plan, context: Context) -> None:
        self.plan = plan
        self.context = context
        handle = ffi.new("GpuPlan **")
        check(lib.GpuPlan_new(handle, context.pointer, plan.name.encode()))
        self._native = ffi.gc(handle[0], lib.GpuPlan_free)
        self._load()
        check(lib.GpuPlan_prepare(self._native))
        names = [plan.array(number).dtype for number in plan.outputs]
        self._kinds = [(np.dtype(n), dtypes.dtype_to_typecode(n)) for n in names]
        self._spare: list[Frame] = []

    def _load(self) -> None:
        e = Encoder(self._native, self.plan)
        for number in range(self.plan.n_inputs):
            value = self.plan.array(number)
            code = dtypes.dtype_to_typecode(value.dtype)
            mask = e.broadcastable(number)
            check(lib.GpuPlan_input(e.native, e.out, code, value.ndim, mask))
            e.result(number)
        for number, data in self.plan.constants:
            array = asarray(data, context=self.context)
            check(lib.GpuPlan_constant(e.native, e.out, array.struct))
            e.result(number)
        for step in self.plan.steps:
            encode(step, e)
        for number in self.plan.outputs:
            check(lib.GpuPlan_output(e.native, e.numbers[number]))

    def run(self, arrays: Sequence[Array]) -> list[Array]:
        """Run the plan on arrays of its context and give its results, without waiting.

        The arrays are kept alive by the caller. This runs at every call of a function,
        so it makes nothing that can be kept.
        """
        try:
            frame = self._spare.pop()
        except IndexError:
            frame = Frame(self._kinds)
        status = lib.GpuPlan_run(
            self._native, frame.outs, [array.struct for array in arrays], frame.failed
        )
        if status:
            self._fail(status, frame.failed[0])
        context, wrap = self.context, Array.wrap
        results = [
            wrap(struct, context, dtype, typecode)
            for struct, dtype, typecode in frame.results
        ]
        self._spare.append(frame)
        return results

    def _fail(self, status: int, step: int) -> None:
        """Raise the executor's error, with the user's line of the step that failed."""
        try:
            check(status)
        except Exception as error:
            # Host integers and constants are steps for both, so the numbers agree.
            origin = self.plan.steps[step].origin if step >= 0 else ""
            if origin:
                error.add_note(f"made at {origin}")
            raise

    def info(self) -> dict[str, int]:
        """Counts of the latest run and of the bindings kept."""
        native = ffi.new("gpuplan_info *")
        check(lib.GpuPlan_info(self._native, native))
        names = (
            "n_steps", "n_bindings", "n_binds", "n_launches", "n_allocs", "workspace",
        )  # fmt: skip
        return {name: getattr(native, name) for name in names}
