"""The documentation of the Python package: complete, current, and its examples run."""

import contextlib
import doctest
import functools
import importlib
import importlib.util
import inspect
import io
import pkgutil
import re
import warnings
from pathlib import Path

import gpuarray
import numpy as np
import pytest
from gpuarray.compiler import config
from program_of_tools import program_of_tools

ROOT = Path(__file__).resolve().parent.parent
OPTIONS = doctest.ELLIPSIS
INSIDE = (
    "_dask",  # imports Dask
    "_gpuarray",
    "compiler",
    "libgpuarray",
)  # not the package's own documentation


tool = program_of_tools("describe_python")


def _modules(package, path):
    """The modules of a package and of those in it."""
    for info in pkgutil.iter_modules(map(str, path)):
        if info.name not in INSIDE:
            module = importlib.import_module(f"{package}.{info.name}")
            yield module
            if info.ispkg:
                yield from _modules(module.__name__, module.__path__)


def _documented():
    """Each docstring with an example, by name: what is public, then the rest."""
    found = {"gpuarray": (gpuarray.__doc__, {})}
    public = [*tool.entries(), tool.Entry(("Ufunc",), tool.Ufunc, "elementwise")]
    for entry in public:
        for one in (entry, *tool.members(entry)):
            if one.module != tool.CONSTANT and not tool.is_of_the_table(one):
                found.setdefault(one.name, (one.text, {}))
    for module in _modules("gpuarray", [Path(gpuarray.__file__).parent]):
        for test in doctest.DocTestFinder().find(module):
            text = inspect.cleandoc(test.docstring or "")
            found.setdefault(test.name, (text, vars(module)))
    by_text = {}
    for name, (text, inside) in found.items():
        if ">>> " in text:
            by_text.setdefault(text, (name, inside))
    return {name: (text, inside) for text, (name, inside) in by_text.items()}


DOCUMENTED = _documented()


@pytest.fixture
def default(context, tmp_path, monkeypatch):
    """The context as the default one, a folder to write in, and settings to change."""
    monkeypatch.chdir(tmp_path)
    before = gpuarray.get_default_context()
    gpuarray.set_default_context(context)
    with config.use():
        yield context
    gpuarray.set_default_context(before)


@pytest.fixture
def rows():
    """The table of scalar operations, without what an example added afterwards."""
    before = dict(gpuarray.scalars.SCALARS)
    yield
    for name in gpuarray.scalars.SCALARS.keys() - before.keys():
        del gpuarray.scalars.SCALARS[name]


@pytest.mark.parametrize("name", sorted(DOCUMENTED))
def test_the_example_runs(default, name):
    text, inside = DOCUMENTED[name]
    scope = {**inside, "gpuarray": gpuarray, "np": np}
    test = doctest.DocTestParser().get_doctest(text, scope, name, None, None)
    said = io.StringIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gpuarray.HostNotice)
        doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=said.write)
    assert not said.getvalue(), said.getvalue()


def test_everything_public_has_a_docstring_and_an_example():
    assert not tool.missing()


def test_what_is_said_to_have_no_example_is_there():
    names = {name for entry in tool.entries() for name in entry.names}
    names |= {one.name for entry in tool.entries() for one in tool.members(entry)}
    assert not set(tool.ELSEWHERE) - names


def test_the_checker_finds_what_lacks_something(monkeypatch):
    def nameless():
        pass

    monkeypatch.setattr(nameless, "__doc__", None)
    bare = tool.Entry(("gpuarray.nameless",), nameless, "creation")
    assert tool._lacking(bare) == ["gpuarray.nameless: a docstring"]
    nameless.__doc__ = "Nothing."
    assert tool._lacking(bare) == ["gpuarray.nameless: an example"]
    nameless.__doc__ = "Nothing.\n\n>>> 1\n1\n"
    assert tool._lacking(bare) == []


