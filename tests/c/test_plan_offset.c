/* Users' kernels in plans: offsets that each run gives anew, on the null backend. */
#include "null_plan.h"

#include <gpuarray/kernel.h>

static ga_arg last_args[8];
static unsigned int launches;

static int watch_launch(void *device, void *kernel, const ga_launch *launch) {
  (void)device, (void)kernel;
  launches++;
  memcpy(last_args, launch->args, launch->n_args * sizeof *launch->args);
  return GA_NO_ERROR;
}

static gpucontext *open_watched(void) {
  gpucontext *ctx = open_null();
  hooked.launch = watch_launch;
  return ctx;
}

static int new_kernel(GpuKernel *k, gpucontext *ctx, unsigned int n, const int *types) {
  const char *text = "KERNEL void f(...) {}";
  return GpuKernel_init(k, ctx, 1, &text, NULL, "f", n, types, 0, NULL);
}

static const size_t one[1] = {1};

/* An offset is of the nearest buffer before it, given in a list or one by one. */
static void test_of_which_buffer_it_is(gpucontext *ctx) {
  const int types[] = {GA_BUFFER, GA_INT, GA_OFFSET, GA_BUFFER, GA_OFFSET, GA_OFFSET};
  GpuKernel k;
  CHECK_OK(new_kernel(&k, ctx, 6, types));
  gpudata *a = gpudata_alloc(ctx, 64, NULL, 0, NULL),
          *b = gpudata_alloc(ctx, 64, NULL, 0, NULL);
  size_t first = 8, second = 16, third = 24;
  int number = 3;
  void *args[] = {a, &number, &first, b, &second, &third};
  for (unsigned int i = 0; i < 6; i++)
    CHECK_OK(GpuKernel_setarg(&k, 5 - i, args[5 - i])); /* in any order */
  for (int is_list = 0; is_list < 2; is_list++) {
    memset(last_args, 0, sizeof last_args);
    CHECK_OK(GpuKernel_call(&k, 1, one, one, 0, is_list ? args : NULL));
    CHECK(last_args[1].kind == GA_ARG_VALUE && last_args[2].kind == GA_ARG_OFFSET);
    CHECK(last_args[2].buffer == a && last_args[2].value.u64 == 8);
    CHECK(last_args[4].buffer == b && last_args[4].value.u64 == 16);
    CHECK(last_args[5].buffer == b && last_args[5].value.u64 == 24);
    CHECK(last_args[5].size == 8);
  }
  CHECK_OK(GpuKernel_setarg(&k, 0, b)); /* of what the call passes, not of what was */
  CHECK_OK(GpuKernel_call(&k, 1, one, one, 0, NULL));
  CHECK(last_args[2].buffer == b);
  gpudata_release(a);
  gpudata_release(b);
  GpuKernel_clear(&k);
}

static void test_without_a_buffer(gpucontext *ctx) {
  const int types[] = {GA_SIZE, GA_OFFSET, GA_BUFFER};
  GpuKernel k;
  CHECK_STATUS(GA_VALUE_ERROR, new_kernel(&k, ctx, 3, types));
  CHECK_TEXT("argument 1 is an offset (GA_OFFSET), and no GA_BUFFER or GA_INPUT "
             "stands before it");
  CHECK(k.k == NULL);
  CHECK(gpuarray_get_elsize(GA_OFFSET) == sizeof(size_t));
  size_t n = 3;
  GpuArray a;
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_empty(&a, ctx, GA_OFFSET, 1, &n, GA_C_ORDER));
}

/* Calls the kernel of `data` on its result and its input, with both offsets. */
static int launch(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                  const long long *ints) {
  (void)ints;
  GpuKernel *k = data;
  const GpuArray *x = ins[0];
  int status = GpuArray_empty(outs[0], gpudata_context(x->data), GA_FLOAT, 1,
                              x->dimensions, GA_C_ORDER);
  size_t offset = x->offset;
  void *args[] = {outs[0]->data, &outs[0]->offset, x->data, &offset};
  STEP(GpuKernel_call(k, 1, one, one, 0, args));
  return status;
}

/* f(x) for a vector, by a kernel of these types. */
static int build(GpuPlan **plan, GpuKernel *k, gpucontext *ctx, const int *types) {
  const gpuplan_type vector = {GA_FLOAT, 1};
  unsigned int x, y;
  *plan = NULL;
  int status = new_kernel(k, ctx, 4, types);
  STEP(GpuPlan_new(plan, ctx, "test"));
  STEP(GpuPlan_input(*plan, &x, GA_FLOAT, 1, 0));
  STEP(GpuPlan_function(*plan, &y, "launch", launch, k, 1, &x, 1, &vector, NULL));
  STEP(GpuPlan_output(*plan, y));
  return status;
}

/* Runs a plan on 5 elements of a buffer, the first at `offset` bytes. */
static int run_at(GpuPlan *p, gpucontext *ctx, size_t offset) {
  GpuArray x = {0}, y = {0};
  int status = GpuArray_zeros(&x, ctx, GA_FLOAT, 1, (size_t[]){100}, GA_C_ORDER);
  x.dimensions[0] = 5;
  x.offset = offset;
  STEP(GpuPlan_run(p, (GpuArray *[]){&y}, (const GpuArray *[]){&x}, NULL));
  if (status == GA_NO_ERROR)
    CHECK(last_args[2].buffer == x.data && last_args[0].buffer == y.data);
  GpuArray_clear(&y);
  GpuArray_clear(&x);
  return status;
}

