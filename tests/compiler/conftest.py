"""Where a test says no other, functions are compiled for the context, in float32."""

import pytest
from gpuarray._core.properties import ContextProperties
from gpuarray.compiler import config
from gpuarray.compiler.function import make
from gpuarray.compiler.function.plan_cache import PLANS
from gpuarray.compiler.gpukernels.rows import body
from gpuarray.compiler.ops.custom.own import OWN
from gpuarray.scalars import SCALARS


@pytest.fixture
def on_context(context):
    with config.use(floatX="float32", device=context.name):
        yield context


@pytest.fixture
def in_float64(context):
    with config.use(floatX="float64", device=context.name):
        yield context


@pytest.fixture
def on_first(first_context):
    with config.use(floatX="float32", device=first_context.name):
        yield first_context


@pytest.fixture
def first_in_float64(first_context):
    with config.use(floatX="float64", device=first_context.name):
        yield first_context


@pytest.fixture
def one_launch(monkeypatch, new_plans):
    """Row programs are one launch on every device."""
    monkeypatch.setattr(body, "prefers_walks", lambda s, *_: s.integer(0))


@pytest.fixture
def on_it(request):
    """For the test's context, where it asks for one."""
    if "context" in request.fixturenames:
        request.getfixturevalue("on_context")


@pytest.fixture
def kept_plans(tmp_path, monkeypatch):
    """The test's own folder of plans; kernels stay where they are."""
    monkeypatch.setattr(PLANS, "folder", lambda: tmp_path)
    return tmp_path


@pytest.fixture
def on_null(request):
    """For what the host computes, where a test does not ask for a context."""
    if "on_context" in request.fixturenames:
        yield
        return
    with config.use(floatX="float32", device="null"):
        yield


@pytest.fixture
def new_plans(monkeypatch):
    """Plans are made anew, by what a test has changed: none is kept on disk."""
    monkeypatch.setattr(make, "key_of", lambda task: None)


@pytest.fixture
def as_gpu(request, monkeypatch):
    """The test's device taken for a GPU of many processors, whose kernels it runs, too.

    Kernels that it has as a processor are not found then.
    """
    is_of_each = "context" in request.fixturenames
    device = request.getfixturevalue("context" if is_of_each else "first_context")
    monkeypatch.setattr(ContextProperties, "is_cpu", property(lambda self: False))
    monkeypatch.setattr(ContextProperties, "processors", property(lambda self: 132))
    monkeypatch.setattr(device, "_kernels", {})
    return device


@pytest.fixture
def restored_rows():
    """The scalar table, which is as before when the test is over."""
    tables = SCALARS, OWN
    before = [dict(each) for each in tables]
    yield SCALARS
    for table, known in zip(tables, before, strict=True):
        for name in [*table]:
            if name not in known:
                del table[name]
