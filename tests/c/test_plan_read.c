/* Plans that wait for integers which the device computed: on the null backend, whose
 * copies and fills work. */
#include "null_plan.h"

#include <stdint.h>

static const gpuplan_type vector = {GA_FLOAT, 1};

static size_t waits_of(gpucontext *ctx) {
  size_t waits = 0;
  CHECK_OK(gpucontext_property(ctx, GA_CTX_PROP_WAITS, &waits));
  return waits;
}

static GpuArray floats(gpucontext *ctx, size_t n) {
  GpuArray a = {0};
  const float values[6] = {1, 2, 3, 4, 5, 6};
  CHECK_OK(GpuArray_copy_from_host(&a, ctx, values, GA_FLOAT, 1, &n, NULL));
  return a;
}

static float first_of(const GpuArray *a) {
  float values[6] = {-1};
  CHECK_OK(GpuArray_read(values, 4 * a->dimensions[0], a));
  return values[0];
}

/* Runs a plan of a vector of six and of n integers; the first of its result's lengths
 * goes to *length. */
static int run(GpuPlan *p, gpucontext *ctx, size_t n, const int *integers,
               size_t *length, int *failed) {
  GpuArray x = {0}, v = {0}, out = {0};
  const size_t six = 6;
  int status = GpuArray_zeros(&x, ctx, GA_FLOAT, 1, &six, GA_C_ORDER);
  STEP(GpuArray_copy_from_host(&v, ctx, integers, GA_INT, 1, &n, NULL));
  STEP(GpuPlan_run(p, (GpuArray *[]){&out}, (const GpuArray *[]){&x, &v}, failed));
  if (status == GA_NO_ERROR)
    *length = out.dimensions[0];
  GpuArray_clear(&x);
  GpuArray_clear(&v);
  GpuArray_clear(&out);
  return status;
}

/* ---- branches ---- */

/* Counts in data how often it was recorded; copies its input. */
static int counted(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                   const long long *ints) {
  (void)ints;
  ++*(int *)data;
  return GpuArray_copy(outs[0], ins[0], GA_C_ORDER);
}

