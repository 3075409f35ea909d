"""Every CUDA kernel that the library generates compiles, on a machine without a card.

A program of its own (``cuda_sources.py``) makes the library write its sources to a
folder; NVRTC then compiles them for each architecture, many in one program, since one
alone takes ten times as long.
"""

import itertools
import multiprocessing
import os
import re
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from gpuarray._kernels.codegen import scalar_expression
from gpuarray._native import check, ffi, lib, prepare
from gpuarray.errors import KernelError, LibraryMissing
from gpuarray.scalars import SCALARS

TESTS = Path(__file__).resolve().parent
WHOLE, SAMPLED = "75", ("80", "90", "100")
"""Architectures: all sources are compiled for the first, a sample for the others."""
FLOAT = np.dtype("float32")
BATCH = 64
SAMPLE = 8
PROCESSES = min(os.cpu_count() or 1, 8)
STEMS = {
    "elem",
    "rows",
    "rowwise",
    "multi_tensor",
    "columns",
    "fold",
    "fold_at",
    "count",
    "loop",
    "own",
    "gemm",
    "gemv_rows",
    "gemv_columns",
    "gemm_large",
    "gemm_kk",
    "gemm_kx",
    "gemm_xk",
    "gemm_xx",
    "gemm_medium_kk",
    "gemm_medium_kx",
    "gemm_medium_xk",
    "gemm_medium_xx",
    "gemm_deep_kk",
    "gemm_deep_kx",
    "gemm_deep_xk",
    "gemm_deep_xx",
    "gemm_fine_kk",
    "gemm_fine_kx",
    "gemm_fine_xk",
    "gemm_fine_xx",
    "gemv_rows_packs",
    "gemv_columns_packs",
    "conv",
    "conv_tiles",
    "conv_sum",
    "conv_transposed",
    "conv_depthwise",
    "conv_depthwise_filters",
    "pool",
    "dot_parts",
    "dot_sum",
    "gemm_narrow",
    "gemm_outer",
    "gemm_mapped",
    "gemm_parts_sum",
    "index",
    "index_last",
    "index_add",
    "index_put",
    "mask",
    "matrices",
    "ctc",
    "upsample",
    "affine_grid",
    "sample",
    "sample_corners",
    "neighbours",
    "search",
    "sparse_rows",
    "sparse_pieces",
    "sparse_piece_sums",
    "sparse_long_rows",
    "sparse_long_sums",
    "sparse_expand",
    "sparse_compress",
    "sparse_pack",
    "sparse_keys",
    "sparse_split",
    "sparse_inspect",
    "sparse_to_dense",
    "sparse_unique",
    "sparse_merge_parts",
    "sparse_match",
    "sparse_merge",
    "sparse_sampled",
    "sparse_take_lengths",
    "sparse_take",
    "sparse_spgemm_rows",
    "sparse_spgemm_groups",
    "sparse_spgemm_long",
    "sparse_keep",
    "sparse_solve",
    "fourier",
    "random",
    "fft_pass",
    "fft_chirp_in",
    "fft_multiply",
    "fft_chirp_out",
    "fft_mirror",
    "scan_rows",
    "sine_and_cosine",
    "windows",
    "scan_columns",
    "scan_short",
    "scan_packs",
    "sort_block",
    "sort_histogram",
    "sort_sweep",
    "sort_select",
    "sort_pick",
    "sort_ties",
    "searchsorted",
    "compiler_count",
    "mrg_uniform",
    "multinomial_counts",
    "choice_places",
}


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """The paths of the sources, in an order that mixes their kinds."""
    folder = tmp_path_factory.mktemp("sources")
    paths = [TESTS / "compiler", TESTS.parent / "examples", *sys.path]
    environment = os.environ | {
        "GPUARRAY_DUMP_KERNELS": str(folder),
        "GPUARRAY_CACHE_DIR": "",
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
    }
    command = [sys.executable, TESTS / "cuda_sources.py"]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return sorted(folder.glob("*.cluda"))


