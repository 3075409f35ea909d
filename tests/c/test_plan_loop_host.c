/* Loops whose iterations the host starts: bodies of two contexts, and bodies that read;
 * on the null backend, where copies and fills are made and kernels are not. */
#include "null_plan.h"

#include <time.h>

#include "c/saving/plan_file.h"
#include <gpuarray/util.h>

enum { COLUMNS = 3, MOST = 40 };

static gpucontext *a, *b; /* the plan's own context, and the other */
static bool fills = true; /* a step of the body is a function, which no file has */

static void open_both(void) {
  a = open_null();
  b = open_null();
}

static void close_both(void) {
  gpucontext_deref(a);
  gpucontext_deref(b);
}

/* ---- a body of two contexts ---- */

/* c (m,), r (m,), ends, stop on a, same (n, m) on b, turn: r by way of b and stop are
 * carried; c, filled with 7 once it is no longer needed, r, and same[turn] are results.
 */
static int new_body(GpuPlan **out) {
  const int at = GP_INDEX_AT, over = 0;
  const gpuplan_type vector = {GA_FLOAT, 1};
  unsigned int there, c, r, ends, stop, same, turn, seven, moved, back, kept, picked;
  GpuPlan *body = NULL;
  int status = GpuPlan_new(&body, a, "turn");
  STEP(GpuPlan_add_context(body, &there, b));
  STEP(GpuPlan_input(body, &r, GA_FLOAT, 1, 0));
  STEP(GpuPlan_input(body, &stop, GA_BOOL, 0, 0));
  STEP(GpuPlan_input(body, &c, GA_FLOAT, 1, 0));
  STEP(GpuPlan_input(body, &ends, GA_BOOL, 0, 0));
  STEP(GpuPlan_on(body, there));
  STEP(GpuPlan_input(body, &same, GA_FLOAT, 2, 0));
  STEP(GpuPlan_int_input(body, &turn));
  STEP(GpuPlan_int(body, &seven, 7));
  STEP(GpuPlan_transfer(body, &moved, "there", r));
  STEP(GpuPlan_index(body, &picked, "pick", same, 1, &at, &turn));
  STEP(GpuPlan_on(body, 0));
  STEP(GpuPlan_transfer(body, &back, "back", moved));
  STEP(GpuPlan_transfer(body, &picked, "picked", picked));
  STEP(GpuPlan_copy(body, &kept, "keep", c));
  if (fills)
    STEP(GpuPlan_function(body, &c, "fill", fill_bytes, NULL, 2,
                          (unsigned int[]){c, seven}, 1, &vector, &over));
  STEP(GpuPlan_output(body, back));
  STEP(GpuPlan_output(body, stop));
  STEP(GpuPlan_output(body, kept));
  STEP(GpuPlan_output(body, picked));
  return give_plan(out, body, status);
}

/* x (n, m), start (m,), whether each turn is the last one, whether it has ended, all on
 * a; x on b; turns: what was carried, and two arrays of rows. */
static int build(GpuPlan **out) {
  const gpuplan_type results[] = {
      {GA_FLOAT, 1}, {GA_BOOL, 0}, {GA_FLOAT, 2}, {GA_FLOAT, 2}};
  unsigned int there, x, start, flags, ended, turns, same, made[4] = {0};
  GpuPlan *p = NULL, *body = NULL;
  int status = GpuPlan_new(&p, a, "whole");
  STEP(GpuPlan_add_context(p, &there, b));
  STEP(GpuPlan_input(p, &x, GA_FLOAT, 2, 0));
  STEP(GpuPlan_input(p, &start, GA_FLOAT, 1, 0));
  STEP(GpuPlan_input(p, &flags, GA_BOOL, 1, 0));
  STEP(GpuPlan_input(p, &ended, GA_BOOL, 0, 0));
  STEP(GpuPlan_on(p, there));
  STEP(GpuPlan_input(p, &same, GA_FLOAT, 2, 0));
  STEP(GpuPlan_int_input(p, &turns));
  STEP(GpuPlan_on(p, 0));
  const gpuplan_loop step = {.size = sizeof step,
                             .label = "loop",
                             .turns = turns,
                             .takes = "rrcus",
                             .n_in = 5,
                             .ins = (unsigned int[]){x, flags, start, ended, same},
                             .n_out = 4,
                             .results = results};
  STEP(GpuPlan_loop(p, made, &step));
  STEP(new_body(&body));
  STEP(GpuPlan_body(p, made[0], body));
  for (int i = 0; i < 4; i++)
    STEP(GpuPlan_output(p, made[i]));
  return give_plan(out, p, status);
}

