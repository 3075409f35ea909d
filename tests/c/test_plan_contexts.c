/* Plans of two contexts: on the null backend, whose copies and fills work, and which
 * has no peer copies. */
#include "elemwise_step.h"
#include "null_plan.h"

#include <gpuarray/function.h>
#include <stdint.h>

enum { N = 4 };
static const gpuplan_type vector = {GA_FLOAT, 1};

static gpucontext *a, *b; /* the plan's own context, and the other */

static GpuArray floats(gpucontext *ctx, float first) {
  GpuArray made = {0};
  float values[N];
  const size_t n = N;
  for (int i = 0; i < N; i++)
    values[i] = first + (float)i;
  CHECK_OK(GpuArray_copy_from_host(&made, ctx, values, GA_FLOAT, 1, &n, NULL));
  return made;
}

static float first_of(const GpuArray *array) {
  float values[N] = {-1};
  CHECK_OK(GpuArray_read(values, sizeof values, array));
  return values[0];
}

/* ---- what is done when ---- */

static char journal[64]; /* a letter for each copy and wait: of `b` a capital */

static void write_down(const void *device, char letter) {
  const size_t n = strlen(journal);
  if (n + 1 < sizeof journal)
    journal[n] = (char)(device == b->device ? letter - 'a' + 'A' : letter);
}

static int noted_copy(void *device, void *to, size_t to_offset, void *from,
                      size_t from_offset, size_t size) {
  write_down(device, 'c');
  return ga__null_backend.copy(device, to, to_offset, from, from_offset, size);
}

static int noted_wait(void *device, void *event) {
  write_down(device, 'w');
  return ga__null_backend.event_wait(device, event);
}

static void open_both(void) {
  a = open_null();
  b = open_null();
  hooked.copy = noted_copy;
  hooked.event_wait = noted_wait;
  memset(journal, 0, sizeof journal);
}

static void close_both(void) {
  gpucontext_deref(a);
  gpucontext_deref(b);
}

/* ---- copies ---- */

