"""All that several cards have to show, part by part: python tests/several_cards.py.

Ranks with a card each, faults, functions of several contexts, Dask's workers, the
benchmarks of collectives, training and model parallelism, and the whole suite on each
card at once. Every program's output is a file in ``--out``; a line tells how each
ended, and the status is 1 if one failed. ``--devices opencl0:0 opencl1:0 --small``
tries all of it without a card; ``--list`` prints the commands.
"""

import argparse
import importlib.util
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from gpuarray.doctor import devices as devices_of
from launched import TESTS, environment, torchrun

ROOT = TESTS.parent
LIMIT = 300  # seconds of one run
KILLED = -signal.SIGKILL

SEVERAL_CONTEXTS = (
    *("gpuarray/test_collectives.py", "gpuarray/test_distributed.py"),
    *("gpuarray/test_checkpoints.py", "gpuarray/test_ranks_of_dask.py"),
    *("compiler/test_collectives_in_functions.py", "compiler/test_model_parallel.py"),
    *("compiler/test_saved_contexts.py", "compiler/test_scan_contexts.py"),
)
OF_DASK = "gpuarray/test_dask.py", "gpuarray/test_dask_ipc.py"


@dataclass
class Run:
    """Programs that run at once, such as ranks; the statuses with which they end."""

    name: str
    commands: list[list[str]]
    variables: list[dict[str, str]] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    lacks: str = ""  # what is missing to run it


def python(*arguments):
    return [sys.executable, *map(str, arguments)]


def pytest(devices, options, *files):
    """The command for test files on some devices, or for the whole suite."""
    named = [word for device in devices for word in ("--context", device)]
    several = ["-n", str(options.jobs)] if options.jobs > 1 else []
    which = [TESTS / file for file in files] or [TESTS]
    return python(
        "-m", "pytest", "-q", "-p", "no:cacheprovider", *several, *named, *which
    )


def of_ranks(program, devices, *arguments, label="", statuses=(), before=()):
    """A program as ranks with a device each; ``before`` is a command around rank 0."""
    commands = [
        python(TESTS / f"{program}.py", "--context", device, *arguments)
        for device in devices
    ]
    commands[0] = [*before, *commands[0]]
    return Run(label or program, commands, torchrun(len(devices)), list(statuses))


# ---- the parts ----


def ranks(devices, options):
    """Collectives and whole programs among ranks; one rank under compute-sanitizer."""
    count = len(devices)
    is_cuda = devices[0].startswith("cuda")
    yield Run(
        "two_ranks",
        [python(TESTS / "two_ranks.py", count)],
        lacks="" if is_cuda else "CUDA",
    )
    for name in ("ranks", "function_ranks", "rank_programs"):
        yield of_ranks(name, devices)
    folder = options.out / "checkpoint"
    shutil.rmtree(folder, ignore_errors=True)
    yield of_ranks("checkpoint_ranks", devices, "--folder", str(folder))
    sanitizer = shutil.which("compute-sanitizer")
    words = [sanitizer or "compute-sanitizer", "--error-exitcode", "99"]
    checked = of_ranks(
        "ranks",
        devices,
        *("--case", "every_layout", "--timeout", "250"),
        label="sanitized_ranks",
        before=words if is_cuda else (),
    )
    checked.lacks = "" if is_cuda and sanitizer else "compute-sanitizer"
    yield checked


def faults(devices, options):
    """Ranks that err, are late, die or are out of memory."""
    others = len(devices) - 1
    yield of_ranks("rank_faults", devices, statuses=[0] * others + [KILLED])
    yield of_ranks(
        "rank_faults",
        devices,
        *("--fault", "first_is_killed"),
        label="first_is_killed",
        statuses=[KILLED] + [0] * others,
    )
    yield of_ranks(
        "rank_faults",
        devices,
        *("--fault", "one_program_fails"),
        label="one_program_fails",
        statuses=[0, 1] + [0] * (others - 1),
    )


def contexts(devices, options):
    """Tests of several contexts and of collectives; model parallel times and copies."""
    yield Run("tests_of_contexts", [pytest(devices, options, *SEVERAL_CONTEXTS)])
    small = ["--small"] if options.small else []
    results = ["--add", options.out / "contexts.json", "--commit", options.commit]
    pair = devices[:2]
    yield Run(
        "two_contexts",
        [python("-m", "benchmarks.two_contexts", *pair, *results, *small)],
    )