/* x (n,), v (1,): a copy of x if v, else of the first two of x. */
static int build_branch(GpuPlan **plan, gpucontext *ctx, int calls[3]) {
  unsigned int x, v, copy, c, two, part, then, other, chosen;
  const int yes = 1, no = 0, form = GP_INDEX_SLICE + GP_INDEX_STOP;
  GpuPlan *p = NULL;
  int status = GpuPlan_new(&p, ctx, "test");
  STEP(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  STEP(GpuPlan_input(p, &v, GA_INT, 1, 0));
  STEP(GpuPlan_int(p, &two, 2));
  STEP(GpuPlan_copy(p, &copy, "computed", v));
  STEP(GpuPlan_read(p, &c, "read", copy, 1));
  STEP(GpuPlan_when(p, 1, &c, &yes));
  STEP(GpuPlan_function(p, &then, "then", counted, &calls[0], 1, &x, 1, &vector, NULL));
  STEP(GpuPlan_when(p, 1, &c, &no));
  STEP(GpuPlan_index(p, &part, "part", x, 1, &form, &two));
  STEP(GpuPlan_function(p, &other, "else", counted, &calls[1], 1, &part, 1, &vector,
                        NULL));
  STEP(GpuPlan_when(p, 0, NULL, NULL));
  STEP(GpuPlan_choose(p, &chosen, "if", c, then, other));
  STEP(GpuPlan_output(p, chosen));
  return give_plan(plan, p, status);
}

static void test_a_branch_by_what_the_device_computed(gpucontext *ctx) {
  const int given[6] = {1, 7, 0, -1, 0, 1};
  int calls[3] = {0};
  GpuPlan *p = NULL;
  CHECK_OK(build_branch(&p, ctx, calls));
  for (int i = 0; i < 6; i++) {
    size_t length = 0, before = waits_of(ctx);
    CHECK_OK(run(p, ctx, 1, &given[i], &length, NULL));
    CHECK(length == (given[i] ? 6u : 2u));
    CHECK(waits_of(ctx) == before + 1);
    CHECK(calls[0] == 1 && calls[1] == (i < 2 ? 0 : 1));
    CHECK(info_of(p).n_launches == 2);
  }
  const gpuplan_info info = info_of(p);
  CHECK(info.n_binds == 3 && info.n_bindings == 3); /* the truth is in the signature */
  CHECK(info.n_steps == 7 && info.n_inputs == 2);
  CHECK_OK(GpuPlan_keep(p, 1));
  CHECK(info_of(p).n_bindings == 2);
  GpuPlan_free(p);
}

/* x (n,), v (2,): if v[0] then, if v[1] also, a copy of x, else the first two of it. */
static void build_nested(GpuPlan **plan, gpucontext *ctx, int calls[3]) {
  unsigned int x, v, zero, one, part, other, a, b, inner, chosen, then, outer;
  const int yes = 1, at = GP_INDEX_AT, form = GP_INDEX_SLICE + GP_INDEX_STOP;
  GpuPlan *p = NULL;
  CHECK_OK(GpuPlan_new(&p, ctx, "test"));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_input(p, &v, GA_INT, 1, 0));
  CHECK_OK(GpuPlan_int(p, &zero, 0));
  CHECK_OK(GpuPlan_int(p, &one, 1));
  CHECK_OK(GpuPlan_index(p, &part, "first", v, 1, &at, &zero));
  CHECK_OK(GpuPlan_read(p, &a, "read", part, 1));
  CHECK_OK(GpuPlan_index(p, &other, "short", x, 1, &form, &one));
  CHECK_OK(GpuPlan_when(p, 1, &a, &yes));
  CHECK_OK(GpuPlan_index(p, &part, "second", v, 1, &at, &one));
  CHECK_OK(GpuPlan_read(p, &b, "read again", part, 1));
  CHECK_OK(GpuPlan_when(p, 2, (unsigned int[]){a, b}, (int[]){1, 1}));
  CHECK_OK(GpuPlan_function(p, &then, "then", counted, calls, 1, &x, 1, &vector, NULL));
  CHECK_OK(GpuPlan_when(p, 1, &a, &yes));
  CHECK_OK(GpuPlan_choose(p, &inner, "inner", b, then, other));
  CHECK_OK(GpuPlan_when(p, 0, NULL, NULL));
  CHECK_OK(GpuPlan_choose(p, &chosen, "outer", a, inner, other));
  CHECK_OK(GpuPlan_copy(p, &outer, "copy", chosen));
  CHECK_OK(GpuPlan_output(p, outer));
  *plan = p;
}

static void test_nested_branches_read_only_where_they_are_taken(gpucontext *ctx) {
  int calls[3] = {0};
  GpuPlan *p = NULL;
  build_nested(&p, ctx, calls);
  for (int round = 0; round < 2; round++)
    for (int i = 0; i < 4; i++) {
      const int given[2] = {i / 2, i % 2};
      size_t length = 0, before = waits_of(ctx);
      CHECK_OK(run(p, ctx, 2, given, &length, NULL));
      CHECK(length == (i == 3 ? 6u : 1u));
      CHECK(waits_of(ctx) == before + (i / 2 ? 2 : 1));
      CHECK(calls[0] == (round > 0 || i == 3));
    }
  GpuPlan_free(p);
}

/* ---- lengths ---- */

/* x (6,), v: x in the shape of v, two lengths, one longer by what a later step counts;
 * the result's are n of an array of the first stage, and a product. */
