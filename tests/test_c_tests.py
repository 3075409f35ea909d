"""The C tests leave no public function out."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "libgpuarray-py" / "include"
TESTS = ROOT / "tests" / "c"
CC = os.environ.get("CC", "cc")
MARK = re.compile(r'^# \d+ "([^"]*)"')
DECLARED = re.compile(r"\b((?:gpu|Gpu)\w+)\(([^;{}]*)\);")
BETWEEN = re.compile(r"/\* cdef: begin \*/(.*?)/\* cdef: end \*/", re.DOTALL)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def public_functions():
    """Each public function with the text of its parameters."""
    headers = sorted((INCLUDE / "gpuarray").glob("*.h"))
    marked = [
        part for header in headers for part in BETWEEN.findall(header.read_text())
    ]
    return dict(DECLARED.findall(COMMENT.sub("", "\n".join(marked))))


def called_by(test):
    """The names in a test once its macros are expanded, of its own lines."""
    command = [CC, "-E", f"-I{INCLUDE}", f"-I{INCLUDE.parent}", str(test)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    words, is_own = set(), True
    for line in text.splitlines():
        if mark := MARK.match(line):
            is_own = Path(mark[1]).parent == TESTS
        elif is_own:
            words.update(re.findall(r"\w+", line))
    return words


NULL_IS_GIVEN = (
    "test_null_arguments.c",
    "test_null_operations.c",
    "test_null_products.c",
)


@pytest.fixture(scope="module")
def called():
    if shutil.which(CC) is None:
        pytest.skip("there is no C compiler to expand the tests' macros")
    tests = sorted(TESTS.glob("test_*.c"))
    return {
        test.name: called_by(test)
        for test in tests
        if test.name != "test_compat_names.c"  # which names them and calls none
    }


def test_each_public_function_is_called_by_a_test(called):
    functions = public_functions()
    assert len(functions) > 250
    others = (called[name] for name in called.keys() - set(NULL_IS_GIVEN))
    untested = sorted(set(functions).difference(*others))
    assert not untested, (
        f"no tests/c/test_*.c calls {', '.join(untested)} but with NULL"
    )


def test_each_function_that_takes_a_pointer_is_given_null(called):
    pointers = {name for name, text in public_functions().items() if "*" in text}
    untried = sorted(pointers.difference(*(called[name] for name in NULL_IS_GIVEN)))
    assert not untried, (
        f"{', '.join(untried)}: add REFUSES(NAME(P(pointer), ...)) to "
        f"tests/c/{NULL_IS_GIVEN[0]}, where P stands around each pointer"
    )
