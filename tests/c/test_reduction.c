/* Reductions on the null backend: what is refused and with which words, who owns what,
 * results that stay untouched, older specs, and each allocation failing in turn. */
#include "float_sum.h"
#include "null_context.h"

#include <gpuarray/array.h>

#include "c/reduce/reduce_kernel.h"
#include "c/reduce/reduction.h"

static const gpuelemwise_arg input = {"x", GA_FLOAT, GE_READ};

static const gpureduction_component moments[] = {
    {"x", "a + b", "0", GA_FLOAT}, {"(ga_double)x * x", "a + b", "0", GA_DOUBLE}};
static const gpureduction_result mean_and_square[] = {{"v0 / n", GA_FLOAT},
                                                      {NULL, GA_DOUBLE}};

static gpureduction_spec moments_spec(void) {
  gpureduction_spec spec = float_sum(&input);
  spec.n_components = spec.n_results = 2;
  spec.components = moments;
  spec.results = mean_and_square;
  return spec;
}

static GpuArray array(gpucontext *ctx, int typecode, size_t rows, size_t columns) {
  GpuArray a = {0};
  const size_t dims[] = {rows, columns};
  CHECK_OK(GpuArray_empty(&a, ctx, typecode, 2, dims, GA_C_ORDER));
  return a;
}

/* ---- making one ---- */

static void check_refused(gpucontext *ctx, const gpureduction_spec *spec, int status,
                          const char *text) {
  int got = GA_NO_ERROR;
  CHECK(GpuReduction_new(ctx, spec, &got) == NULL);
  CHECK_STATUS(status, got);
  CHECK_TEXT(text);
  CHECK(GpuReduction_new(ctx, spec, NULL) == NULL);
}

static void check_wrong_lists(gpucontext *ctx) {
  gpureduction_spec spec = moments_spec();
  spec.n_components = GA_REDUCE_VALUES + 1;
  check_refused(ctx, &spec, GA_UNSUPPORTED_ERROR, "got 9 components");
  spec = moments_spec();
  spec.n_results = GA_REDUCE_VALUES + 1;
  check_refused(ctx, &spec, GA_UNSUPPORTED_ERROR, "9 results");
  spec = moments_spec();
  spec.components = NULL;
  check_refused(ctx, &spec, GA_VALUE_ERROR, "list is NULL");
  spec = moments_spec();
  spec.results = NULL;
  check_refused(ctx, &spec, GA_VALUE_ERROR, "list is NULL");
  spec = moments_spec();
  const gpureduction_component without[] = {moments[0], {"x", NULL, "0", GA_FLOAT}};
  spec.components = without;
  check_refused(ctx, &spec, GA_VALUE_ERROR, "component 1 is NULL");
  const gpureduction_result strange[] = {{NULL, GA_FLOAT}, {NULL, GA_SIZE}};
  spec = moments_spec();
  spec.results = strange;
  check_refused(ctx, &spec, GA_VALUE_ERROR, "reduction");
  spec = moments_spec();
  spec.flags = GA_REDUCTION_INDEX | GA_REDUCTION_FIRST;
  check_refused(ctx, &spec, GA_INVALID_ERROR, "the second of which is \"i\"");
}

