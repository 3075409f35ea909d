"""Ops whose C code is in separate files with sections."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from gpuarray.compiler.cops.op import COp, GpuKernelBaseCOp
from gpuarray.compiler.cops.sections import (
    KERNELS,
    TAGS,
    Piece,
    joined,
    read_kernels,
    read_sections,
)
from gpuarray.compiler.cops.source import FAIL
from gpuarray.compiler.errors import CFileError
from gpuarray.compiler.gpukernels.custom.kernel import Kernel
from gpuarray.compiler.graph.core import Apply
from gpuarray.compiler.graph.types import GpuArrayType
from gpuarray.dtypes import dtype_to_ctype, dtype_to_typecode


class ExternalCOp(COp):
    """The base of ops whose C code is in files, relative to the file of the class.

    A file has lines ``#section <name>``, each followed by C code: `init_code`,
    `support_code`, `code` and so on, named as the methods of `COp` are. With
    ``func_name`` the code is a call of this function, ``func(inputs..., &outputs...,
    params)``, which returns 0 for success; else it is the section `code`, with macros
    ``INPUT_0``, ``OUTPUT_0``, ``PARAMS`` and ``FAIL``.

    Code may use ``APPLY_SPECIFIC(name)``, ``PARAMS_TYPE`` and for each input and output
    ``DTYPE_INPUT_0``, ``TYPENUM_INPUT_0`` and ``ITEMSIZE_INPUT_0``.

    Raises CFileError (a ValueError) for other files.

    >>> class Filtered(ExternalCOp):
    ...     def __init__(self):
    ...         super().__init__("no_such.c", "APPLY_SPECIFIC(filtered)")
    >>> Filtered()
    Traceback (most recent call last):
        ...
    gpuarray.compiler.errors.CFileError: ...no_such.c: the op's C file cannot be read...
    """

    _tags: Sequence[str] = TAGS

    def __init__(
        self, func_files: str | Iterable[str], func_name: str | None = None
    ) -> None:
        files = [func_files] if isinstance(func_files, str) else list(func_files)
        self.func_files = tuple(str(self.get_path(name)) for name in files)
        self.func_name = func_name
        if "code" not in self.sections and func_name is None:
            raise CFileError(
                f"{self.described()}: {', '.join(files)} has no section code; add one, "
                "or name the function to call with func_name"
            )

    @classmethod
    def get_path(cls, name: str) -> Path:
        """Return a file's path, relative to the file that defines the class.

        For a class without a file it is relative to the working directory.
        """
        module = sys.modules.get(cls.own_class().__module__)
        file = getattr(module, "__file__", None)
        folder = Path(file).resolve().parent if file else Path.cwd()
        return folder / name

    @cached_property
    def sections(self) -> dict[str, tuple[Piece, ...]]:
        """Return the files' text by section."""
        return read_sections(map(Path, self.func_files), self._tags)

    @property
    def properties(self) -> tuple[Any, ...] | None:
        """The values of ``__props__``, then the names and sections of the files."""
        own = super().properties
        if own is None:
            return None
        texts = tuple((tag, self._section(tag)) for tag in sorted(self.sections))
        return *own, self.func_files, self.func_name, texts

    def _section(self, tag: str) -> str:
        return joined(self.sections.get(tag, ()))

    def c_support_code(self) -> str:
        """The section of this name."""
        return self._section("support_code")

    def c_support_code_apply(self, node: Apply, name: str) -> str:
        """Return the section of this name, after its macros."""
        return "\n".join([*macros(node, name), self._section("support_code_apply")])

    def c_support_code_struct(self, node: Apply, name: str) -> str:
        """The section of this name."""
        return self._section("support_code_struct")

    def c_init_code(self) -> Sequence[str]:
        """The section of this name."""
        return [self._section("init_code")]

    def c_init_code_apply(self, node: Apply, name: str) -> str:
        """The section of this name."""
        return self._section("init_code_apply")

    def c_init_code_struct(self, node: Apply, name: str, sub: Any) -> str:
        """The section of this name."""
        return self._section("init_code_struct")

    def c_cleanup_code_struct(self, node: Apply, name: str) -> str:
        """The section of this name."""
        return self._section("cleanup_code_struct")

    def c_code(
        self, node: Apply, name: str, inputs: list[str], outputs: list[str], sub: Any
    ) -> str:
        """Return the call of ``func_name``, or the section `code`."""
        if self.func_name is not None:
            arguments = [*inputs, *(f"&{out}" for out in outputs)]
            arguments += [sub["params"]] if self.params_type is not None else []
            return f"if ({self.func_name}({', '.join(arguments)}) != 0) {sub['fail']}"
        places = {"INPUT": inputs, "OUTPUT": outputs}
        lines = [
            f"#define {side}_{place} {value}"
            for side, values in places.items()
            for place, value in enumerate(values)
        ]
        lines += [f"#define FAIL {FAIL}", f"#define PARAMS {sub['params']}"]
        return "\n".join([*lines, self._section("code")])

    def c_code_cleanup(
        self, node: Apply, name: str, inputs: list[str], outputs: list[str], sub: Any
    ) -> str:
        """The section of this name."""
        return self._section("code_cleanup")


