"""Which devices the suite runs on, and how much of it on each.

``pytest --context opencl0:0 --context cuda0`` runs every case on every device named.
Without the option every case runs on the first device found. On the others, which share
all code but the vendor's compiler, every test of the array package runs, but of a test
that many cases are made of (dtypes, layouts, shapes) one case in ``SHARE``: another one
in each test, so that none of the dtypes and layouts is left out everywhere. Of the
compiler's tests, of examples and of what other libraries and programs do with arrays,
which stand on those, one in ``HIGHER_SHARE`` of each module runs there. What depends on
the device's own compiler is marked ``every_case`` and has all of them everywhere.
Without any device the tests run that need no kernel, on the null device, as they do in
any case.

``--share`` finds what compilers do wrong where they optimise, for CI, whose run of all
tests has none of that (``GPUARRAY_OPENCL_OPTIMIZE=0``). On every device it runs what is
marked ``every_case``. Of each module it runs one case in ``SHARE``, in ``HIGHER_SHARE``
of those in ``HIGHER``, each on one device: the devices take turns, and all have some of
every module. What is marked ``optimized``, as it would run too long without, has the
cases that a run of all tests gives it.

``--covering`` is for CI, too: of a test whose cases are every combination of several
parameters it runs those that `covering.py` chooses, on all devices but the sampled
ones, which have their share as before.

``--context oclgrind`` is the simulator that finds what kernels do out of bounds, which
the library takes for a processor, ``--context oclgrind-gpu`` the same that says it is a
GPU; ``-m oclgrind`` picks the tests that it is fast enough for.
"""

import gc
import os
import shutil
import tempfile
import zlib
from pathlib import Path

import covering
import pytest
from _pytest.runner import runtestprotocol
from intel_headers import hide_unused_headers
from simulated import NAMES, is_simulated, log_to, simulate

pytest_plugins = ["installation"]
os.environ["SCIPY_ARRAY_API"] = "1"  # read by SciPy when it is imported
# JAX would take three quarters of a card's memory, and other processes need some.
os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
TESTS = Path(__file__).parent
OF_OTHERS = (
    "dask",
    "distributed",
    "pygpu_programs",
    "ranks_of_dask",
    "scipy",
    "sklearn",
)
HIGHER = {TESTS / "compiler", TESTS / "test_docs.py", TESTS / "test_examples.py"}
HIGHER |= {TESTS / f"gpuarray/test_{name}.py" for name in OF_OTHERS}
"""Folders and modules that stand on what other modules test."""
INSTALLED = {f"tests/test_{name}.py" for name in ("bindings", "clients", "install")}
"""Modules of which one process runs all tests, for the library is built for them."""
AT_ONCE = 4
"""How many tests a process is given at once; one by one takes longer."""
SHARE = 8
HIGHER_SHARE = 24


def pytest_addoption(parser):
    parser.addoption(
        "--context",
        action="append",
        default=[],
        help="a device to test on, such as cuda0 or opencl0:0; may be repeated",
    )
    parser.addoption(
        "--share",
        action="store_true",
        help="a share of each module's cases on every device, and no others",
    )
    parser.addoption(
        "--covering",
        action="store_true",
        help="not every combination of parameters, but each pair of their values",
    )
    parser.addoption(
        "--shapes",
        type=int,
        default=24,
        help="how many shapes each function is called with, to see what it compiles",
    )
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the listings of tests/golden anew instead of comparing",
    )


def pytest_configure(config):
    gc.disable()  # until tests run: what is collected stays
    for line in (
        "oclgrind: also run under the kernel simulator",
        "every_case: all cases run on every device, not a share of them",
        "optimized: so many operations that kernels must be optimised",
    ):
        config.addinivalue_line("markers", line)
    hide_unused_headers()
    config.gpuarray_cache = None
    if "PYTEST_XDIST_WORKER" not in os.environ:  # processes share one cache of kernels
        kernels = os.environ.get("GPUARRAY_TEST_KERNELS")  # of several steps of a run
        if not kernels:
            kernels = tempfile.mkdtemp(prefix="gpuarray-test-cache-")
            config.gpuarray_cache = kernels
        os.environ["GPUARRAY_CACHE_DIR"] = kernels
    named = _named(config.getoption("--context"))
    config.gpuarray_contexts = named or _found()
    config.gpuarray_sampled = [] if named else config.gpuarray_contexts[1:]


def pytest_unconfigure(config):
    if config.gpuarray_cache:
        shutil.rmtree(config.gpuarray_cache, ignore_errors=True)


def _named(names):
    if not set(NAMES) & set(names):
        return names
    if len(names) > 1:
        raise pytest.UsageError("--context oclgrind stands alone: it is a library")
    folder = Path(os.environ["GPUARRAY_CACHE_DIR"])
    if "PYTEST_XDIST_WORKER" not in os.environ:
        simulate(names[0], folder)
    log_to(folder / f"log-{os.getpid()}")
    return ["opencl0:0"]


def _found():
    from gpuarray.doctor import devices

    cuda, opencl = devices("cuda")[0], devices("opencl")[0]
    return [*cuda, *opencl] or ["null"]


def pytest_ignore_collect(collection_path):
    """Leave out what is of no use without the simulator."""
    only_simulated = collection_path.name == "test_simulator.py"
    return True if only_simulated and not is_simulated() else None