/* x on a, y on b: a copy of a copy of x on b, and a copy of y. */
static int build(GpuPlan **plan) {
  unsigned int there, x, y, first, moved, last, beside;
  GpuPlan *p = NULL;
  int status = GpuPlan_new(&p, a, "parts");
  STEP(GpuPlan_add_context(p, &there, b));
  STEP(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  STEP(GpuPlan_on(p, there));
  STEP(GpuPlan_input(p, &y, GA_FLOAT, 1, 0));
  STEP(GpuPlan_on(p, 0));
  STEP(GpuPlan_copy(p, &first, "first", x));
  STEP(GpuPlan_on(p, there));
  STEP(GpuPlan_transfer(p, &moved, "move", first));
  STEP(GpuPlan_copy(p, &beside, "beside", y));
  STEP(GpuPlan_on(p, 0));
  STEP(GpuPlan_copy(p, &first, "also", x));
  STEP(GpuPlan_on(p, there));
  STEP(GpuPlan_copy(p, &last, "last", moved));
  STEP(GpuPlan_output(p, last));
  STEP(GpuPlan_output(p, beside));
  STEP(GpuPlan_output(p, first));
  return give_plan(plan, p, status);
}

static int run_parts(GpuPlan *p, const GpuArray *x, const GpuArray *y, bool looks) {
  GpuArray outs[3] = {{0}};
  int failed = -1;
  int status = GpuPlan_run(p, (GpuArray *[]){&outs[0], &outs[1], &outs[2]},
                           (const GpuArray *[]){x, y}, &failed);
  if (status == GA_NO_ERROR && looks) {
    CHECK(GpuArray_context(&outs[0]) == b && GpuArray_context(&outs[1]) == b);
    CHECK(GpuArray_context(&outs[2]) == a);
    CHECK(first_of(&outs[0]) == first_of(x) && first_of(&outs[1]) == first_of(y));
    CHECK(first_of(&outs[2]) == first_of(x));
  }
  for (int i = 0; i < 3; i++)
    GpuArray_clear(&outs[i]);
  return status;
}

static void test_parts_are_queued_before_the_host_waits(void) {
  GpuPlan *p = NULL;
  open_both();
  CHECK_OK(build(&p));
  for (float i = 0; i < 3; i++) {
    GpuArray x = floats(a, 10 * i), y = floats(b, 7 * i);
    memset(journal, 0, sizeof journal);
    CHECK_OK(run_parts(p, &x, &y, true));
    CHECK(strncmp(journal, "cCcwC", 5) == 0);
    GpuArray_clear(&x);
    GpuArray_clear(&y);
  }
  const gpuplan_info info = info_of(p);
  CHECK(info.n_launches == 4 && info.n_binds == 4 && info.n_steps == 5);
  GpuPlan_free(p);
  close_both();
}

static int try_it(gpucontext *unused) {
  GpuPlan *p = NULL;
  GpuArray x = {0}, y = {0};
  const size_t n = N;
  (void)unused;
  int status = build(&p);
  STEP(GpuArray_zeros(&x, a, GA_FLOAT, 1, &n, GA_C_ORDER));
  STEP(GpuArray_zeros(&y, b, GA_FLOAT, 1, &n, GA_C_ORDER));
  STEP(run_parts(p, &x, &y, false));
  STEP(run_parts(p, &x, &y, false));
  GpuArray_clear(&x);
  GpuArray_clear(&y);
  GpuPlan_free(p);
  return status;
}

static void test_each_allocation_fails(void) {
  open_both();
  fail_each_allocation(try_it, a);
  close_both();
}

static int fails(void *device, void *event) {
  (void)device, (void)event;
  return GA_FAIL(GA_RUN_ERROR, "the device is gone");
}

static void test_a_failed_copy_is_named(void) {
  GpuPlan *p = NULL;
  GpuArray out = {0}, beside = {0}, also = {0};
  int failed = -1;
  open_both();
  GpuArray x = floats(a, 1), y = floats(b, 2);
  CHECK_OK(build(&p));
  hooked.event_wait = fails;
  CHECK_STATUS(GA_RUN_ERROR, GpuPlan_run(p, (GpuArray *[]){&out, &beside, &also},
                                         (const GpuArray *[]){&x, &y}, &failed));
  CHECK(failed == 1 && out.data == NULL && beside.data == NULL);
  CHECK_TEXT("move");
  GpuArray_clear(&x);
  GpuArray_clear(&y);
  GpuPlan_free(p);
  close_both();
}

/* The source is overwritten behind the copy, before anything needs that. */
static void test_a_copy_has_what_was_there_when_it_began(void) {
  const int over = 0;
  unsigned int there, x, seven, first, moved, filled;
  GpuPlan *p = NULL;
  GpuArray outs[2] = {{0}};
  open_both();
  GpuArray given = floats(a, 3);
  CHECK_OK(GpuPlan_new(&p, a, "overwrites"));
  CHECK_OK(GpuPlan_add_context(p, &there, b));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_int(p, &seven, 7));
  CHECK_OK(GpuPlan_copy(p, &first, "first", x));
  CHECK_OK(GpuPlan_on(p, there));
  CHECK_OK(GpuPlan_transfer(p, &moved, "move", first));
  CHECK_OK(GpuPlan_on(p, 0));
  CHECK_OK(GpuPlan_function(p, &filled, "fill", fill_bytes, NULL, 2,
                            (unsigned int[]){first, seven}, 1, &vector, &over));
  CHECK_OK(GpuPlan_output(p, moved));
  CHECK_OK(GpuPlan_output(p, filled));
  for (int i = 0; i < 3; i++) {
    CHECK_OK(GpuPlan_run(p, (GpuArray *[]){&outs[0], &outs[1]},
                         (const GpuArray *[]){&given}, NULL));
    CHECK(first_of(&outs[0]) == 3 && first_of(&outs[1]) != 3);
    GpuArray_clear(&outs[0]);
    GpuArray_clear(&outs[1]);
  }
  CHECK(first_of(&given) == 3);
  GpuArray_clear(&given);
  GpuPlan_free(p);
  close_both();
}