static const int told[] = {GA_BUFFER, GA_OFFSET, GA_BUFFER, GA_OFFSET};

static void test_a_replay_passes_the_offset_of_its_input(gpucontext *ctx) {
  const size_t offsets[] = {0, 64, 16, 64, 320};
  GpuPlan *p;
  GpuKernel k;
  CHECK_OK(build(&p, &k, ctx, told));
  for (size_t i = 0; i < 5; i++) {
    CHECK_OK(run_at(p, ctx, offsets[i]));
    CHECK(last_args[3].kind == GA_ARG_OFFSET && last_args[3].value.u64 == offsets[i]);
    CHECK(last_args[1].value.u64 == 0);
    CHECK(info_of(p).n_binds == 1);
  }
  CHECK_OK(run_at(p, ctx, 20)); /* of another alignment */
  CHECK(last_args[3].value.u64 == 20 && info_of(p).n_binds == 2);
  CHECK_OK(run_at(p, ctx, 36));
  CHECK(last_args[3].value.u64 == 36 && info_of(p).n_binds == 2);
  GpuPlan_free(p);
  GpuKernel_clear(&k);
}

/* A plain number is as it was recorded, so each offset is bound. */
static void test_a_number_is_of_one_offset(gpucontext *ctx) {
  const int plain[] = {GA_BUFFER, GA_OFFSET, GA_BUFFER, GA_SIZE};
  const size_t offsets[] = {0, 64, 16, 64};
  GpuPlan *p;
  GpuKernel k;
  CHECK_OK(build(&p, &k, ctx, plain));
  for (size_t i = 0; i < 4; i++) {
    CHECK_OK(run_at(p, ctx, offsets[i]));
    CHECK(last_args[3].value.u64 == offsets[i]);
  }
  CHECK(info_of(p).n_binds == 3);
  GpuPlan_free(p);
  GpuKernel_clear(&k);
}

/* The same buffer twice, of which the kernel is told one offset as a plain number. */
static int launch_twice(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                        const long long *ints) {
  (void)ints;
  const GpuArray *x = ins[0];
  size_t offset = x->offset;
  void *args[] = {x->data, &offset, x->data, &offset};
  int status = GpuArray_copy(outs[0], x, GA_C_ORDER);
  STEP(GpuKernel_call(data, 1, one, one, 0, args));
  return status;
}

static void test_one_offset_of_two_pointers(gpucontext *ctx) {
  const int types[] = {GA_BUFFER, GA_OFFSET, GA_BUFFER, GA_SIZE};
  const gpuplan_type vector = {GA_FLOAT, 1};
  unsigned int x, y;
  GpuPlan *p = NULL;
  GpuKernel k;
  GpuArray given, out = {0};
  CHECK_OK(new_kernel(&k, ctx, 4, types));
  CHECK_OK(GpuPlan_new(&p, ctx, "test"));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_function(p, &y, "twice", launch_twice, &k, 1, &x, 1, &vector, NULL));
  CHECK_OK(GpuPlan_output(p, y));
  CHECK_OK(GpuArray_zeros(&given, ctx, GA_FLOAT, 1, (size_t[]){100}, GA_C_ORDER));
  given.dimensions[0] = 5;
  for (given.offset = 0; given.offset < 64; given.offset += 16) {
    CHECK_OK(GpuPlan_run(p, (GpuArray *[]){&out}, (const GpuArray *[]){&given}, NULL));
    CHECK(last_args[1].value.u64 == given.offset);
    CHECK(last_args[3].value.u64 == given.offset);
    GpuArray_clear(&out);
  }
  GpuArray_clear(&given);
  GpuPlan_free(p);
  GpuKernel_clear(&k);
}

static void test_saved(gpucontext *ctx) {
  char path[] = "/tmp/gpuplan-XXXXXX";
  GpuPlan *p, *again = NULL;
  GpuKernel k;
  make_file(path);
  CHECK_OK(build(&p, &k, ctx, told));
  CHECK_OK(run_at(p, ctx, 16));
  CHECK_OK(GpuPlan_save(p, path));
  GpuPlan_free(p);
  GpuKernel_clear(&k);
  CHECK_OK(GpuPlan_load(&again, ctx, path));
  unlink(path);
  for (size_t offset = 0; offset <= 128; offset += 32) {
    CHECK_OK(run_at(again, ctx, offset));
    CHECK(last_args[3].value.u64 == offset);
  }
  CHECK(info_of(again).n_binds == 0);
  GpuPlan_free(again);
}

static int trial(gpucontext *ctx) {
  GpuPlan *p;
  GpuKernel k = {0};
  int status = build(&p, &k, ctx, told);
  STEP(run_at(p, ctx, 16));
  STEP(run_at(p, ctx, 32));
  GpuPlan_free(p);
  GpuKernel_clear(&k);
  return status;
}

int main(void) {
  gpucontext *ctx = open_watched();
  test_of_which_buffer_it_is(ctx);
  test_without_a_buffer(ctx);
  test_a_replay_passes_the_offset_of_its_input(ctx);
  test_a_number_is_of_one_offset(ctx);
  test_one_offset_of_two_pointers(ctx);
  test_saved(ctx);
  fail_each_allocation(trial, ctx);
  CHECK(launches > 0);
  gpucontext_deref(ctx);
  return check_result("plan_offset");
}
