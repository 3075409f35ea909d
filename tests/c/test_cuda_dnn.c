/* Convolutions by cuDNN, on a mock of it: what it is told, which engine is chosen and
 * kept, what is refused, and what is given back when a call fails. */
#include "mock_context.h"

#include <math.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include "c/device/context.h"
#include "c/system/dynload.h"
#include "c/tape/tape.h"
#include "cuda/dnn_parts.h"

#define ROOM 4096 /* elements of an array */

static gpucontext *ctx;
static void *device;

/* ---- calls ---- */

typedef struct layer {
  unsigned int nd, groups;
  size_t image[5], filters[5];
  size_t stride[3], dilation[3], before[3], after[3];
  bool is_last, is_flipped; /* channels last */
} layer;

static void lay_out(ga_dnn_operand *o, const size_t *shape, unsigned int nd,
                    bool is_last) {
  size_t extent = 1;
  memcpy(o->shape, shape, (nd + 2) * sizeof *shape);
  for (unsigned int place = nd + 2; place-- > 0;) {
    const unsigned int axis = !is_last || place == 0 ? place
                              : place == nd + 1      ? 1
                                                     : place + 1;
    o->strides[axis] = (ssize_t)extent;
    extent *= shape[axis];
  }
}

static ga_dnn_call describe(const layer *l, enum ga_dnn_role role, int typecode) {
  ga_dnn_call c = {.role = role,
                   .typecode = typecode,
                   .nd = l->nd,
                   .groups = l->groups,
                   .is_flipped = l->is_flipped,
                   .is_deterministic = true};
  size_t result[5] = {l->image[0], l->filters[0]};
  for (unsigned int i = 0; i < l->nd; i++) {
    c.stride[i] = l->stride[i];
    c.dilation[i] = l->dilation[i];
    c.before[i] = l->before[i];
    c.after[i] = l->after[i];
    const size_t extent = (l->filters[2 + i] - 1) * l->dilation[i] + 1;
    result[2 + i] =
        (l->image[2 + i] + l->before[i] + l->after[i] - extent) / l->stride[i] + 1;
  }
  lay_out(&c.image, l->image, l->nd, l->is_last);
  lay_out(&c.filters, l->filters, l->nd, l->is_last);
  lay_out(&c.result, result, l->nd, l->is_last);
  return c;
}

/* Small whole numbers, exact in every type. */
static void fill(double *values, int seed) {
  for (int i = 0; i < ROOM; i++)
    values[i] = (i * 7 + seed) % 11 - 5;
}

static gpudata *upload(double *values, int typecode) {
  static float narrow[ROOM];
  for (int i = 0; i < ROOM; i++)
    narrow[i] = (float)values[i];
  const bool is_double = typecode == GA_DOUBLE;
  gpudata *b = gpudata_alloc(ctx, is_double ? sizeof(double) * ROOM : sizeof narrow,
                             is_double ? (void *)values : narrow, GA_BUFFER_INIT, NULL);
  CHECK(b != NULL);
  return b;
}

static void download(double *values, gpudata *b, int typecode) {
  static float narrow[ROOM];
  if (typecode == GA_DOUBLE) {
    CHECK_OK(gpudata_read(values, b, 0, sizeof(double) * ROOM));
    return;
  }
  CHECK_OK(gpudata_read(narrow, b, 0, sizeof narrow));
  for (int i = 0; i < ROOM; i++)
    values[i] = (double)narrow[i];
}

typedef struct arrays {
  double image[ROOM], filters[ROOM], result[ROOM];
} arrays;

static void give_memory(ga_dnn_call *c, arrays *a) {
  c->image.buffer = upload(a->image, c->typecode);
  c->filters.buffer = upload(a->filters, c->typecode);
  c->result.buffer = upload(a->result, c->typecode);
}

static void take_memory(ga_dnn_call *c) {
  gpudata_release(c->image.buffer);
  gpudata_release(c->filters.buffer);
  gpudata_release(c->result.buffer);
  if (c->work)
    gpudata_release(c->work);
  c->work = NULL;
}

