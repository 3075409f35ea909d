"""C code in files, and how bad code and failing code is told of."""

import textwrap

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from c_ops import (
    FILL,
    Text,
    X,
    failing,
    run,
)
from gpuarray.compiler import Apply, Op, config, function
from gpuarray.compiler.cops import (
    COp,
    ExternalCOp,
    ParamsType,
    Scalar,
)

pytestmark = pytest.mark.usefixtures("on_null")


# ---- files in sections ----

FILE = """\
/* Before sections only comments may stand. */
#section support_code
#define LIMIT 100

#section support_code_apply
static int APPLY_SPECIFIC(clip)(PyArrayObject *x, PyArrayObject **z) {
  *z = (PyArrayObject *)PyArray_EMPTY(1, PyArray_DIMS(x), TYPENUM_OUTPUT_0, 0);
  if (*z == NULL)
    return 1;
  for (npy_intp i = 0; i < PyArray_DIM(x, 0); i++) {
    DTYPE_INPUT_0 v = *(DTYPE_INPUT_0 *)PyArray_GETPTR1(x, i);
    *(DTYPE_OUTPUT_0 *)PyArray_GETPTR1(*z, i) = v > limit ? limit : v;
  }
  return sizeof(DTYPE_INPUT_0) != ITEMSIZE_INPUT_0;
}

#section support_code
static float limit = LIMIT;

#section init_code_struct
limit = 2;
"""

CODE_ONLY = """\
#section code
OUTPUT_0 = (PyArrayObject *)PyArray_NewCopy(INPUT_0, NPY_CORDER);
if (OUTPUT_0 == NULL)
  FAIL
*(DTYPE_OUTPUT_0 *)PyArray_DATA(OUTPUT_0) = PARAMS->first;
"""


class External(ExternalCOp):
    __props__ = ("func_files", "func_name")

    def make_node(self, x):
        x = T.as_tensor_variable(x)
        return Apply(self, [x], [x.type()])


def written(tmp_path, text):
    path = tmp_path / "op.c"
    path.write_text(textwrap.dedent(text))
    return str(path)


def test_a_file_gives_the_function_to_call(tmp_path):
    op = External(written(tmp_path, FILE), "APPLY_SPECIFIC(clip)")
    np.testing.assert_array_equal(run(op, X), [0, 1, 2, 2])
    assert op == External([written(tmp_path, FILE)], "APPLY_SPECIFIC(clip)")


def test_a_file_gives_the_code_itself(tmp_path):
    class First(External):
        params_type = ParamsType(first=Scalar("float32"))
        first = 9

    np.testing.assert_array_equal(run(First(written(tmp_path, CODE_ONLY)), X)[0], 9)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("int x;\n#section code\n", r"op.c:1: code before the first section"),
        ("\n// c\nint x;\n#section code\n", r"op.c:3: code before the first section"),
        ("int x;\n", r"op.c: no section; begin with a line such as #section code"),
        ("#section code\n\n#section cde\n", r"op.c:3: 'cde' is no section; known are"),
        ("#section support_code\n", "has no section code; add one, or name the funct"),
    ],
)
def test_files_that_are_not_in_sections_are_refused(tmp_path, text, said):
    with pytest.raises(ValueError, match=said):
        External(written(tmp_path, text))


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(ValueError, match=r"compiler/no_such.c: .*cannot be read"):
        External("no_such.c")


# ---- errors ----


def test_code_that_does_not_compile_is_shown_with_its_lines():
    error, text = failing(Text("int a = 1;\nundeclared = 2;\nb = 3;\nc = 4; d = 5;"), X)
    assert isinstance(error, RuntimeError)
    assert text.startswith("Text (") and "c_ops.py" in text.splitlines()[0]
    assert "| undeclared = 2;" in text and "undeclared" in text
    assert "and 1 more errors" in text
    assert "made at" in text and "exception_verbosity=high" in text


def test_the_whole_log_and_source_are_shown_when_asked_for():
    with (
        config.use(exception_verbosity="high"),
        pytest.raises(RuntimeError, match=r"    1 \| /\* Text \*/"),
    ):
        run(Text("undeclared = 3;"), X)


def test_code_of_a_file_that_does_not_compile_is_found_in_the_file(tmp_path):
    path = written(tmp_path, "#section code\n\nundeclared = 4;\n")
    _, text = failing(External(path), X)
    assert f"{path}:3: " in text and "3 | undeclared = 4;" in text


