"""Run on this rank; see the package."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from gpuarray import distributed as processes
from gpuarray._core.command_line import exit_with

from benchmarks.several_cards import __doc__ as about, collectives, training
from benchmarks.several_cards.ranks import Ranks

TRIED = 16
"""What sizes are divided by where the program is only tried."""


def main() -> None:
    """Run on this rank."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--add", type=Path, help="a file of results to add these to")
    parser.add_argument("--only", choices=("collectives", "training"))
    parser.add_argument("--networks", nargs="*", default=(), help="some only")
    parser.add_argument("--commit", default="")
    parser.add_argument("--context", help="a device in place of the rank's card")
    parser.add_argument("--small", action="store_true", help="only try the program")
    options = parser.parse_args()
    rank, local = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    if options.context is None:
        torch.cuda.set_device(local)
        dist.init_process_group("nccl", device_id=torch.device("cuda", local))
    else:
        dist.init_process_group("gloo")
    with processes.init(options.context, by="torchrun", timeout=100) as comm:
        ranks = Ranks(comm, TRIED if options.small else 1)
        results: dict[str, Any] = {
            "device": torch.cuda.get_device_name() if ranks.has_cuda else "processor",
            "cards": comm.size,
            "torch": torch.__version__,
            "commit": options.commit,
        }
        if ranks.has_cuda:
            results["nccl"] = ".".join(map(str, torch.cuda.nccl.version()))
        known = []
        if options.add is not None and options.add.exists():
            known = json.loads(options.add.read_text())
        parts = {"training": training.rows(ranks, options.networks)}
        if comm.size > 1:
            parts["collectives"] = collectives.rows(ranks)
        for part in [options.only] if options.only else parts:
            for row in parts.get(part, ()):
                results.setdefault(part, []).append(row)
                if options.add is not None and rank == 0:  # each, as it may be the last
                    text = json.dumps([*known, results], indent=1)
                    options.add.write_text(text + "\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    exit_with(main)
