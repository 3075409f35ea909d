"""Programs that end while daemon threads of theirs use a device."""

import subprocess
import sys

import pytest

START = """
import sys, threading, time
import numpy as np
import gpuarray
from gpuarray.compiler import function, tensor as T

context = gpuarray.context({name!r})
a = gpuarray.zeros(100_000, "float32", context=context)
started = threading.Semaphore(0)

def turn_of(make):
    def work():
        n = 0
        while True:
            n += 1
            make(n, threading.get_ident())
            started.release()
    return work

def compile_kernels(n, thread):
    text = f"y = x * {{n}}.0f + {{thread % 10_000}}.0f"
    gpuarray.ElementwiseKernel("T x", "T y", text, "mine")(a)

def compile_functions(n, thread):
    x = T.fmatrix("x")
    f = function([x], [T.sin(x * n + thread).sum(0), T.dot(x, x.T)])
    f(np.ones((30, 30), "float32"))

def run_kernels(n, thread):
    ((a + 1) * 2).sum()

def read_results(n, thread):
    np.asarray(a + 1)

"""

END = """
for _ in range(2):
    threading.Thread(target=turn_of({work}), daemon=True).start()
for _ in range(4):
    started.acquire()
time.sleep({delay})
sys.exit(7)
"""


def run_program(program, context, monkeypatch):
    """Its exit code, and what it said."""
    monkeypatch.setenv("GPUARRAY_CACHE_DIR", "")
    monkeypatch.setenv("GPUARRAY_DEVICE", context.name)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=100
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("delay", [0, 0.03])
@pytest.mark.parametrize(
    "work", ["compile_kernels", "compile_functions", "run_kernels", "read_results"]
)
def test_a_program_ends_with_its_own_code_while_threads_work(
    context, monkeypatch, work, delay
):
    """Vendors take their objects away at the end, which threads may still use."""
    program = START.format(name=context.name) + END.format(work=work, delay=delay)
    assert run_program(program, context, monkeypatch) == (7, "")


def test_a_program_ends_while_the_only_thread_that_uses_a_device_works(
    context, monkeypatch
):
    """The main thread has called nothing of the library, which a thread imports."""
    start = START.format(name=context.name).replace("\n", "\n    ")
    program = f"""
import sys, threading
ready = threading.Event()
def work():
    {start}
    for n in range(1000):
        compile_kernels(n, 1)
        ready.set()
threading.Thread(target=work, daemon=True).start()
ready.wait()
sys.exit(7)
"""
    assert run_program(program, context, monkeypatch) == (7, "")
