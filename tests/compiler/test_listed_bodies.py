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
from gpuarray.compiler import config, function, grad, plan as p, shared
from gpuarray.compiler.gpukernels.bodies import written
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
    y2, c = T.imatrix("y2"), T.tensor3("c", dtype="float32")
    yield "dots", [x, w, b], [T.dot(x, w), T.dot(x, b), T.dot(b, w), T.dot(b, b)]
    yield "dots of integers", [y2, y], [T.dot(y2, y), T.dot(y, y), T.dot(y2, y2)]
    yield "stacks", [c, x], [T.batched_dot(c, c), T.dot(c, x), T.tensordot(c, x, 1)]
    yield "accumulated", [x, w, c], [x + 2 * T.dot(w, w.T), c - T.batched_dot(c, c)]
    yield "indices", [x, y, b], [x[1:, ::2], x[y], x[y, y], x[0], b[b > 0]]
    yield "stores", [x, y, b], [
        T.set_subtensor(x[1:3], 2), T.inc_subtensor(x[y], b),
        T.set_subtensor(x[y, y], b),
    ]  # fmt: skip
    yield "joined", [x, w, b], [T.join(0, x, w), T.join(1, x, w), T.stack([b, b * 2])]
    yield "ordered", [x, b, y], [
        T.sort(x, 0), T.argsort(b), T.topk(x, 3), T.argmax(x, 1),
        T.max_and_argmax(b)[1], T.cumsum(x, 1), T.searchsorted(b, b),
        T.repeat(x, y, 0), T.unique(b),
    ]  # fmt: skip
    yield "made", [x, b], [
        T.arange(b.shape[0]), T.alloc(b, 2, b.shape[0]), T.eye(b.shape[0], 3, 1),
        T.diagonal(x, 1), T.nonzero(b)[0], T.fill(x, b[0]), T.stack([b[0], 2.0]),
    ]  # fmt: skip
    yield "factors", [d], [
        T.nlinalg.matrix_inverse(d), T.nlinalg.det(d), T.nlinalg.svd(d)[1],
        T.slinalg.cholesky(d), T.slinalg.solve(d[0], d[1]), T.nlinalg.pinv(d[0]),
        T.nlinalg.lstsq(d[0], d[1])[0], T.nlinalg.qr(d[0])[1], T.slinalg.expm(d[0]),
    ]  # fmt: skip
    yield "folded", [x, i], [
        x.sum(), x.max(0), T.prod(x, 1), T.any(x > 0), i.min(1), T.mean(i), x.var(0),
    ]  # fmt: skip
    yield "transformed", [c], [T.fft.rfft(c), T.fft.irfft(T.fft.rfft(c))]
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
        if isinstance(step, p.Call):
            body = written(step, plan.values) if step.body is None else step.body.plan
            yield brief(str(body)) if body is not None else "no body"
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