typedef struct given {
  GpuArray x, start, flags, ended, same;
} given;

/* Rows 1, 2, 3; 4, 5, 6; ... on both contexts, of which the turn `last` is the last. */
static int new_given(given *g, size_t n, size_t n_same, size_t last) {
  const size_t dims[2] = {n, COLUMNS}, same_dims[2] = {n_same, COLUMNS};
  const unsigned char no = 0;
  unsigned char flags[MOST] = {0};
  float numbers[MOST * COLUMNS];
  for (int i = 0; i < MOST * COLUMNS; i++)
    numbers[i] = (float)i + 1;
  if (last < MOST)
    flags[last] = 1;
  *g = (given){0};
  int status = GpuArray_copy_from_host(&g->x, a, numbers, GA_FLOAT, 2, dims, NULL);
  STEP(GpuArray_zeros(&g->start, a, GA_FLOAT, 1, dims + 1, GA_C_ORDER));
  STEP(GpuArray_copy_from_host(&g->flags, a, flags, GA_BOOL, 1, dims, NULL));
  STEP(GpuArray_copy_from_host(&g->ended, a, &no, GA_BOOL, 0, NULL, NULL));
  STEP(GpuArray_copy_from_host(&g->same, b, numbers, GA_FLOAT, 2, same_dims, NULL));
  return status;
}

static void clear_given(given *g) {
  GpuArray_clear(&g->x);
  GpuArray_clear(&g->start);
  GpuArray_clear(&g->flags);
  GpuArray_clear(&g->ended);
  GpuArray_clear(&g->same);
}

static int call(GpuPlan *p, GpuArray *outs, const given *g, long long turns,
                int *failed) {
  return GpuPlan_call(
      p, (GpuArray *[]){&outs[0], &outs[1], &outs[2], &outs[3]},
      (const GpuArray *[]){&g->x, &g->start, &g->flags, &g->ended, &g->same}, &turns,
      failed);
}

static void clear_outs(GpuArray *outs) {
  for (int i = 0; i < 4; i++)
    GpuArray_clear(&outs[i]);
}

/* Whether the first rows count on from `first`, zeros before 1. */
static void check_counts(const GpuArray *array, size_t rows, float first) {
  float numbers[MOST * COLUMNS];
  const size_t n = array->dimensions[0] * (array->nd > 1 ? array->dimensions[1] : 1);
  CHECK(n <= MOST * COLUMNS);
  CHECK_OK(GpuArray_read(numbers, n * sizeof *numbers, array));
  for (size_t i = 0; i < rows * COLUMNS; i++) {
    const float wanted = first + (float)i;
    CHECK(numbers[i] == (wanted < 1 ? 0 : wanted));
  }
}

static void check_run(GpuPlan *p, size_t n, size_t last) {
  const size_t ran = last < n ? last + 1 : n;
  GpuArray outs[4] = {{0}};
  given g;
  CHECK_OK(new_given(&g, n, n + 1, last));
  CHECK_OK(call(p, outs, &g, (long long)n, NULL));
  CHECK(outs[2].dimensions[0] == n && outs[3].dimensions[0] == n);
  check_counts(&outs[0], 1, n > 0 ? (float)((ran - 1) * COLUMNS) + 1 : 1 - COLUMNS);
  check_counts(&outs[2], ran, 1 - COLUMNS);
  check_counts(&outs[3], ran, 1);
  check_counts(&g.start, 1, -COLUMNS);
  clear_outs(outs);
  clear_given(&g);
}

