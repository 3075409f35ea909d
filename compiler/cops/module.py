"""Compiled modules of C code: cached on disk, loaded once a context, called."""

from __future__ import annotations

import builtins
import ctypes
import hashlib
import importlib.util
import tempfile
import threading
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import gpuarray
from gpuarray import dtypes
from gpuarray._core.context import Context
from gpuarray._core.folders import private_folder, read_private
from gpuarray._native import ARRAY, check, ffi, lib, text
from gpuarray.array import Array
from gpuarray.compiler.cops import params
from gpuarray.compiler.cops.source import TypedOp, module_source, said
from gpuarray.compiler.cops.toolchain import (
    MISTAKES,
    STANDARD,
    compile_source,
    find_compiler,
)
from gpuarray.compiler.errors import CCodeError
from gpuarray.compiler.store import Store

HERE = Path(__file__).parent
LIBRARIES = Store("ops", ".so")
LIBRARY = "libgpuarray.so"


@lru_cache(maxsize=1)
def include_folders() -> tuple[Path, ...]:
    """Return the folders of headers: this package's own, and the library's."""
    return HERE / "include", Path(gpuarray.get_include())


@lru_cache(maxsize=1)
def library_file() -> Path:
    """Return the library that this process has loaded, next to the binding."""
    binding = importlib.util.find_spec("gpuarray._gpuarray")
    assert binding is not None and binding.origin is not None
    return Path(binding.origin).parent / LIBRARY


@lru_cache(maxsize=1)
def _headers_hash() -> str:
    """Return a hash of the headers' text: other headers make other modules."""
    digest = hashlib.blake2b(digest_size=16)
    for folder in include_folders():
        for header in sorted(folder.rglob("*.h")):
            digest.update(header.read_bytes())
    return digest.hexdigest()


def options_of(written: TypedOp) -> tuple[list[str], list[str]]:
    """Return the compiler's arguments before the source and after it."""
    op = written.op
    refused = set(said(op, "c_no_compile_args") or ())
    folders = [*include_folders(), *(said(op, "c_header_dirs") or ())]
    libraries = [str(folder) for folder in said(op, "c_lib_dirs") or ()]
    options = [*STANDARD, *MISTAKES, *(said(op, "c_compile_args") or ())]
    options = [option for option in options if option not in refused]
    options += [f"-I{folder}" for folder in folders]
    links = [str(library_file())]
    links += [f"-L{library}" for library in libraries]
    links += [f"-Wl,-rpath,{library}" for library in libraries]
    links += [f"-l{name}" for name in said(op, "c_libraries") or ()]
    return options, [*links, "-lm"]


@lru_cache(maxsize=256)
def build(written: TypedOp) -> Path:
    """Return the file of the compiled module, compiled now if it is not cached.

    Raises CCodeError if it does not compile, NoCompilerError without a compiler, and
    NotImplementedError if the op has no C code.
    """
    source = module_source(written)
    compiler = find_compiler()
    options, links = options_of(written)
    version = said(written.op, "c_code_cache_version_apply", written.node)
    made_of = (compiler, options, links, version, _headers_hash())
    parts = (source, gpuarray.__version__, *made_of)
    key = hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()
    try:
        return LIBRARIES.find_or_make(
            key, lambda: compile_source(compiler, source, options, links)
        )
    except CCodeError as error:
        message = f"{written.who}: its C code does not compile {error}"
        raise CCodeError(message) from None


_loaded: set[Path] = set()
_loading = threading.Lock()


def load(path: Path, who: str) -> ctypes.CDLL:
    """The module, with variables of its own: a file loads once, then copies of it.

    Raises CCodeError with the loader's message.
    """
    with _loading:
        if path not in _loaded:
            _loaded.add(path)
            return _opened(path, who)
    with private_folder(str(path.parent)) as folder:
        content = None if folder is None else read_private(folder, path.name)
    if content is None:
        raise CCodeError(f"{who}: {path} is gone; it was there when it was loaded")
    place = LIBRARIES.folder_of_process()
    with tempfile.NamedTemporaryFile(suffix=LIBRARIES.suffix, dir=place) as copy:
        copy.write(content)
        copy.flush()
        return _opened(Path(copy.name), who)


