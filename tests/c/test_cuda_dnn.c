/* Convolutions by cuDNN, on a mock of it: what it is told, which engine is chosen and
 * kept, what is refused, and how plans record it. */
#include "dnn_calls.h"

#include <unistd.h>

#include "c/tape/record_replay.h"

/* ---- results ---- */

static void test_results(void) {
  for (int l = 0; l < N_LAYERS; l++)
    for (int role = 0; role < 3; role++) {
      ga_dnn_call c = describe(&layers[l], (enum ga_dnn_role)role, GA_FLOAT);
      make_arrays();
      give_memory(&c, &original);
      CHECK(ga__context_dnn(ctx)->serves(device, &c));
      CHECK_OK(run(&c, NULL));
      check_values(&c);
      take_memory(&c);
      c.typecode = GA_DOUBLE;
      CHECK(!ga__context_dnn(ctx)->serves(device, &c));
    }
}

/* ---- choice ---- */

/* The engine that a call takes; a tile of -1 is not compared. */
static void check_engine(ga_dnn_call c, int64_t engine, int64_t tile) {
  make_arrays();
  give_memory(&c, &original);
  CHECK_OK(run(&c, NULL));
  CHECK(mock->dnn_engine == engine && (tile < 0 || mock->dnn_tile == tile));
  take_memory(&c);
}

static void test_the_version(void) {
  size_t version = 0;
  CHECK_OK(gpuarray_dnn_version("cuda", &version));
  CHECK(version == 91200);
  CHECK_STATUS(GA_UNSUPPORTED_ERROR, gpuarray_dnn_version("null", &version));
  CHECK_TEXT("null has no library of network layers");
}

static void test_engines_are_exact(void) {
  layer l = layers[0];
  l.image[0] = 1; /* a question of its own */
  ga_dnn_call c = describe(&l, GA_DNN_FORWARD, GA_FLOAT);
  check_engine(c, 1, 2); /* timed: the fastest of its tiles */
  c.is_deterministic = false;
  check_engine(c, 3, -1);
  c.is_deterministic = true;
  c.is_tf32 = true;
  check_engine(c, 2, -1);
  c.typecode = GA_HALF;
  c.is_tf32 = false;
  check_engine(c, 2, -1);
}

static void test_the_workspace_is_limited(void) {
  layer l = layers[0];
  l.image[0] = 3;
  ga_dnn_call c = describe(&l, GA_DNN_FORWARD, GA_FLOAT);
  setenv("GPUARRAY_DNN_WORKSPACE", "999", 1);
  check_engine(c, 9, -1);
  setenv("GPUARRAY_DNN_WORKSPACE", "4096", 1);
  check_engine(c, 9, -1); /* a choice stays */
}

/* Winograd's small tiles are for filters of up to three, and for float32. */
static void test_engines_of_short_filters(void) {
  layer l = layers[0];
  l.image[0] = 4;
  setenv("GPUARRAY_DNN_WORKSPACE", "999", 1); /* not for engine 1 */
  for (size_t axis = 0; axis < 2; axis++)
    for (size_t length = 2; length <= 5; length++) {
      l.filters[2] = l.filters[3] = 3;
      l.filters[2 + axis] = length;
      check_engine(describe(&l, GA_DNN_FORWARD, GA_FLOAT), length <= 3 ? 9 : 0, -1);
    }
  setenv("GPUARRAY_DNN_WORKSPACE", "4096", 1);
}

/* A recorded call has the workspace of its recording. */
static void test_a_call_fits_its_workspace(void) {
  ga_dnn_call c = describe(&layers[0], GA_DNN_FORWARD, GA_FLOAT);
  make_arrays();
  give_memory(&c, &original);
  CHECK_OK(run(&c, NULL));
  CHECK(c.work_size == 1000 && mock->dnn_engine == 1);
  gpudata_release(c.work);
  c.work = NULL;
  c.work_size = 0;
  CHECK_OK(ga__context_convolution(ctx, &c));
  CHECK(mock->dnn_engine == 0);
  check_values(&c);
  take_memory(&c);
}

