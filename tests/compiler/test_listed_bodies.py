"""Bodies of plans and the kernels that they write, listed: they change on purpose only.

Of a long text the listing has a digest: a change that shall leave kernels as they are
leaves ``bodies.txt`` as it is. ``pytest --update-golden`` accepts another listing.
"""

import hashlib
import re
from ast import literal_eval
from pathlib import Path

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function, grad, shared
from gpuarray.compiler import plan as p
from gpuarray.compiler.gpukernels.multi_tensor.text import named_text

GOLDEN = Path(__file__).resolve().parent / "bodies.txt"
NAME = re.compile(r"\b(rowwise|multi_tensor)_[0-9a-f]{8,}")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")


def normalized(x):
    away = x - x.mean(-1, keepdims=True)
    return away / T.sqrt(T.sqr(away).mean(-1, keepdims=True) + 1)


def likelihood(x, y):
    return -T.log(T.nnet.softmax(x))[T.arange(y.shape[0]), y].mean()


def programs():
    """Functions by name: what they take, give and change."""
    x, w, b, y = T.fmatrix("x"), T.fmatrix("w"), T.fvector("b"), T.ivector("y")
    h, d, i = T.matrix("h", dtype="float16"), T.dtensor3("d"), T.lmatrix("i")
    kept = shared(np.zeros((4, 3), "f4"), "kept")
    bias = shared(np.zeros(3, "f4"), "bias")
    share = T.nnet.softmax(x)
    yield "softmax", [x], [share]
    yield "softmax of half", [h], [T.nnet.softmax(h)]
    yield "softmax of several axes", [d], [T.nnet.softmax(d * 2, axis=-1)]
    yield "log of softmax", [x], [T.nnet.logsoftmax(x)]
    yield "normalized", [x, b], [normalized(x) * b]
    yield "integers", [i], [i - i.max(1, keepdims=True), i.sum(1)]
    yield "two results", [x], [T.exp(x) / T.exp(x).sum(1, keepdims=True), x.max(1)]
    yield "a length", [x], [x * x.shape[0] / x.sum(1, keepdims=True)]
    yield "likelihood", [x, y], [likelihood(x, y)]
    yield "slope of it", [x, y], [grad(likelihood(x, y), x)]
    yield "rows taken", [x, y], [T.nnet.softmax(x[y])]
    yield "totals", [x, w], [share * w, (share * w).sum(0)]
    yield "overwritten", [], [], {kept: T.nnet.softmax(kept)}
    yield "product", [x, b], [T.tanh(T.dot(x, b)) * 2]
    yield "bias", [x], [], {bias: bias - np.float32(0.5) * x.sum(0)}
    yield "several", [x, b], [x * 2 + b.sum(), T.exp(b), b - x.sum(0), x.prod()]
    yield "weights", [x, y, b], [b - T.dot(x.T, T.cast(y, "float32")), y.sum()]


PROGRAMS = {name: given for name, *given in programs()}


def digest(text):
    """A digest of a kernel's own code, without comments or the functions before it."""
    own = text[max(text.find("\nKERNEL"), 0) :]
    code = re.sub(r"\s+", " ", COMMENT.sub("", NAME.sub(r"\1", own)))
    return hashlib.blake2b(code.encode(), digest_size=6).hexdigest()


def brief(text):
    """A listing with digests for the long texts in it, and without hashes in names."""

    def shorter(found):
        is_long = len(found[0]) > 40
        return digest(literal_eval(found[0])) if is_long else found[0]

    return NAME.sub(r"\1", QUOTED.sub(shorter, text))


def listed(name):
    inputs, outputs, *updates = PROGRAMS[name]
    with config.use(device="null", floatX="float32"):
        plan = function(inputs, outputs, updates=dict(*updates)).plan
    yield f"== {name}"
    yield brief(str(plan))
    for step in plan.steps:
        if isinstance(step, p.Call) and step.body is not None:
            yield brief(str(step.body.plan))
        if isinstance(step, p.Call) and step.function == "multi_tensor":
            given = dict(step.options)
            forms = tuple(zip(given["parts"], given["sources"], strict=True))
            for threads, is_cpu in ((1, True), (256, False), (512, False), (8, False)):
                text, _, _ = named_text(forms, threads, is_cpu)
                yield f"{threads} {digest(text)}"


@pytest.fixture(scope="module")
def golden():
    """The listings by program."""
    text = GOLDEN.read_text() if GOLDEN.exists() else ""
    return dict(re.findall(r"(?ms)^== (.*?)\n(.*?)(?=^== |\Z)", text))


@pytest.mark.parametrize("name", PROGRAMS)
def test_bodies_and_kernels_change_on_purpose_only(name, golden, request):
    listing = "\n".join(listed(name)) + "\n"
    if request.config.getoption("--update-golden"):
        golden[name] = listing.partition("\n")[2]
        kept = [f"== {each}\n{golden[each]}" for each in PROGRAMS if each in golden]
        GOLDEN.write_text("".join(kept))
    told = "pytest --update-golden accepts the change"
    assert listing == f"== {name}\n{golden.get(name)}", told
