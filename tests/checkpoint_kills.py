"""Ranks that are killed while they save: the last whole checkpoint loads.

    python tests/checkpoint_kills.py 200 [seed]

Processes are forked, as importing takes longer than a case. One of two ranks is killed
at a drawn one of its calls of the file system while it saves the second checkpoint;
then a number of ranks loads it, saves again and loads that.
"""

import os
import random
import signal
import sys
import tempfile
import traceback
from pathlib import Path

import gpuarray
import numpy as np
from gpuarray import distributed
from gpuarray.distributed import Shard, load_checkpoint, save_checkpoint
from launched import torchrun

EVENTS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.listdir"}
LENGTH = 12
OLD, NEW, LAST = 1, 2, 3


def state_of(comm, version):
    """A replicated array, a shard, and a number."""
    whole = np.arange(LENGTH, dtype="f4") + 100 * version
    part = np.array_split(whole, comm.size)[comm.rank]
    w = gpuarray.asarray(whole, context=comm.context)
    return {"w": w, "part": Shard(part), "version": version}


def check(comm, found):
    """Compare what was loaded; return its version."""
    version = found.state["version"]
    wanted = state_of(comm, version)
    np.testing.assert_array_equal(found.state["w"].get(), wanted["w"].get())
    np.testing.assert_array_equal(found.state["part"].array, wanted["part"].array)
    return version


class Killer:
    """Kills the process at one of its calls of the file system, where it is told to."""

    def __init__(self, at):
        self.at, self.count, self.counts = at, 0, False
        sys.addaudithook(self.audit)
        fsync, os.fsync = os.fsync, lambda descriptor: self.around(fsync, descriptor)

    def audit(self, event, arguments):
        if event in EVENTS:
            self.one()

    def around(self, function, *arguments):
        self.one()
        function(*arguments)
        self.one()

    def one(self):
        if self.counts:
            self.count += 1
            if self.count == self.at:
                os.kill(os.getpid(), signal.SIGKILL)


def killed(rank, folder, victim, at, step, background):
    """A rank of those of which one is killed; return how many calls it made."""
    killer = Killer(at if rank == victim else 0)
    try:
        with distributed.init("null", timeout=20.0) as comm:
            save_checkpoint(comm, folder, state_of(comm, OLD), step=OLD, keep=1)
            killer.counts = True
            new = state_of(comm, NEW)
            save_checkpoint(comm, folder, new, step=step, keep=1, background=background)
    except gpuarray.DistributedError as error:
        assert at and "ended without a word" in str(error), error
    return killer.count


def resumed(rank, folder):
    """A rank that goes on from there; return the version that it found."""
    with distributed.init("null", timeout=20.0) as comm:
        found = check(comm, load_checkpoint(comm, folder))
        for step in (LAST, NEW):  # the one that was not finished, too
            save_checkpoint(comm, folder, state_of(comm, step), step=step, keep=1)
            assert check(comm, load_checkpoint(comm, folder)) == step
        comm.barrier()
        (place,) = folder.iterdir()
        assert len(list(place.iterdir())) == comm.size + 1, list(place.iterdir())
    return found


def forked(ranks, function, *arguments):
    """Run a function as some ranks; return the results, a signal's number below 0."""
    processes = []
    for rank, variables in enumerate(torchrun(ranks)):
        process = os.fork()
        if not process:
            os.environ.update(variables)
            try:
                status = function(rank, *arguments)
            except BaseException:
                traceback.print_exc()
                status = 255
            os._exit(status)
        processes.append(process)
    statuses = [os.waitpid(process, 0)[1] for process in processes]
    return [os.waitstatus_to_exitcode(status) for status in statuses]


def kill(folder, victim, at, step, background, ranks):
    """One case; return the victim's calls, or its signal, and the version."""
    statuses = forked(2, killed, folder, victim, at, step, background)
    assert statuses[1 - victim] < 255, statuses
    versions = forked(ranks, resumed, folder)
    assert set(versions) in ({OLD}, {NEW}), versions
    assert at or versions[0] == NEW
    return statuses[victim], versions[0]


def drawn_kills(count, seed, folder):
    """Run some cases; return how many ended with the old and the new checkpoint."""
    draw = random.Random(seed)
    found = {OLD: 0, NEW: 0}
    calls = [kill(folder / f"whole-{v}", v, 0, NEW, False, 1)[0] for v in (0, 1)]
    for number in range(count):
        victim, background = draw.randrange(2), draw.random() < 0.5
        at, ranks = draw.randint(1, calls[victim]), draw.randint(1, 3)
        case = victim, at, draw.choice([OLD, NEW]), background, ranks
        status, version = kill(folder / str(number), *case)
        # A step that is saved again takes fewer calls: there is less to remove.
        assert status == -signal.SIGKILL or case[2] == OLD, (case, status)
        found[version] += 1
    return found


def main():
    """Run the number of cases that is given."""
    with tempfile.TemporaryDirectory() as folder:
        seed = sys.argv[2] if len(sys.argv) > 2 else "0"
        print(drawn_kills(int(sys.argv[1]), int(seed), Path(folder)))


if __name__ == "__main__":
    main()
