"""Two contexts that a program calls dev0 and dev1."""

from contextlib import contextmanager

import gpuarray
import pytest
from gpuarray._core.context import Context
from gpuarray._native import check, ffi, lib
from gpuarray.compiler import config
from gpuarray.compiler.contexts import reg_context, unreg_context
from gpuarray.doctor import devices


def two_devices():
    """The contexts of two devices, for names of a program."""
    names = [*devices("cuda")[0], *devices("opencl")[0]]
    if len(names) < 2:
        pytest.skip("there is one device only")
    return [gpuarray.context(name) for name in names[:2]]


def two_of_one_device():
    """Two contexts on the first device."""
    name = [*devices("cuda")[0], *devices("opencl")[0]][0]
    pair = ffi.new("gpucontext **")
    check(lib.gpucontext_open(pair, name.encode()))
    return [gpuarray.context(name), Context(pair[0])]


@contextmanager
def named(pair):
    """The contexts as dev0 and dev1; the first is the default one."""
    for i, context in enumerate(pair):
        reg_context(f"dev{i}", context)
    try:
        with config.use(device=pair[0].name, floatX="float64"):
            yield pair
    finally:
        for i in range(2):
            unreg_context(f"dev{i}")
