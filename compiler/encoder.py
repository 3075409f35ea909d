"""Encodes a plan's steps for the C executor, one to one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import Any

from gpuarray import dtypes
from gpuarray._core.context import Context
from gpuarray._creation.conversion import asarray
from gpuarray._native import check, ffi, lib, sized
from gpuarray.compiler import plan as p
from gpuarray.compiler.callbacks import FunctionRecorder, grouped
from gpuarray.compiler.gpukernels import NEEDS_OF, Needs

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
            lib.GP_INT_MOD,
            lib.GP_INT_LT,
            lib.GP_INT_LE,
            lib.GP_INT_EQ,
            lib.GP_INT_AND,
            lib.GP_INT_OR,
            lib.GP_INT_CAST,
        ),
        strict=True,
    )
)


class Encoder:
    """Encodes a plan's steps into a GpuPlan.

    ``numbers`` maps the plan's values to the executor's, which writes the number of
    each new value to ``out``. ``recorders`` must live as long as the executor's plan.
    ``contexts`` are those of the plan by their names in it, its own under None.
    """

    def __init__(
        self, native: Any, plan: p.Plan, contexts: Mapping[str | None, Context]
    ) -> None:
        self.native = native
        self.plan = plan
        self.contexts = contexts
        self._place: str | None = None
        self.recorders: list[FunctionRecorder] = []
        self.numbers: dict[int, int] = {}
        self.out = ffi.new("unsigned int *")
        self._when: Sequence[tuple[int, bool]] = ()

    def body(self, body: p.BodyPlan, value: int) -> None:
        """Add the body of the function or the loop that computes a value."""
        contexts = {**self.contexts, None: self.context}
        self.recorders += add_body(body, value, self.native, contexts)

    @property
    def context(self) -> Context:
        """The context of what is added next."""
        return self.contexts[self._place]

    def on(self, place: str | None) -> None:
        """Put what is added next on a context, by its name in the plan."""
        if place != self._place:
            check(lib.GpuPlan_on(self.native, self.know(place)))
            self._place = place

    def know(self, place: str | None) -> int:
        """Return the executor's number of a context, which is added if need be."""
        pointer = self.contexts[place].pointer
        check(lib.GpuPlan_add_context(self.native, self.out, pointer))
        number: int = self.out[0]
        return number

    def result(self, number: int) -> None:
        """Record the executor's value that the latest call created, in ``out``."""
        self.numbers[number] = self.out[0]

    def results(self, numbers: Sequence[int], outs: Any) -> None:
        """Record those that it created, in a C list as long or longer."""
        self.numbers.update(zip(numbers, outs, strict=False))

    def values(self, numbers: Sequence[int]) -> Any:
        """Return the executor's numbers of values, as a C list."""
        return ffi.new("unsigned int[]", [self.numbers[n] for n in numbers])

    def types(self, numbers: Sequence[int]) -> Any:
        """Return the types of arrays that a step creates, as a C list."""
        types = ffi.new("gpuplan_type[]", max(len(numbers), 1))
        for kind, number in zip(types, numbers, strict=False):
            value = self.plan.array(number)
            kind.typecode = dtypes.dtype_to_typecode(value.dtype)
            kind.nd = value.ndim
        return types

    def is_int(self, number: int) -> bool:
        """Return True if a value is a host integer."""
        return isinstance(self.plan.values[number], p.IntValue)

    def when(self, conditions: Sequence[tuple[int, bool]]) -> None:
        """Make the following steps conditional."""
        if conditions == self._when:
            return
        values = self.values([number for number, _ in conditions])
        flags = ffi.new("int[]", [side for _, side in conditions])
        check(lib.GpuPlan_when(self.native, len(flags), values, flags))
        self._when = conditions

    def arguments(
        self, names: Sequence[str], dtype_names: Sequence[str], flags: Sequence[int]
    ) -> tuple[Any, list[Any]]:
        """A C list of gpuelemwise_arg, and the objects that keep its texts alive."""
        texts = [ffi.new("char[]", name.encode()) for name in names]
        args = ffi.new("gpuelemwise_arg[]", max(len(names), 1))
        for i, text in enumerate(texts):
            args[i].name = text
            args[i].typecode = dtypes.dtype_to_typecode(dtype_names[i])
            args[i].flags = flags[i]
        return args, texts

    def input_arguments(
        self, step: p.LaunchStep | p.ReduceStep
    ) -> tuple[Any, list[Any], Any]:
        """The inputs' descriptions, their owners, and the axes that may broadcast."""
        flags = [lib.GE_SCALAR if self.is_int(n) else lib.GE_READ for n in step.ins]
        names = list(step.in_dtypes)
        for i, dtype in enumerate(step.in_dtypes):
            if dtype == p.INDEX:
                flags[i], names[i] = lib.GE_INDEX, "uint64"
        args, texts = self.arguments(step.names, names, flags)
        stretch = [0 if self.is_int(n) else self.broadcastable(n) for n in step.ins]
        return args, texts, ffi.new("unsigned int[]", stretch)

    def broadcastable(self, number: int) -> int:
        """Return the mask of the axes of length 1."""
        flags = self.plan.array(number).broadcastable
        return sum(1 << axis for axis, is_one in enumerate(flags) if is_one)