/* Asks for the workspace and runs the call. */
static int run(ga_dnn_call *c, const char *folder) {
  const ga_dnn *dnn = ga__context_dnn(ctx);
  if (dnn == NULL)
    return GA_MEMORY_ERROR;
  int status = dnn->workspace(&c->work_size, device, c, folder);
  if (status == GA_NO_ERROR && c->work_size > 0 && c->work == NULL)
    status = ga__buffer_new(&c->work, ctx, c->work_size);
  return status == GA_NO_ERROR ? ga__context_convolution(ctx, c) : status;
}

/* ---- reference ---- */

static size_t at(const ga_dnn_operand *o, size_t a, size_t b, const size_t *space,
                 unsigned int nd) {
  size_t sum = a * (size_t)o->strides[0] + b * (size_t)o->strides[1];
  for (unsigned int i = 0; i < nd; i++)
    sum += space[i] * (size_t)o->strides[2 + i];
  return sum;
}

static bool next(size_t *space, const size_t *lengths, unsigned int nd) {
  for (unsigned int i = nd; i-- > 0;) {
    if (++space[i] < lengths[i])
      return true;
    space[i] = 0;
  }
  return false;
}

/* The places of one product; false where the image is padded. */
static bool find_place(size_t place[3], const ga_dnn_call *c, const size_t *o,
                       const size_t *f) {
  for (unsigned int i = 0; i < c->nd; i++) {
    place[i] = o[i] * c->stride[i] + f[i] * c->dilation[i] - c->before[i];
    if (place[i] >= c->image.shape[2 + i]) /* also below 0 */
      return false;
  }
  return true;
}

static void add_product(arrays *a, const ga_dnn_call *c, size_t n, size_t r, size_t k,
                        const size_t *o, const size_t *f) {
  size_t place[3], e[3];
  const size_t group = r / (c->filters.shape[0] / c->groups);
  if (!find_place(place, c, o, f))
    return;
  for (unsigned int i = 0; i < c->nd; i++)
    e[i] = c->is_flipped ? c->filters.shape[2 + i] - 1 - f[i] : f[i];
  double *x =
      &a->image[at(&c->image, n, group * c->filters.shape[1] + k, place, c->nd)];
  double *w = &a->filters[at(&c->filters, r, k, e, c->nd)];
  double *y = &a->result[at(&c->result, n, r, o, c->nd)];
  if (c->role == GA_DNN_FORWARD)
    *y += *x * *w;
  else if (c->role == GA_DNN_BY_IMAGE)
    *x += *y * *w;
  else
    *w += *x * *y;
}

static size_t count(const ga_dnn_operand *o, unsigned int nd) {
  size_t n = 1;
  for (unsigned int i = 0; i < nd + 2; i++)
    n *= o->shape[i];
  return n;
}

static double *written(arrays *a, const ga_dnn_call *c) {
  return c->role == GA_DNN_FORWARD    ? a->result
         : c->role == GA_DNN_BY_IMAGE ? a->image
                                      : a->filters;
}

static void compute(arrays *a, const ga_dnn_call *c) {
  double *out = written(a, c);
  for (size_t i = 0; i < count(ga__dnn_written(c), c->nd); i++)
    out[i] = 0;
  for (size_t n = 0; n < c->result.shape[0]; n++)
    for (size_t r = 0; r < c->result.shape[1]; r++)
      for (size_t k = 0; k < c->filters.shape[1]; k++) {
        size_t o[3] = {0, 0, 0};
        do {
          size_t f[3] = {0, 0, 0};
          do
            add_product(a, c, n, r, k, o, f);
          while (next(f, c->filters.shape + 2, c->nd));
        } while (next(o, c->result.shape + 2, c->nd));
      }
}

static arrays expected, original;

static void make_arrays(void) {
  fill(original.image, 1);
  fill(original.filters, 3);
  fill(original.result, 8);
  expected = original;
}

static void check_values(const ga_dnn_call *c) {
  static double got[ROOM];
  const double *wanted = written(&expected, c);
  compute(&expected, c);
  download(got, ga__dnn_written(c)->buffer, c->typecode);
  for (size_t i = 0; i < count(ga__dnn_written(c), c->nd); i++)
    CHECK(got[i] == wanted[i]);
}

/* ---- results ---- */