static void check_runs(GpuPlan *p) {
  for (size_t n = 0; n < 5; n++)
    check_run(p, n, MOST);
  for (size_t last = 0; last < 4; last++)
    check_run(p, 4, last);
  check_run(p, MOST - 1, MOST);
  check_run(p, MOST - 1, 20);
}

static void test_iterations_go_through_two_contexts(void) {
  GpuPlan *p = NULL;
  open_both();
  CHECK_OK(build(&p));
  check_runs(p);
  const gpuplan_info info = info_of(p);
  for (int i = 0; i < 3; i++)
    check_run(p, MOST - 1, MOST);
  CHECK(info_of(p).n_binds == info.n_binds && info.n_steps == 1);
  GpuPlan_free(p);
  close_both();
}

/* ---- reads ---- */

/* x (m,) and at (1,) integers, which the body reads: x from that place on is carried by
 * a copy, which is also what its row of results is cut to. */
static int new_reader(GpuPlan **out, gpucontext *ctx) {
  const int form = GP_INDEX_SLICE + GP_INDEX_START;
  unsigned int x, at, place, rest, kept;
  GpuPlan *body = NULL;
  int status = GpuPlan_new(&body, ctx, "turn");
  STEP(GpuPlan_input(body, &at, GA_LONG, 1, 0));
  STEP(GpuPlan_input(body, &x, GA_FLOAT, 1, 0));
  STEP(GpuPlan_read(body, &place, "read", at, 1));
  STEP(GpuPlan_index(body, &rest, "rest", x, 1, &form, &place));
  STEP(GpuPlan_copy(body, &kept, "keep", rest));
  STEP(GpuPlan_output(body, kept));
  return give_plan(out, body, status);
}