def dask(devices, options):
    """Dask's workers with a card each, between which chunks move."""
    yield Run(
        "tests_of_dask",
        [pytest(devices, options, *OF_DASK)],
        lacks="" if importlib.util.find_spec("distributed") else "dask, distributed",
    )


def benchmark(part, devices, options):
    """Figures beside PyTorch's, on all devices and, of training, on fewer."""
    is_cuda = devices[0].startswith("cuda")
    has_torch = importlib.util.find_spec("torch")
    for count in (1, 2, 4, 8) if part == "training" else (len(devices),):
        if count > len(devices):
            return
        words = ["--only", part, "--add", options.out / "several_cards.json"]
        words += ["--commit", options.commit, *(["--small"] if options.small else [])]
        commands = [
            python(
                *("-m", "benchmarks.several_cards", *words),
                *(() if is_cuda else ("--context", device)),
            )
            for device in devices[:count]
        ]
        lacks = "" if has_torch else "torch"
        yield Run(f"{part}-{count}", commands, torchrun(count), lacks=lacks)


def collectives(devices, options):
    """Bus bandwidth beside PyTorch's, and beside NCCL's own test where it is."""
    yield from benchmark("collectives", devices, options)
    own = shutil.which("all_reduce_perf")
    sizes = "-b", "1K", "-e", "1G", "-f", "4", "-g", str(len(devices))
    lacks = "" if own else "all_reduce_perf of NCCL's tests"
    yield Run("all_reduce_perf", [[own or "all_reduce_perf", *sizes]], lacks=lacks)


def training(devices, options):
    """Steps of data parallel training on 1, 2, 4 and 8 devices."""
    yield from benchmark("training", devices, options)


def suite(devices, options):
    """The whole suite on each device, at once."""
    commands = [pytest([device], options) for device in devices]
    yield Run("suite", commands)


PARTS = {
    part.__name__: part
    for part in (ranks, faults, dask, contexts, collectives, training, suite)
}

# ---- running them ----


def run(one, options, deadline):
    """Run programs at once; return True if each ended as it should, and in time."""
    if one.lacks:
        print(f"{one.name:40} not run: needs {one.lacks}", flush=True)
        return True
    start = time.monotonic()
    processes, files = [], []
    for number, command in enumerate(one.commands):
        path = options.out / f"{one.name}-{number}.log"
        files.append(path.open("w"))
        more = one.variables[number] if one.variables else {}
        processes.append(
            subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment(more),
                stdout=files[-1],
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        )
    limit = min(start + (options.limit or LIMIT), deadline)
    is_late = False
    for process in processes:
        try:
            process.wait(max(1.0, limit - time.monotonic()))
        except subprocess.TimeoutExpired:
            is_late = True
    for process, file in zip(processes, files, strict=True):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        file.close()
    found = [process.returncode for process in processes]
    wanted = one.statuses or [0] * len(found)
    is_right = found == wanted and not is_late
    said = "right" if is_right else "late" if is_late else f"ended with {found}"
    print(f"{one.name:40} {said}, {time.monotonic() - start:.0f} s", flush=True)
    return is_right


def main():
    """Run the parts; give 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", nargs="+", help="default: all CUDA devices")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "several_cards")
    parser.add_argument("--seconds", type=float, help="for all of it; the rest is cut")
    parser.add_argument("--limit", type=float, help=f"of one run, {LIMIT} by default")
    parser.add_argument("--jobs", type=int, default=1, help="pytest's for each device")
    parser.add_argument("--commit", default="", help="which the figures are of")
    parser.add_argument("--small", action="store_true", help="only try the benchmarks")
    parser.add_argument("--list", action="store_true", help="only print the commands")
    options = parser.parse_args()
    devices = options.devices or devices_of("cuda")[0]
    if len(devices) < 2:
        parser.error(f"found {devices}, expected two devices: --devices names them")
    options.out = options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + (options.seconds or 1e9)
    is_right = True
    for part in options.parts:
        for one in PARTS[part](devices, options):
            if options.list:
                for command in one.commands:
                    print(shlex.join(command))
            elif time.monotonic() > deadline:
                print(f"{one.name:40} not run: no time is left", flush=True)
                is_right = False
            else:
                is_right = run(one, options, deadline) and is_right
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