static void check_wrong_specs(gpucontext *ctx) {
  gpureduction_spec spec = float_sum(&input);
  check_refused(NULL, &spec, GA_VALUE_ERROR, "got NULL");
  check_refused(ctx, NULL, GA_VALUE_ERROR, "got NULL");
  spec.size = 8;
  check_refused(ctx, &spec, GA_INVALID_ERROR, "the spec's size is 8");
  spec = float_sum(&input);
  spec.map = NULL;
  check_refused(ctx, &spec, GA_VALUE_ERROR, "map, combine and identity");
  spec = float_sum(&input);
  spec.n = 0;
  check_refused(ctx, &spec, GA_UNSUPPORTED_ERROR, "got 0 inputs");
  spec = float_sum(&input);
  spec.inputs = NULL;
  check_refused(ctx, &spec, GA_VALUE_ERROR, "got no list of its 1 inputs");
  const gpuelemwise_arg nameless = {NULL, GA_FLOAT, GE_READ};
  spec = float_sum(&input);
  spec.inputs = &nameless;
  check_refused(ctx, &spec, GA_VALUE_ERROR, "input 0 has no name");
  const gpuelemwise_arg written = {"x", GA_FLOAT, GE_WRITE};
  spec.inputs = &written;
  check_refused(ctx, &spec, GA_INVALID_ERROR, "`x` is GE_WRITE");
  const gpuelemwise_arg position = {"i", GA_FLOAT, GE_READ};
  spec.inputs = &position;
  spec.flags = GA_REDUCTION_INDEX;
  check_refused(ctx, &spec, GA_INVALID_ERROR, "is named `i`");
  spec = float_sum(&input);
  spec.flags = 0x100;
  check_refused(ctx, &spec, GA_INVALID_ERROR, "flags 0x100");
  spec = float_sum(&input);
  spec.acc_typecode = GA_QUAD;
  check_refused(ctx, &spec, GA_VALUE_ERROR, "reduction");
}

/* A caller who was compiled with the fields up to `inputs` does not have the rest. */
static void check_an_older_spec(gpucontext *ctx) {
  gpureduction_spec spec = float_sum(&input);
  int status = GA_NO_ERROR;
  spec.size = offsetof(gpureduction_spec, epilogue);
  spec.flags = 0x100;
  spec.n_results = 77;
  GpuReduction *gr = GpuReduction_new(ctx, &spec, &status);
  CHECK(gr != NULL);
  CHECK(GpuReduction_results(gr) == 1);
  gpureduction_spec again;
  ga__reduction_spec(&again, gr);
  CHECK(again.flags == 0 && again.n_results == 1 && again.n_components == 1);
  CHECK(strcmp(again.components[0].combine, "a + b") == 0);
  GpuReduction_free(gr);
  CHECK(GpuReduction_results(NULL) == 0);
  GpuReduction_free(NULL);
}

/* ---- applying one ---- */

static void check_wrong_calls(gpucontext *ctx) {
  gpureduction_spec spec = float_sum(&input);
  GpuReduction *gr = GpuReduction_new(ctx, &spec, NULL);
  gpucontext *other = open_null();
  GpuArray a = array(ctx, GA_FLOAT, 3, 4), wrong = array(ctx, GA_INT, 3, 4);
  GpuArray far = array(other, GA_FLOAT, 3, 4), cleared = {0};
  GpuArray out, untouched;
  memset(&out, 7, sizeof out);
  untouched = out;
  void *ins[] = {&a};
  CHECK_STATUS(GA_VALUE_ERROR, GpuReduction_apply(NULL, &out, ins, 1, 0));
  CHECK_STATUS(GA_VALUE_ERROR, GpuReduction_apply(gr, NULL, ins, 1, 0));
  CHECK_STATUS(GA_VALUE_ERROR, GpuReduction_apply(gr, &out, NULL, 1, 0));
  CHECK_STATUS(GA_VALUE_ERROR, GpuReduction_apply(gr, &out, ins, 4, 0));
  CHECK_TEXT("0x4, is out of range for 2 axes");
  ins[0] = NULL;
  CHECK_STATUS(GA_VALUE_ERROR, GpuReduction_apply(gr, &out, ins, 1, 0));
  CHECK_TEXT("input `x` is NULL");
  ins[0] = &wrong;
  CHECK_STATUS(GA_INVALID_ERROR, GpuReduction_apply(gr, &out, ins, 1, 0));
  CHECK_TEXT("int32 (3, 4), expected float32");
  ins[0] = &far;
  CHECK_STATUS(GA_INVALID_ERROR, GpuReduction_apply(gr, &out, ins, 1, 0));
  CHECK_TEXT("transfer it first");
  ins[0] = &cleared;
  CHECK(GpuReduction_apply(gr, &out, ins, 1, 0) != GA_NO_ERROR);
  CHECK(memcmp(&out, &untouched, sizeof out) == 0);
  GpuArray_clear(&a);
  GpuArray_clear(&wrong);
  GpuArray_clear(&far);
  GpuReduction_free(gr);
  gpucontext_deref(other);
}