static int build_reader(GpuPlan **out, gpucontext *ctx) {
  const gpuplan_type rows = {GA_FLOAT, 2};
  unsigned int places, x, turns, made = 0;
  GpuPlan *p = NULL, *body = NULL;
  int status = GpuPlan_new(&p, ctx, "whole");
  STEP(GpuPlan_input(p, &places, GA_LONG, 2, 0));
  STEP(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  STEP(GpuPlan_dim(p, &turns, places, 0));
  const gpuplan_loop step = {.size = sizeof step,
                             .label = "loop",
                             .turns = turns,
                             .takes = "rs",
                             .n_in = 2,
                             .ins = (unsigned int[]){places, x},
                             .n_out = 1,
                             .results = &rows};
  STEP(GpuPlan_loop(p, &made, &step));
  STEP(new_reader(&body, ctx));
  STEP(GpuPlan_body(p, made, body));
  STEP(GpuPlan_output(p, made));
  return give_plan(out, p, status);
}

static int call_reader(GpuPlan *p, gpucontext *ctx, GpuArray *out,
                       const long long *places, size_t n, int *failed) {
  const float numbers[COLUMNS + 1] = {1, 2, 3, 4};
  const size_t dims[2] = {n, 1}, length = COLUMNS + 1;
  GpuArray at = {0}, x = {0};
  int status = GpuArray_copy_from_host(&at, ctx, places, GA_LONG, 2, dims, NULL);
  STEP(GpuArray_copy_from_host(&x, ctx, numbers, GA_FLOAT, 1, &length, NULL));
  STEP(GpuPlan_call(p, (GpuArray *[]){out}, (const GpuArray *[]){&at, &x}, NULL,
                    failed));
  GpuArray_clear(&at);
  GpuArray_clear(&x);
  return status;
}

static void check_reader(GpuPlan *p, gpucontext *ctx) {
  GpuArray out = {0};
  int failed = -1;
  CHECK_OK(call_reader(p, ctx, &out, (long long[]){1, 1, 1}, 3, &failed));
  CHECK(out.dimensions[0] == 3 && out.dimensions[1] == COLUMNS);
  for (size_t i = 0; i < 3; i++) {
    GpuArray row = {0};
    CHECK_OK(GpuArray_index(&row, &out, (ssize_t[]){(ssize_t)i, 0}, (ssize_t[]){0, 3},
                            (ssize_t[]){0, 1}));
    check_counts(&row, 1, 2);
    GpuArray_clear(&row);
  }
  GpuArray_clear(&out);
  CHECK_STATUS(GA_VALUE_ERROR,
               call_reader(p, ctx, &out, (long long[]){1, 2}, 2, &failed));
  CHECK_TEXT("loop: the results of two iterations have shapes (3,) and (2,)");
  CHECK(failed == 1 && out.data == NULL);
}

static void test_a_body_that_reads(void) {
  gpucontext *ctx = open_null();
  char path[] = "/tmp/gpuarray-loopXXXXXX";
  GpuPlan *p = NULL, *loaded = NULL;
  CHECK_OK(build_reader(&p, ctx));
  check_reader(p, ctx);
  make_file(path);
  CHECK_OK(GpuPlan_save(p, path));
  CHECK_OK(GpuPlan_load(&loaded, ctx, path));
  check_reader(loaded, ctx);
  GpuPlan_free(loaded);
  GpuPlan_free(p);
  unlink(path);
  gpucontext_deref(ctx);
}

/* ---- failures ---- */

/* The third turn picks a row that is not there. */
static void test_a_failed_iteration_leaves_what_was_given(void) {
  GpuPlan *p = NULL;
  GpuArray outs[4] = {{0}};
  given g;
  int failed = -1;
  open_both();
  CHECK_OK(build(&p));
  CHECK_OK(new_given(&g, 4, 2, MOST));
  for (int i = 0; i < 2; i++) {
    CHECK_STATUS(GA_INDEX_ERROR, call(p, outs, &g, 4, &failed));
    CHECK_TEXT("loop: pick: ");
    CHECK(failed == 0);
    for (int k = 0; k < 4; k++)
      CHECK(outs[k].data == NULL);
    check_counts(&g.start, 1, -COLUMNS);
    check_counts(&g.x, 4, 1);
  }
  CHECK_STATUS(GA_VALUE_ERROR, call(p, outs, &g, 3, &failed));
  CHECK_TEXT("input 0 has 4 rows, expected 3, one for each iteration");
  clear_given(&g);
  GpuPlan_free(p);
  close_both();
}

static int is_told_to_end, n_asked;

static int asks(void) {
  n_asked++;
  return is_told_to_end;
}

/* A run that is told to end leaves what was given, and the next one runs. Questions are
 * 20 ms apart, so that not each run asks. */
static void test_the_program_ends_a_run(void) {
  const struct timespec pause = {.tv_nsec = 25 * 1000 * 1000};
  GpuPlan *p = NULL;
  GpuArray outs[4] = {{0}};
  given g;
  int failed = -1;
  open_both();
  CHECK_OK(build(&p));
  CHECK_OK(new_given(&g, 4, 4, MOST));
  gpuarray_interrupt_by(asks);
  for (is_told_to_end = 1; is_told_to_end >= 0; is_told_to_end--) {
    nanosleep(&pause, NULL);
    const int status = call(p, outs, &g, 4, &failed);
    CHECK(status == (is_told_to_end ? GA_MISC_ERROR : GA_NO_ERROR));
    if (is_told_to_end) {
      CHECK_TEXT("interrupted");
      CHECK(failed == 0 && outs[0].data == NULL && n_asked == 1);
    }
    check_counts(&g.start, 1, -COLUMNS);
    check_counts(&g.x, 4, 1);
  }
  CHECK(n_asked >= 2);
  gpuarray_interrupt_by(NULL);
  const int before = n_asked;
  nanosleep(&pause, NULL);
  clear_outs(outs);
  CHECK_OK(call(p, outs, &g, 4, NULL));
  CHECK(n_asked == before);
  clear_outs(outs);
  clear_given(&g);
  GpuPlan_free(p);
  close_both();
}

static int try_it(gpucontext *unused) {
  GpuPlan *p = NULL;
  GpuArray outs[4] = {{0}};
  given g = {0};
  (void)unused;
  int status = build(&p);
  STEP(new_given(&g, 3, 3, 1));
  for (int i = 0; i < 2; i++) {
    STEP(call(p, outs, &g, 3, NULL));
    clear_outs(outs);
  }
  clear_given(&g);
  GpuPlan_free(p);
  return status;
}

static void test_each_allocation_fails(void) {
  open_both();
  fail_each_allocation(try_it, a);
  close_both();
}

/* A body of a context that is not the plan's, and one whose result is elsewhere. */
static void test_bodies_that_do_not_fit(void) {
  const gpuplan_type type = {GA_FLOAT, 1};
  for (int i = 0; i < 2; i++) {
    unsigned int there, x, turns, made, c, moved;
    GpuPlan *p = NULL, *body = NULL;
    open_both();
    CHECK_OK(GpuPlan_new(&p, a, "whole"));
    if (i == 1)
      CHECK_OK(GpuPlan_add_context(p, &there, b));
    CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
    CHECK_OK(GpuPlan_int(p, &turns, 2));
    const gpuplan_loop step = {.size = sizeof step,
                               .label = "loop",
                               .turns = turns,
                               .takes = "c",
                               .n_in = 1,
                               .ins = &x,
                               .n_out = 1,
                               .results = &type};
    CHECK_OK(GpuPlan_loop(p, &made, &step));
    CHECK_OK(GpuPlan_new(&body, a, "turn"));
    CHECK_OK(GpuPlan_add_context(body, &there, b));
    CHECK_OK(GpuPlan_input(body, &c, GA_FLOAT, 1, 0));
    CHECK_OK(GpuPlan_on(body, there));
    CHECK_OK(GpuPlan_transfer(body, &moved, "there", c));
    if (i == 0) {
      CHECK_OK(GpuPlan_on(body, 0));
      CHECK_OK(GpuPlan_transfer(body, &moved, "back", moved));
    }
    CHECK_OK(GpuPlan_output(body, moved));
    CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_body(p, made, body));
    CHECK_TEXT("the body does not match the step");
    GpuPlan_free(p);
    close_both();
  }
}

