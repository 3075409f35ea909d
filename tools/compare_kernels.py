"""Shows that a change of how kernels' texts are made leaves the kernels as they were.

    python tools/compare_kernels.py write FOLDER [NAME...]    before, and after
    python tools/compare_kernels.py compare BEFORE AFTER

``write`` makes the library write (GPUARRAY_DUMP_KERNELS) every source of the calls of
``tests/cuda_sources.py``, or of the functions of it that are named, on the null device,
which describes itself as a card that CUDA runs, as another card, and as the processors
of Intel's OpenCL and PoCL. ``compare`` tells whether two folders hold the same kernels
but for whitespace, comments, and what the preprocessor does; a kernel's name has a hash
of its text, which does not count.
"""

from __future__ import annotations

import ctypes
import difflib
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Fields of the device's description, and what the preprocessor is told.
DEVICES = {
    "cuda": ({}, ["-D__CUDACC__", "-DGA_WARP_SIZE=32", "-DGA_HAS_SHUFFLES"]),
    "card": ({"has_progress": False}, ["-DGA_WARP_SIZE=32"]),
    "intel": (
        {"has_progress": False, "is_cpu": True, "is_gpu": False, "warp": 8},
        ["-DGA_WARP_SIZE=8"],
    ),
    "pocl": (
        {"has_progress": False, "is_cpu": True, "is_gpu": False, "warp": 1},
        ["-DGA_WARP_SIZE=1"],
    ),
}


class DeviceInfo(ctypes.Structure):
    """``ga_device_info`` of c/backend/backend.h."""

    _fields_ = (
        ("name", ctypes.c_char * 256),
        ("bin_id", ctypes.c_char * 256),
        ("arch", ctypes.c_char * 16),
        ("unique_id", ctypes.c_char * 16),
        ("total_memory", ctypes.c_size_t),
        ("max_alloc", ctypes.c_size_t),
        ("local_memory", ctypes.c_size_t),
        ("max_grid", ctypes.c_size_t * 3),
        ("max_block", ctypes.c_size_t * 3),
        ("max_threads", ctypes.c_size_t),
        ("processors", ctypes.c_uint),
        ("warp", ctypes.c_uint),
        ("has_double", ctypes.c_bool),
        ("has_half", ctypes.c_bool),
        ("is_cpu", ctypes.c_bool),
        ("is_discrete_gpu", ctypes.c_bool),
        ("is_gpu", ctypes.c_bool),
        ("has_progress", ctypes.c_bool),
    )


def describe_null(device: str) -> None:
    """Write the fields of ``device`` over the null device's description of itself."""
    import gpuarray
    from gpuarray._native import ffi

    context = gpuarray.context("null")
    address = int(ffi.cast("intptr_t", context.pointer))
    offset = ctypes.string_at(address, 1024).index(b"null (host memory")
    info = DeviceInfo.from_address(address + offset)
    assert info.warp == 32 and info.processors == 132 and info.has_progress
    for name, value in DEVICES[device][0].items():
        setattr(info, name, value)


def make(device: str, names: list[str]) -> None:
    """Generate the sources of one device, in this process."""
    import cuda_sources

    describe_null(device)
    cuda_sources.gpuarray.context("null").runs_dry = True
    if not names:
        cuda_sources.main()
    with cuda_sources.theano.config.use(device="null"):
        for name in names:
            getattr(cuda_sources, name)()


def write(folder: str, *names: str) -> None:
    """Write the sources of each device to a folder of its own in ``folder``."""
    paths = (ROOT / "tests", ROOT / "tests" / "compiler", ROOT / "examples")
    for device in DEVICES:
        environment = os.environ | {
            "GPUARRAY_DUMP_KERNELS": str(Path(folder).resolve() / device),
            "GPUARRAY_CACHE_DIR": "",
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
        }
        Path(folder, device).mkdir(parents=True)
        command = [sys.executable, __file__, "make", device, *names]
        subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)


def without_names(text: str) -> str:
    """Return the text without comments, hashes in names, and whitespace."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    text = re.sub(r"_[0-9a-f]{16,32}", "", text)
    return re.sub(r"[\s\\]+", "", text)


def preprocessed(path: Path, definitions: list[str]) -> str:
    """Return what the preprocessor makes of a source, one statement a line."""
    text = re.sub(r"_[0-9a-f]{16,32}", "", path.read_text())
    command = ["cpp", "-P", "-w", "-undef", *definitions]
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, check=True
    )
    tokens = re.findall(r"#.*|\w+|\S", done.stdout)
    return re.sub(r"([;{}]) ?", r"\1\n", " ".join(tokens))


def sources(folder: Path) -> dict[str, Path]:
    """Return the paths of the sources by their texts."""
    return {without_names(path.read_text()): path for path in folder.glob("*.cluda")}


def kernels(paths: list[Path], definitions: list[str]) -> dict[str, Path]:
    """Return the paths by their texts as the preprocessor leaves them."""
    with ThreadPoolExecutor(4) as pool:
        texts = pool.map(lambda path: preprocessed(path, definitions), paths)
        return dict(zip(texts, paths, strict=True))


def nearest(text: str, others: list[str]) -> str:
    """Return the one of ``others`` that has most lines in common with the text."""
    lines = set(text.splitlines())
    return max(
        others,
        key=lambda other: len(lines.intersection(other.splitlines())),
        default="",
    )


def compare(before: str, after: str) -> bool:
    """Print what differs between two folders; return whether nothing does."""
    same = True
    for device, (_, definitions) in DEVICES.items():
        old, new = (sources(Path(folder, device)) for folder in (before, after))
        lost = kernels([old[text] for text in old.keys() - new.keys()], definitions)
        made = kernels([new[text] for text in new.keys() - old.keys()], definitions)
        only_old, only_new = (
            sorted(lost.keys() - made.keys()),
            sorted(made.keys() - lost.keys()),
        )
        same = same and not only_old and not only_new
        report = [
            f"{device}: {len(old)} kernels, {len(new)} now",
            f"  written otherwise: {len(lost)}",
            f"  gone: {len(only_old)}, new: {len(only_new)}",
        ]
        for text in only_old[:3]:
            other = nearest(text, only_new)
            report.append(f"{lost[text]} {made.get(other)}")
            lines, others = text.split("\n"), other.split("\n")
            report += difflib.unified_diff(lines, others, lineterm="")
        sys.stdout.writelines(line + "\n" for line in report)
    return same


def main(command: str, *arguments: str) -> int:
    """Run a command of the command line."""
    if command == "make":
        make(arguments[0], list(arguments[1:]))
    elif command == "write":
        write(*arguments)
    else:
        return 0 if compare(*arguments) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