def load_plan(e: Encoder, bodies: Mapping[int, p.BodyPlan] | None = None) -> None:
    """Add a plan's inputs, constants, steps and results to the executor's.

    Functions with a body, their own or one of ``bodies`` by the index of the step, are
    not called.
    """
    for number in range(e.plan.n_inputs):
        if e.is_int(number):
            check(lib.GpuPlan_int_input(e.native, e.out))
        else:
            value = e.plan.array(number)
            code = dtypes.dtype_to_typecode(value.dtype)
            mask = e.broadcastable(number)
            e.on(value.place)
            check(lib.GpuPlan_input(e.native, e.out, code, value.ndim, mask))
        e.result(number)
    for number, data in e.plan.constants:
        e.on(e.plan.array(number).place)
        array = asarray(data, context=e.context)
        check(lib.GpuPlan_constant(e.native, e.out, array.struct))
        e.result(number)
    for place, step in enumerate(e.plan.steps):
        e.on(step.place)
        e.when(step.when)
        own = step.body if isinstance(step, p.Call) else None
        body = own or (bodies or {}).get(place)
        if body is None or not isinstance(step, p.Call):
            encode(step, e)
        else:
            add_function(step, e, ffi.NULL, ffi.NULL)
            e.body(body, e.numbers[step.outs[0]])
    for number in e.plan.outputs:
        check(lib.GpuPlan_output(e.native, e.numbers[number]))
    if e.plan.confirms:
        check(lib.GpuPlan_confirm(e.native))


def add_body(
    body: p.BodyPlan,
    value: int,
    native: Any,
    contexts: Mapping[str | None, Context],
) -> list[FunctionRecorder]:
    """Add the body of the function or the loop whose result is ``value``.

    ``contexts`` has the body's own under None. Returns the objects that must live as
    long as the plan.
    """
    handle = ffi.new("GpuPlan **")
    own = contexts[None].pointer
    check(lib.GpuPlan_new(handle, own, body.plan.name.encode()))
    native_body = ffi.gc(handle[0], lib.GpuPlan_free)
    inner = Encoder(native_body, body.plan, contexts)
    load_plan(inner, body.bodies)
    ffi.gc(native_body, None)  # the plan owns it now
    check(lib.GpuPlan_body(native, value, native_body))
    return inner.recorders


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
def _(step: p.DeviceInt, e: Encoder) -> None:
    number = p.DEVICE_INTS.index(step.property)
    check(lib.GpuPlan_device(e.native, e.out, number))
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
def _(step: p.LaunchStep, e: Encoder) -> None:
    out_dtypes = [e.plan.array(n).dtype for n in step.outs]
    out_args, out_texts = e.arguments(
        step.out_names, out_dtypes, [lib.GE_WRITE] * len(step.outs)
    )
    in_args, in_texts, stretch = e.input_arguments(step)
    label, preamble, expr = map(_text, (step.marked, step.preamble, step.expr))
    inplace = ffi.new("int[]", list(step.inplace))
    ins = e.values(step.ins)
    native = sized("gpuplan_elemwise")
    native.label, native.preamble, native.expr = label, preamble, expr
    native.n_out, native.out_args, native.inplace = len(step.outs), out_args, inplace
    native.n_in, native.in_args, native.ins = len(step.ins), in_args, ins
    native.stretch = stretch
    outs = ffi.new("unsigned int[]", len(step.outs))
    check(lib.GpuPlan_elemwise(e.native, outs, native))
    e.results(step.outs, outs)
    del out_texts, in_texts  # alive until here


