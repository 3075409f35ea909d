/* Functions: plans with names and kept values, called and in files; on the null
 * backend.
 */
#include "null_context.h"

#include <gpuarray/function.h>
#include <stdio.h>
#include <unistd.h>

static char path[] = "/tmp/gpuarray-function-XXXXXX";

/* w (n,), x (n,) and an integer: y = x + w and w x, which takes over w's memory. */
static GpuPlan *plan_of(gpucontext *ctx) {
  GpuPlan *p = NULL;
  unsigned int w, x, n, y, next;
  const gpuelemwise_arg ins[2] = {{"w", GA_FLOAT, GE_READ}, {"x", GA_FLOAT, GE_READ}};
  const gpuelemwise_arg out = {"y", GA_FLOAT, GE_WRITE};
  const int inplace[1] = {0};
  CHECK_OK(GpuPlan_new(&p, ctx, "step"));
  CHECK_OK(GpuPlan_input(p, &w, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_int_input(p, &n));
  const unsigned int both[2] = {w, x};
  gpuplan_elemwise step = {.size = sizeof step,
                           .label = "add",
                           .expr = "y = w + x",
                           .n_out = 1,
                           .out_args = &out,
                           .n_in = 2,
                           .in_args = ins,
                           .ins = both};
  CHECK_OK(GpuPlan_elemwise(p, &y, &step));
  step.expr = "y = w * x";
  step.inplace = inplace;
  CHECK_OK(GpuPlan_elemwise(p, &next, &step));
  CHECK_OK(GpuPlan_output(p, y));
  CHECK_OK(GpuPlan_output(p, next));
  return p;
}

static GpuArray vector(gpucontext *ctx, float first) {
  GpuArray a = {0};
  const float values[3] = {first, 2, 3};
  CHECK_OK(
      GpuArray_copy_from_host(&a, ctx, values, GA_FLOAT, 1, (const size_t[]){3}, NULL));
  return a;
}

static const char *const input_names[2] = {"w", "x"};
static const char *const int_names[1] = {"n"};
static const char *const output_names[2] = {"y", NULL};

static int make(GpuFunction **f, GpuPlan *p, const gpufunction_value *values,
                unsigned int n) {
  gpufunction_spec spec = {.size = sizeof spec,
                           .inputs = input_names,
                           .ints = int_names,
                           .outputs = output_names,
                           .n_values = n,
                           .values = values,
                           .note = "note",
                           .note_size = 4};
  return GpuFunction_new(f, p, &spec);
}

static float first_of(GpuFunction *f, const char *name) {
  GpuArray a = {0};
  float values[3] = {-1};
  CHECK_OK(GpuFunction_get(f, name, &a));
  CHECK_OK(GpuArray_read(values, sizeof values, &a));
  GpuArray_clear(&a);
  return values[0];
}

static void check_item(GpuFunction *f, int list, unsigned int i, const char *name,
                       int typecode, unsigned int nd) {
  gpufunction_item item;
  CHECK_OK(GpuFunction_item(f, list, i, &item));
  CHECK(name == NULL ? item.name == NULL : strcmp(item.name, name) == 0);
  CHECK(item.typecode == typecode && item.nd == nd && item.optional == 0);
}

/* What `f`, which keeps w and gives y, has. */
static void check_lists(GpuFunction *f) {
  const unsigned int expected[4] = {1, 1, 1, 1};
  const void *note;
  size_t size;
  for (int list = GF_INPUTS; list <= GF_VALUES; list++) {
    unsigned int n = 77;
    CHECK_OK(GpuFunction_count(f, list, &n));
    CHECK(n == expected[list]);
  }
  check_item(f, GF_INPUTS, 0, "x", GA_FLOAT, 1);
  check_item(f, GF_INTS, 0, "n", GA_LONG, 0);
  check_item(f, GF_OUTPUTS, 0, "y", GA_FLOAT, 1);
  check_item(f, GF_VALUES, 0, "w", GA_FLOAT, 1);
  gpufunction_item item;
  CHECK_STATUS(GA_VALUE_ERROR, GpuFunction_item(f, GF_INPUTS, 1, &item));
  CHECK_STATUS(GA_VALUE_ERROR, GpuFunction_item(f, 9, 0, &item));
  CHECK_OK(GpuFunction_note(f, &note, &size));
  CHECK(size == 4 && memcmp(note, "note", 4) == 0);
  CHECK(GpuFunction_plan(f) != NULL && GpuFunction_plan(NULL) == NULL);
}

static void call(GpuFunction *f, const GpuArray *x) {
  GpuArray y = {0}, *outs[1] = {&y};
  const GpuArray *ins[1] = {x};
  const long long ints[1] = {5};
  CHECK_OK(GpuFunction_call(f, outs, ins, ints));
  CHECK(y.nd == 1 && y.dimensions[0] == 3);
  GpuArray_clear(&y);
}

static void test_calls_and_files(gpucontext *ctx) {
  GpuPlan *p = plan_of(ctx);
  GpuFunction *f = NULL, *g = NULL;
  GpuArray w = vector(ctx, 7), x = vector(ctx, 1);
  gpufunction_value value = {"w", &w, 0, 1, 0};
  CHECK_OK(make(&f, p, &value, 1));
  check_lists(f);
  CHECK(first_of(f, "w") == 7);
  call(f, &x);
  CHECK_OK(GpuFunction_set(f, "w", &x));
  CHECK(first_of(f, "w") == 1);
  CHECK_OK(GpuFunction_save(f, path));
  CHECK_OK(GpuFunction_load(&g, ctx, path));
  check_lists(g);
  CHECK(first_of(g, "w") == 1);
  call(g, &x);
  gpuplan_info info;
  CHECK_OK(GpuPlan_info(GpuFunction_plan(g), &info));
  CHECK(info.n_bindings == 1 && info.n_binds == 1); /* by its first call */
  GpuFunction_free(g);
  GpuFunction_free(f);
  GpuPlan_free(p);
  p = NULL;
  CHECK_OK(GpuPlan_load(&p, ctx, path)); /* the plan alone */
  CHECK_OK(GpuPlan_save(p, path));
  CHECK_STATUS(GA_VALUE_ERROR, GpuFunction_load(&g, ctx, path));
  CHECK_TEXT("holds only a plan");
  GpuPlan_free(p);
  GpuArray_clear(&w);
  GpuArray_clear(&x);
}

/* A value that stays although the plan overwrites it is copied for each call. */
static void test_a_value_that_stays(gpucontext *ctx) {
  GpuPlan *p = plan_of(ctx);
  GpuFunction *f = NULL;
  GpuArray w = vector(ctx, 7), x = vector(ctx, 1), outs[2] = {{0}};
  GpuArray *list[2] = {&outs[0], &outs[1]};
  const GpuArray *given[2] = {NULL, &x}, *both[2] = {&x, &x};
  const long long ints[1] = {5};
  gpufunction_value value = {"w", &w, 0, -1, 1};
  gpufunction_item item;
  CHECK_OK(make(&f, p, &value, 1));
  CHECK_OK(GpuFunction_item(f, GF_INPUTS, 0, &item));
  CHECK(item.optional == 1 && strcmp(item.name, "w") == 0);
  CHECK_OK(GpuFunction_call(f, list, given, ints));
  GpuArray kept = {0};
  CHECK_OK(GpuFunction_get(f, "w", &kept));
  CHECK(!GpuArray_share(&outs[1], &kept) && first_of(f, "w") == 7);
  GpuArray_clear(&kept);
  GpuArray_clear(&outs[0]);
  GpuArray_clear(&outs[1]);
  CHECK_OK(GpuFunction_call(f, list, both, ints)); /* given, though it is kept */
  GpuArray_clear(&outs[0]);
  GpuArray_clear(&outs[1]);
  given[1] = NULL; /* x is nobody's */
  CHECK_STATUS(GA_VALUE_ERROR, GpuFunction_call(f, list, given, ints));
  CHECK_TEXT("input 1 is not an array");
  CHECK_STATUS(GA_VALUE_ERROR, GpuFunction_call(f, list, both, NULL));
  CHECK(outs[0].data == NULL);
  GpuFunction_free(f);
  GpuPlan_free(p);
  GpuArray_clear(&w);
  GpuArray_clear(&x);
}

static void test_refusals(gpucontext *ctx) {
  GpuPlan *p = plan_of(ctx);
  GpuFunction *f = NULL;
  GpuArray w = vector(ctx, 7), none = {0}, matrix = {0};
  CHECK_OK(GpuArray_zeros(&matrix, ctx, GA_FLOAT, 2, (size_t[]){2, 2}, GA_C_ORDER));
  const gpufunction_value good = {"w", &w, 0, 1, 0};
  gpufunction_value two[2] = {good, good};
  CHECK_STATUS(GA_VALUE_ERROR, make(&f, p, two, 2));
  CHECK_TEXT("two values are called w");
  two[1].name = "v";
  CHECK_STATUS(GA_VALUE_ERROR, make(&f, p, two, 2));
  CHECK_TEXT("two values are bound to input 0");
  two[1].input = 2;
  CHECK_STATUS(GA_VALUE_ERROR, make(&f, p, two, 2));
  CHECK_TEXT("input 2, but there are 2");
  two[0].start = &none;
  CHECK_STATUS(GA_VALUE_ERROR, make(&f, p, two, 1));
  two[0].start = &matrix;
  CHECK_STATUS(GA_INVALID_ERROR, make(&f, p, two, 1));
  CHECK_TEXT("input 0 is float32 of 1 axes");
  gpufunction_spec old = {.size = 8};
  CHECK_STATUS(GA_INVALID_ERROR, GpuFunction_new(&f, p, &old));
  CHECK(f == NULL);
  CHECK_OK(make(&f, p, &good, 1));
  CHECK_STATUS(GA_VALUE_ERROR, GpuFunction_get(f, "u", &none));
  CHECK_TEXT("keeps no value called u");
  CHECK_STATUS(GA_INVALID_ERROR, GpuFunction_set(f, "w", &matrix));
  CHECK_STATUS(GA_VALUE_ERROR, GpuFunction_set(f, "w", &none));
  CHECK_STATUS(GA_SYS_ERROR, GpuFunction_save(f, "/nowhere/at/all"));
  GpuFunction_free(f);
  f = NULL;
  CHECK_STATUS(GA_SYS_ERROR, GpuFunction_load(&f, ctx, "/nowhere/at/all"));
  CHECK_STATUS(GA_SYS_ERROR, GpuFunction_load(&f, ctx, "/tmp"));
  CHECK(f == NULL);
  GpuPlan_free(p);
  GpuArray_clear(&w);
  GpuArray_clear(&matrix);
}

/* Each allocation of saving and of loading a function that was called fails in turn. */
static void test_failing_allocations(gpucontext *ctx) {
  GpuPlan *p = plan_of(ctx);
  GpuFunction *f = NULL, *g = NULL;
  GpuArray w = vector(ctx, 7), x = vector(ctx, 1);
  gpufunction_value value = {"w", &w, 0, 1, 0};
  int status = GA_MEMORY_ERROR;
  for (long n = 0; status != GA_NO_ERROR; n++) {
    ga__alloc_fail_at(n);
    status = make(&f, p, &value, 1);
    ga__alloc_fail_at(-1);
    CHECK(status == GA_NO_ERROR || (status == GA_MEMORY_ERROR && f == NULL));
  }
  call(f, &x);
  status = GA_MEMORY_ERROR;
  for (long n = 0; status != GA_NO_ERROR; n++) {
    ga__alloc_fail_at(n);
    status = GpuFunction_save(f, path);
    ga__alloc_fail_at(-1);
    CHECK(status == GA_NO_ERROR || status == GA_MEMORY_ERROR);
  }
  status = GA_MEMORY_ERROR;
  for (long n = 0; status != GA_NO_ERROR; n++) {
    ga__alloc_fail_at(n);
    status = GpuFunction_load(&g, ctx, path);
    ga__alloc_fail_at(-1);
    CHECK(status == GA_NO_ERROR || g == NULL);
  }
  call(g, &x);
  GpuFunction_free(g);
  GpuFunction_free(f);
  GpuPlan_free(p);
  GpuArray_clear(&w);
  GpuArray_clear(&x);
}

/* Kernels of another device, here of another prelude, are left alone. */
static void test_another_device(gpucontext *ctx) {
  static const char prelude[] = "#define OTHER\n";
  GpuFunction *f = NULL;
  GpuArray x = vector(ctx, 1);
  const char *own = hooked.prelude;
  hooked.prelude = prelude;
  CHECK_OK(GpuFunction_load(&f, ctx, path));
  gpuplan_info info;
  CHECK_OK(GpuPlan_info(GpuFunction_plan(f), &info));
  CHECK(info.n_bindings == 0);
  call(f, &x);
  CHECK_OK(GpuPlan_info(GpuFunction_plan(f), &info));
  CHECK(info.n_binds == 1);
  GpuFunction_free(f);
  hooked.prelude = own;
  GpuArray_clear(&x);
}

static size_t compiled(gpucontext *ctx) {
  return ctx->cache.counters.compiled;
}

/* A context that has compiled nothing runs the function without compiling. */
static void test_kernels_come_with_the_file(void) {
  gpucontext *ctx = open_null();
  GpuFunction *f = NULL;
  GpuArray x = vector(ctx, 1);
  ga__free(ctx->cache.folder);
  ctx->cache.folder = NULL;
  CHECK_OK(GpuFunction_load(&f, ctx, path));
  call(f, &x);
  CHECK(compiled(ctx) == 0);
  GpuFunction_free(f);
  GpuArray_clear(&x);
  gpucontext_deref(ctx);
}

int main(void) {
  gpucontext *ctx = open_null();
  int file = mkstemp(path);
  CHECK(file >= 0);
  close(file);
  test_calls_and_files(ctx);
  test_a_value_that_stays(ctx);
  test_refusals(ctx);
  test_failing_allocations(ctx);
  test_kernels_come_with_the_file();
  test_another_device(ctx);
  gpucontext_deref(ctx);
  unlink(path);
  return check_result("function");
}
