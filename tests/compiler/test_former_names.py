"""Files that were saved before a module or a class was renamed load."""

import importlib
import pickle
import re

import gpuarray.compiler.tensor as T
import numpy as np
from gpuarray.compiler import function, load, shared
from gpuarray.compiler.function import former_names, saving
from gpuarray.compiler.gpukernels import STEP_FUNCTIONS


def test_every_current_name_is_there():
    for name in former_names.MODULES.values():
        importlib.import_module(former_names.PACKAGE + name)
    for module, name in former_names.NAMES.values():
        owner = importlib.import_module(former_names.PACKAGE + module)
        assert callable(getattr(owner, name))
    assert set(former_names.STEP_FUNCTIONS.values()) <= set(STEP_FUNCTIONS)


FLAT = """
activations advanced anyaxis argmax asop axes basic broadcast context_assignment
conversions creation debugging decorated diagonals dispatch elemwise extra_ops fromgraph
gradient_markers guarded_updates ifelse indexing inverses joining lengths linalg losses
mapreduce math multi_tensor nlinalg nnet norms operators own padding picking products
reduce repeating requirements row_steps rowwise scanning shape slinalg solving sorting
special steps subtensor transfer
"""
"""The modules of ops when they were in one package."""

RENAMED = {
    ("derivatives.indexrules", "leading"): "derivatives.batching_indexing.leading",
    ("derivatives.maprows", "MapRows"): "derivatives.batching_fallback.MapRows",
    ("derivatives.rowrules", "elemwise"): "derivatives.batching_rules.elemwise",
    ("derivatives.rows", "BatchedOperand"): "derivatives.batching.BatchedOperand",
    ("graph.absent", "NullType"): "graph.disconnected.NullType",
    ("graph.core", "_itself"): "graph.variable._itself",
    ("graph.core", "Apply"): "graph.core.Apply",
    ("graph.fgraph", "Change"): "graph.fgraph.Replacement",
    ("ops.elemwise", "Step"): "ops.elemwise.elemwise.CompositeStep",
    ("ops.keeping", "Reports"): "ops.control.guarded_updates.Reports",
    ("ops.marks", "Mark"): "ops.control.gradient_markers.Mark",
    ("ops.nnet", "Within"): "ops.nnet.nnet.InBounds",
    ("ops.rowwise", "Within"): "ops.fused.row_steps.Within",
    ("ops.together", "Part"): "ops.fused.multi_tensor.Part",
    ("ops.together", "Together"): "ops.fused.multi_tensor.MultiTensor",
    ("ops.fused.multi_tensor", "Total"): "ops.fused.multi_tensor.MappedTotal",
    ("plan", "Fold"): "plan_steps.ReduceComponent",
    ("plan", "Launch"): "plan_steps.LaunchStep",
    ("plan_steps", "Reshape"): "plan_steps.ReshapeStep",
}


def test_each_former_name_is_known():
    for name in FLAT.split():
        module, _ = former_names.current_name(former_names.PACKAGE + f"ops.{name}", "")
        assert module.endswith(f".{name}") and module.count(".") == 4
    for former, now in RENAMED.items():
        module, name = former_names.current_name(
            former_names.PACKAGE + former[0], former[1]
        )
        assert f"{module}.{name}" == former_names.PACKAGE + now
    assert former_names.current_name("plan", "Fold") == ("plan", "Fold")


def as_before(data):
    """A pickle of protocol 3 with all names as they were: ``cmodule\\nname\\n``."""
    package = former_names.PACKAGE
    modules = {new: old for old, new in former_names.MODULES.items()}
    names = {new: old for old, new in former_names.NAMES.items()}

    def former(found):
        current = found[1].decode(), found[2].decode()
        module, name = names.get(current, current)
        was = modules.get(module, module), name
        return f"c{package}{was[0]}\n{was[1]}\n".encode()

    data = re.sub(rb"cgpuarray\.compiler\.([\w.]+)\n(\w+)\n", former, data)
    for old, new in former_names.STEP_FUNCTIONS.items():
        data = data.replace(text(new), text(old))
    return data


def text(name):
    """A text as protocol 3 writes it."""
    return b"X" + len(name).to_bytes(4, "little") + name.encode()


def test_a_graph_under_former_names_loads(tmp_path, monkeypatch):
    x, w = T.dmatrix("x"), shared(np.ones(3), name="w")
    outputs = [T.exp(x).sum(axis=0), x.max(axis=1)]
    f = function([x], outputs, updates={w: w * 2 + x[0]})
    pickled, written = saving._pickled, []

    def written_before(function, kept):
        written.append(as_before(pickled(function, kept)))
        return written[0]

    monkeypatch.setattr(pickle, "HIGHEST_PROTOCOL", 3)
    monkeypatch.setattr(saving, "_pickled", written_before)
    f.save(tmp_path / "before.plan")
    assert b"ops.elemwise\nStep\n" in written[0]
    assert b"graph.core\n_itself\n" in written[0] and text("together") in written[0]
    loaded = load(tmp_path / "before.plan", trusted=True)
    values = np.arange(6.0).reshape(2, 3)
    for before, now in zip(loaded.function()(values), f(values), strict=True):
        np.testing.assert_array_equal(before, now)
