"""PyTorch: eager, compiled by Inductor, and that recorded as a CUDA graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from benchmarks.libraries.base import (
    EPSILON,
    Call,
    NotOffered,
    Prepared,
    Spelled,
    repeat,
    scan,
    until,
)
from benchmarks.rows import Array, Row

Values = list[Any]


def automatic(cost: Any, state: Values, by_hand: Any) -> tuple[Values, Values]:
    """Outputs and gradients by the tape, as eager programs take them."""
    with torch.enable_grad():
        params = [tensor.detach().requires_grad_() for tensor in state]
        value, outputs = cost(params)
        gradients = torch.autograd.grad(value, params)
    return [tensor.detach() for tensor in outputs], list(gradients)


def functional(cost: Any, state: Values, by_hand: Any) -> tuple[Values, Values]:
    """The same by a transform of functions, which Inductor compiles as a whole."""
    differentiated = torch.func.grad_and_value(
        lambda *params: cost(list(params)),
        argnums=tuple(range(len(state))),
        has_aux=True,
    )
    gradients, (_, outputs) = differentiated(*state)
    return outputs, list(gradients)


def rnn(x: Any, h: Any, w: Any, u: Any) -> Any:
    """The last state; by cuDNN on CUDA."""
    weights = [u.T.contiguous(), w.T.contiguous()]
    options = (False, 1, 0.0, True, False, False)
    return torch.rnn_tanh(x, h[None], weights, *options)[1][0]


def gru(x: Any, h: Any, w: Any, u: Any) -> Any:
    """The last state, gates as PyTorch has them; by cuDNN on CUDA."""
    weights = [u.T.contiguous(), w.T.contiguous()]
    options = (False, 1, 0.0, True, False, False)
    return torch.gru(x, h[None], weights, *options)[1][0]


def lstm(x: Any, h: Any, c: Any, w: Any, u: Any) -> Any:
    """The last state, gates as PyTorch has them; by cuDNN on CUDA."""
    weights = [u.T.contiguous(), w.T.contiguous()]
    options = (False, 1, 0.0, True, False, False)
    return torch.lstm(x, (h[None], c[None]), weights, *options)[1][0]


def unrolled(*arguments: Any) -> Any:
    """Inductor writes every turn of a Python loop out, which takes it minutes."""
    raise NotOffered("unrolls loops")


def conv2d(x: Any, w: Any, stride: int = 1, padding: int = 0, groups: int = 1) -> Any:
    """Filters moved over images, not flipped."""
    return torch.conv2d(x, w, None, stride, padding, 1, groups)


def convolution_backward(
    upstream: Any, x: Any, w: Any, asked: list[bool], options: tuple[int, int, int]
) -> Any:
    """The gradients that are asked for; of the other operand the shape counts."""
    stride, padding, groups = options
    several = [stride] * 2, [padding] * 2, [1] * 2, False, [0] * 2, groups
    backward = torch.ops.aten.convolution_backward
    return backward(upstream, x, w, None, *several, [*asked, False])


def conv2d_by_images(
    upstream: Any,
    w: Any,
    shape: Any,
    stride: int = 1,
    padding: int = 0,
    groups: int = 1,
) -> Any:
    """The gradient of a convolution by images of a shape."""
    x = upstream.new_empty(1).expand(shape)
    options = stride, padding, groups
    return convolution_backward(upstream, x, w, [True, False], options)[0]


def conv2d_by_filters(
    x: Any,
    upstream: Any,
    shape: Any,
    stride: int = 1,
    padding: int = 0,
    groups: int = 1,
) -> Any:
    """The gradient of a convolution by filters of a shape."""
    w = upstream.new_empty(1).expand(shape)
    options = stride, padding, groups
    return convolution_backward(upstream, x, w, [False, True], options)[1]


def batch_norm(x: Any, gain: Any, bias: Any) -> Any:
    """Each channel by its mean and variance over the batch and the places."""
    return torch.nn.functional.batch_norm(
        x, None, None, gain, bias, training=True, eps=EPSILON
    )


def no_mrg(n: int) -> Any:
    """Has no such generator."""
    raise NotOffered("PyTorch has no MRG31k3p")


def parts(a: Any) -> Any:
    """Values and column indices of compressed rows."""
    return a.values(), a.col_indices()


def cache_by_values() -> Any:
    """The square matrix in compressed rows; made once."""
    kept: dict[int, Any] = {}

    def matrix(values: Any, indices: Any, starts: Any) -> Any:
        if id(values) not in kept:
            n = len(starts) - 1
            lists = starts.int(), indices.int()
            kept[id(values)] = torch.sparse_csr_tensor(*lists, values, (n, n))
        return kept[id(values)]

    return matrix


def spelled(gradient: Any, device: str) -> Spelled:
    """PyTorch's spelling."""
    is_eager = gradient is automatic
    cross = torch.nn.functional.cross_entropy

    def full(n: int, value: float) -> Any:
        """Its draws read their parameters from arrays."""
        return torch.tensor(float(value), device=device).expand(n)

    return Spelled(
        exp=torch.exp,
        log=torch.log,
        tanh=torch.tanh,
        sqrt=torch.sqrt,
        sum=lambda a, axis: a.sum() if axis is None else a.sum(axis),
        mean=lambda a, axis: a.mean(axis, keepdim=True),
        argmax=lambda a, axis: torch.argmax(a, dim=axis),
        cumsum=lambda a, axis: torch.cumsum(a, dim=axis),
        sort=lambda a: torch.sort(a).values,
        take=lambda a, order: torch.index_select(a, 0, order),
        copy=lambda a: torch.clone(a, memory_format=torch.contiguous_format),
        reverse=lambda a: torch.flip(a, [1]),
        softmax=lambda a: torch.softmax(a, 1),
        crossentropy=lambda a, y: cross(a, y, reduction="none"),
        uniform=lambda n: torch.rand(n, device=device),
        normal=lambda n: torch.randn(n, device=device),
        mrg=no_mrg,
        gamma=lambda k, n: torch._standard_gamma(full(n, k)),
        poisson=lambda mean, n: torch.poisson(full(n, mean)),
        binomial=lambda count, p, n: torch.binomial(full(n, count), full(n, p)),
        permutation=lambda n: torch.randperm(n, device=device),
        dropout=lambda a, keep: torch.nn.functional.dropout(a, 1 - keep),
        asarray=lambda x: torch.as_tensor(x, device=device),
        gradient=gradient,
        scan=(lambda f, s, r: scan(f, s, r, torch.stack)) if is_eager else unrolled,
        repeat=repeat if is_eager else unrolled,
        until=until if is_eager else unrolled,
        rnn=rnn,
        gru=gru,
        lstm=lstm,
        relu=torch.relu,
        conv2d=conv2d,
        conv2d_by_images=conv2d_by_images,
        conv2d_by_filters=conv2d_by_filters,
        max_pool=torch.max_pool2d,
        batch_norm=batch_norm,
        matrix=cache_by_values(),
        product=lambda a, x: a @ x,
        transposed=lambda a: parts(a.t().to_sparse_csr()),
        sparse_sum=lambda a, b: parts(a + b),
        sparse_product=lambda a, b: parts(a @ b),
        sampled=lambda a, x, y: torch.sparse.sampled_addmm(a, x, y, beta=0.0).values(),
    )