static void check_shapes(gpucontext *ctx) {
  const gpureduction_spec spec = moments_spec();
  GpuReduction *gr = GpuReduction_new(ctx, &spec, NULL);
  GpuArray a = array(ctx, GA_FLOAT, 3, 4), out[2];
  void *ins[] = {&a};
  CHECK(GpuReduction_results(gr) == 2);
  CHECK_OK(GpuReduction_apply(gr, out, ins, 2, 1));
  for (int m = 0; m < 2; m++) {
    CHECK(out[m].nd == 2 && out[m].dimensions[0] == 3 && out[m].dimensions[1] == 1);
    CHECK(out[m].typecode == mean_and_square[m].typecode);
    GpuArray_clear(&out[m]);
  }
  GpuArray_clear(&a);
  GpuReduction_free(gr);
}

static void check_elements_are_needed(gpucontext *ctx) {
  GpuReduction *gr = GpuReduction_extremum(ctx, GA_FLOAT, 0, GA_EXTREMUM_BOTH, NULL);
  GpuArray a = array(ctx, GA_FLOAT, 0, 3), out[2];
  void *ins[] = {&a};
  CHECK_STATUS(GA_VALUE_ERROR, GpuReduction_apply(gr, out, ins, 1, 0));
  CHECK_TEXT("no elements to reduce in shape (0, 3)");
  CHECK_OK(GpuReduction_apply(gr, out, ins, 2, 0)); /* no results either */
  CHECK(out[0].dimensions[0] == 0 && out[1].typecode == GA_LONG);
  GpuArray_clear(&out[0]);
  GpuArray_clear(&out[1]);
  GpuArray_clear(&a);
  GpuReduction_free(gr);
}

static void check_extremum(gpucontext *ctx) {
  int status = GA_NO_ERROR;
  CHECK(GpuReduction_extremum(ctx, GA_FLOAT, 0, 0, &status) == NULL);
  CHECK_STATUS(GA_INVALID_ERROR, status);
  CHECK_TEXT("results is 0");
  CHECK(GpuReduction_extremum(ctx, GA_QUAD, 0, 1, &status) == NULL);
  CHECK_STATUS(GA_VALUE_ERROR, status);
  CHECK(GpuReduction_extremum(NULL, GA_FLOAT, 0, 1, &status) == NULL);
  CHECK_STATUS(GA_VALUE_ERROR, status);
  for (int which = GA_EXTREMUM_VALUE; which <= GA_EXTREMUM_BOTH; which++) {
    GpuReduction *gr = GpuReduction_extremum(ctx, GA_HALF, 1, which, &status);
    CHECK(GpuReduction_results(gr) == (which == GA_EXTREMUM_BOTH ? 2u : 1u));
    GpuReduction_free(gr);
  }
}

/* ---- maxandargmax ---- */

static void check_wrong_axes(GpuArray *max, GpuArray *at, const GpuArray *a) {
  const unsigned int none[] = {2}, twice[] = {1, 1}, one[] = {1};
  GpuArray number = *a;
  number.nd = 0;
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_maxandargmax(NULL, at, a, 1, one));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_maxandargmax(max, NULL, a, 1, one));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_maxandargmax(max, at, NULL, 1, one));
  CHECK_TEXT("got NULL");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_maxandargmax(max, at, a, 1, NULL));
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_maxandargmax(max, at, a, 0, one));
  CHECK_TEXT("got 0 axes");
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_maxandargmax(max, at, a, 3, one));
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_maxandargmax(max, at, a, 1, none));
  CHECK_TEXT("axis 2");
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_maxandargmax(max, at, a, 2, twice));
  CHECK_TEXT("given twice");
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_maxandargmax(max, at, &number, 1, one));
  CHECK_TEXT("no axes");
}

