"""Ctrl-C ends what it interrupts, whatever goes at that moment."""

import ast
import subprocess
import sys
from pathlib import Path

import gpuarray
import gpuarray.compiler
import numpy as np
import pytest
from gpuarray.compiler import callbacks, function, tensor

X = np.array([[3, 1], [2, 5]], "float32")

PROGRAM = """
import random, signal, sys, threading, time
import numpy as np
import gpuarray
from gpuarray.compiler import function, grad, tensor as T

N = 300
context = gpuarray.context({name!r})
a = gpuarray.zeros(10, "float32", context=context)
x = T.fvector("x")
swallowed = []
sys.unraisablehook = swallowed.append

def views():
    a[1:]

def sums():
    a + 1

def results():
    np.asarray(a)

def graphs():
    grad(T.where(x > 0, T.exp(x), 0).sum(), x)

{work}()
turn, answered = threading.Semaphore(0), threading.Semaphore(0)

def interrupt():
    for _ in range(N):
        turn.acquire()
        time.sleep(random.random() * 0.002)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        answered.acquire()

threading.Thread(target=interrupt, daemon=True).start()
seen = lost = 0
while seen + lost < N:
    try:
        turn.release()
        end = time.monotonic() + 2
        while time.monotonic() < end:
            {work}()
        lost += 1
    except KeyboardInterrupt:
        seen += 1
    answered.release()
print(seen, lost, len(swallowed))
"""


@pytest.mark.parametrize("work", ["views", "sums", "results", "graphs"])
def test_no_interrupt_is_lost_where_objects_go(context, monkeypatch, work):
    """Python prints what a finalizer raises, and goes on."""
    monkeypatch.setenv("GPUARRAY_DEVICE", context.name)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(name=context.name, work=work)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.stdout, done.stderr) == ("300 0 0\n", "")


LOOP = """
import signal, threading
import numpy as np
import gpuarray
from gpuarray._core.context import Context
from gpuarray._native import check, ffi, lib
from gpuarray.compiler import config, function, scan, shared, tensor as T
from gpuarray.compiler.contexts import reg_context

pair = ffi.new("gpucontext **")
check(lib.gpucontext_open(pair, {name!r}.encode()))
reg_context("dev0", gpuarray.context({name!r}))
reg_context("dev1", Context(pair[0]))
config.device = {name!r}
x, n = T.dvector("x"), T.lscalar("n")
count = shared(0.0)
states, updates = scan(
    lambda s, c: ((s.transfer("dev1") + 1).transfer("dev0"), {{count: c + 1}}),
    outputs_info=x, non_sequences=count, n_steps=n,
)
f = function([x, n], states[-1], updates=updates)
assert "by the host" in str(f.plan)

def interrupt():
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

assert f(np.zeros(2), 3).tolist() == [3, 3]
try:
    threading.Timer(0.1, interrupt).start()
    f(np.zeros(2), 2**40)
except KeyboardInterrupt:
    print("interrupted")
print(float(count.get_value()), f(np.zeros(2), 2).tolist())
"""


def test_an_interrupt_ends_a_loop_between_iterations(context):
    """One that the host starts; shared variables are as they were."""
    done = subprocess.run(
        [sys.executable, "-c", LOOP.format(name=context.name)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.stdout, done.stderr) == ("interrupted\n3.0 [2.0, 2.0]\n", "")


def test_an_interrupt_while_a_plan_is_bound_ends_the_call(context, monkeypatch):
    """A step that Python records is called from C, which returns to the call."""

    def interrupted(*args):
        raise KeyboardInterrupt

    x = tensor.fmatrix("x")
    with context.as_default():
        f = function([x], tensor.sort(x, axis=0))
        with monkeypatch.context() as patched:
            patched.setattr(callbacks, "call", interrupted)
            with pytest.raises(KeyboardInterrupt):
                f(X)
        assert np.array_equal(f(X), np.sort(X, 0))


RUN_BY_PYTHON = {
    "__del__",
    "finalize",
    "WeakKeyDictionary",
    "WeakMethod",
    "WeakSet",
    "WeakValueDictionary",
}


def test_nothing_of_pythons_runs_where_an_object_goes():
    """Finalizers and weak collections are Python, where an interrupt is swallowed."""
    found = []
    for package in (gpuarray, gpuarray.compiler):
        for path in Path(package.__file__).parent.rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                name = getattr(node, "name", getattr(node, "attr", None))
                if name in RUN_BY_PYTHON or _gives_a_callback(node):
                    found.append(f"{path.name}:{node.lineno}: {name}")
    assert found == []


def _gives_a_callback(node):
    """A weak reference with one, or a lambda that cffi is to call."""
    if not isinstance(node, ast.Call) or len(node.args) < 2:
        return False
    called = getattr(node.func, "attr", getattr(node.func, "id", None))
    return called == "ref" or (called == "gc" and isinstance(node.args[1], ast.Lambda))