@pytest.fixture(scope="module")
def nvrtc():
    """NVRTC, without which these tests fail: CI has it."""
    prepare()
    try:
        compile_text("KERNEL void f(void) {}", "sm_90")
    except LibraryMissing as error:
        pytest.fail(f"{error}\nIt is of the extra [test]: pip install '.[test]'")


def compile_text(text, architecture):
    check(lib.gpuarray_cuda_compile(text.encode(), architecture.encode(), ffi.NULL))


def failure(paths, architecture):
    """What the compiler says of a program of these sources; empty if it compiles."""
    prepare()
    text = "\n#line 1\n".join(path.read_text() for path in paths)
    try:
        compile_text(text, architecture)
    except KernelError as error:
        return str(error)
    return ""


def failures(paths, architecture):
    """A text for each source that does not compile, or does not beside the others."""
    together = failure(paths, architecture)
    if not together:
        return []
    alone = [(path, failure([path], architecture)) for path in paths]
    found = [f"{kernel_name(p.read_text())} ({p}): {said}" for p, said in alone if said]
    return found or [f"{len(paths)} sources, each of which compiles alone: {together}"]


def kernel_name(text):
    """The name of the one kernel of a source, which may stand in a macro."""
    pattern = r"^(?:[A-Z]+_)?KERNEL(?:_(?:OF|SIZED)\(.*\))?\s+void (\w+)\("
    found = re.findall(pattern, text, re.MULTILINE)
    assert len(found) == 1, f"{found}: a line must begin KERNEL void NAME(\n{text}"
    (name,) = found
    return dict(re.findall(r"#define (\w+) (\w+)", text)).get(name, name)


def stem(name):
    """What kind a kernel is: its name without the key, or the types of a transform."""
    transform = re.match("fft_(pass|chirp_in|multiply|chirp_out|mirror)", name)
    return transform[0] if transform else name.rpartition("_")[0]


def test_there_are_sources_of_every_kind(sources):
    names = [kernel_name(path.read_text()) for path in sources]
    stems = {stem(name) for name in names}
    assert not STEMS - stems, "no call in tests/cuda_sources.py makes these kernels"
    assert not stems - STEMS, "kernels of a new name: add it to STEMS in this file"
    assert len(set(names)) == len(names) > 2500


def test_a_source_leaves_no_macro_behind_but_its_guards(sources):
    for path in sources:
        text = path.read_text()
        defined = set(re.findall(r"^\s*#\s*define\s+(\w+)", text, re.MULTILINE))
        removed = set(re.findall(r"^\s*#\s*undef\s+(\w+)", text, re.MULTILINE))
        left = {name for name in defined - removed if not name.startswith("GA_ONCE_")}
        assert not left, kernel_name(text)


# The one kernel of a source, whose signature may have macros, and its first statement.
BEGUN = re.compile(
    r"^(?:[A-Z]+_)?KERNEL(?:_(?:OF|SIZED)\([^\n]*\))?\s+void\s+\S+\([^{;]*\)\s*\{\s*(\w*)",
    re.MULTILINE,
)
LAUNCHES = re.compile(r"\b(?:KERNEL(?:_OF|_SIZED)?|__global__)\b")


def test_every_kernel_begins_by_waiting(sources):
    # The library has launches start beside the ones before where a kernel does so, and
    # where nothing lets the compiler read memory before it (ga__kernel_waits).
    for path in sources:
        text = path.read_text()
        assert BEGUN.findall(text) == ["KERNEL_BEGIN"], kernel_name(text)
        assert len(LAUNCHES.findall(text)) == 1, kernel_name(text)
        assert not re.search("restrict|RESTRICT|__ldg", text), kernel_name(text)


