/* Plans in files: what comes back, damage, and files that are none. */
#include "float_sum.h"
#include "null_plan.h"

#include <pthread.h>
#include <sys/stat.h>

static char path[] = "/tmp/gpuarray-plan-XXXXXX";

static const gpuelemwise_arg x_in = {"x", GA_FLOAT, GE_READ};

/* Every kind of step, over an input (n, 3), a constant and host integers. */
static int build(GpuPlan **plan, gpucontext *ctx) {
  unsigned int x, w, n, two, rows, pair[2], wide, sums, both[2], square, vector, flat;
  const unsigned int none[2] = {0, 0};
  const int row[2] = {-1, 0}, inplace[2] = {-1, -1};
  const float weights[3] = {1, 2, 3};
  const size_t three = 3;
  GpuArray constant = {0};
  GpuPlan *p = NULL;
  const gpureduction_component parts[2] = {{"x", "a + b", "0", GA_FLOAT},
                                           {"x * x", "a + b", "0", GA_DOUBLE}};
  const gpureduction_result results[2] = {{NULL, GA_FLOAT}, {"v1 / n", GA_DOUBLE}};
  const gpureduction_spec sum = float_sum(&x_in);
  gpureduction_spec moments = sum;
  moments.n_components = 2;
  moments.components = parts;
  moments.n_results = 2;
  moments.results = results;
  const gpuelemwise_arg outs[2] = {{"a", GA_FLOAT, GE_WRITE}, {"b", GA_INT, GE_WRITE}};
  const gpuelemwise_arg ins[3] = {
      x_in, {"w", GA_FLOAT, GE_READ}, {"n", GA_LONG, GE_SCALAR}};
  unsigned int step_ins[3];
  const unsigned int stretch[3] = {0, 1, 0};
  gpuplan_elemwise step = {.size = sizeof step,
                           .label = "two results",
                           .preamble = "",
                           .expr = "a = x * w; b = (ga_int)n",
                           .n_out = 2,
                           .out_args = outs,
                           .inplace = inplace,
                           .n_in = 3,
                           .in_args = ins,
                           .ins = step_ins,
                           .stretch = stretch};
  int status = GpuPlan_new(&p, ctx, "saved");
  STEP(GpuArray_copy_from_host(&constant, ctx, weights, GA_FLOAT, 1, &three, NULL));
  STEP(GpuPlan_input(p, &x, GA_FLOAT, 2, 0));
  STEP(GpuPlan_constant(p, &w, &constant));
  STEP(GpuPlan_dim(p, &n, x, 0));
  STEP(GpuPlan_int(p, &two, -2));
  STEP(GpuPlan_int_op(p, &rows, GP_INT_MUL, n, n));
  STEP(GpuPlan_dimshuffle(p, &wide, "row", w, 2, row));
  step_ins[0] = x, step_ins[1] = wide, step_ins[2] = two;
  STEP(GpuPlan_elemwise(p, pair, &step));
  STEP(GpuPlan_reduce(p, &sums, "sum", &sum, &pair[0], none, 1));
  STEP(GpuPlan_reduce(p, both, "moments", &moments, &pair[0], none, 3));
  STEP(GpuPlan_gemm(p, &square, "gemm", 2, x, cb_trans, x, cb_no_trans, 0, 0, 0));
  STEP(GpuPlan_gemv(p, &vector, "gemv", 0.5, square, cb_no_trans, sums, 1, w, 0));
  STEP(GpuPlan_int(p, &rows, -1));
  STEP(GpuPlan_reshape(p, &flat, "flat", pair[1], 1, &rows));
  STEP(GpuPlan_copy(p, &wide, "copy", wide));
  STEP(GpuPlan_output(p, vector));
  STEP(GpuPlan_output(p, flat));
  STEP(GpuPlan_output(p, both[0]));
  STEP(GpuPlan_output(p, both[1]));
  GpuArray_clear(&constant);
  return give_plan(plan, p, status);
}

static char *content(size_t *size) {
  FILE *file = fopen(path, "rb");
  CHECK(file != NULL);
  char *bytes = malloc(1 << 16);
  *size = fread(bytes, 1, 1 << 16, file);
  fclose(file);
  return bytes;
}

