"""Names of contexts: settings, and what they open."""

import gpuarray
import pytest
from gpuarray.compiler import config
from gpuarray.compiler.config import context_map
from gpuarray.compiler.contexts import joint_context, open_context
from gpuarray.doctor import devices


def test_a_program_s_names_stand_for_devices(null):
    with config.use(contexts="dev0->null; dev1->null", device="null"):
        assert open_context("dev0") is open_context() is null
        assert joint_context(["dev0", "dev1", "null", None]) is null
    assert joint_context(["null"]) is null


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
            assert open_context().is_cpu
        else:
            with pytest.raises(NotImplementedError, match="pip install"):
                open_context()


def test_variables_of_two_contexts_are_refused(context, null):
    with pytest.raises(NotImplementedError, match="a function runs on one context"):
        joint_context([context.name, null.name])
