"""Launchers of tasks: Dask's workers and Ray's.

Ranks write bytes to a board that all of them see, and read the others' there.
"""

from __future__ import annotations

import itertools
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from gpuarray._distributed.launcher import Launcher
from gpuarray.errors import BadValue, DistributedError, LibraryMissing

_PAUSE = 0.02


@dataclass(frozen=True, slots=True)
class TaskPlace:
    """A rank's number among the tasks of a job."""

    launcher: str
    job: str
    rank: int
    size: int
    local_rank: int


PLACE: ContextVar[TaskPlace | None] = ContextVar("place", default=None)
"""The place of the task that this thread runs."""

_INITS: ContextVar[Iterator[int] | None] = ContextVar("inits", default=None)
"""Numbers of the calls of init within a task, whose process may have had others."""


def _of_init(place: TaskPlace, number: str) -> TaskPlace:
    """Return the place under a job that other calls of ``init`` do not have."""
    numbers = _INITS.get()
    number = number if numbers is None else str(next(numbers))
    return replace(place, job=f"{place.job}-{number}")


Put = Callable[[str, bytes], None]
Get = Callable[[str], bytes | None]


class Board:
    """Ranks that exchange bytes by names under which they are put and got."""

    mpi: Any = None

    def __init__(self, place: TaskPlace, put: Put, get: Get, timeout: float) -> None:
        self.name = place.launcher
        self.rank, self.size, self.local_rank = place.rank, place.size, place.local_rank
        self._job, self._timeout, self._turns = place.job, timeout, 0
        self._put, self._get = put, get

    def exchange(self, content: bytes) -> list[bytes]:
        """See Launcher."""
        self._turns += 1
        self._put(self._key(self.rank), content)
        deadline = time.monotonic() + self._timeout
        return [self._wait(rank, deadline) for rank in range(self.size)]

    def barrier(self) -> None:
        """See Launcher."""
        self.exchange(b"")

    def close(self) -> None:
        """See Launcher."""

    def _key(self, rank: int) -> str:
        return f"gpuarray-{self._job}-{self._turns}-{rank}"

    def _wait(self, rank: int, deadline: float) -> bytes:
        while (content := self._get(self._key(rank))) is None:
            if time.monotonic() > deadline:
                raise DistributedError(
                    f"init: rank {self.rank} waited {self._timeout:g} s for rank "
                    f"{rank} of {self.size}, by {self.name}; has it called init?"
                )
            time.sleep(_PAUSE)
        return content


# ---- Dask ----


def has_dask(environment: Mapping[str, str]) -> bool:
    """Return True in a task of ``run_on_dask``."""
    place = PLACE.get()
    return place is not None and place.launcher == "Dask"


def by_dask(environment: Mapping[str, str], job: str, timeout: float) -> Launcher:
    """Return the rank of a task of ``run_on_dask``; a Variable of Dask's is a board."""
    place = PLACE.get()
    if place is None or place.launcher != "Dask":
        raise DistributedError(
            "init: this is no task of gpuarray.distributed.run_on_dask(client, "
            "function), which gives workers their ranks"
        )
    from distributed import Variable, get_client

    client = get_client()

    def put(key: str, content: bytes) -> None:
        Variable(key, client=client).set(content.hex())

    def get(key: str) -> bytes | None:
        try:
            return bytes.fromhex(Variable(key, client=client).get(timeout="1s"))
        except TimeoutError:
            return None

    return Board(_of_init(place, job), put, get, timeout)


def run_on_dask(
    client: Any,
    function: Callable[..., Any],
    *args: Any,
    workers: Sequence[str] | None = None,
    **kwargs: Any,
) -> list[Any]:
    """Call a function on each worker of a Dask cluster at once; return its results.

    Within it ``init()`` gives the communicator of these workers, whose ranks are in the
    order of the results. ``workers`` are addresses of the client's scheduler; all by
    default. Each must be a process of its own::

        with Client(LocalCluster(n_workers=2)) as client:
            losses = gpuarray.distributed.run_on_dask(client, train, steps=100)
    """
    known = sorted(client.scheduler_info(n_workers=-1)["workers"])
    chosen = list(known if workers is None else workers)
    if not chosen or not set(chosen) <= set(known):
        raise BadValue(f"run_on_dask: got workers {chosen}, expected some of {known}")
    hosts = [address.rpartition(":")[0] for address in chosen]
    job = f"{socket.gethostname()}-{time.time_ns():x}"
    futures = [
        client.submit(
            _in_place,
            TaskPlace("Dask", job, rank, len(chosen), hosts[:rank].count(hosts[rank])),
            function,
            args,
            kwargs,
            workers=[address],
            allow_other_workers=False,
            pure=False,
            retries=0,
        )
        for rank, address in enumerate(chosen)
    ]
    results: list[Any] = client.gather(futures)
    return results