/* Where n, and v read of the device: the reversed x on b, else a placeholder. */
static void test_a_copy_under_a_condition(void) {
  const int yes = 1, form = GP_INDEX_SLICE + GP_INDEX_STEP;
  unsigned int there, x, v, back, c, turned, moved, length, again;
  GpuPlan *p = NULL;
  GpuArray out = {0};
  open_both();
  GpuArray given = floats(a, 3), copy = {0};
  CHECK_OK(GpuPlan_new(&p, a, "branch"));
  CHECK_OK(GpuPlan_add_context(p, &there, b));
  CHECK_OK(GpuPlan_add_context(p, &there, b));
  CHECK(there == 1);
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_input(p, &v, GA_INT, 0, 0));
  CHECK_OK(GpuPlan_int(p, &back, -1));
  CHECK_OK(GpuPlan_on(p, there));
  CHECK_OK(GpuPlan_transfer(p, &moved, "condition", v));
  CHECK_OK(GpuPlan_read(p, &c, "read", moved, 1));
  CHECK_OK(GpuPlan_when(p, 1, &c, &yes));
  CHECK_OK(GpuPlan_on(p, 0));
  CHECK_OK(GpuPlan_index(p, &turned, "turn", x, 1, &form, &back));
  CHECK_OK(GpuPlan_on(p, there));
  CHECK_OK(GpuPlan_transfer(p, &moved, "move", turned));
  CHECK_OK(GpuPlan_dim(p, &length, moved, 0));
  CHECK_OK(GpuPlan_broadcast(p, &again, "repeat", moved, 2,
                             (unsigned int[]){length, length}));
  CHECK_OK(GpuPlan_output(p, again));
  CHECK_OK(GpuPlan_output(p, moved));
  for (int i = 0; i < 4; i++) {
    const int32_t number = i % 2;
    GpuArray condition = {0};
    CHECK_OK(GpuArray_copy_from_host(&condition, a, &number, GA_INT, 0, NULL, NULL));
    CHECK_OK(GpuPlan_run(p, (GpuArray *[]){&out, &copy},
                         (const GpuArray *[]){&given, &condition}, NULL));
    CHECK(out.dimensions[0] == (number ? (size_t)N : 1u));
    CHECK(copy.dimensions[0] == (number ? (size_t)N : 1u));
    CHECK(GpuArray_context(&copy) == b);
    CHECK(GpuArray_IS_C_CONTIGUOUS(&copy)); /* its source is not */
    GpuArray_clear(&out);
    GpuArray_clear(&copy);
    GpuArray_clear(&condition);
  }
  GpuArray_clear(&given);
  GpuPlan_free(p);
  close_both();
}

/* w on a, of which a step makes the next one in its memory before the copy of that is
 * brought to b: the result is memory of its own instead, without a copy of w. */
static int build_update(GpuPlan **plan) {
  unsigned int there, w, updated, moved;
  GpuPlan *p = NULL;
  int status = GpuPlan_new(&p, a, "updates");
  STEP(GpuPlan_add_context(p, &there, b));
  STEP(GpuPlan_input(p, &w, GA_FLOAT, 1, 0));
  STEP(add_step(p, &updated, "update", "y = x + 1", w, GA_FLOAT, GA_FLOAT, 0));
  STEP(GpuPlan_on(p, there));
  STEP(GpuPlan_transfer(p, &moved, "move", updated));
  STEP(GpuPlan_copy(p, &moved, "last", moved));
  STEP(GpuPlan_output(p, updated));
  STEP(GpuPlan_output(p, moved));
  return give_plan(plan, p, status);
}

static int run_update(gpucontext *unused) {
  GpuPlan *p = NULL;
  GpuArray w = {0}, outs[2] = {{0}};
  const size_t n = N;
  (void)unused;
  int status = build_update(&p);
  STEP(GpuArray_zeros(&w, a, GA_FLOAT, 1, &n, GA_C_ORDER));
  for (int i = 0; i < 2; i++) {
    memset(journal, 0, sizeof journal);
    STEP(GpuPlan_run(p, (GpuArray *[]){&outs[0], &outs[1]}, (const GpuArray *[]){&w},
                     NULL));
    if (status == GA_NO_ERROR)
      CHECK(outs[0].data != w.data && strcmp(journal, "wC") == 0);
    GpuArray_clear(&outs[0]);
    GpuArray_clear(&outs[1]);
  }
  GpuArray_clear(&w);
  GpuPlan_free(p);
  return status;
}

static void test_an_update_before_the_last_part_copies_nothing(void) {
  open_both();
  CHECK_OK(run_update(a));
  fail_each_allocation(run_update, a);
  close_both();
}

/* ---- kept values ---- */