static void put(const char *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  CHECK(fwrite(bytes, 1, size, file) == size);
  fclose(file);
}

/* A plan that was loaded writes the file it was loaded from. */
static void test_round_trip(gpucontext *ctx) {
  GpuPlan *p = NULL, *q = NULL;
  size_t first_size, second_size;
  CHECK_OK(build(&p, ctx));
  CHECK_OK(GpuPlan_save(p, path));
  char *first = content(&first_size);
  CHECK_OK(GpuPlan_load(&q, ctx, path));
  CHECK_OK(GpuPlan_save(q, path));
  char *second = content(&second_size);
  CHECK(first_size == second_size && memcmp(first, second, first_size) == 0);
  gpuplan_info a, b;
  CHECK_OK(GpuPlan_info(p, &a));
  CHECK_OK(GpuPlan_info(q, &b));
  CHECK(a.n_steps == b.n_steps && b.n_inputs == 1 && b.n_outputs == 4);
  int typecode;
  unsigned int nd, broadcastable;
  CHECK_OK(GpuPlan_input_type(q, 0, &typecode, &nd, &broadcastable));
  CHECK(typecode == GA_FLOAT && nd == 2 && broadcastable == 0);
  CHECK_OK(GpuPlan_output_type(q, 3, &typecode, &nd));
  CHECK(typecode == GA_DOUBLE && nd == 0);
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_input_type(q, 1, &typecode, NULL, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_output_type(q, 4, &typecode, NULL));
  free(first);
  free(second);
  GpuPlan_free(p);
  GpuPlan_free(q);
}

/* Binding alone; a run with the same shape binds no more, one with another does. */
static void test_bind(gpucontext *ctx) {
  GpuPlan *p = NULL;
  GpuArray x = {0}, outs[4];
  GpuArray *out_list[4] = {&outs[0], &outs[1], &outs[2], &outs[3]};
  const GpuArray *in_list[1] = {&x};
  gpuplan_info info;
  CHECK_OK(GpuPlan_load(&p, ctx, path));
  CHECK_OK(GpuArray_zeros(&x, ctx, GA_FLOAT, 2, (size_t[]){5, 3}, GA_C_ORDER));
  CHECK_OK(GpuPlan_bind(p, in_list, NULL));
  CHECK_OK(GpuPlan_bind(p, in_list, NULL));
  CHECK_OK(GpuPlan_info(p, &info));
  CHECK(info.n_binds == 1);
  CHECK_OK(GpuPlan_run(p, out_list, in_list, NULL));
  CHECK_OK(GpuPlan_info(p, &info));
  CHECK(info.n_binds == 1);
  CHECK(outs[0].dimensions[0] == 3 && outs[1].dimensions[0] == 15);
  for (int i = 0; i < 4; i++)
    GpuArray_clear(&outs[i]);
  x.dimensions[0] = 4;
  CHECK_OK(GpuPlan_bind(p, in_list, NULL));
  CHECK_OK(GpuPlan_info(p, &info));
  CHECK(info.n_binds == 2);
  x.nd = 1;
  GpuArray_fix_flags(&x);
  int failed = 7;
  CHECK_STATUS(GA_INVALID_ERROR, GpuPlan_bind(p, in_list, &failed));
  CHECK(failed == -1);
  x.nd = 2;
  GpuArray_clear(&x);
  GpuPlan_free(p);
}

/* No damaged file makes a plan, nor is anything lost. */
static void test_damage(gpucontext *ctx) {
  size_t size;
  char *bytes = content(&size);
  GpuPlan *untouched = (GpuPlan *)&size, *p = untouched;
  for (size_t i = 0; i < size; i += 7) {
    bytes[i] ^= 1;
    put(bytes, size);
    CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_load(&p, ctx, path));
    bytes[i] ^= 1;
  }
  for (size_t cut = 0; cut < size; cut += 11) {
    put(bytes, cut);
    CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_load(&p, ctx, path));
  }
  bytes[8] = 99; /* the format */
  put(bytes, size);
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_load(&p, ctx, path));
  CHECK_TEXT("use a newer library");
  CHECK_TEXT(path);
  CHECK(p == untouched);
  free(bytes);
}

