"""Data parallel training of networks, each rank with its share of a batch.

Ours averages gradients in buckets, one by one, all at once, or by an optimizer of which
each rank has its part; PyTorch by DistributedDataParallel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import gpuarray.compiler.tensor as T
import numpy as np
import torch
import torch.distributed as dist
from gpuarray.compiler import config, distributed, function, grad, shared

from benchmarks.libraries import ours
from benchmarks.libraries.torch import automatic, spelled
from benchmarks.rows import Array, Names, labels, normal
from benchmarks.several_cards.ranks import Call, Ranks
from benchmarks.workloads.convolutions import Network
from benchmarks.workloads.networks import dense
from benchmarks.workloads.residual import ResNet18

RATE, MOMENTUM = 0.01, 0.9
STEPS = 5
"""The number of steps whose costs are compared."""
ROUND = 1e-3
"""Of costs, relatively: sums are taken in another order."""

Values = list[Any]


class Model(Protocol):
    """What is trained."""

    def state(self) -> list[Array]:
        """The parameters."""

    def loss(self, names: Names, params: Values, x: Any, y: Any) -> Any:
        """The mean over a batch."""


@dataclass
class Perceptron:
    """Layers with relu between."""

    widths: list[int]

    def state(self) -> list[Array]:
        """Weights and biases."""
        return dense(self.widths)

    def loss(self, names: Names, params: Values, x: Any, y: Any) -> Any:
        """The mean crossentropy over a batch."""
        value = x
        for place in range(0, len(params) - 2, 2):
            value = names.relu(value @ params[place] + params[place + 1])
        return names.crossentropy(value @ params[-2] + params[-1], y).mean()


@dataclass
class Task:
    """A network, and its batch on each rank."""

    name: str
    model: Model
    batch: int
    image: tuple[int, ...]
    classes: int
    by_rank: bool = False
    """True where what the network computes depends on how the batch is divided."""

    def share(self, rank: int) -> list[Array]:
        """Return a rank's part of the batch."""
        images = normal((self.batch, *self.image), 1000 + rank)
        return [images, labels(self.batch, self.classes, 2000 + rank).astype("int64")]