def one_device_per_worker(
    client: Any, devices: Sequence[str] | None = None
) -> dict[str, str]:
    """Give each worker of a Dask cluster one device; return their names by address.

    Arrays that reach a worker are put on its device, whatever device they were on, and
    so are those that Dask creates there; those that come to this process go to its
    default context. ``devices`` are names, which the workers of a machine take in turn;
    None: GPUARRAY_DEVICE, else all CUDA devices, else the first OpenCL device. Workers
    that start later take theirs, too::

        with Client(LocalCluster(n_workers=2, threads_per_worker=1)) as client:
            gpuarray.distributed.one_device_per_worker(client)
    """
    from gpuarray._dask import workers  # which needs Dask

    return workers.take_devices(client, devices)


def _in_place(
    place: TaskPlace, function: Callable[..., Any], args: Any, kwargs: Any
) -> Any:
    tokens = PLACE.set(place), _INITS.set(itertools.count(1))
    try:
        return function(*args, **kwargs)
    finally:
        PLACE.reset(tokens[0])
        _INITS.reset(tokens[1])


# ---- Ray ----


def has_ray(environment: Mapping[str, str]) -> bool:
    """Return True in a task of ``run_on_ray``, or a worker of Ray's Train."""
    return _place_of_ray() is not None


def _place_of_ray() -> TaskPlace | None:
    ray = sys.modules.get("ray")
    if ray is None or not ray.is_initialized():
        return None
    place = PLACE.get()
    if place is not None and place.launcher == "Ray":
        return place
    if "ray.train" not in sys.modules:
        return None
    try:
        train = sys.modules["ray.train"].get_context()
        rank, size = train.get_world_rank(), train.get_world_size()
        job = f"{ray.get_runtime_context().get_job_id()}-{train.get_experiment_name()}"
    except (RuntimeError, AttributeError):
        return None  # a driver's, not a worker's
    return TaskPlace("Ray", job, rank, size, train.get_local_rank())


def by_ray(environment: Mapping[str, str], job: str, timeout: float) -> Launcher:
    """Return the rank of a task of Ray's; an actor with a name is the board."""
    place = _place_of_ray()
    if place is None:
        raise DistributedError(
            "init: this is neither a task of gpuarray.distributed.run_on_ray(function, "
            "ranks) nor a worker of Ray's Train, which have ranks"
        )
    ray = sys.modules["ray"]
    name = f"gpuarray-{place.job}"
    made = (
        ray.remote(_Shelf).options(name=name, get_if_exists=True, num_cpus=0).remote()
    )

    def put(key: str, content: bytes) -> None:
        ray.get(made.put.remote(key, content))

    def get(key: str) -> bytes | None:
        found: bytes | None = ray.get(made.get.remote(key))
        return found

    return Board(_of_init(place, job), put, get, timeout)


class _Shelf:
    """The board of Ray's tasks: an actor that keeps bytes."""

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    def put(self, key: str, content: bytes) -> None:
        """Keep bytes."""
        self._kept[key] = content

    def get(self, key: str) -> bytes | None:
        """Return what was kept."""
        return self._kept.get(key)


def run_on_ray(
    function: Callable[..., Any],
    ranks: int,
    *args: Any,
    options: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> list[Any]:
    """Call a function in ``ranks`` tasks of Ray's at once; return its results.

    Within it ``init()`` gives the communicator of these tasks. ``options`` are those of
    a remote function, such as ``{"num_gpus": 1}``::

        ray.init()
        losses = gpuarray.distributed.run_on_ray(train, 2, options={"num_gpus": 1})
    """
    ray = sys.modules.get("ray")
    if ray is None or not ray.is_initialized():
        raise LibraryMissing("run_on_ray: Ray is not running; import ray; ray.init()")
    job = f"{socket.gethostname()}-{time.time_ns():x}"
    task = ray.remote(_in_place).options(max_retries=0, **(options or {}))
    found: list[Any] = ray.get(
        [
            task.remote(
                TaskPlace("Ray", job, rank, ranks, rank), function, args, kwargs
            )
            for rank in range(ranks)
        ]
    )
    return found
