"""The parameters of public functions and of ops, with their defaults."""

import inspect
from pathlib import Path

import gpuarray.compiler as compiler
import gpuarray.compiler.tensor as T
import pytest
from gpuarray.compiler.graph.core import Op
from gpuarray.compiler.rewrites.engine.engine import Rule
from gpuarray.compiler.rewrites.passes import all_rewrites

GOLDEN = Path(__file__).resolve().parent / "signatures.txt"
SPACES = {
    "compiler": compiler,
    "compiler.gpuarray.dnn": compiler.gpuarray.dnn,
    "T": T,
    "T.fft": T.fft,
    "T.nlinalg": T.nlinalg,
    "T.nnet": T.nnet,
    "T.nnet.abstract_conv": T.nnet.abstract_conv,
    "T.nnet.conv": T.nnet.conv,
    "T.nnet.conv3d2d": T.nnet.conv3d2d,
    "T.signal.conv": T.signal.conv,
    "T.signal.pool": T.signal.pool,
    "T.slinalg": T.slinalg,
    "x": type(T.vector()),
}
SETTLED = {  # found of what is given, or taken for programs of Theano and not kept
    "Elemwise": ("key", "inplace_items"),
    "MultiTensor": ("parts", "inplace_items"),
    "Rowwise": ("program", "inplace_items"),
    "Solve": ("A_structure",),
}


def signature_of(function, first=0):
    """Its parameters with the defaults; None where it has no default."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return None
    shown = [each.replace(annotation=each.empty) for each in parameters][first:]
    if all(each.default is each.empty for each in shown):
        return None
    return f"({', '.join(map(str, shown))})"


def listed():
    for name, space in SPACES.items():
        for each in sorted(dir(space)):
            found = getattr(space, each)
            is_public = callable(found) and not each.startswith("_")
            text = signature_of(found, int(name == "x")) if is_public else None
            if text is not None and text != "(name=None)" and " at 0x" not in text:
                yield f"{name}.{each}{text}"
    for name, kind in sorted(OPS.items()):
        text = signature_of(kind)
        if text is not None and " at 0x" not in text:
            yield f"op {name}{text}"


def test_defaults_of_public_functions_change_on_purpose_only(request):
    listing = "\n".join(listed()) + "\n"
    if request.config.getoption("--update-golden"):
        GOLDEN.write_text(listing)
    assert listing == GOLDEN.read_text(), "pytest --update-golden accepts the change"


def kinds_of(base):
    for kind in base.__subclasses__():
        yield kind
        yield from kinds_of(kind)


OPS = {
    kind.__name__: kind
    for kind in kinds_of(Op)
    if kind.__module__.startswith("gpuarray.compiler.ops.")
    and getattr(kind, "__props__", ())
}


VIEWS = {
    kind.__name__: kind.view_map
    for kind in kinds_of(Op)
    if kind.__module__.startswith("gpuarray.compiler.ops.")
    and vars(kind).get("view_map")
}


@pytest.mark.parametrize("name", sorted(OPS))
def test_an_op_is_told_from_others_by_all_that_it_is_made_with(name):
    made_with = tuple(inspect.signature(OPS[name]).parameters)
    assert OPS[name].__props__ == SETTLED.get(name, made_with)


@pytest.mark.parametrize("name", sorted(VIEWS))
def test_a_view_is_of_the_first_input(name):
    assert VIEWS[name] == {0: [0]}


def test_every_rule_says_which_operations_it_is_asked_about():
    """One of all nodes is possible, and costs time at each of them."""
    rules = [each for each in all_rewrites() if isinstance(each, Rule)]
    assert len(rules) > 80
    assert [rule.name for rule in rules if not rule.ops] == []