static int build_lengths(GpuPlan **plan, gpucontext *ctx) {
  unsigned int x, v, copy, n, dims[2], other[2], product, shaped, flat, one, ints[2];
  GpuPlan *p = NULL;
  int status = GpuPlan_new(&p, ctx, "test");
  STEP(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  STEP(GpuPlan_input(p, &v, GA_INT, 1, 0));
  STEP(GpuPlan_copy(p, &copy, "copy", x));
  STEP(GpuPlan_dim(p, &n, copy, 0));
  STEP(GpuPlan_read(p, dims, "lengths", v, 2));
  STEP(GpuPlan_read(p, other, "again", v, 2));
  STEP(GpuPlan_reshape(p, &shaped, "shaped", x, 2, dims));
  STEP(GpuPlan_int_op(p, &product, GP_INT_MUL, other[0], other[1]));
  STEP(GpuPlan_int(p, &one, 1));
  ints[0] = product;
  STEP(GpuPlan_reshape(p, &flat, "flat", shaped, 1, ints));
  ints[0] = one, ints[1] = n;
  STEP(GpuPlan_reshape(p, &flat, "row", flat, 2, ints));
  STEP(GpuPlan_copy(p, &copy, "copy", shaped));
  STEP(GpuPlan_output(p, copy));
  STEP(GpuPlan_output(p, flat));
  return give_plan(plan, p, status);
}

static int run_lengths(GpuPlan *p, gpucontext *ctx, size_t n, const int *lengths,
                       size_t found[4], int *failed) {
  GpuArray x = {0}, v = {0}, outs[2] = {{0}};
  const size_t six = 6;
  int status = GpuArray_zeros(&x, ctx, GA_FLOAT, 1, &six, GA_C_ORDER);
  STEP(GpuArray_copy_from_host(&v, ctx, lengths, GA_INT, 1, &n, NULL));
  STEP(GpuPlan_run(p, (GpuArray *[]){&outs[0], &outs[1]}, (const GpuArray *[]){&x, &v},
                   failed));
  for (int i = 0; i < 4; i++)
    found[i] = outs[i / 2].dimensions[i % 2];
  GpuArray_clear(&x);
  GpuArray_clear(&v);
  GpuArray_clear(&outs[0]);
  GpuArray_clear(&outs[1]);
  return status;
}

static void test_lengths_are_read(gpucontext *ctx) {
  GpuPlan *p = NULL;
  size_t found[4];
  int failed = -1;
  CHECK_OK(build_lengths(&p, ctx));
  for (int i = 0; i < 3; i++) {
    const int lengths[3][2] = {{2, 3}, {6, 1}, {2, 3}};
    CHECK_OK(run_lengths(p, ctx, 2, lengths[i], found, &failed));
    CHECK(found[0] == (size_t)lengths[i][0] && found[1] == (size_t)lengths[i][1]);
    CHECK(found[2] == 1 && found[3] == 6 && failed == -1);
  }
  CHECK(info_of(p).n_binds == 3);
  CHECK_STATUS(GA_VALUE_ERROR,
               run_lengths(p, ctx, 3, (int[]){1, 2, 3}, found, &failed));
  CHECK_TEXT("lengths: the shape holds 3 lengths, expected 2");
  CHECK(failed == 2);
  CHECK_STATUS(GA_VALUE_ERROR, run_lengths(p, ctx, 2, (int[]){4, 2}, found, &failed));
  CHECK_TEXT("shaped: ");
  CHECK(failed == 4);
  CHECK_OK(run_lengths(p, ctx, 2, (int[]){3, 2}, found, NULL));
  CHECK(found[0] == 3);
  GpuPlan_free(p);
}

/* Elements of other types; with one wait where the backend can. */
static void test_reads_of_other_types(gpucontext *ctx) {
  unsigned int v, w, a[2], b[3], dims[3], shaped;
  const int16_t shorts[2] = {2, 1};
  const unsigned char bools[3] = {1, 0, 9};
  const size_t two = 2, three = 3;
  GpuPlan *p = NULL;
  GpuArray x = {0}, y = {0}, out = {0};
  CHECK_OK(GpuPlan_new(&p, ctx, "test"));
  CHECK_OK(GpuPlan_input(p, &v, GA_SHORT, 1, 0));
  CHECK_OK(GpuPlan_input(p, &w, GA_BOOL, 1, 0));
  CHECK_OK(GpuPlan_read(p, a, "shorts", v, 2));
  CHECK_OK(GpuPlan_read(p, b, "bools", w, 3));
  dims[0] = a[0], dims[1] = a[1], dims[2] = b[2];
  CHECK_OK(GpuPlan_reshape(p, &shaped, "shaped", v, 3, dims));
  CHECK_OK(GpuPlan_output(p, shaped));
  CHECK_OK(GpuArray_copy_from_host(&x, ctx, shorts, GA_SHORT, 1, &two, NULL));
  CHECK_OK(GpuArray_copy_from_host(&y, ctx, bools, GA_BOOL, 1, &three, NULL));
  CHECK_OK(GpuPlan_run(p, (GpuArray *[]){&out}, (const GpuArray *[]){&x, &y}, NULL));
  CHECK(out.nd == 3 && out.dimensions[0] == 2 && out.dimensions[1] == 1 &&
        out.dimensions[2] == 1);
  GpuArray_clear(&out);
  GpuArray_clear(&x);
  GpuArray_clear(&y);
  GpuPlan_free(p);
}

/* ---- what is overwritten ---- */

/* Fills its input's memory with zeros. */
static int zeroed(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                  const long long *ints) {
  (void)data, (void)ints;
  GA_TRY(GpuArray_view(outs[0], ins[0]));
  return GpuArray_memset(outs[0], 0);
}

/* w (6,), v: zeros in w's memory, before or after the lengths v are read, and w in
 * that shape. */
static GpuPlan *build_update(gpucontext *ctx, bool before) {
  unsigned int w, v, next = 0, n, shaped;
  const int over = 0;
  GpuPlan *p = NULL;
  CHECK_OK(GpuPlan_new(&p, ctx, "update"));
  CHECK_OK(GpuPlan_input(p, &w, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_input(p, &v, GA_INT, 1, 0));
  if (before)
    CHECK_OK(
        GpuPlan_function(p, &next, "zeros", zeroed, NULL, 1, &w, 1, &vector, &over));
  CHECK_OK(GpuPlan_read(p, &n, "read", v, 1));
  if (!before)
    CHECK_OK(
        GpuPlan_function(p, &next, "zeros", zeroed, NULL, 1, &w, 1, &vector, &over));
  CHECK_OK(GpuPlan_reshape(p, &shaped, "shaped", next, 1, &n));
  CHECK_OK(GpuPlan_output(p, next));
  CHECK_OK(GpuPlan_output(p, shaped));
  return p;
}

static void test_a_failing_run_leaves_its_inputs(gpucontext *ctx) {
  for (int before = 0; before < 2; before++) {
    GpuPlan *p = build_update(ctx, before != 0);
    GpuArray w = floats(ctx, 6), v = {0}, outs[2] = {{0}};
    GpuArray *results[2] = {&outs[0], &outs[1]};
    const GpuArray *given[2] = {&w, &v};
    const size_t one = 1;
    int failed = -1, length = 5;
    CHECK_OK(GpuArray_copy_from_host(&v, ctx, &length, GA_INT, 1, &one, NULL));
    CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_run(p, results, given, &failed));
    CHECK(failed == 2 && first_of(&w) == 1 && outs[0].data == NULL);
    length = 6;
    CHECK_OK(GpuArray_write(&v, &length, sizeof length));
    CHECK_OK(GpuPlan_run(p, results, given, &failed));
    CHECK(first_of(&outs[0]) == 0 && outs[1].data == outs[0].data);
    CHECK((outs[0].data == w.data) == !before); /* what was copied first stays */
    CHECK(first_of(&w) == (before ? 1 : 0));
    GpuArray_clear(&outs[0]);
    GpuArray_clear(&outs[1]);
    GpuArray_clear(&w);
    GpuArray_clear(&v);
    GpuPlan_free(p);
  }
}

/* The same array twice: the one that is not overwritten stays as it was. */
static void test_inputs_that_overlap(gpucontext *ctx) {
  unsigned int w, v, x, next, n, shaped;
  const int over = 0, six = 6;
  const size_t one = 1;
  GpuPlan *p = NULL;
  GpuArray a = floats(ctx, 6), length = {0}, outs[2] = {{0}};
  CHECK_OK(GpuPlan_new(&p, ctx, "update"));
  CHECK_OK(GpuPlan_input(p, &w, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_input(p, &v, GA_INT, 1, 0));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_read(p, &n, "read", v, 1));
  CHECK_OK(GpuPlan_function(p, &next, "zeros", zeroed, NULL, 1, &w, 1, &vector, &over));
  CHECK_OK(GpuPlan_reshape(p, &shaped, "shaped", x, 1, &n));
  CHECK_OK(GpuPlan_output(p, next));
  CHECK_OK(GpuPlan_output(p, shaped));
  CHECK_OK(GpuArray_copy_from_host(&length, ctx, &six, GA_INT, 1, &one, NULL));
  CHECK_OK(GpuPlan_run(p, (GpuArray *[]){&outs[0], &outs[1]},
                       (const GpuArray *[]){&a, &length, &a}, NULL));
  CHECK(first_of(&outs[0]) == 0 && first_of(&outs[1]) == 1);
  GpuArray_clear(&outs[0]);
  GpuArray_clear(&outs[1]);
  GpuArray_clear(&length);
  GpuArray_clear(&a);
  GpuPlan_free(p);
}

/* ---- the rest ---- */

static void test_wrong_reads(gpucontext *ctx) {
  unsigned int x, v, n, out = 77;
  const int yes = 1;
  GpuPlan *p = NULL;
  CHECK_OK(GpuPlan_new(&p, ctx, "test"));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_input(p, &v, GA_INT, 1, 0));
  CHECK_STATUS(GA_INVALID_ERROR, GpuPlan_read(p, &out, "read", x, 1));
  CHECK_TEXT("it is float32; cast it");
  CHECK_STATUS(GA_INVALID_ERROR, GpuPlan_read(p, &out, "read", 9, 1));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_read(p, NULL, "read", v, 1));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_read(NULL, &out, "read", v, 1));
  CHECK(out == 77);
  CHECK_OK(GpuPlan_read(p, &n, NULL, v, 1));
  CHECK_STATUS(GA_INVALID_ERROR, GpuPlan_read(p, &out, "read", n, 1));
  CHECK_OK(GpuPlan_when(p, 1, &n, &yes));
  CHECK_OK(GpuPlan_copy(p, &v, "copy", v));
  CHECK_OK(GpuPlan_when(p, 0, NULL, NULL));
  CHECK_STATUS(GA_INVALID_ERROR, GpuPlan_read(p, &out, "read", v, 1));
  CHECK_TEXT("computed only when");
  GpuPlan_free(p);
}

