"""Which devices the suite runs on: ``pytest --context opencl0:0 --context cuda0``.

Without the option these are all the devices found, or the null device if there is none;
tests of what needs no kernel run on the null device in any case. ``--context oclgrind``
is the simulator that finds what kernels do out of bounds; ``-m oclgrind`` picks the
tests that it is fast enough for.
"""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

OCLGRIND = "/usr/lib/oclgrind/liboclgrind-rt.so"


def pytest_addoption(parser):
    parser.addoption(
        "--context",
        action="append",
        default=[],
        help="a device to test on, such as cuda0 or opencl0:0; may be repeated",
    )
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the listings of tests/golden anew instead of comparing",
    )


def pytest_configure(config):
    config.addinivalue_line("markers", "oclgrind: also run under the kernel simulator")
    folder = tempfile.mkdtemp(prefix="gpuarray-test-cache-")
    config.gpuarray_cache = folder
    os.environ["GPUARRAY_CACHE_DIR"] = folder
    config.gpuarray_contexts = _named(config.getoption("--context")) or _found()


def pytest_unconfigure(config):
    shutil.rmtree(config.gpuarray_cache, ignore_errors=True)


def _named(names):
    if "oclgrind" not in names:
        return names
    if len(names) > 1:
        raise pytest.UsageError("--context oclgrind stands alone: it is a library")
    os.environ["GPUARRAY_OPENCL"] = OCLGRIND
    os.environ["OCLGRIND_LOG"] = str(Path(os.environ["GPUARRAY_CACHE_DIR"], "log"))
    os.environ["OCLGRIND_DATA_RACES"] = "1"
    return ["opencl0:0"]


def _found():
    from gpuarray.doctor import devices

    cuda, opencl = devices("cuda")[0], devices("opencl")[0]
    return [*cuda, *opencl] or ["null"]


def pytest_report_header(config):
    return f"devices tested: {', '.join(config.gpuarray_contexts)}"


def pytest_generate_tests(metafunc):
    if "context" in metafunc.fixturenames:
        names = metafunc.config.gpuarray_contexts
        metafunc.parametrize("context", names, indirect=True, scope="session")


@pytest.fixture(scope="session")
def context(request):
    """An open context that runs kernels, for each device tested."""
    import gpuarray

    if request.param == "null":
        pytest.skip("no device was found, and the null device runs no kernel")
    return gpuarray.context(request.param)


@pytest.fixture(autouse=True)
def simulator():
    """Under the simulator, what it says of the test's kernels fails the test."""
    yield
    name = os.environ.get("OCLGRIND_LOG")
    if name and (log := Path(name)).exists() and (said := log.read_text()):
        log.write_text("")
        pytest.fail(f"Oclgrind: {said}", pytrace=False)


@pytest.fixture
def null():
    """The context on host memory, which runs no kernel."""
    import gpuarray

    return gpuarray.context("null")