def macros(node: Apply, name: str) -> list[str]:
    """Return the macros by which the code of files names the node's types."""
    lines = [f"#define APPLY_SPECIFIC(str) str##_{name}"]
    for side, variables in (("INPUT", node.inputs), ("OUTPUT", node.outputs)):
        for place, variable in enumerate(variables):
            code = dtype_to_typecode(variable.type.dtype)
            size = variable.type.numpy_dtype.itemsize
            lines += [
                f"#define DTYPE_{side}_{place} npy_{variable.type.dtype}",
                f"#define TYPENUM_{side}_{place} {code}",
                f"#define ITEMSIZE_{side}_{place} {size}",
            ]
    return lines


class CGpuKernelBase(ExternalCOp, GpuKernelBaseCOp):
    """The base of ops whose kernels and C code are in files.

    Besides the sections of `ExternalCOp` a file may have `kernels`. In it a line
    ``#kernel name : params : flags`` comes before each kernel: ``params`` are ``*`` for
    a pointer, ``size``, ``ssize`` or dtypes, with commas between; ``flags`` as
    GA_USE_DOUBLE, with ``|`` between, or none. In kernels ``DTYPE_INPUT_0`` and the
    like are the device's types. The C code calls the kernel ``k_<name>``, a GpuKernel,
    or ``APPLY_SPECIFIC(k_<name>)``.

    >>> class Eye(CGpuKernelBase):
    ...     pass
    >>> Eye(["no_such.c"], "eye")
    Traceback (most recent call last):
        ...
    gpuarray.compiler.errors.CFileError: ...no_such.c: the op's C file cannot be read...
    """

    _tags = (*TAGS, KERNELS)

    def gpu_kernels(self, node: Apply, name: str) -> list[Kernel]:
        """Return the kernels of the section of this name."""
        lines = [
            f"#define DTYPE_{side}_{place} {dtype_to_ctype(variable.type.dtype)}\n"
            for side, variables in (("INPUT", node.inputs), ("OUTPUT", node.outputs))
            for place, variable in enumerate(variables)
            if isinstance(variable.type, GpuArrayType) or variable.type.ndim == 0
        ]
        pieces = self.sections.get(KERNELS, ())
        return read_kernels(pieces, "".join(lines))

    def c_support_code_apply(self, node: Apply, name: str) -> str:
        """Return the section after the macros and the kernels' other names."""
        aliases = [
            f"#define {kernel.objvar}_{name} {kernel.objvar}"
            for kernel in self.gpu_kernels(node, name)
        ]
        return "\n".join([*aliases, super().c_support_code_apply(node, name)])