/* What can be bound before something is read. */
static void test_bind(gpucontext *ctx) {
  int calls[3] = {0};
  GpuPlan *p = NULL;
  GpuArray x = floats(ctx, 6), v = {0};
  const size_t one = 1;
  const int yes = 1;
  size_t length, before = waits_of(ctx);
  CHECK_OK(build_branch(&p, ctx, calls));
  CHECK_OK(GpuArray_copy_from_host(&v, ctx, &yes, GA_INT, 1, &one, NULL));
  CHECK_OK(GpuPlan_hold(p, 1));
  CHECK_OK(GpuPlan_prepare_ahead(p));
  CHECK_OK(GpuPlan_bind(p, (const GpuArray *[]){&x, &v}, NULL));
  CHECK(info_of(p).n_binds == 1 && waits_of(ctx) == before && calls[0] == 0);
  CHECK_OK(GpuPlan_hold(p, 0));
  CHECK_OK(run(p, ctx, 1, &yes, &length, NULL));
  CHECK(info_of(p).n_binds == 2 && length == 6);
  GpuArray_clear(&x);
  GpuArray_clear(&v);
  GpuPlan_free(p);
}

/* A function that a plan was recorded with runs from the bindings of its stages. */
static void test_plans_that_read_are_saved(gpucontext *ctx) {
  char path[] = "/tmp/gpuplan-XXXXXX";
  int calls[3] = {0};
  GpuPlan *p = NULL, *again = NULL;
  size_t length = 0, found[4];
  make_file(path);
  CHECK_OK(build_branch(&p, ctx, calls));
  CHECK_OK(GpuPlan_save(p, path)); /* before it ran */
  CHECK_OK(GpuPlan_load(&again, ctx, path));
  CHECK_STATUS(GA_UNSUPPORTED_ERROR, run(again, ctx, 1, (int[]){1}, &length, NULL));
  GpuPlan_free(again);
  CHECK_OK(run(p, ctx, 1, (int[]){1}, &length, NULL));
  CHECK_OK(GpuPlan_save(p, path));
  CHECK_OK(GpuPlan_load(&again, ctx, path));
  CHECK_OK(run(again, ctx, 1, (int[]){5}, &length, NULL));
  CHECK(length == 6 && info_of(again).n_binds == 1 && info_of(again).n_bindings == 2);
  CHECK_STATUS(GA_UNSUPPORTED_ERROR, run(again, ctx, 1, (int[]){0}, &length, NULL));
  GpuPlan_free(again);
  GpuPlan_free(p);
  CHECK_OK(build_lengths(&p, ctx));
  CHECK_OK(GpuPlan_save(p, path));
  CHECK_OK(GpuPlan_load(&again, ctx, path));
  CHECK_OK(run_lengths(again, ctx, 2, (int[]){3, 2}, found, NULL));
  CHECK(found[0] == 3 && found[1] == 2 && found[3] == 6);
  CHECK_STATUS(GA_VALUE_ERROR, run_lengths(again, ctx, 1, (int[]){6}, found, NULL));
  GpuPlan_free(again);
  GpuPlan_free(p);
  remove(path);
}

