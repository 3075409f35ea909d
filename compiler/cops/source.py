"""The source of the C module of an op for one node's types.

The module has one copy of the op's state (kernels, params, variables of its ``struct``
sections), and these functions to be called from outside:

- ``gpuarray_op_open``: takes the context, the params and the kernels; runs init code;
- ``gpuarray_op_run``: the function that `GpuPlan_function` calls with a step's values;
- ``gpuarray_op_close``: runs the struct's cleanup code;
- ``gpuarray_op_error``: the class and the message of the exception that ended a call.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from gpuarray.compiler.cops import params
from gpuarray.compiler.cops.sections import RESTORE
from gpuarray.compiler.cops.toolchain import SOURCE_FILE
from gpuarray.compiler.gpukernels.custom.kernel import POINTERS, Kernel
from gpuarray.compiler.gpukernels.custom.kernel_base import listed
from gpuarray.compiler.graph.core import Apply
from gpuarray.compiler.graph.types import GpuArrayType
from gpuarray.dtypes import dtype_to_typecode

_C_KINDS = {
    **dict.fromkeys(POINTERS, "gpudata *"),
    "offset": "size_t ",
    "size": "size_t ",
    "ssize": "ssize_t ",
}

NODE_NAME = "node"
"""The ``name`` for an op's methods, the same in all modules, which share nothing."""

PARAMS = "ga_op_params"
FAIL = "{ goto ga_op_failed; }"

_RUN = """\
GPUARRAY_PUBLIC int gpuarray_op_run(void *ga_op_data, GpuArray *const *ga_op_outs,
                                    const GpuArray *const *ga_op_ins,
                                    const long long *ga_op_ints) {
  int ga_op_outcome = GA_NO_ERROR;
  (void)ga_op_data, (void)ga_op_ins, (void)ga_op_ints;
  pthread_mutex_lock(&ga_op_turn);
  PyErr_Clear();
  ga_op_places = ga_op_outs;
  ga_op_n_places = %(n_outs)d;
  ga_op_taken = 0;
"""

_CLOSE = """\
GPUARRAY_PUBLIC void gpuarray_op_close(char *ga_op_unused) {
  (void)ga_op_unused;
%(cleanup)s
}
"""


@dataclass(frozen=True)
class TypedOp:
    """An op and the types of one node, inputs first: all that its C code depends on."""

    op: Any
    types: tuple[Any, ...]
    n_inputs: int

    @property
    def node(self) -> Apply:
        """A node of the op with these types."""
        inputs = [kind() for kind in self.types[: self.n_inputs]]
        return Apply(self.op, inputs, [kind() for kind in self.types[self.n_inputs :]])

    @property
    def who(self) -> str:
        """The op with its file, for errors."""
        text: str = self.op.described()
        return text

    @property
    def kernels(self) -> list[Kernel]:
        """The kernels that the C code launches."""
        find: Callable[..., list[Kernel]] | None = getattr(self.op, "gpu_kernels", None)
        if find is None:
            return []
        return listed(self.op, "gpu_kernels", find(self.node, NODE_NAME), Kernel)


def said(op: Any, method: str, *arguments: Any) -> Any:
    """Return the result of a method of the op; None where it is not offered."""
    try:
        return getattr(op, method)(*arguments)
    except NotImplementedError:
        return None


def names_of(written: TypedOp) -> tuple[list[str], list[str]]:
    """Return the names of inputs and outputs in the C code."""
    names = [f"V{place}" for place in range(len(written.types))]
    return names[: written.n_inputs], names[written.n_inputs :]


def module_source(written: TypedOp) -> str:
    """Return the text of the module. Raises NotImplementedError without C code."""
    op, node = written.op, written.node
    sub = {"fail": FAIL, "params": PARAMS}
    inner = op.c_code(node, NODE_NAME, *names_of(written), sub)
    kernels = written.kernels
    own = [
        said(op, "c_support_code"),
        *map(_wrappers, kernels),
        said(op, "c_support_code_apply", node, NODE_NAME),
        said(op, "c_support_code_struct", node, NODE_NAME),
        _open(written, sub),
        _run(written, inner, sub),
        _CLOSE % {"cleanup": said(op, "c_cleanup_code_struct", node, NODE_NAME) or ""},
    ]
    head = [
        f"/* {op.label()} */",
        '#include "gpuarray_op.h"',
        *map(_include, said(op, "c_headers") or ()),
        *params.declarations(getattr(op, "params_type", None)),
    ]
    code = "\n\n".join(part for part in own if part)
    return _placed("\n\n".join([*head, *_texts(kernels, code), code]))


