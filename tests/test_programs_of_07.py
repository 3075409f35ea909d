"""C programs as they were written for libgpuarray 0.7: what they include, and what they
are answered.

tests/c/test_compat_names.c has every name, test_compat.c what its own tests ask.
"""

import os
import shutil
import subprocess
from pathlib import Path

import gpuarray
import pytest

FOLDER = Path(gpuarray.__path__[0])
CC = os.environ.get("CC", "cc")
STRICT = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
pytestmark = pytest.mark.skipif(shutil.which(CC) is None, reason="no C compiler")

BROUGHT = {
    "buffer.h": """
        static void say(const char *format, ...) {
          va_list rest;
          va_start(rest, format);
          vfprintf(stderr, format, rest);
          va_end(rest);
        }
        int main(void) { say("%zu", sizeof(gpudata *)); return 0; }""",
    "array.h": """
        int main(void) {
          GpuArray a = {0};
          GpuArray_fprintf(stdout, &a);
          return (int)gpuarray_get_elsize(GA_FLOAT) - 4;
        }""",
    "blas.h": """
        int main(void) {
          return gpublas_setup(NULL) == GA_NO_ERROR && cb_fortran == cb_column;
        }""",
    "buffer_blas.h": """
        int main(void) {
          cb_transpose no = cb_no_trans;
          return gpublas_error(NULL) == NULL || no != 0 || cb_left == cb_right;
        }""",
    "kernel.h": """
        int main(void) {
          GpuArray a = {0};
          GpuKernel k = {0};
          GpuArray_clear(&a);
          GpuKernel_clear(&k);
          return 0;
        }""",
    "collectives.h": """
        int main(void) {
          gpucomm *none = NULL;
          return gpucomm_error(NULL) == NULL || none != NULL;
        }""",
    "util.h": """
        int main(void) {
          gpuelemwise_arg arg = {"x", GA_FLOAT, GE_READ};
          return gpuarray_type_flagsa(1, &arg) & GA_USE_DOUBLE;
        }""",
}


def compiled(tmp_path, text):
    """The program of a text."""
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(text)
    library = FOLDER / "libgpuarray.so"
    command = [CC, *STRICT, source, f"-I{FOLDER / 'include'}", library]
    command += [f"-Wl,-rpath,{FOLDER}", "-o", program]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return program


@pytest.mark.parametrize("header", BROUGHT)
def test_what_a_header_brings(tmp_path, header):
    program = compiled(tmp_path, f"#include <gpuarray/{header}>\n{BROUGHT[header]}\n")
    assert subprocess.run([program], capture_output=True).returncode == 0


ANSWERS = r"""
#include <gpuarray/blas.h>
#include <gpuarray/elemwise.h>
#include <gpuarray/kernel.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(truth)                                                                  \
  do {                                                                                 \
    if (!(truth)) {                                                                    \
      fprintf(stderr, "%s: %s\n", #truth, gpucontext_error(ctx, 0));                   \
      return 1;                                                                        \
    }                                                                                  \
  } while (0)

int main(int argc, char **argv) {
  gpucontext *ctx = NULL;
  gpucontext_props *props = NULL;
  int platform = argc > 1 ? atoi(argv[1]) : 0, device = argc > 2 ? atoi(argv[2]) : 0;
  EXPECT(gpucontext_props_new(&props) == GA_NO_ERROR);
  EXPECT(gpucontext_props_opencl_dev(props, platform, device) == GA_NO_ERROR);
  EXPECT(gpucontext_init(&ctx, "opencl", props) == GA_NO_ERROR);

  /* A part of the elements, from the first one on. */
  size_t dims[2] = {4, 4};
  float values[17] = {1, 2, 3, 4}, got[17];
  GpuArray a;
  EXPECT(GpuArray_zeros(&a, ctx, GA_FLOAT, 2, dims, GA_C_ORDER) == GA_NO_ERROR);
  EXPECT(GpuArray_write(&a, values, 3 * sizeof *values) == GA_NO_ERROR);
  memset(got, 0x55, sizeof got);
  EXPECT(GpuArray_read(got, 4 * sizeof *got, &a) == GA_NO_ERROR);
  EXPECT(got[0] == 1 && got[2] == 3 && got[3] == 0);
  EXPECT(memcmp(&got[4], &got[5], 12 * sizeof *got) == 0); /* what was there */
  EXPECT(GpuArray_write(&a, values, 0) == GA_NO_ERROR);
  EXPECT(GpuArray_write(&a, values, sizeof values) != GA_NO_ERROR);
  EXPECT(GpuArray_read(got, sizeof got, &a) != GA_NO_ERROR);

  /* What does not compile. */
  gpuelemwise_arg args[2] = {{"a", GA_FLOAT, GE_READ}, {"r", GA_FLOAT, GE_WRITE}};
  EXPECT(GpuElemwise_new(ctx, "", "r = no_such_thing(a", 2, args, 2, 0) == NULL);
  EXPECT(strlen(gpucontext_error(ctx, 0)) > 0);
  GpuElemwise *ge = GpuElemwise_new(ctx, "", "r = a + 1", 2, args, 2, 0);
  EXPECT(ge != NULL);
  GpuElemwise_free(ge);
  const char *text = "KERNEL void f(GLOBAL_MEM float *x) { no_such_thing }";
  const int types[1] = {GA_BUFFER};
  GpuKernel k;
  char *log = NULL;
  int ret = GA_NO_ERROR;
  EXPECT(GpuKernel_init(&k, ctx, 1, &text, NULL, "f", 1, types, 0, &log) ==
         GA_IMPL_ERROR);
  EXPECT(log != NULL && strstr(log, "no_such_thing") != NULL);
  free(log);
  EXPECT(gpukernel_init(ctx, 1, &text, NULL, "f", 1, types, 0, &ret, NULL) == NULL);
  EXPECT(ret == GA_IMPL_ERROR);

  GpuArray_clear(&a);
  gpucontext_deref(ctx);
  return 0;
}
"""


def test_what_functions_answer(tmp_path, context):
    if context.kind != "opencl":
        pytest.skip("the program opens a device of OpenCL")
    numbers = context.name.removeprefix("opencl").split(":")
    command = [compiled(tmp_path, ANSWERS), *numbers]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


MOVED = r"""
#include <gpuarray/array.h>
#include <string.h>

int main(void) {
  GpuArray a = {0};
  size_t dims[2] = {2, 3};
  ssize_t strides[2] = {12, 4};
%s
  return (int)a.nd;
}
"""


def test_shapes_lie_in_the_array(tmp_path):
    """The page says what to write for what does not compile any more."""
    page = Path(__file__).parent.parent / "docs" / "for-those-who-know-libgpuarray.md"
    rows = [
        [cell.strip(" `") for cell in line.split("|")[1:3]]
        for line in page.read_text().splitlines()
        if line.startswith("| `a.")
    ]
    assert len(rows) == 3
    for old, new in rows:
        with pytest.raises(AssertionError):
            compiled(tmp_path, MOVED % f"  {old}\n  (void)dims, (void)strides;")
        compiled(tmp_path, MOVED % f"  {new}\n  (void)dims, (void)strides;")