static int trial(gpucontext *ctx) {
  char path[] = "/tmp/gpuplan-XXXXXX";
  int calls[3] = {0};
  size_t found[4], length;
  GpuPlan *p = NULL, *again = NULL;
  int status = build_branch(&p, ctx, calls);
  make_file(path);
  STEP(run(p, ctx, 1, (int[]){1}, &length, NULL));
  STEP(run(p, ctx, 1, (int[]){0}, &length, NULL));
  STEP(GpuPlan_save(p, path));
  STEP(GpuPlan_load(&again, ctx, path));
  STEP(run(again, ctx, 1, (int[]){0}, &length, NULL));
  GpuPlan_free(again);
  GpuPlan_free(p);
  p = NULL;
  STEP(build_lengths(&p, ctx));
  STEP(run_lengths(p, ctx, 2, (int[]){2, 3}, found, NULL));
  GpuPlan_free(p);
  remove(path);
  return status;
}

int main(int argc, char **argv) {
  (void)argc;
  gpucontext *ctx = open_null();
  test_a_branch_by_what_the_device_computed(ctx);
  test_nested_branches_read_only_where_they_are_taken(ctx);
  test_lengths_are_read(ctx);
  test_reads_of_other_types(ctx);
  test_a_failing_run_leaves_its_inputs(ctx);
  test_inputs_that_overlap(ctx);
  test_wrong_reads(ctx);
  test_bind(ctx);
  test_plans_that_read_are_saved(ctx);
  fail_each_allocation(trial, ctx);
  gpucontext_deref(ctx);
  return check_result(argv[0]);
}