def _placed(text: str) -> str:
    """Return the text with its own line numbers again after text from files."""
    lines = text.splitlines()
    for index, line in enumerate(lines):
        if line == RESTORE:
            lines[index] = f'#line {index + 2} "{SOURCE_FILE}"'
    return "\n".join(lines) + "\n"


def _include(header: str) -> str:
    return f"#include {header}" if header[:1] in '<"' else f'#include "{header}"'


def _text(text: str | Iterable[str] | None) -> str:
    """Return an op's C text, given as one piece or as a list."""
    if text is None or isinstance(text, str):
        return text or ""
    return "\n".join(text)


# ---- kernels ----


def _texts(kernels: Iterable[Kernel], code: str) -> list[str]:
    """Return the texts of the kernels whose ``codevar`` the code names.

    The others are left out: a change of their text does not compile the C code again.
    """
    return [
        f"static const char *{kernel.codevar} =\n{literal(kernel.code)};"
        for kernel in kernels
        if re.search(rf"\b{kernel.codevar}\b", code)
    ]


def literal(text: str) -> str:
    r"""Return a text as C literals, one for each line.

    >>> print(literal('say "x"\nend'))
    "say \"x\"\n"
    "end"
    """
    return "\n".join(
        f'"{"".join(map(_escaped, line.encode()))}"'
        for line in text.splitlines(keepends=True) or [""]
    )


def _escaped(byte: int) -> str:
    """Return a byte in a literal of C."""
    known = {ord("\n"): r"\n", ord('"'): r"\"", ord("\\"): r"\\"}
    return known.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}")


def _wrappers(kernel: Kernel) -> str:
    """Return the compiled kernel and the functions that launch it."""
    types = [_C_KINDS.get(kind, f"npy_{kind} ") for kind in kernel.params]
    takes = "".join(f", {kind}a{i}" for i, kind in enumerate(types))
    passed = "".join(f", a{i}" for i in range(len(types)))
    pointers = [
        f"(void *)a{i}" if kind in POINTERS else f"&a{i}"
        for i, kind in enumerate(kernel.params)
    ]
    return f"""\
static GpuKernel {kernel.objvar};

static inline int {kernel.fname}(unsigned int nd, const size_t *gdim,
    const size_t *ldim, size_t shared{takes}) {{
  void *args[] = {{{", ".join([*pointers, "NULL"])}}};
  return GpuKernel_call(&{kernel.objvar}, nd, gdim, ldim, shared, args);
}}

static inline int {kernel.sname}(unsigned int nd, const size_t *n,
    size_t shared{takes}) {{
  size_t gs = 0, ls = 0;
  int err = nd == 1 ? GpuKernel_sched(&{kernel.objvar}, n[0], &gs, &ls)
                    : GA_UNSUPPORTED_ERROR;
  return err != GA_NO_ERROR ? err : {kernel.fname}(1, &gs, &ls, shared{passed});
}}"""


# ---- opening ----


def _open(written: TypedOp, sub: dict[str, str]) -> str:
    op, node = written.op, written.node
    code = [
        _text(said(op, "c_init_code")),
        _text(said(op, "c_init_code_apply", node, NODE_NAME)),
        _text(said(op, "c_init_code_struct", node, NODE_NAME, sub)),
    ]
    lines = [
        *params.assignments(getattr(op, "params_type", None)),
        *(f"{k.objvar} = *kernels[{i}];" for i, k in enumerate(written.kernels)),
    ]
    return f"""\
GPUARRAY_PUBLIC int gpuarray_op_open(gpucontext *ctx, void *const *params,
                                     const GpuKernel *const *kernels) {{
  (void)params, (void)kernels;
  PyErr_Clear();
  ga_op_context.ctx = ctx;
{_indented(lines)}
  {{
{_text(code)}
  }}
  if (PyErr_Occurred())
    goto ga_op_failed;
  return GA_NO_ERROR;
ga_op_failed:
  return ga_op_status();
}}"""