def pytest_report_header(config):
    sampled = ", ".join(config.gpuarray_sampled)
    share = f"; a share of the cases on {sampled}" if sampled else ""
    if config.getoption("--share"):
        share = ", a share of the cases"
    return f"devices tested: {', '.join(config.gpuarray_contexts)}{share}"


def pytest_generate_tests(metafunc):
    if "context" in metafunc.fixturenames:
        names = metafunc.config.gpuarray_contexts
        metafunc.parametrize("context", names, indirect=True, scope="session")


def pytest_collection_modifyitems(config, items):
    """Leave out the cases that a sampled device need not run."""
    only_share, cases, left = config.getoption("--share"), {}, set()
    sampled = config.gpuarray_sampled
    for item in items:
        context = item.callspec.params.get("context") if _has_cases(item) else None
        is_short = only_share and not item.get_closest_marker("optimized")
        if item.get_closest_marker("every_case"):
            continue
        if is_short and context is None:
            left.add(item)
        elif is_short or context in sampled:
            kind = item.path if is_short else _kind(item)
            cases.setdefault((kind, context), []).append(item)
    contexts = config.gpuarray_contexts
    for (_, context), of_test in cases.items():
        turns = (len(contexts), contexts.index(context)) if only_share else (1, 0)
        left.update(_left_out(of_test, *turns))
    if config.getoption("--covering"):
        left.update(_combinations(items, sampled))
    if left:
        config.hook.pytest_deselected(items=sorted(left, key=lambda item: item.nodeid))
        items[:] = [item for item in items if item not in left]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    """Let a process of several tell of a test once, not six times, if it passes."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    return True


class Places(list):
    """Names of tests, each of whose places is found at once."""

    def __init__(self, names):
        super().__init__(names)
        self.places = {name: place for place, name in enumerate(names)}

    def index(self, name):
        return self.places[name]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give a few tests to a process that is free, and those of ``INSTALLED`` to one."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def add_node_collection(self, node, collection):
            super().add_node_collection(node, collection)
            self.registered_collections[node] = self.names = Places(collection)

        def _split_scope(self, nodeid):
            if nodeid.split("::")[0] in INSTALLED:
                return "installed"
            return str(self.names.index(nodeid) // AT_ONCE)

        def mark_test_complete(self, node, item_index, duration=0):
            scope = self._split_scope(self.registered_collections[node][item_index])
            super().mark_test_complete(node, item_index, duration)
            # It counts what is pending among all that it keeps, after each test.
            if all(self.assigned_work[node][scope].values()):
                del self.assigned_work[node][scope]

    return Scheduling(config, log)


def pytest_collection_finish():
    """Keep the thousands of tests themselves out of every later garbage collection."""
    gc.collect()
    gc.freeze()
    gc.enable()


def _has_cases(item):
    return hasattr(item, "callspec")


def _kind(item):
    """What an item is one case of: its test; of what stands on others, its module."""
    return item.path if _is_higher(item) else item.function


def _left_out(items, devices, turn):
    """All but a share of some cases; the first that stays differs by test.

    Where devices take turns, the one whose turn is ``turn`` has its part of the share.
    """
    share = HIGHER_SHARE if _is_higher(items[0]) else SHARE
    first = zlib.crc32(items[0].originalname.encode()) + turn * share
    share *= devices
    first %= min(share, len(items))
    return [item for i, item in enumerate(items) if i % share != first]


def _combinations(items, sampled):
    """Cases of parameters in every combination that a choice of them stands for."""
    tests = {}
    for item in filter(_has_cases, items):
        parameters = dict(item.callspec.params)
        context = parameters.pop("context", None)
        if context not in sampled and not item.get_closest_marker("every_case"):
            cases = tests.setdefault((item.function, item.path, context), [])
            cases.append((item, parameters))
    for cases in tests.values():
        for i in covering.left_out([parameters for _, parameters in cases]):
            yield cases[i][0]


def _is_higher(item):
    return bool({item.path, item.path.parent} & HIGHER)


@pytest.fixture(scope="session")
def context(request):
    """An open context that runs kernels, for each device tested."""
    import gpuarray

    if request.param == "null":
        pytest.skip("no device was found, and the null device runs no kernel")
    return gpuarray.context(request.param)


@pytest.fixture(scope="session")
def first_context(request):
    """The first device tested, for tests of what does not depend on the device."""
    import gpuarray

    name = request.config.gpuarray_contexts[0]
    if name == "null":
        pytest.skip("no device was found, and the null device runs no kernel")
    return gpuarray.context(name)


@pytest.fixture(autouse=True)
def simulator():
    """Under the simulator, what it says of the test's kernels fails the test."""
    yield
    name = os.environ.get("OCLGRIND_LOG")
    if name and (log := Path(name)).exists() and (said := log.read_text()):
        log.write_text("")  # it goes on where it was: zeros stand before what comes
        said = said.lstrip("\0")[:4000]
        pytest.fail(f"Oclgrind: {said}", pytrace=False)


@pytest.fixture(autouse=True)
def program_settings():
    """A test that changes the settings of the program fails: others run after it."""
    from gpuarray.compiler.config import _PROGRAM

    before = _PROGRAM.config
    yield
    after, _PROGRAM.config = _PROGRAM.config, before
    assert after == before, "settings of the program are not as before the test"


@pytest.fixture
def null():
    """The context on host memory, which runs no kernel."""
    import gpuarray

    return gpuarray.context("null")


@pytest.fixture
def processor(context):
    """A context whose memory is the host's."""
    if not context.is_cpu:
        pytest.skip("the host does not reach a GPU's memory without a copy")
    return context
