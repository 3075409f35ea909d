/* Kernels of a program's own as steps of plans: what they are given is checked, and
 * what their numbers come from is sealed in a file. The null backend runs none of them.
 */
#include "null_plan.h"

#include "c/base/hash.h"
#include "c/routines/kernel_routine.h"
#include "c/saving/plan_file.h"

static const gpuplan_type vector = {GA_FLOAT, 1};
static const char *const texts[2] = {
    "KERNEL void k(GLOBAL_MEM ga_float *y, ga_size y_off, ga_size n) {}", "k"};

/* y, its offset and the first integer behind the geometry, over n items. */
#define GOOD                                                                           \
  {0, GA_BUFFER, GA_OF_ARRAY, 0, GA_OFFSET, GA_OF_OFFSET, 0, GA_SIZE, GA_OF_INTEGER, 0}
enum { PARAMS = 10 };

/* ---- plans ---- */

/* The step of a body: x, then five integers of which the first is n. */
static int add_kernel(GpuPlan *p, unsigned int *out, const unsigned int *ins,
                      unsigned int n_in, const long long *params,
                      unsigned int n_params) {
  return GpuPlan_routine(p, out,
                         &(gpuplan_routine){.size = sizeof(gpuplan_routine),
                                            .label = "launch",
                                            .name = GA_PLAN_KERNEL,
                                            .n_params = n_params,
                                            .params = params,
                                            .n_texts = 2,
                                            .texts = texts,
                                            .n_in = n_in,
                                            .ins = ins,
                                            .n_out = 1,
                                            .results = &vector});
}