def tasks(less: int) -> list[Task]:
    """Return the networks; batch norm is of each rank's images."""
    widths = [1024 // less, 4096 // less, 4096 // less, 1000]
    lenet = Network("LeNet", (1, 28, 28), [(20, 5), (50, 5)], [2, 2], [500])
    side, batch = 224 // less, max(32 // less, 2)
    return [
        Task("MLP", Perceptron(widths), 4096 // less, (widths[0],), 1000),
        Task("LeNet", lenet, 500 // less, (1, 28, 28), 10),
        Task(
            "ResNet-18",
            ResNet18(side, 64 // less),
            batch,
            (3, side, side),
            1000,
            by_rank=True,
        ),
    ]


# ---- ours ----


def momentum(p: Any, g: Any, state: Callable[[str], Any]) -> Any:
    """Return the step of gradient descent with momentum."""
    velocity = state("velocity")
    following = np.float32(MOMENTUM) * velocity - np.float32(RATE) * g
    return p + following, [(velocity, following)]


def our_step(task: Task, data: list[Array], ranks: Ranks, how: str) -> Call:
    """Return a step of ours, which gives the mean of the ranks' costs on the device.

    ``how``: "alone" averages nothing.
    """
    comm = ranks.comm
    x = T.tensor("float32", (False,) * data[0].ndim)
    y = T.lvector()
    params = [shared(value) for value in task.model.state()]
    cost = task.model.loss(ours.NAMES, params, x, y)
    slopes = grad(cost, params)
    if how == "sharded momentum":
        updates = distributed.sharded_updates(params, slopes, momentum, comm)
    else:
        if how != "alone":
            options = {"bucket_bytes": BUCKETS[how]} if how in BUCKETS else {}
            slopes = distributed.data_parallel(slopes, comm, **options)
        updates = [
            (p, p - np.float32(RATE) * g) for p, g in zip(params, slopes, strict=True)
        ]
    if how != "alone":
        cost = distributed.all_reduce(cost, comm, "mean", replicated=True)
    step = function([x, y], cost, updates=updates, on_device=True)
    here = [ranks.put(array) for array in data]
    return lambda: step(*here)


BUCKETS = {"gradients one by one": 1, "one bucket": 2**40}
"""The bytes of a bucket, where they are not the default."""
WAYS = "buckets", *BUCKETS, "sharded momentum"


# ---- PyTorch's ----


class Module(torch.nn.Module):
    """A network of PyTorch's with the same parameters."""

    def __init__(self, model: Model, device: torch.device) -> None:
        super().__init__()
        self.model, self.names = model, spelled(automatic, str(device))
        values = (torch.from_numpy(array).to(device) for array in model.state())
        self.values = torch.nn.ParameterList(values)

    def forward(self, x: Any, y: Any) -> Any:
        """Return the cost."""
        return self.model.loss(self.names, list(self.values), x, y)


def their_step(task: Task, ranks: Ranks) -> Call:
    """Return the step by DistributedDataParallel, which gives the mean cost."""
    module: Any = Module(task.model, ranks.device)
    x, y = (torch.from_numpy(a).to(ranks.device) for a in task.share(ranks.comm.rank))
    params = list(module.parameters())
    if ranks.comm.size > 1:
        module = torch.nn.parallel.DistributedDataParallel(module)
    optimizer = torch.optim.SGD(params, RATE)

    def step() -> Any:
        optimizer.zero_grad(set_to_none=True)
        cost = module(x, y)
        cost.backward()
        optimizer.step()
        mean = cost.detach()
        dist.all_reduce(mean)
        return mean / ranks.comm.size

    return step


# ---- rows ----


def rows(ranks: Ranks, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Time a step of each network, or of those that are named."""
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    with config.use(floatX="float32", device=ranks.comm.context.name):
        for task in tasks(ranks.less):
            if not names or task.name in names:
                yield row(task, ranks)


def row(task: Task, ranks: Ranks) -> dict[str, Any]:
    """Time a step of each library; raise AssertionError if their costs differ."""
    comm = ranks.comm
    share = task.share(comm.rank)
    found: dict[str, Any] = {
        "network": task.name,
        "batch_a_card": task.batch,
        "cards": comm.size,
    }
    turns = max(20 // ranks.less, 3)
    alone = our_step(task, share, ranks, "alone")
    found["ours alone_ms"] = ranks.seconds(alone, turns) * 1e3
    costs: dict[str, list[float]] = {}
    for how in WAYS if comm.size > 1 else ():
        step = our_step(task, share, ranks, how)
        costs[f"ours, {how}"] = [float(np.asarray(step())) for _ in range(STEPS)]
        found[f"ours, {how}_ms"] = ranks.seconds(step, turns) * 1e3
        ranks.say(f"{task.name}: {how} {found[f'ours, {how}_ms']:.3f} ms")
    step = their_step(task, ranks)
    costs["torch"] = [float(step().item()) for _ in range(STEPS)]
    found["torch_ms"] = ranks.seconds(step, turns) * 1e3
    if comm.size > 1 and not task.by_rank:
        every = [task.share(rank) for rank in range(comm.size)]
        whole = [np.concatenate(parts) for parts in zip(*every, strict=True)]
        step = our_step(task, whole, ranks, "alone")
        costs["one card, whole batch"] = [
            float(np.asarray(step())) for _ in range(STEPS)
        ]
    found["costs"] = costs
    first = 2 if task.by_rank else STEPS  # roundings grow by few images' variances
    for what, several in costs.items():
        if "momentum" not in what:
            wanted = costs["torch"][:first]
            np.testing.assert_allclose(several[:first], wanted, ROUND, err_msg=what)
    if comm.size > 1:
        found["scaling"] = found["ours alone_ms"] / found["ours, buckets_ms"]
    ranks.say(
        f"{task.name}: alone {found['ours alone_ms']:.3f} ms, torch "
        f"{found['torch_ms']:.3f} ms, scaling {found.get('scaling', 1):.3f}, costs "
        f"{costs['torch'][0]:.4f} to {costs['torch'][-1]:.4f} alike"
    )
    return found