static void check_maxandargmax(gpucontext *ctx) {
  const unsigned int one[] = {1};
  const size_t three[] = {3}, four[] = {4};
  GpuArray a = array(ctx, GA_FLOAT, 3, 4), max, at, wrong, constant;
  CHECK_OK(GpuArray_empty(&max, ctx, GA_FLOAT, 1, three, GA_C_ORDER));
  CHECK_OK(GpuArray_empty(&at, ctx, GA_ULONG, 1, three, GA_C_ORDER));
  CHECK_OK(GpuArray_empty(&wrong, ctx, GA_ULONG, 1, four, GA_C_ORDER));
  check_wrong_axes(&max, &at, &a);
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_maxandargmax(&at, &at, &a, 1, one));
  CHECK_TEXT("expected float32");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_maxandargmax(&max, &max, &a, 1, one));
  CHECK_TEXT("expected int64 or uint64");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_maxandargmax(&max, &wrong, &a, 1, one));
  CHECK_TEXT("expected shape (3,)");
  constant = max;
  constant.flags &= ~GA_WRITEABLE;
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_maxandargmax(&constant, &at, &a, 1, one));
  CHECK_OK(GpuArray_maxandargmax(&max, &at, &a, 1, one));
  GpuArray_clear(&a);
  GpuArray_clear(&max);
  GpuArray_clear(&at);
  GpuArray_clear(&wrong);
}

/* ---- memory ---- */

static int use_reductions(gpucontext *ctx, GpuArray *a, GpuArray *max, GpuArray *at) {
  const unsigned int one[] = {1};
  const gpureduction_spec spec = moments_spec();
  int status = GA_NO_ERROR;
  GpuArray out[2];
  void *ins[] = {a};
  GpuReduction *gr = GpuReduction_new(ctx, &spec, &status);
  if (gr != NULL)
    status = GpuReduction_apply(gr, out, ins, 3, 0);
  GpuReduction_free(gr);
  if (status != GA_NO_ERROR)
    return status;
  GpuArray_clear(&out[0]);
  GpuArray_clear(&out[1]);
  return GpuArray_maxandargmax(max, at, a, 1, one);
}

static void check_failing_allocations(void) {
  const size_t dims[] = {200};
  int status = GA_MEMORY_ERROR;
  for (long n = 0; status != GA_NO_ERROR && n < 500; n++) {
    gpucontext *ctx = open_null();
    GpuArray a = array(ctx, GA_FLOAT, 200, 3000), max, at;
    CHECK_OK(GpuArray_empty(&max, ctx, GA_FLOAT, 1, dims, GA_C_ORDER));
    CHECK_OK(GpuArray_empty(&at, ctx, GA_LONG, 1, dims, GA_C_ORDER));
    ga__alloc_fail_at(n);
    status = use_reductions(ctx, &a, &max, &at);
    ga__alloc_fail_at(-1);
    if (status != GA_NO_ERROR)
      CHECK_STATUS(GA_MEMORY_ERROR, status);
    CHECK_OK(use_reductions(ctx, &a, &max, &at)); /* the context stays usable */
    GpuArray_clear(&a);
    GpuArray_clear(&max);
    GpuArray_clear(&at);
    gpucontext_deref(ctx);
  }
  CHECK(status == GA_NO_ERROR);
}

int main(void) {
  gpucontext *ctx = open_null();
  check_wrong_specs(ctx);
  check_wrong_lists(ctx);
  check_an_older_spec(ctx);
  check_wrong_calls(ctx);
  check_shapes(ctx);
  check_elements_are_needed(ctx);
  check_extremum(ctx);
  check_maxandargmax(ctx);
  gpucontext_deref(ctx);
  check_failing_allocations();
  return check_result("test_reduction");
}