def test_code_that_cannot_be_loaded_says_what_is_missing():
    op = Text(FILL + "missing(1);", support="float missing(float);")
    error, text = failing(op, X)
    assert isinstance(error, RuntimeError)
    assert "cannot be loaded: undefined symbol: missing" in text
    assert "c_libraries" in text and "Text (" in text


def test_a_library_that_is_not_there_is_the_linkers_error():
    _, text = failing(Text(FILL + "15;", libraries=("no_such_library",)), X)
    assert "no_such_library" in text and "does not compile" in text


@pytest.mark.parametrize(
    "kind", ["ValueError", "TypeError", "IndexError", "MemoryError", "RuntimeError"]
)
def test_an_exception_that_the_code_sets_is_raised(kind):
    code = f'PyErr_Format(PyExc_{kind}, "n is %%d of %%s", 3, "x"); %(fail)s'
    error, text = failing(Text(code), X)
    assert (
        type(error) is getattr(__builtins__, kind, None) or type(error).__name__ == kind
    )
    assert "Text (" in text and "n is 3 of x" in text and "made at" in text


def test_code_that_fails_without_an_exception_says_so():
    error, text = failing(Text("%(fail)s"), X)
    assert isinstance(error, RuntimeError) and "set no exception" in text
    library = "GpuArray a; if (GpuArray_empty(&a, NULL, GA_FLOAT, 0, NULL, 0)) %(fail)s"
    _, text = failing(Text(library), X)
    assert (
        "set no exception" in text
        and "latest error here: empty: got no context" in text
    )


def test_an_exception_counts_although_the_code_goes_on():
    error, _ = failing(Text(FILL + '1; PyErr_SetString(PyExc_KeyError, "k");'), X)
    assert isinstance(error, KeyError)


def test_cleanup_code_runs_after_a_failure():
    op = Text(
        "ended = 0; if (PyArray_DIM(%(x)s, 0) == 1) %(fail)s" + FILL + "ends;",
        struct="static int ends, ended;",
        cleanup="ends += 1;",
    )
    x = T.fvector("x")
    f = function([x], op(x))
    with pytest.raises(RuntimeError):
        f(X[:1])
    assert f(X[:2])[0] == 1


def test_an_op_that_cannot_begin_says_why():
    op = Text("", init_struct='PyErr_SetString(PyExc_OSError, "shut"); %(fail)s')
    error, text = failing(op, X)
    assert isinstance(error, OSError) and "shut" in text


@pytest.mark.parametrize(
    ("code", "kind", "said"),
    [
        ("", RuntimeError, "left output 0 NULL"),
        (
            "npy_intp d = 1; %(z)s = (void *)PyArray_ZEROS(1, &d, NPY_INT8, 0);",
            TypeError,
            "output 0 has 1 axes of ga_byte, its node announces 1 of ga_float",
        ),
        (
            "npy_intp d = -1; if (PyArray_ZEROS(1, &d, 11, 0) == NULL) %(fail)s",
            ValueError,
            "axis 0 has length -1",
        ),
    ],
)
def test_a_result_of_another_type_is_refused(code, kind, said):
    error, text = failing(Text(code), X)
    assert isinstance(error, kind) and said in text


def test_a_pointer_to_something_else_does_not_compile():
    """Without the compiler's refusal it would be followed."""
    support = "static int own(PyGpuArrayObject *x) { return x->ga.nd; }"
    error, text = failing(Text("if (own(%(x)s)) %(fail)s", support=support), X)
    assert isinstance(error, RuntimeError) and "incompatible pointer type" in text


def test_an_op_with_nothing_to_compute_it_is_refused():
    class Empty(COp):
        __props__ = ()

        def make_node(self, x):
            return Apply(self, [x], [x.type()])

    error, text = failing(Empty(), X)
    assert isinstance(error, NotImplementedError) and "no C code; define c_code" in text


def test_a_plain_op_with_c_code_is_told_to_be_a_c_op():
    class Plain(Op):
        __props__ = ()
        c_code = Text.c_code

        def make_node(self, x):
            return Apply(self, [x], [x.type()])

    _, text = failing(Plain(), X)
    assert "derive it from gpuarray.compiler.cops.COp" in text