def _opened(path: Path, who: str) -> ctypes.CDLL:
    """Return the library in its folder, which is checked again, opened by descriptor.

    Above the user's home, or the folder for temporary files, others may exchange
    folders between two uses of a path.
    """
    with private_folder(str(path.parent)) as folder:
        if folder is None:
            raise CCodeError(f"{who}: {path.parent} is no folder of the user's alone")
        by_descriptor = Path(f"/proc/self/fd/{folder}")
        place = by_descriptor if by_descriptor.exists() else path.parent
        return _loaded_from(place / path.name, who)


def _loaded_from(path: Path, who: str) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        message = str(error).replace(f"{path}: ", "")
        raise CCodeError(
            f"{who}: its compiled C code cannot be loaded: {message}; name the library "
            "that is missing in c_libraries, its folder in c_lib_dirs"
        ) from None


class Module:
    """The C code of an op, loaded and initialized for a context.

    It is stateful because the code may be: kernels, params, its struct's variables.
    """

    def __init__(self, written: TypedOp, context: Context) -> None:
        self.written = written
        self.context = context
        self.who = written.who
        self._library = load(build(written), self.who)
        self.function = self._find("gpuarray_op_run", "gpuplan_function")
        self._error = self._find("gpuarray_op_error", "const char *(*)(const char **)")
        self._kinds = [
            (dtypes.as_dtype(kind.dtype), dtypes.dtype_to_typecode(kind.dtype))
            for kind in written.types[written.n_inputs :]
        ]
        self._open()
        closing = self._find("gpuarray_op_close", "void (*)(char *)")
        self._closed = ffi.gc(ffi.new("char *"), closing)

    def _find(self, name: str, ctype: str) -> Any:
        address = ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value
        return ffi.cast(ctype, address)

    def _open(self) -> None:
        """Pass the code its context, params and kernels, and run its init code."""
        written = self.written
        kind = getattr(written.op, "params_type", None)
        value = None if kind is None else written.op.get_params(written.node)
        packed, keep = params.packed(kind, value)
        self._kernels = [k.compiled(self.context, self.who) for k in written.kernels]
        handles = [kernel._handle for kernel in self._kernels]
        opened = self._find(
            "gpuarray_op_open",
            "int (*)(gpucontext *, void *const *, const GpuKernel *const *)",
        )
        listed = ffi.new("const GpuKernel *[]", handles or [ffi.NULL])
        self.check(opened(self.context.pointer, packed, listed))
        del keep  # alive until here

    def failure(self) -> Exception | None:
        """Return the exception that ended the latest call on this thread, if any."""
        kind = ffi.new("const char **")
        message = text(self._error(kind))
        cls: type[Exception] | None = getattr(builtins, text(kind[0]), None)
        return None if cls is None else cls(f"{self.who}: {message}")

    def check(self, status: int) -> None:
        """Raise the exception of a call that returned this status."""
        failure = self.failure() if status != 0 else None
        if failure is not None:
            raise failure
        check(status)

    def __call__(self, values: Sequence[Any]) -> tuple[Array, ...]:
        """Return the outputs for device arrays and integers, one for each input."""
        outs = [ffi.new(ARRAY) for _ in self._kinds]
        listed = ffi.new("GpuArray *[]", outs or [ffi.NULL])
        status = self.function(ffi.NULL, listed, *_given(values))
        if status != 0:
            for out in outs:
                lib.GpuArray_clear(out)
        self.check(status)
        return tuple(
            Array.wrap(out, self.context, dtype, typecode)
            for out, (dtype, typecode) in zip(outs, self._kinds, strict=True)
        )

    def defer(self, values: Sequence[Any], outs: Sequence[Array]) -> None:
        """Have each run of the plan that is recorded call the code on ``outs``."""
        ins, ints = _given(values)
        listed = ffi.new("GpuArray *[]", [out.struct for out in outs] or [ffi.NULL])
        check(
            lib.GpuPlan_defer(
                self.function, ffi.NULL, len(outs), listed, len(values), ins, ints
            )
        )


def _given(values: Sequence[Any]) -> tuple[Any, Any]:
    """The inputs as C takes them: the arrays, and the integers in their places."""
    arrays = [v.struct if isinstance(v, Array) else ffi.NULL for v in values]
    integers = [0 if isinstance(v, Array) else int(v) for v in values]
    return (
        ffi.new("const GpuArray *[]", arrays or [ffi.NULL]),
        ffi.new("long long[]", integers or [0]),
    )


@cache
def module_of(written: TypedOp, context: Context) -> Module:
    """Return the module of an op for these types on a context.

    It stays: plans call into it, and loaded code is never unloaded.
    """
    return Module(written, context)