@encode.register
def _(step: p.ReduceStep, e: Encoder) -> None:
    args, texts, stretch = e.input_arguments(step)
    out_codes = [dtypes.dtype_to_typecode(e.plan.array(n).dtype) for n in step.outs]
    texts_of_step = (
        step.preamble, step.prologue, step.map, step.combine, step.identity,
    )  # fmt: skip
    keep = [_text(t) for t in texts_of_step]
    spec = sized("gpureduction_spec")
    spec.preamble, spec.prologue, spec.map, spec.combine, spec.identity = keep
    spec.acc_typecode = dtypes.dtype_to_typecode(step.acc_dtype)
    spec.out_typecode = out_codes[0]
    spec.n, spec.inputs = len(step.ins), args
    spec.flags = lib.GA_REDUCTION_NEEDS_ELEMENTS if step.needs_elements else 0
    components = ffi.new("gpureduction_component[]", 1 + len(step.more))
    results = ffi.new("gpureduction_result[]", len(out_codes))
    folds: list[p.ReduceStep | p.ReduceComponent] = [step, *step.more]
    for i, fold in enumerate(folds):
        keep += [_text(t) for t in (fold.map, fold.combine, fold.identity)]
        components[i].map, components[i].combine, components[i].identity = keep[-3:]
        components[i].typecode = dtypes.dtype_to_typecode(fold.acc_dtype)
        results[i].typecode = out_codes[i]
    if step.more:
        spec.n_components = spec.n_results = len(out_codes)
        spec.components, spec.results = components, results
    if step.is_position:
        pair, epilogue = _with_position(components[0])
        results[0].epilogue = epilogue
        spec.flags |= lib.GA_REDUCTION_INDEX | lib.GA_REDUCTION_FIRST
        spec.n_components, spec.n_results = 2, 1
        spec.components, spec.results = pair[0], results
        keep += [pair, epilogue]
    axes = sum(1 << axis for axis in step.axes)
    ins = e.values(step.ins)
    outs = ffi.new("unsigned int[]", len(out_codes))
    check(
        lib.GpuPlan_reduce(e.native, outs, _text(step.marked), spec, ins, stretch, axes)
    )
    e.results(step.outs, outs)
    del texts  # alive until here


def _with_position(component: Any) -> tuple[tuple[Any, ...], Any]:
    """The components of an element and its position, with what keeps their texts.

    The text of the result, the position, follows.
    """
    components = ffi.new("gpureduction_component[]", 2)
    place, nowhere = _text("i"), _text("-1")
    components[0] = component
    components[1].map, components[1].identity = place, nowhere
    components[1].combine = component.combine
    components[1].typecode = lib.GA_SIZE
    return (components, place, nowhere), _text("v1")


@encode.register
def _(step: p.Library, e: Encoder) -> None:
    a, b, *c = (e.numbers[n] for n in step.ins)
    c_value = c[0] if c else 0
    label = _text(step.marked)
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
        e.native, e.out, _text(step.marked), e.numbers[step.ins[0]],
        len(step.pattern), pattern,
    )  # fmt: skip
    check(status)
    e.result(step.outs[0])


def _shaped(function: Any, step: p.Step, e: Encoder) -> None:
    dims = e.values(step.ins[1:])
    array = e.numbers[step.ins[0]]
    check(function(e.native, e.out, _text(step.marked), array, len(dims), dims))
    e.result(step.outs[0])


@encode.register
def _(step: p.ReshapeStep, e: Encoder) -> None:
    _shaped(lib.GpuPlan_reshape, step, e)


@encode.register
def _(step: p.Broadcast, e: Encoder) -> None:
    _shaped(lib.GpuPlan_broadcast, step, e)


INDEX_PARTS = {
    "start": lib.GP_INDEX_START,
    "stop": lib.GP_INDEX_STOP,
    "step": lib.GP_INDEX_STEP,
}


