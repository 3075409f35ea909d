"""Arrays exchanged with NumPy, PyTorch, JAX and CuPy, each in a process of its own.

What such a library does wrong may end the process, and two of them in one process load
runtimes that do not always go together.
"""

import importlib.util
import subprocess
import sys
import textwrap

import pytest

BEGIN = """
import faulthandler, gc, sys
import numpy as np
import gpuarray
from gpuarray._interop import dlpack

faulthandler.enable()
context = gpuarray.context(sys.argv[1])
host = np.arange(24, dtype="f4").reshape(4, 6)

def ours(values, dtype=None):
    return gpuarray.asarray(np.asarray(values, dtype), context=context)

class Native:
    "An array that is given as its device's memory, which few libraries know."
    def __init__(self, array):
        self.array = array
    def __dlpack_device__(self):
        return dlpack.device_of(context)
    def __dlpack__(self, **asked):
        asked["dl_device"] = dlpack.device_of(context)
        return self.array.__dlpack__(**asked)
"""
END = """
gc.collect()
print("done")
"""


def run(context, library, program):
    """Run a program, which has ``context``, ``host`` and ``ours``, to its end."""
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    text = BEGIN + textwrap.dedent(program) + END
    done = subprocess.run(
        [sys.executable, "-c", text, context.name], capture_output=True, text=True
    )
    assert done.stdout.endswith("done\n"), f"{done.returncode}\n{done.stderr}"
    assert done.returncode == 0, done.stderr


# How each library takes an array, and how its own is seen by the host.
TAKES = {
    "numpy": ("import numpy", "np.from_dlpack({0})", "np.asarray({0})"),
    "torch": ("import torch", "torch.from_dlpack({0})", "{0}.cpu().numpy()"),
    "jax": (
        "import jax; jax.config.update('jax_enable_x64', True)",
        "jax.dlpack.from_dlpack({0})",
        "np.asarray({0})",
    ),
}
libraries = pytest.mark.parametrize("library", TAKES)


def taking(library):
    """The first lines of a program: ``take`` and ``seen`` by this library."""
    imports, take, seen = TAKES[library]
    return (
        f"{imports}\n"
        f"take = lambda a: {take.format('a')}\n"
        f"seen = lambda a: {seen.format('a')}\n"
    )


@libraries
def test_each_dtype_there_and_back(processor, library):
    program = """
    for dtype in "? i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 c8 c16".split():
        a = ours(host % 2, dtype)
        theirs = take(a + a)
        assert seen(theirs).dtype == dtype
        np.testing.assert_array_equal(seen(theirs), a.get() + a.get())
        back = gpuarray.from_dlpack(theirs, device=context)
        assert back.context is context and back.dtype == dtype
        np.testing.assert_array_equal(back, a.get() + a.get())
    """
    run(processor, library, taking(library) + textwrap.dedent(program))


@libraries
def test_shapes(processor, library):
    program = """
    for shape in ((), (0,), (3, 0), (1,), (2, 1, 3)):
        a = gpuarray.ones(shape, context=context)
        theirs = take(a)
        assert tuple(theirs.shape) == shape
        assert (seen(theirs) == 1).all()
        assert gpuarray.from_dlpack(theirs, device=context).shape == shape
    """
    run(processor, library, taking(library) + textwrap.dedent(program))


@libraries
def test_layouts_that_a_library_may_refuse(processor, library):
    """JAX takes no steps; whoever refuses says so, and nothing is lost by it."""
    program = """
    a = ours(host)
    views = [a.T, a[:, ::2], a[1:, 3], a[::-1], a[:, ::-2]]
    views += [a[:1].broadcast_to((3, 6))]
    for view in views:
        for _ in range(5):
            try:
                theirs = take(view)
            except Exception as error:
                assert "strid" in str(error) or "read-only" in str(error)
                continue
            np.testing.assert_array_equal(seen(theirs), view.get())
            back = gpuarray.from_dlpack(theirs, device=context)
            np.testing.assert_array_equal(back, view.get())
    gc.collect()
    np.testing.assert_array_equal(a, host)
    """
    run(processor, library, taking(library) + textwrap.dedent(program))