def test_every_kernel_in_a_file_begins_by_waiting():
    # Those for processors and for other devices are not among the sources.
    files = [
        path
        for folder in ("libgpuarray-py", "compiler")
        for path in (TESTS.parent / folder).rglob("*.cl.h")
        if "kernels" in path.parts and "KERNEL" in path.read_text()
    ]
    assert len(files) > 60
    for path in files:
        assert BEGUN.findall(path.read_text()) == ["KERNEL_BEGIN"], path


def batches(paths):
    """The sources that are compiled as one program."""
    return [paths[i : i + BATCH] for i in range(0, len(paths), BATCH)]


def sample(paths):
    """One source of each stem, one in SAMPLE of all, and what asks where it runs."""
    firsts = {stem(kernel_name(path.read_text())): path for path in reversed(paths)}
    asking = [path for path in paths if "__CUDA_ARCH__" in path.read_text()]
    return sorted({*firsts.values(), *paths[::SAMPLE], *asking})


DEFINED = re.compile(
    r"^\s*#\s*define\s+(\w+)[^\n\S]+(.*)$|typedef\s+([^;]*?)\s*\b(\w+);", re.MULTILINE
)


def local_memory(text):
    """The lines that declare local memory, and what the names in them stand for."""
    defined, found = {}, set()
    for macro, body, of_type, name in DEFINED.findall(text):
        defined.setdefault(macro or name, set()).add(body or of_type)
    lines = [line.strip() for line in text.splitlines() if "LOCAL_MEM" in line]
    rest = [line for line in lines if not line.startswith("#")]
    while rest:
        part = rest.pop()
        if part not in found:
            found.add(part)
            for name in re.findall(r"\w+", part):
                rest += defined.get(name, ())
    return frozenset(found)


def assembled(paths):
    """A source of each stem and local memory, and one in SAMPLE of the others."""
    firsts = {}
    for path in paths:
        text = path.read_text()
        if memory := local_memory(text):
            firsts.setdefault((stem(kernel_name(text)), memory), path)
    others = sorted(set(paths).difference(firsts.values()))
    return [*firsts.values(), *others[::SAMPLE]]


@pytest.mark.usefixtures("nvrtc")
def test_every_source_compiles_for_every_architecture(sources):
    # All are compiled to PTX for one architecture. For the others a text is the same
    # but for two macros of the prelude, which a sample has. The assembler takes four
    # times as long and fails rarely, most often for too much local memory.
    wanted = {number: set(sample(sources)) for number in SAMPLED}
    wanted[WHOLE] = set(sources)
    jobs = []
    for batch, number in zip(batches(assembled(sources)), itertools.cycle(wanted)):
        jobs.append((batch, f"sm_{number}"))  # by PTX, so not once more below
        wanted[number].difference_update(batch)
    for number, rest in wanted.items():
        jobs += [(batch, f"compute_{number}") for batch in batches(sorted(rest))]
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(PROCESSES, mp_context=spawn) as pool:
        found = list(pool.map(failures, *zip(*jobs, strict=True)))
    texts = [text for texts in found for text in texts]
    assert not texts, "\n\n".join(texts)


def size_of_calls(row, count):
    """The bytes of code of a kernel that calls a row's function so many times."""
    call = scalar_expression(row, [("x[0]", FLOAT), ("x[1]", FLOAT)])
    text = " + ".join([call.text.replace("x[1]", f"x[{n}]") for n in range(count)])
    kernel = f"KERNEL void calls(GLOBAL_MEM ga_float *x) {{ x[0] = {text}; }}"
    size = ffi.new("size_t *")
    source = f"{call.support}\n{kernel}".encode()
    check(lib.gpuarray_cuda_compile(source, b"sm_80", size))
    return size[0]


@pytest.mark.usefixtures("nvrtc")
@pytest.mark.parametrize("name", ["jv", "iv", "gammainc", "gammaincc"])
def test_a_large_function_is_there_once_however_often_it_is_called(name):
    assert size_of_calls(SCALARS[name], 9) < 2 * size_of_calls(SCALARS[name], 1)