@encode.register
def _(step: p.Index, e: Encoder) -> None:
    form = [
        lib.GP_INDEX_AT
        if parts is None
        else lib.GP_INDEX_SLICE + sum(INDEX_PARTS[part] for part in parts)
        for parts in step.form
    ]
    status = lib.GpuPlan_index(
        e.native, e.out, _text(step.marked), e.numbers[step.ins[0]], len(form),
        ffi.new("int[]", form), e.values(step.ins[1:]),
    )  # fmt: skip
    check(status)
    e.result(step.outs[0])


@encode.register
def _(step: p.Copy, e: Encoder) -> None:
    check(lib.GpuPlan_copy(e.native, e.out, _text(step.marked), e.numbers[step.ins[0]]))
    e.result(step.outs[0])


@encode.register
def _(step: p.TransferStep, e: Encoder) -> None:
    array = e.numbers[step.ins[0]]
    check(lib.GpuPlan_transfer(e.native, e.out, _text(step.marked), array))
    e.result(step.outs[0])


@encode.register
def _(step: p.Choose, e: Encoder) -> None:
    condition, a, b = (e.numbers[n] for n in step.ins)
    check(lib.GpuPlan_choose(e.native, e.out, _text(step.marked), condition, a, b))
    e.result(step.outs[0])


@encode.register
def _(step: p.ReportsStep, e: Encoder) -> None:
    check(lib.GpuPlan_reports(e.native, e.out, _text(step.marked)))
    e.result(step.outs[0])


@encode.register
def _(step: p.Read, e: Encoder) -> None:
    outs = ffi.new("unsigned int[]", max(len(step.outs), 1))
    label, array = _text(step.marked), e.numbers[step.ins[0]]
    check(lib.GpuPlan_read(e.native, outs, label, array, len(step.outs)))
    e.results(step.outs, outs)


@encode.register
def _(step: p.Routine, e: Encoder) -> None:
    native = sized("gpuplan_routine")
    label, name = _text(step.marked), _text(step.name)
    texts = [_text(text) for text in step.texts]
    listed = ffi.new("char *[]", texts or [ffi.NULL])
    params = ffi.new("long long[]", list(step.params) or [0])
    ins = e.values(step.ins)
    results = e.types(step.outs)
    native.label, native.name = label, name
    native.n_params, native.params = len(step.params), params
    native.n_texts, native.texts = len(texts), listed
    native.n_in, native.ins = len(step.ins), ins
    native.n_out, native.results = len(step.outs), results
    outs = ffi.new("unsigned int[]", max(len(step.outs), 1))
    check(lib.GpuPlan_routine(e.native, outs, native))
    e.results(step.outs, outs)


@encode.register
def _(step: p.LoopStep, e: Encoder) -> None:
    native = sized("gpuplan_loop")
    label, takes = _text(step.marked), _text(step.takes)
    turns, *rest = step.ins
    ins, results = e.values(rest), e.types(step.outs)
    native.label, native.takes, native.turns = label, takes, e.numbers[turns]
    native.n_in, native.ins = len(rest), ins
    native.n_out, native.results = len(step.outs), results
    outs = ffi.new("unsigned int[]", len(step.outs))
    for place in step.body.plan.context_names():
        e.know(place)
    check(lib.GpuPlan_loop(e.native, outs, native))
    e.results(step.outs, outs)
    e.body(step.body, outs[0])


def add_function(step: p.Call, e: Encoder, function: Any, data: Any) -> None:
    """Add the step of a function, or of none."""
    outs = ffi.new("unsigned int[]", max(len(step.outs), 1))
    status = lib.GpuPlan_function(
        e.native, outs, _text(step.marked), function, data, len(step.ins),
        e.values(step.ins), len(step.outs), e.types(step.outs), list(step.inplace),
    )  # fmt: skip
    check(status)
    e.results(step.outs, outs)


@encode.register
def _(step: p.Call, e: Encoder) -> None:
    recorder = FunctionRecorder(step, e.plan, e.context)
    e.recorders.append(recorder)
    add_function(step, e, lib.plan_function, recorder.handle)
    tell_needs = NEEDS_OF.get(step.function)
    if tell_needs is not None:
        inputs = grouped(step, [e.plan.values[n] for n in step.ins])
        try:
            tell_needs(Needs(e.native, e.context), *inputs, **dict(step.options))
        except Exception as error:
            if step.origin:
                error.add_note(f"  made at {step.origin}")
            raise