# ---- running ----


def _run(written: TypedOp, inner: str, sub: dict[str, str]) -> str:
    ins, outs = names_of(written)
    kinds = dict(zip((*ins, *outs), written.types, strict=True))
    cleanup = said(
        written.op, "c_code_cleanup", written.node, NODE_NAME, ins, outs, sub
    )
    declared = [line for name, kind in kinds.items() for line in _declared(name, kind)]
    spoiled = {place for places in written.op.destroy_map.values() for place in places}
    unpacked = [
        line
        for i, name in enumerate(ins)
        for line in _taken(i, name, kinds[name], i in spoiled)
    ]
    checks = [
        f"ga_op_untangle({i}, &{name})"
        for i, name in enumerate(outs)
        if isinstance(kinds[name], GpuArrayType)
    ]
    checks += [_given(i, name, kinds[name]) for i, name in enumerate(outs)]
    return "\n".join(
        [
            _RUN % {"n_outs": len(outs)} + _indented([*declared, *unpacked]),
            "  {",
            inner,
            "    if (0) {",
            "    ga_op_failed:",
            "      ga_op_outcome = ga_op_status();",
            "    }",
            _text(cleanup),
            "  }",
            "  if (ga_op_outcome == GA_NO_ERROR && PyErr_Occurred())",
            "    ga_op_outcome = ga_op_status();",
            f"  if (ga_op_outcome == GA_NO_ERROR && !({' && '.join(checks) or '1'}))",
            "    ga_op_outcome = ga_op_status();",
            "ga_op_end:",
            _indented([f"Py_XDECREF({name});" for name in kinds]),
            "  ga_op_n_places = 0;",
            "  pthread_mutex_unlock(&ga_op_turn);",
            "  return ga_op_outcome;",
            "}",
        ]
    )


def _indented(lines: Sequence[str]) -> str:
    return "\n".join(f"  {line}" for line in lines)


def _declared(name: str, kind: Any) -> list[str]:
    struct = "PyGpuArrayObject" if isinstance(kind, GpuArrayType) else "PyArrayObject"
    return [f"typedef npy_{kind.dtype} dtype_{name};", f"{struct} *{name} = NULL;"]


def _taken(place: int, name: str, kind: Any, is_spoiled: bool) -> list[str]:
    """Return the C text that passes an input: an integer of the plan has no array.

    An input that the code overwrites is copied.
    """
    if isinstance(kind, GpuArrayType):
        take = f"ga_op_take_{'copy' if is_spoiled else 'device'}(ga_op_ins[{place}])"
        return [f"{name} = {take};", *_unless(name)]
    number = f"ga_op_take_number({dtype_to_typecode(kind.dtype)})"
    lines = [
        f"{name} = ga_op_ins[{place}] ? ga_op_take_host(ga_op_ins[{place}])",
        f"    : {number};",
        *_unless(name),
    ]
    if kind.ndim == 0 and not kind.dtype.startswith("complex"):
        value = f"(dtype_{name})ga_op_ints[{place}]"
        lines += [
            f"if (ga_op_ins[{place}] == NULL)",
            f"  *(dtype_{name} *)PyArray_DATA({name}) = {value};",
        ]
    return lines


def _unless(name: str) -> list[str]:
    """Return the C text that ends the run if a value could not be passed.

    It jumps past the op's code, whose declarations cannot be jumped into.
    """
    return [
        f"if ({name} == NULL) {{",
        "  ga_op_outcome = ga_op_status();",
        "  goto ga_op_end;",
        "}",
    ]


def _given(place: int, name: str, kind: Any) -> str:
    where = "device" if isinstance(kind, GpuArrayType) else "host"
    code = dtype_to_typecode(kind.dtype)
    return f"ga_op_give_{where}({place}, {name}, {code}, {kind.ndim})"