/* x (m,), n: zeros of twice n, into which a kernel writes that is told so. */
static int build(GpuPlan **out, gpucontext *ctx, const long long *params,
                 unsigned int n_params, long long blocks) {
  unsigned int x, n, two, length, zeros, none, grid, made, ins[6];
  GpuPlan *p = NULL;
  int status = GpuPlan_new(&p, ctx, "launch");
  STEP(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  STEP(GpuPlan_int_input(p, &n));
  STEP(GpuPlan_int(p, &two, 2));
  STEP(GpuPlan_int(p, &none, 0));
  STEP(GpuPlan_int(p, &grid, blocks));
  STEP(GpuPlan_int_op(p, &length, GP_INT_MUL, n, two));
  STEP(GpuPlan_routine(p, &zeros,
                       &(gpuplan_routine){.size = sizeof(gpuplan_routine),
                                          .label = "zeros",
                                          .name = "zeros",
                                          .n_in = 1,
                                          .ins = &length,
                                          .n_out = 1,
                                          .results = &vector}));
  ins[0] = zeros, ins[1] = length, ins[2] = grid, ins[3] = ins[4] = none;
  ins[5] = length;
  STEP(add_kernel(p, &made, ins, 6, params, n_params));
  STEP(GpuPlan_output(p, zeros));
  return give_plan(out, p, status);
}

static void check_runs(GpuPlan *p, gpucontext *ctx) {
  for (long long n = 0; n < 4; n++) {
    GpuArray out = {0};
    int failed;
    CHECK_OK(call_vector(p, ctx, 3, n, &out, &failed));
    CHECK(out.nd == 1 && out.dimensions[0] == 2 * (size_t)n);
    CHECK(info_of(p).n_launches >= 1);
    GpuArray_clear(&out);
  }
}

static void test_a_launch_is_of_what_the_plan_computes(gpucontext *ctx) {
  const long long good[PARAMS] = GOOD;
  char path[] = "/tmp/gpuarray-launchXXXXXX";
  GpuPlan *p = NULL, *loaded = NULL;
  CHECK_OK(build(&p, ctx, good, PARAMS, 0));
  check_runs(p, ctx);
  make_file(path);
  CHECK_OK(GpuPlan_save(p, path));
  GpuPlan_free(p);
  CHECK_OK(GpuPlan_load(&loaded, ctx, path));
  check_runs(loaded, ctx);
  CHECK_OK(GpuPlan_save(loaded, path));
  GpuPlan_free(loaded);
  CHECK_OK(GpuPlan_load(&loaded, ctx, path));
  check_runs(loaded, ctx);
  GpuPlan_free(loaded);
  unlink(path);
}

/* ---- mistakes ---- */

static void check_refused(gpucontext *ctx, const long long *params,
                          unsigned int n_params, long long blocks, const char *why) {
  GpuPlan *p = NULL;
  GpuArray out = {0};
  int failed;
  CHECK_OK(build(&p, ctx, params, n_params, blocks));
  CHECK_STATUS(GA_VALUE_ERROR, call_vector(p, ctx, 3, 2, &out, &failed));
  CHECK_TEXT(why);
  GpuPlan_free(p);
}

static void test_numbers_that_make_no_launch(gpucontext *ctx) {
  static const struct {
    unsigned int place;
    long long number;
    const char *why;
  } wrong[] = {
      {0, 4, "do not describe a launch"},
      {0, -1, "do not describe a launch"},
      {1, GA_NBASE, "argument 0 has an unknown type or source"},
      {1, -4, "argument 0 has an unknown type or source"},
      {1, GA_SIZE, "argument 0 has an unknown type or source"},
      {2, GA_ARGUMENT_SOURCES, "argument 0 has an unknown type or source"},
      {2, -1, "argument 0 has an unknown type or source"},
      {3, 1, "argument 0 refers to an array that the step does not have"},
      {3, -1, "argument 0 refers to an array that the step does not have"},
      {6, 1, "argument 1 refers to an array that the step does not have"},
      {5, GA_OF_ARRAY, "argument 1 has an unknown type or source"},
      {9, 1, "argument 2 refers to an integer that the step does not have"},
      {9, -1, "argument 2 refers to an integer that the step does not have"},
      {7, GA_HALF, "argument 2 has a type that a number cannot be passed as"},
      {7, GA_CDOUBLE, "argument 2 has a type that a number cannot be passed as"},
  };
  for (unsigned int i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    long long params[PARAMS] = GOOD;
    params[wrong[i].place] = wrong[i].number;
    check_refused(ctx, params, PARAMS, 0, wrong[i].why);
  }
  long long params[PARAMS] = GOOD;
  check_refused(ctx, params, PARAMS - 1, 0, "do not describe a launch");
  check_refused(ctx, params, 0, 0, "do not describe a launch");
  check_refused(ctx, params, PARAMS, -1, "number 1 of the grid and block is -1");
  params[0] = 3;
  check_refused(ctx, params, PARAMS, 0, "do not describe a launch");
  params[0] = 0, params[8] = GA_OF_STRIDE;
  params[9] = 1;
  check_refused(ctx, params, PARAMS, 0,
                "argument 2 refers to an axis that its array does not have");
  params[9] = GA_MAX_NDIM;
  check_refused(ctx, params, PARAMS, 0,
                "argument 2 refers to an axis that its array does not have");
  params[9] = -1;
  check_refused(ctx, params, PARAMS, 0,
                "argument 2 refers to an axis that its array does not have");
}

static void test_arguments_of_each_source_and_type(gpucontext *ctx) {
  static const int types[] = {GA_BOOL,   GA_BYTE, GA_UBYTE, GA_SHORT, GA_USHORT,
                              GA_INT,    GA_UINT, GA_LONG,  GA_ULONG, GA_FLOAT,
                              GA_DOUBLE, GA_SIZE, GA_SSIZE};
  for (unsigned int i = 0; i < sizeof types / sizeof *types; i++)
    for (int source = GA_OF_INTEGER; source < GA_ARGUMENT_SOURCES; source++) {
      long long params[PARAMS] = GOOD;
      GpuPlan *p = NULL;
      params[7] = types[i], params[8] = source;
      CHECK_OK(build(&p, ctx, params, PARAMS, 0));
      check_runs(p, ctx);
      GpuPlan_free(p);
    }
}

static void test_more_numbers_than_a_file_holds(gpucontext *ctx) {
  static const long long many[GA_MAX_ARGS + 1];
  GpuPlan *p = NULL;
  CHECK_STATUS(GA_VALUE_ERROR, build(&p, ctx, many, GA_MAX_ARGS + 1, 0));
  CHECK_TEXT("kernel expects inputs a+i* (a: array, i: integer), up to 256 parameters");
}

/* ---- the seal ---- */

/* Reads a file and gives its size. */
static size_t read_file(char *bytes, size_t most, const char *path) {
  FILE *file = fopen(path, "rb");
  const size_t size = fread(bytes, 1, most, file);
  fclose(file);
  return size;
}

/* Writes it with the hash of what it is now. */
static void write_file(const char *path, char *bytes, size_t size) {
  enum { HEAD = 40, AT = 24 };
  const ga_hash hash = ga__hash(bytes + HEAD, size - HEAD, (ga_hash){0, 0});
  memcpy(bytes + AT, &hash.a, sizeof hash.a);
  memcpy(bytes + AT + 8, &hash.b, sizeof hash.b);
  FILE *file = fopen(path, "wb");
  CHECK(fwrite(bytes, 1, size, file) == size);
  fclose(file);
}

/* Each 2, of which one is what n is multiplied by, becomes a 1 in turn. */
static void test_what_is_sealed_is_refused_where_it_was_changed(gpucontext *ctx) {
  enum { MOST = 1 << 16 };
  static char bytes[MOST];
  const long long good[PARAMS] = GOOD;
  char path[] = "/tmp/gpuarray-launchXXXXXX";
  GpuPlan *p = NULL;
  unsigned int n_refused = 0;
  CHECK_OK(build(&p, ctx, good, PARAMS, 0));
  make_file(path);
  CHECK_OK(GpuPlan_save(p, path));
  GpuPlan_free(p);
  const size_t size = read_file(bytes, MOST, path);
  for (size_t at = 40; at + 8 <= size; at++) {
    uint64_t word;
    memcpy(&word, bytes + at, sizeof word);
    if (word != 2)
      continue;
    bytes[at] = 1;
    write_file(path, bytes, size);
    if (GpuPlan_load(&p, ctx, path) == GA_NO_ERROR)
      GpuPlan_free(p); /* of a section behind the seal */
    else if (strstr(gpuarray_error_text(), "user kernel in"))
      n_refused++;
    bytes[at] = 2;
  }
  CHECK(n_refused > 0);
  write_file(path, bytes, size);
  CHECK_OK(GpuPlan_load(&p, ctx, path));
  check_runs(p, ctx);
  GpuPlan_free(p);
  unlink(path);
}

static int trial(gpucontext *ctx) {
  const long long good[PARAMS] = GOOD;
  char path[] = "/tmp/gpuarray-launchXXXXXX";
  GpuPlan *p = NULL;
  GpuArray out = {0};
  int failed;
  int status = build(&p, ctx, good, PARAMS, 0);
  make_file(path);
  STEP(GpuPlan_save(p, path));
  STEP(call_vector(p, ctx, 3, 2, &out, &failed));
  GpuArray_clear(&out);
  GpuPlan_free(p);
  unlink(path);
  return status;
}

int main(void) {
  gpucontext *ctx = open_null();
  test_a_launch_is_of_what_the_plan_computes(ctx);
  test_numbers_that_make_no_launch(ctx);
  test_more_numbers_than_a_file_holds(ctx);
  test_arguments_of_each_source_and_type(ctx);
  test_what_is_sealed_is_refused_where_it_was_changed(ctx);
  fail_each_allocation(trial, ctx);
  gpucontext_deref(ctx);
  return check_result("kernel_routine");
}