/* ---- files ---- */

static unsigned char format_of(const char *path) {
  unsigned char head[16] = {0};
  FILE *file = fopen(path, "rb");
  CHECK(file != NULL);
  if (file != NULL) {
    CHECK(fread(head, sizeof head, 1, file) == 1);
    fclose(file);
  }
  return head[8];
}

static void test_files_name_the_contexts_of_bodies(void) {
  char path[] = "/tmp/gpuarray-loopXXXXXX";
  GpuPlan *p = NULL, *loaded = NULL;
  open_both();
  fills = false;
  CHECK_OK(build(&p));
  make_file(path);
  CHECK_OK(GpuPlan_save(p, path));
  CHECK(format_of(path) == GA_PLAN_FORMAT);
  GpuPlan_free(p);
  const gpuplan_context contexts[] = {{NULL, a}, {"dev1", b}};
  CHECK_OK(GpuPlan_load_on(&loaded, 2, contexts, path));
  check_runs(loaded);
  CHECK_OK(GpuPlan_save(loaded, path));
  GpuPlan_free(loaded);
  CHECK_OK(GpuPlan_load_on(&loaded, 2, contexts, path));
  check_runs(loaded);
  GpuPlan_free(loaded);
  gpucontext *other = b; /* both names have one context: the loop is recorded */
  const gpuplan_context one[] = {{NULL, a}, {"dev1", a}};
  b = a;
  CHECK_OK(GpuPlan_load_on(&loaded, 2, one, path));
  check_run(loaded, 4, MOST);
  CHECK_OK(GpuPlan_save(loaded, path));
  CHECK(format_of(path) == GA_PLAN_FORMAT_OF_ONE);
  GpuPlan_free(loaded);
  b = other;
  unlink(path);
  close_both();
}

int main(void) {
  test_iterations_go_through_two_contexts();
  test_a_body_that_reads();
  test_a_failed_iteration_leaves_what_was_given();
  test_the_program_ends_a_run();
  test_each_allocation_fails();
  test_bodies_that_do_not_fit();
  test_files_name_the_contexts_of_bodies();
  return check_result("plan_loop_host");
}