static void test_plans_are_kept(void) {
  ga_dnn_call c = describe(&layers[1], GA_DNN_BY_IMAGE, GA_FLOAT);
  make_arrays();
  give_memory(&c, &original);
  CHECK_OK(run(&c, NULL));
  const long plans = mock->dnn_plans, executions = mock->convolutions;
  CHECK_OK(run(&c, NULL));
  take_memory(&c);
  give_memory(&c, &original); /* at other addresses */
  CHECK_OK(run(&c, NULL));
  CHECK(mock->dnn_plans == plans && mock->convolutions == executions + 2);
  check_values(&c);
  take_memory(&c);
}

static void test_plans_make_room(void) {
  const long handles = mock->handles;
  for (size_t n = 1; n <= 300; n++) {
    layer l = {1, 1, {n, 1, 3}, {1, 1, 2}, {1}, {1}, {0}, {0}, false, false};
    ga_dnn_call c = describe(&l, GA_DNN_FORWARD, GA_HALF);
    make_arrays();
    give_memory(&c, &original);
    CHECK_OK(run(&c, NULL));
    take_memory(&c);
  }
  CHECK(mock->handles - handles < 280 * 10);
}

static void test_choices_are_kept_on_disk(void) {
  char folder[] = "/tmp/gpuarray-dnn-XXXXXX", command[64];
  CHECK(mkdtemp(folder) != NULL);
  ga_dnn_call c = describe(&layers[2], GA_DNN_FORWARD, GA_FLOAT);
  make_arrays();
  reopen();
  give_memory(&c, &original);
  CHECK_OK(run(&c, folder));
  take_memory(&c);
  reopen();
  give_memory(&c, &original);
  const long plans = mock->dnn_plans, executions = mock->convolutions;
  CHECK_OK(run(&c, folder));
  CHECK(mock->dnn_plans == plans + 1 && mock->convolutions == executions + 1);
  CHECK(mock->dnn_engine == 1 && mock->dnn_tile == 2);
  take_memory(&c);
  reopen();
  mock->dnn_version = 91300; /* another version chooses anew */
  give_memory(&c, &original);
  CHECK_OK(run(&c, folder));
  CHECK(mock->dnn_plans > plans + 2);
  take_memory(&c);
  mock->dnn_version = 0;
  snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK(system(command) == 0);
}

/* A further queue has a handle of its own, and the device's choices. */
static void test_queues_share_choices(void) {
  ga_dnn_call c = describe(&layers[0], GA_DNN_FORWARD, GA_FLOAT);
  void *queue = NULL;
  make_arrays();
  give_memory(&c, &original);
  CHECK_OK(run(&c, NULL));
  CHECK_OK(ctx->backend->queue_new(&queue, ctx->device));
  const long plans = mock->dnn_plans;
  CHECK_OK(ctx->backend->dnn->open(queue));
  CHECK_OK(ctx->backend->dnn->workspace(&c.work_size, NULL, queue, &c, NULL));
  CHECK_OK(ctx->backend->dnn->call(queue, &c));
  CHECK(mock->dnn_plans == plans + 1);
  CHECK_OK(ctx->backend->wait(queue));
  ctx->backend->queue_free(queue);
  take_memory(&c);
}

/* ---- refusals ---- */

static bool is_served(const ga_dnn_call *c) {
  return ctx->backend->dnn->serves(device, c);
}