def test_the_pages_are_current():
    pages = tool.reference()
    listed = {path.name for path in tool.REFERENCE.iterdir()}
    said = f"write them anew: {tool.REFRESH}"
    assert listed == set(pages), said
    for name, text in pages.items():
        assert (tool.REFERENCE / name).read_text() == text, f"{name}: {said}"


def test_the_page_of_what_is_slower_is_current():
    writer = program_of_tools("list_slower")
    said = f"write it anew: {writer.REFRESH}"
    assert writer.PAGE.read_text() == writer.page(), said
    figure = writer.Figure("run", "copy", 100.0, "torch", 104.0, "GB/s")
    assert figure.is_slower and not figure._replace(theirs=102.0).is_slower
    assert not figure._replace(unit="us").is_slower


def test_links_between_pages_lead_somewhere():
    pages = [*tool.REFERENCE.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    pages += (ROOT / "docs" / "compiler").glob("*.md")
    for path in [*pages, ROOT / "README.md"]:
        for target in re.findall(r"\]\(([^)]+)\)", path.read_text()):
            file, _, fragment = target.partition("#")
            there = path.parent / file if file else path
            assert there.exists(), (path.name, target)
            if fragment:
                assert fragment in _anchors(there), (path.name, target)


@functools.cache
def _anchors(path):
    """The fragments of a page's headings, as GitHub makes them."""
    found = []
    for head in re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE):
        plain = re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-")
        again = len([one for one in found if re.fullmatch(rf"{plain}(-\d+)?", one)])
        found.append(f"{plain}-{again}" if again else plain)
    return found


# ---- what editors and shells ask ----


def test_every_function_and_class_has_a_signature():
    is_error = tool._is_error
    for entry in tool.entries():
        if (
            callable(entry.value)
            and entry.module != tool.CONSTANT
            and not is_error(entry.value)
        ):
            inspect.signature(entry.value)
        for one in tool.members(entry):
            if inspect.isfunction(one.value):
                inspect.signature(one.value)


def test_a_function_s_help_is_its_own():
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        help(gpuarray.exp)
    assert "e to the power" in said.getvalue()
    assert inspect.getdoc(gpuarray.add) != inspect.getdoc(gpuarray.subtract)
    assert inspect.getdoc(type(gpuarray.add)) == "A function of two operands."


def test_an_array_offers_its_public_names(default):
    a = gpuarray.zeros(3)
    plain = [name for name in dir(a) if not name.startswith("_")]
    assert {"sum", "T", "astype", "context", "exp"} <= set(plain)
    for name in plain:
        assert getattr(gpuarray.Array, name).__doc__, name


def test_public_modules_offer_their_public_names():
    names = gpuarray._names
    for module in (*names.MODULES, *names.SUBMODULES):
        found = importlib.import_module(f"gpuarray.{module}")
        assert dir(found) == sorted(found.__all__)
        assert all(hasattr(found, name) for name in found.__all__)


# ---- README.md and the pages written by hand ----


@pytest.mark.parametrize(
    "path",
    [
        "README.md",
        "docs/distributed.md",
        "docs/when-it-is-not-faster.md",
        "docs/compiler/an-op-of-ones-own.md",
        "docs/compiler/for-those-who-know-theano.md",
        "docs/compiler/loops.md",
        "docs/compiler/networks.md",
        "docs/compiler/random-numbers.md",
        "docs/compiler/several-contexts.md",
        "docs/compiler/sparse-matrices.md",
        pytest.param(
            "docs/compiler/recurrent-networks.md", marks=pytest.mark.optimized
        ),
        "docs/porting-from-pygpu.md",
    ],
)
def test_the_python_of_a_page_runs(default, rows, path):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / path).read_text(), re.DOTALL)
    assert blocks
    text = "\n".join(blocks).replace('context="opencl"', f'context="{default.name}"')
    scope = {} if path == "README.md" else {"gpuarray": gpuarray, "context": default}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(text, path, "exec"), scope | {"step": gpuarray.zeros(3).sum})