static void test_refusals(gpucontext *ctx) {
  GpuPlan *p = NULL;
  CHECK_OK(build(&p, ctx));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_save(NULL, path));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_save(p, NULL));
  CHECK_STATUS(GA_SYS_ERROR, GpuPlan_save(p, "/nowhere/at/all"));
  CHECK_TEXT("/nowhere/at/all");
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_load(NULL, ctx, path));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_load(&p, NULL, path));
  GpuPlan *none = NULL;
  CHECK_STATUS(GA_SYS_ERROR, GpuPlan_load(&none, ctx, "/nowhere/at/all"));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_bind(NULL, NULL, NULL));
  CHECK(none == NULL);
  GpuPlan_free(p);
}

static GpuPlan *saved;

#define SAVERS 4
#define SAVES 50

static void *save_often(void *failures) {
  for (int i = 0; i < SAVES; i++)
    *(int *)failures += GpuPlan_save(saved, path) != GA_NO_ERROR;
  return NULL;
}

/* Whoever saves at the same time, each file is whole, and nothing else is left. */
static void test_savers_at_once(gpucontext *ctx) {
  pthread_t threads[SAVERS];
  int failures[SAVERS] = {0};
  GpuPlan *p = NULL;
  CHECK_OK(build(&saved, ctx));
  CHECK_OK(GpuPlan_save(saved, path));
  for (int i = 0; i < SAVERS; i++)
    CHECK(pthread_create(&threads[i], NULL, save_often, &failures[i]) == 0);
  for (int i = 0; i < SAVES; i++) {
    CHECK_OK(GpuPlan_load(&p, ctx, path));
    GpuPlan_free(p);
  }
  for (int i = 0; i < SAVERS; i++) {
    pthread_join(threads[i], NULL);
    CHECK(failures[i] == 0);
  }
  GpuPlan_free(saved);
}

/* A link is followed, and a file keeps its permissions; what is no file is written
 * into, and stays what it is. */
static void test_places(gpucontext *ctx) {
  char link_path[sizeof path + 5];
  struct stat is;
  GpuPlan *p = NULL;
  snprintf(link_path, sizeof link_path, "%s.link", path);
  CHECK_OK(build(&saved, ctx));
  CHECK(chmod(path, 0640) == 0 && symlink(path, link_path) == 0);
  CHECK_OK(GpuPlan_save(saved, link_path));
  CHECK(lstat(link_path, &is) == 0 && S_ISLNK(is.st_mode));
  CHECK(stat(path, &is) == 0 && (is.st_mode & 0777) == 0640);
  CHECK_OK(GpuPlan_load(&p, ctx, path));
  CHECK(unlink(link_path) == 0 && symlink("/dev/null", link_path) == 0);
  CHECK_OK(GpuPlan_save(saved, link_path));
  CHECK(stat("/dev/null", &is) == 0 && S_ISCHR(is.st_mode));
  CHECK_STATUS(GA_SYS_ERROR, GpuPlan_save(saved, "/tmp"));
  CHECK_STATUS(GA_SYS_ERROR, GpuPlan_save(saved, ""));
  CHECK(unlink(link_path) == 0);
  GpuPlan_free(p);
  GpuPlan_free(saved);
}

static int try_saving(gpucontext *ctx) {
  (void)ctx;
  return GpuPlan_save(saved, path);
}

/* Where a text finds no memory, the file is told to make no plan. */
static int try_loading(gpucontext *ctx) {
  GpuPlan *p = NULL;
  int status = GpuPlan_load(&p, ctx, path);
  CHECK((status == GA_NO_ERROR) == (p != NULL));
  GpuPlan_free(p);
  return status == GA_VALUE_ERROR ? GA_MEMORY_ERROR : status;
}

static void test_failing_allocations(gpucontext *ctx) {
  CHECK_OK(build(&saved, ctx));
  fail_each_allocation(try_saving, ctx);
  fail_each_allocation(try_loading, ctx);
  GpuPlan_free(saved);
}

int main(void) {
  gpucontext *ctx = open_null();
  make_file(path);
  test_round_trip(ctx);
  test_bind(ctx);
  test_damage(ctx);
  test_refusals(ctx);
  test_savers_at_once(ctx);
  test_places(ctx);
  test_failing_allocations(ctx);
  gpucontext_deref(ctx);
  unlink(path);
  return check_result("test_plan_file");
}
