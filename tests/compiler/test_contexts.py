"""Names of contexts: settings, and what they open."""

import gpuarray
import gpuarray.compiler.tensor as T
import pytest
from gpuarray.compiler import Out, config, function
from gpuarray.compiler.config import context_map
from gpuarray.compiler.contexts import get_context
from gpuarray.doctor import devices
from gpuarray.errors import ContextClosed


def test_a_program_s_names_stand_for_devices(null):
    with config.use(contexts="dev0->null; dev1->null", device="null"):
        assert get_context("dev0") is get_context() is null
        assert get_context("dev1") is get_context("null") is null


@pytest.mark.parametrize(
    "contexts", ["dev0", "dev0->", "->null", "cuda0->cuda1", "cpu->null", "dev0->disk"]
)
def test_a_wrong_map_is_refused(contexts):
    with pytest.raises(ValueError, match="config: contexts="):
        config.use(contexts=contexts).__enter__()


def test_a_map_may_be_empty_and_have_spaces():
    assert context_map("") == {}
    assert context_map("a -> cuda0; b->opencl0:1;") == {"a": "cuda0", "b": "opencl0:1"}


def test_the_device_cpu_is_a_processor():
    names = devices("opencl")[0]
    with config.use(device="cpu"):
        if any(gpuarray.context(name).is_cpu for name in names):
            assert get_context().is_cpu
        else:
            with pytest.raises(NotImplementedError, match="pip install"):
                get_context()


def test_a_function_does_not_run_on_a_closed_context():
    null = gpuarray.context("null")
    null.runs_dry = True
    x = T.dvector("x")
    with config.use(device="null"):
        f = function([x], Out(x * 2, on_device=True))
    given = gpuarray.zeros(3, context=null)
    f(given)
    null.close()
    for _ in range(2):
        with pytest.raises(ContextClosed, match="context 'null' is closed"):
            f(given)