/* A value on b that each call fills with the bytes of an integer. */
static void test_a_function_keeps_values_where_they_are(void) {
  const int over = 0;
  unsigned int there, w, n, filled;
  GpuPlan *p = NULL;
  GpuFunction *f = NULL;
  GpuArray got = {0};
  open_both();
  GpuArray start = floats(b, 3), elsewhere = floats(a, 3);
  CHECK_OK(GpuPlan_new(&p, a, "keeps"));
  CHECK_OK(GpuPlan_add_context(p, &there, b));
  CHECK_OK(GpuPlan_int_input(p, &n));
  CHECK_OK(GpuPlan_on(p, there));
  CHECK_OK(GpuPlan_input(p, &w, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_function(p, &filled, "fill", fill_bytes, NULL, 2,
                            (unsigned int[]){w, n}, 1, &vector, &over));
  CHECK_OK(GpuPlan_output(p, filled));
  gpufunction_value value = {"w", &elsewhere, 0, 0, 0};
  const gpufunction_spec spec = {.size = sizeof spec, .n_values = 1, .values = &value};
  CHECK_STATUS(GA_VALUE_ERROR, GpuFunction_new(&f, p, &spec));
  value.start = &start;
  CHECK_OK(GpuFunction_new(&f, p, &spec));
  const long long zero = 0;
  for (int i = 0; i < 3; i++)
    CHECK_OK(GpuFunction_call(f, NULL, NULL, &zero));
  CHECK_OK(GpuFunction_get(f, "w", &got));
  CHECK(first_of(&got) == 0 && GpuArray_context(&got) == b);
  GpuArray_clear(&got);
  GpuArray_clear(&start);
  GpuArray_clear(&elsewhere);
  GpuFunction_free(f);
  GpuPlan_free(p);
  close_both();
}

/* ---- refusals ---- */

static int run_inner(void *data, GpuArray *const *outs, const GpuArray *const *ins,
                     const long long *ints) {
  (void)ints;
  GpuArray beside = {0}, also = {0};
  const GpuArray *arrays[] = {ins[0], ((const GpuArray **)data)[1]};
  int status = GpuPlan_run(((GpuPlan **)data)[0],
                           (GpuArray *[]){outs[0], &beside, &also}, arrays, NULL);
  GpuArray_clear(&beside);
  GpuArray_clear(&also);
  return status;
}

static void test_what_is_refused(void) {
  unsigned int there, x, y, made;
  GpuPlan *p = NULL, *inner = NULL, *body = NULL;
  GpuArray out = {0}, more[2] = {{0}};
  open_both();
  gpucontext *third = open_null();
  GpuArray here = floats(a, 1), over_there = floats(b, 1), elsewhere = floats(third, 1);
  CHECK_OK(GpuPlan_new(&p, a, "mixed"));
  CHECK_STATUS(GA_INVALID_ERROR, GpuPlan_on(p, 1));
  CHECK_TEXT("place 1 does not exist");
  CHECK_OK(GpuPlan_add_context(p, &there, b));
  CHECK_OK(GpuPlan_input(p, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_on(p, there));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_copy(p, &y, "far", x));
  CHECK_TEXT("GpuPlan_transfer");
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_constant(p, &y, &elsewhere));
  CHECK_OK(GpuPlan_constant(p, &y, &over_there));
  CHECK_STATUS(GA_INVALID_ERROR, GpuPlan_transfer(p, &made, "move", 99));
  CHECK_OK(GpuPlan_transfer(p, &made, "move", x));
  CHECK_OK(GpuPlan_output(p, made));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_run(p, (GpuArray *[]){&out},
                                           (const GpuArray *[]){&over_there}, NULL));
  CHECK_TEXT("the function takes it on");
  CHECK_OK(GpuPlan_run(p, (GpuArray *[]){&out}, (const GpuArray *[]){&here}, NULL));
  CHECK(first_of(&out) == 1);
  GpuArray_clear(&out);
  /* within another plan's recording, and as a body */
  CHECK_OK(build(&inner));
  const void *data[] = {inner, &over_there};
  GpuPlan *outer = NULL;
  CHECK_OK(GpuPlan_new(&outer, a, "outer"));
  CHECK_OK(GpuPlan_input(outer, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_function(outer, &made, "calls", run_inner, data, 1, &x, 1, &vector,
                            NULL));
  CHECK_OK(GpuPlan_output(outer, made));
  CHECK_STATUS(GA_UNSUPPORTED_ERROR, GpuPlan_run(outer, (GpuArray *[]){&more[0]},
                                                 (const GpuArray *[]){&here}, NULL));
  CHECK_TEXT("several contexts");
  CHECK_OK(GpuPlan_new(&body, b, "body"));
  CHECK_OK(GpuPlan_input(body, &x, GA_FLOAT, 1, 0));
  CHECK_OK(GpuPlan_output(body, x));
  CHECK_STATUS(GA_VALUE_ERROR, GpuPlan_body(outer, made, body));
  CHECK_TEXT("on the context of its step");
  GpuArray_clear(&here);
  GpuArray_clear(&over_there);
  GpuArray_clear(&elsewhere);
  GpuPlan_free(outer);
  GpuPlan_free(inner);
  GpuPlan_free(p);
  gpucontext_deref(third);
  close_both();
}

int main(void) {
  test_parts_are_queued_before_the_host_waits();
  test_each_allocation_fails();
  test_a_failed_copy_is_named();
  test_a_copy_has_what_was_there_when_it_began();
  test_a_copy_under_a_condition();
  test_an_update_before_the_last_part_copies_nothing();
  test_a_function_keeps_values_where_they_are();
  test_what_is_refused();
  return check_result("plan_contexts");
}
