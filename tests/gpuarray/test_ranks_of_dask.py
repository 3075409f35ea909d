"""Ranks that are workers of a Dask cluster."""

import sys
import threading
from concurrent.futures import Future
from pathlib import Path

import gpuarray
import pytest
from gpuarray import distributed, doctor
from gpuarray._distributed import opening
from launched import need_cards

# ---- Dask ----


def on_a_worker(name):
    """What each worker of a cluster does: a collective and a fold."""
    with distributed.init(name) as comm:
        x = gpuarray.full((3,), comm.rank + 1, "f4", comm.context)
        total = comm.all_reduce(x)
        return repr(comm), comm.local_rank, total.get().tolist()


def on_a_worker_that_fails(name):
    """One worker's task raises; the other is told so."""
    with distributed.init(name, timeout=20) as comm:
        if comm.rank == 0:
            raise ValueError("no data")
        comm.barrier()


def test_workers_of_dask(first_context, capsys):
    pytest.importorskip("distributed.client", reason="dask is not installed")
    from distributed import Client, LocalCluster

    place, engine = first_context.name, "TCP over host memory"
    if first_context.kind == "cuda":  # each takes the card of its local rank
        need_cards(2)
        place, engine = None, "NCCL"
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(processes=True, **settings) as cluster, Client(cluster) as client:
        client.run(sys.path.insert, 0, str(Path(__file__).parent))
        results = distributed.run_on_dask(client, on_a_worker, place)
        for rank, (text, local, total) in enumerate(results):
            assert f"rank {rank} of 2, found by Dask, {engine}" in text
            assert (local, total) == (rank, [3.0, 3.0, 3.0])
        address = client.scheduler.address
        given = ["--context", place] if place else []
        assert doctor.main(["--dask", address, *given]) == 0
        assert capsys.readouterr().out.count(" right ") == 10
        with pytest.raises((ValueError, gpuarray.DistributedError), match="no data"):
            distributed.run_on_dask(client, on_a_worker_that_fails, "null")
        with pytest.raises(ValueError, match="expected some of"):
            distributed.run_on_dask(client, on_a_worker, workers=["tcp://nowhere:1"])


def test_a_task_that_has_no_rank():
    with pytest.raises(gpuarray.DistributedError, match="run_on_dask"):
        distributed.init("null", by="dask")
    with pytest.raises(gpuarray.DistributedError, match="run_on_ray"):
        distributed.init("null", by="ray")
    with pytest.raises(gpuarray.LibraryMissing, match="Ray is not running"):
        distributed.run_on_ray(print, 2)


class FakeRay:
    """What is used of Ray: tasks and named actors, each in a thread of its own."""

    def __init__(self):
        self.named, self.lock = {}, threading.Lock()

    def is_initialized(self):
        return True

    def remote(self, what):
        return FakeRemote(self, what)

    def get(self, given):
        if isinstance(given, list):
            return [one.result() for one in given]
        return given.result()


class FakeRemote:
    """A remote function or class of the fake, or a method of its actor."""

    def __init__(self, ray, what, options=()):
        self.ray, self.what, self.chosen = ray, what, dict(options)

    def options(self, **options):
        return FakeRemote(self.ray, self.what, options)

    def remote(self, *args):
        if isinstance(self.what, type):
            with self.ray.lock:
                made = self.ray.named.setdefault(self.chosen["name"], self.what())
            return FakeActor(self.ray, made)
        future = Future()

        def run():
            try:
                future.set_result(self.what(*args))
            except BaseException as error:
                future.set_exception(error)

        threading.Thread(target=run, daemon=True).start()
        return future


class FakeActor:
    def __init__(self, ray, made):
        self.ray, self.made = ray, made

    def __getattr__(self, name):
        return FakeRemote(self.ray, getattr(self.made, name))


def test_tasks_of_ray(monkeypatch):
    """By a stand-in; threads of one process are ranks as well."""
    monkeypatch.setitem(sys.modules, "ray", FakeRay())
    results = distributed.run_on_ray(
        on_a_worker_of_ray, 2, "null", options={"num_cpus": 1}
    )
    assert [text.split(",")[0][-11:] for text, _ in results] == [
        "rank 0 of 2",
        "rank 1 of 2",
    ]
    assert all("found by Ray" in text and total == [3.0] for text, total in results)
    with pytest.raises(gpuarray.DistributedError, match=r"rank 0 waited .* for rank 1"):
        distributed.run_on_ray(one_of_two_on_ray, 2)


def test_ranks_of_several_machines(monkeypatch):
    """Each thread is a machine of its own, with the addresses of this one."""
    monkeypatch.setitem(sys.modules, "ray", FakeRay())
    monkeypatch.setattr(opening, "_machine", lambda: f"{threading.get_ident()}")
    results = distributed.run_on_ray(on_a_worker_of_ray, 3, "null")
    assert [total for _, total in results] == [[6.0]] * 3
    monkeypatch.setattr(opening, "own_addresses", lambda: ["256.0.0.1"])
    with pytest.raises(
        gpuarray.DistributedError, match="rank 1 cannot connect to rank 0: 256"
    ):
        distributed.run_on_ray(on_a_worker_of_ray, 2, "null")


def on_a_worker_of_ray(name):
    with distributed.init(name, timeout=20) as comm:
        x = gpuarray.asarray([comm.rank + 1.0], context=comm.context)
        return repr(comm), comm.all_reduce(x).get().tolist()


def one_of_two_on_ray():
    from gpuarray._distributed.clusters import PLACE

    if PLACE.get().rank == 0:
        distributed.init("null", timeout=0.2)
