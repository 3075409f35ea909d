"""The ranks of both libraries, and the time that a call takes them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import gpuarray
import numpy as np
import torch
import torch.distributed as dist
from gpuarray.distributed import Communicator

Call = Callable[[], Any]


class Ranks:
    """This rank in both libraries.

    ``less`` divides sizes, where the program is only tried.
    """

    def __init__(self, comm: Communicator, less: int) -> None:
        self.comm, self.less = comm, less
        self.has_cuda = comm.context.kind == "cuda"
        self.device = torch.device(
            f"cuda:{os.environ['LOCAL_RANK']}" if self.has_cuda else "cpu"
        )

    def wait(self) -> None:
        """Wait for the work of both libraries."""
        if self.has_cuda:
            torch.cuda.synchronize()
        self.comm.context.sync()

    def seconds(self, call: Call, turns: int, rounds: int = 2) -> float:
        """Return the time of a call of the slowest rank, in the best of some rounds."""
        for _ in range(3):
            call()
        best = np.inf
        for _ in range(rounds):
            self.wait()
            dist.barrier()
            self.wait()
            start = time.perf_counter()
            for _ in range(turns):
                call()
            self.wait()
            took = torch.tensor([(time.perf_counter() - start) / turns])
            took = took.to(self.device)
            dist.all_reduce(took, dist.ReduceOp.MAX)
            best = min(best, float(took.item()))
        return best

    def put(self, array: Any) -> Any:
        """Return our array of one of NumPy's."""
        return gpuarray.asarray(array, context=self.comm.context)

    def say(self, text: str) -> None:
        """Print on rank 0."""
        if self.comm.rank == 0:
            print(text, flush=True)

    def offered(self, call: Call) -> Call | None:
        """Return a call of a peer's; None where its backend does not offer it."""
        try:
            call()
            self.wait()
        except (RuntimeError, NotImplementedError, ValueError) as error:
            self.say(f"not offered: {str(error).splitlines()[0][:90]}")
            return None
        return call