static const layer layers[] = {
    {2, 1, {2, 3, 7, 6}, {4, 3, 3, 2}, {1, 1}, {1, 1}, {1, 0}, {1, 0}, false, false},
    {2, 2, {2, 4, 7, 6}, {6, 2, 3, 3}, {2, 1}, {1, 2}, {0, 2}, {1, 1}, false, true},
    {2, 4, {2, 4, 5, 5}, {4, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, true, false},
    {1, 1, {3, 2, 9}, {2, 2, 4}, {2}, {1}, {3}, {0}, false, true},
    {3,
     1,
     {1, 2, 4, 5, 3},
     {3, 2, 2, 3, 2},
     {1, 2, 1},
     {2, 1, 1},
     {0, 1, 1},
     {0, 0, 1},
     true,
     true},
};
enum { N_LAYERS = sizeof layers / sizeof *layers };

static void test_results(void) {
  static const int types[] = {GA_FLOAT, GA_DOUBLE};
  for (int l = 0; l < N_LAYERS; l++)
    for (int role = 0; role < 3; role++)
      for (int t = 0; t < 2; t++) {
        ga_dnn_call c = describe(&layers[l], (enum ga_dnn_role)role, types[t]);
        make_arrays();
        give_memory(&c, &original);
        CHECK(ga__context_dnn(ctx)->serves(device, &c));
        CHECK_OK(run(&c, NULL));
        check_values(&c);
        take_memory(&c);
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
  check_engine(c, 0, -1);
  setenv("GPUARRAY_DNN_WORKSPACE", "4096", 1);
  check_engine(c, 0, -1); /* a choice stays */
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

/* Opens the context anew, which forgets choices. */
static void reopen(void) {
  gpucontext_deref(ctx);
  ctx = open_cuda("cuda0");
  device = ctx->device;
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
  CHECK_OK(ctx->backend->dnn->workspace(&c.work_size, queue, &c, NULL));
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
  CHECK_OK(
      ga__context_dnn(ctx)->workspace(&recorded.work_size, device, &recorded, NULL));
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

/* ---- failures ---- */

/* The result is as it was. */
static void check_untouched(const ga_dnn_call *c) {
  static double got[ROOM];
  download(got, c->result.buffer, GA_FLOAT);
  for (int i = 0; i < ROOM; i++)
    CHECK(got[i] == original.result[i]);
}

/* Each call of the vendor's fails in turn, in a context of its own: nothing is lost,
 * and the context works on. */
static void test_failing_calls(void) {
  int failed = 0;
  for (long n = 0; n < 3000; n += n < 60 ? 1 : 71) {
    gpucontext *kept = ctx;
    ctx = open_cuda("cuda1");
    device = ctx->device;
    ga_dnn_call c = describe(&layers[0], GA_DNN_FORWARD, GA_FLOAT);
    make_arrays();
    give_memory(&c, &original);
    CHECK(ga__context_dnn(ctx) != NULL);
    mock->fail_with = 4000;
    mock->fail_at = n;
    const int status = run(&c, NULL);
    const bool was_reached = mock->fail_at < 0;
    mock->fail_at = -1;
    failed += status != GA_NO_ERROR;
    if (status == GA_NO_ERROR)
      check_values(&c);
    else
      check_untouched(&c);
    make_arrays();
    CHECK_OK(run(&c, NULL));
    check_values(&c);
    take_memory(&c);
    gpucontext_deref(ctx);
    ctx = kept;
    device = ctx->device;
    if (!was_reached) {
      CHECK(failed > 10);
      return;
    }
  }
  CHECK(!"all calls were reached");
}

/* Each allocation of the library fails in turn. */
static void test_no_memory(void) {
  int status = GA_MEMORY_ERROR;
  reopen();
  ga_dnn_call c = describe(&layers[1], GA_DNN_FORWARD, GA_FLOAT);
  make_arrays();
  give_memory(&c, &original);
  for (long n = 0; n < 100 && status != GA_NO_ERROR; n++) {
    ga__alloc_fail_at(n);
    status = run(&c, NULL);
    CHECK(status == GA_NO_ERROR || status == GA_MEMORY_ERROR);
  }
  ga__alloc_fail_at(-1);
  CHECK_OK(status);
  check_values(&c);
  take_memory(&c);
}

static void test_an_unusable_device(void) {
  reopen();
  mock->fail_with = 1001;
  mock->fail_at = 0;
  CHECK(ga__context_dnn(ctx) == NULL);
  CHECK(mock->fail_at < 0);
  CHECK(ga__context_dnn(ctx) == NULL); /* not tried again */
  CHECK_TEXT("cuDNN does not start");
  reopen();
  setenv("GPUARRAY_DNN", "own", 1);
  CHECK(ga__context_dnn(ctx) == NULL);
  unsetenv("GPUARRAY_DNN");
  CHECK(ga__context_dnn(ctx) != NULL);
}

/* ---- opening ---- */

static void copy_file(const char *folder, const char *name) {
  char command[4400];
  snprintf(command, sizeof command, "cp '%s' %s/%s", getenv("GPUARRAY_CUDA_DRIVER"),
           folder, name);
  CHECK(system(command) == 0);
}

/* The state of a copy of the mock. */
static mock_cuda *state_of(const char *folder, const char *name) {
  char path[64];
  mock_cuda *(*get_state)(void);
  snprintf(path, sizeof path, "%s/%s", folder, name);
  void *symbol = dlsym(dlopen(path, RTLD_NOW), "mock_cuda_state");
  memcpy(&get_state, &symbol, sizeof get_state);
  return get_state();
}

/* Opens a folder's cuDNN; the report has `text`. */
static void *open_folder(const char *folder, int lt_major, const char *text) {
  char path[64];
  ga_strbuf report = {0};
  snprintf(path, sizeof path, "%s/libcudnn.so.9", folder);
  void *opened = ga__cuda_dnn_open(path, lt_major, &report);
  if (strstr(report.text, text) == NULL)
    printf("%s\n", report.text);
  CHECK(strstr(report.text, text) != NULL);
  ga__strbuf_clear(&report);
  return opened;
}

static void test_opening(void) {
  char folder[] = "/tmp/gpuarray-cudnn-XXXXXX", command[64];
  ga_strbuf report = {0};
  CHECK(mkdtemp(folder) != NULL);
  CHECK(ga__cuda_dnn_loaded(&report) == NULL);
  copy_file(folder, "libcudnn.so.9");
  CHECK(open_folder(folder, 0, "libcudnn_graph.so is missing beside it") == NULL);
  copy_file(folder, "libcudnn_graph.so.9");
  CHECK(open_folder(folder, 13, "libcudnn.so.9: opened") != NULL);
  CHECK(open_folder(folder, 12, "for CUDA 13, cuBLASLt is of CUDA 12") == NULL);
  state_of(folder, "libcudnn_graph.so.9")->dnn_version = 90100;
  CHECK(open_folder(folder, 0, "9.12.0, but libcudnn_graph beside it is 9.1.0") ==
        NULL);
  state_of(folder, "libcudnn.so.9")->dnn_version = 80905;
  CHECK(open_folder(folder, 0, "cuDNN 9 is needed") == NULL);
  CHECK(ga__cuda_dnn_open("/nowhere/libcudnn.so.8", 0, &report) == NULL);
  CHECK(strstr(report.text, "libcudnn.so.8: passed over: cuDNN 9 is needed") != NULL);
  ga__strbuf_clear(&report);
  snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK(system(command) == 0);
}

int main(void) {
  open_mock();
  setenv("GPUARRAY_DNN_WORKSPACE", "4096", 1);
  ctx = open_cuda("cuda0");
  device = ctx->device;
  test_opening();
  if (ga__context_dnn(ctx) == NULL) {
    CHECK(!"cuDNN is open");
    return 1;
  }
  test_results();
  test_engines_are_exact();
  test_the_workspace_is_limited();
  test_a_call_fits_its_workspace();
  test_plans_are_kept();
  test_plans_make_room();
  test_choices_are_kept_on_disk();
  test_queues_share_choices();
  test_refused_layouts();
  test_recordings();
  test_failing_calls();
  test_no_memory();
  test_an_unusable_device();
  gpucontext_deref(ctx);
  check_given_back();
  return check_result("convolutions by cuDNN");
}