def fetched(value: Any) -> Array:
    """On the host."""
    found: Array = value.detach().cpu().numpy()
    return found


class Machine:
    """Where tensors lie, and the work on them."""

    def __init__(self, row: Row, variant: str, place: str) -> None:
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cudnn.benchmark = True
        self.row, self.cuda = row, place == "cuda"
        self.device = "cuda" if self.cuda else "cpu"
        self.state = [self.put(array) for array in row.state()]
        self.data = [self.put(array) for array in row.data()]
        self.outputs: Values = []
        self.names = spelled(functional if variant else automatic, self.device)

    def put(self, array: Array) -> Any:
        """A tensor; PyTorch's losses take int64 for labels."""
        found = torch.tensor(array, device=self.device)
        return found.long() if array.dtype.kind == "i" else found

    def wait(self) -> None:
        """Until all is done."""
        if self.cuda:
            torch.cuda.synchronize()

    def results(self) -> list[Array]:
        """Outputs and state."""
        return [np.asarray(fetched(tensor)) for tensor in (*self.outputs, *self.state)]

    def calling(self, function: Any) -> Call:
        """Calls of a function of state and data that keep the new state."""

        def call() -> None:
            with torch.no_grad():
                self.state, self.outputs = function(self.state, self.data)
            if self.row.to_host:
                self.outputs = [output.cpu() for output in self.outputs]

        return call

    def peak(self, call: Call) -> float:
        """By CUDA's counters, or from what the profiler saw of the allocator."""
        if self.cuda:
            for _ in range(2):
                call()
                torch.cuda.reset_peak_memory_stats()
            call()
            return float(torch.cuda.max_memory_allocated())
        call()
        with torch.profiler.profile(profile_memory=True) as found:
            call()
        changes = [
            event.nbytes()
            for event in found.profiler.kineto_results.events()
            if event.name() == "[memory]"
        ]
        mine = sum(tensor.nbytes for tensor in (*self.state, *self.data))
        return float(mine + max(np.cumsum([0, *changes])))


def prepare(row: Row, variant: str, place: str) -> Prepared:
    """``variant``: empty, ``compile`` or ``graph``."""
    if place not in ("cpu", "cuda"):
        raise NotOffered("runs through CUDA or on the processor")
    if (variant == "" and not row.eager) or (variant and not row.compiled):
        raise NotOffered("the other kind of library")
    if variant == "" and row.measure == "first":
        raise NotOffered("compiles nothing")
    if variant == "graph" and (place != "cuda" or row.measure != "call" or row.to_host):
        raise NotOffered("no CUDA graph")
    machine = Machine(row, variant, place)

    names, of_row = machine.names, row.work

    def work(state: Values, data: Values) -> tuple[Values, Values]:
        return of_row(names, state, data)

    if variant == "graph":
        call = captured(machine, torch.compile(work))
    else:
        call = machine.calling(torch.compile(work) if variant else work)

    def resize(arrays: list[Array]) -> Call:
        machine.data = [machine.put(array) for array in arrays]
        return call

    return Prepared(
        call,
        machine.wait,
        machine.results,
        None if variant == "graph" else resize,
        lambda: machine.peak(call),
        is_asynchronous=machine.cuda,
    )


def captured(machine: Machine, compiled: Any) -> Call:
    """A replay of the compiled work, which changes the state where it lies."""
    with torch.no_grad():
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                compiled(machine.state, machine.data)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            state, machine.outputs = compiled(machine.state, machine.data)
            for old, new in zip(machine.state, state, strict=True):
                if old is not new:
                    old.copy_(new)
    replay: Call = graph.replay
    return replay
