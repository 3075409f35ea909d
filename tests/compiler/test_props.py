"""An op is told apart by all that it is made of.

Two nodes whose ops compare equal become one, and a compiled function is found again by
its ops; so what an op is given when it is made stands in ``__props__``.
"""

import importlib
import inspect
import pkgutil

import gpuarray.compiler
import pytest
from gpuarray.compiler.graph.core import Op

# What these are made of, where they are told apart by something else.
OTHERWISE = {
    "CGpuKernelBase": "a user's class says",
    "ExternalCOp": "a user's class says",
    "KernelOp": "the name stands for the functions on the host",
    "OpFromGraph": "its graph, compared as a graph",
    "Elemwise": "the row's key",
    "Rowwise": "the pattern as items",
    "Together": "the pattern as items",
    "Solve": "the other three are hints without a meaning here",
}


def ops():
    """Every class of ops of the compiler that says how it is made."""
    package = gpuarray.compiler
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(found.name)
    waiting, seen = [Op], set()
    while waiting:
        known = {x for x in waiting.pop().__subclasses__() if x not in seen}
        waiting += known
        seen |= known
    ours = [x for x in seen if x.__module__.startswith(package.__name__)]
    made = [x for x in ours if x.__init__ is not Op.__init__]
    return sorted(made, key=lambda x: (x.__module__, x.__name__))


@pytest.mark.parametrize("op", ops(), ids=lambda op: op.__name__)
def test_props_are_what_an_op_is_made_of(op):
    parameters = [*inspect.signature(op.__init__).parameters][1:]
    if op.__name__ in OTHERWISE:
        assert set(getattr(op, "__props__", ())) != set(parameters)
        return
    assert sorted(op.__props__) == sorted(parameters)