@libraries
def test_an_array_that_is_deleted_while_it_is_lent(processor, library):
    program = """
    a = ours(host) + 1
    theirs = take(a)
    del a
    gc.collect()
    others = [ours(host) * 0 for _ in range(20)]
    context.sync()
    np.testing.assert_array_equal(seen(theirs), host + 1)
    back = gpuarray.from_dlpack(theirs, device=context)
    del theirs
    gc.collect()
    np.testing.assert_array_equal(back, host + 1)
    """
    run(processor, library, taking(library) + textwrap.dedent(program))


@libraries
def test_a_device_that_a_library_does_not_know(processor, library):
    program = """
    a = ours(host)
    before = context.memory_info().n_live
    for _ in range(50):
        try:
            take(Native(a))
        except Exception as error:
            pass
        else:
            raise AssertionError("was taken")
    gc.collect()
    assert context.memory_info().n_live == before
    np.testing.assert_array_equal(a + 1, host + 1)
    """
    run(processor, library, taking(library) + textwrap.dedent(program))


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_either_side_sees_what_the_other_writes(processor, library):
    program = """
    a = ours(host)
    theirs = take(a)
    theirs[1, 2] = 50
    assert a[1, 2].item() == 50
    a *= 2
    a.sync()
    assert seen(theirs)[1, 2] == 100
    """
    run(processor, library, taking(library) + textwrap.dedent(program))


def test_pytorchs_constructors(processor):
    program = """
    import torch
    a = ours(host)
    shared = [torch.from_dlpack(a), torch.asarray(a), torch.utils.dlpack.from_dlpack(a)]
    shared += [torch.as_tensor(a), torch.from_dlpack(a, device="cpu", copy=False)]
    copies = [torch.tensor(a), torch.from_dlpack(a, copy=True)]
    for each in shared + copies:
        np.testing.assert_array_equal(each, host)
    shared[0][0, 0] = 7
    assert a[0, 0].item() == 7
    assert [float(each[0, 0]) for each in shared] == [7] * 5
    assert [float(each[0, 0]) for each in copies] == [0] * 2
    for _ in range(20):
        for make in (torch.from_dlpack, torch.asarray, torch.tensor):
            make(a + 1)
            try:
                make(Native(a))
            except Exception:
                pass
    """
    run(processor, "torch", program)


def test_bfloat16_of_pytorch_and_jax(processor):
    program = """
    import torch
    a = ours([1.5, 2, 3]).astype(gpuarray.bfloat16)
    theirs = torch.from_dlpack(a)
    assert theirs.dtype == torch.bfloat16 and theirs.tolist() == [1.5, 2, 3]
    back = gpuarray.from_dlpack(theirs, device=context)
    assert back.dtype == gpuarray.bfloat16 and back.tolist() == [1.5, 2, 3]
    """
    run(processor, "torch", program)
    program = """
    import jax
    a = ours([1.5, 2, 3]).astype(gpuarray.bfloat16)
    assert jax.dlpack.from_dlpack(a).astype("f4").tolist() == [1.5, 2, 3]
    """
    run(processor, "jax", program)


def test_a_model_of_pytorch_on_our_arrays(processor):
    """Results of either library go on through the other, and gradients come back."""
    program = """
    import torch
    x, w = ours(host), ours(host.T)
    weights = torch.from_dlpack(w).requires_grad_()
    loss = (torch.from_dlpack(x.dot(w)) * weights.mean()).sum()
    loss.backward()
    expected = host.dot(host.T).sum() / host.size
    np.testing.assert_allclose(weights.grad.numpy(), expected, rtol=1e-5)
    w -= gpuarray.from_dlpack(weights.grad, device=context)
    w.sync()
    np.testing.assert_allclose(weights.detach().numpy(), host.T - expected, rtol=1e-5)
    """
    run(processor, "torch", program)


def test_pytorchs_and_cupys_memory_on_a_card(context):
    """What a card's libraries refuse and take, apart from tests/test_dlpack.py's."""
    if context.kind != "cuda":
        pytest.skip("the other libraries have no OpenCL memory")
    program = """
    import {0}
    a = ours(host)
    for view in (a, a.T, a[:, ::2], a[::-1]):
        np.testing.assert_array_equal(gpuarray.from_dlpack({0}.from_dlpack(view)), view)
    """
    for library in ("torch", "cupy"):
        run(context, library, program.format(library))