static void test_refused_layouts(void) {
  const ga_dnn_call good = describe(&layers[0], GA_DNN_FORWARD, GA_FLOAT);
  CHECK(is_served(&good));
  ga_dnn_call c = good;
  c.typecode = GA_CFLOAT;
  CHECK(!is_served(&c));
  c = good;
  c.nd = 4;
  CHECK(!is_served(&c));
  c = good;
  c.image.strides[3] = -1;
  CHECK(!is_served(&c));
  c = good;
  c.image.strides[0] = 0; /* broadcast */
  CHECK(!is_served(&c));
  c = good;
  c.image.strides[2] = 3; /* rows overlap */
  CHECK(!is_served(&c));
  c = good;
  c.image.strides[3] = 2; /* no axis is contiguous */
  CHECK(!is_served(&c));
  c = good;
  c.image.strides[0] = (ssize_t)1 << 33;
  CHECK(!is_served(&c));
  c = good;
  c.groups = 2;
  CHECK(!is_served(&c));
  c = good;
  c.before[0] = SIZE_MAX;
  CHECK(!is_served(&c));
  c = good;
  c.image.strides[0] += 5; /* a part of a larger batch */
  CHECK(is_served(&c));
}

/* ---- plans ---- */

/* A recorded convolution runs as a graph when its memory stays in place. */
static void test_recordings(void) {
  ga_dnn_call c = describe(&layers[0], GA_DNN_FORWARD, GA_FLOAT), recorded = c;
  ga_tape *tape = NULL;
  make_arrays();
  give_memory(&c, &original);
  CHECK_OK(ga__tape_new(&tape, ctx));
  ga__tape_enter(tape);
  CHECK_OK(ga__tape_input(&recorded.image.buffer, tape));
  CHECK_OK(ga__tape_input(&recorded.filters.buffer, tape));
  CHECK_OK(ga__tape_input(&recorded.result.buffer, tape));
  CHECK_OK(ga__context_dnn(ctx)->workspace(&recorded.work_size, NULL, device, &recorded,
                                           NULL));
  CHECK_OK(ga__buffer_new(&recorded.work, ctx, recorded.work_size));
  CHECK_OK(ga__tape_fill(tape, recorded.result.buffer, 0, 0, 4));
  CHECK_OK(ga__tape_convolution(tape, &recorded));
  ga__tape_leave(tape);
  const unsigned int work = ga__tape_slot(recorded.work), n = ga__tape_slots(tape);
  gpudata_release(recorded.work);
  CHECK(work == 3 && n == 4 && !ga__tape_is_portable(tape) && !ga__tape_defers(tape));
  CHECK_OK(ga__tape_finish(tape, (bool[4]){false}));
  CHECK(ga__tape_writes(tape, 2) && !ga__tape_writes(tape, 0));
  ga__tape_hold(tape, true);
  ga_binding bindings[4] = {
      {c.image.buffer, 0}, {c.filters.buffer, 0}, {c.result.buffer, 0}, {NULL, 0}};
  const long executions = mock->convolutions, graphs = mock->graph_launches;
  for (int i = 0; i < 4; i++)
    CHECK_OK(ga__tape_replay(tape, bindings));
  CHECK(mock->graph_launches == graphs + 3);
  CHECK(mock->convolutions == executions + 2); /* queued once, captured once */
  check_values(&c);
  ga__tape_free(tape);
  gpudata_release(recorded.image.buffer);
  gpudata_release(recorded.filters.buffer);
  gpudata_release(recorded.result.buffer);
  take_memory(&c);
}

int main(void) {
  open_mock();
  setenv("GPUARRAY_DNN_WORKSPACE", "4096", 1);
  ctx = open_cuda("cuda0");
  device = ctx->device;
  if (ga__context_dnn(ctx) == NULL) {
    CHECK(!"cuDNN is open");
    return 1;
  }
  test_results();
  test_the_version();
  test_engines_are_exact();
  test_the_workspace_is_limited();
  test_engines_of_short_filters();
  test_a_call_fits_its_workspace();
  test_plans_are_kept();
  test_plans_make_room();
  test_choices_are_kept_on_disk();
  test_queues_share_choices();
  test_refused_layouts();
  test_recordings();
  gpucontext_deref(ctx);
  check_given_back();
  return check_result("convolutions by cuDNN");
}
