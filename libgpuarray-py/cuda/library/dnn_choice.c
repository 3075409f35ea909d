/* The choice among cuDNN's engines, made once for a convolution.
 *
 * The heuristics are wrong by factors at times, so engines are timed: first what they
 * rank, and where that is little all others, with the tile sizes of those that are not
 * far behind. The arrays of the call are not used for it: they may be placeholders, and
 * the result must stay as it is if the call fails. */
#include "cuda/library/dnn_choice.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "c/system/cache.h"

enum { CANDIDATES = 128, MOST_TIMED = 24, MOST_TILES = 64, FEW_RANKED = 8, RUNS = 3 };

#define DEFAULT_WORK ((size_t)256 << 20)
#define MOST_DELAY ((size_t)64 << 20) /* bytes of fill, about 20 us on an H200 */
#define SHORT 0.5F                    /* milliseconds: run several times in a row */
#define TOO_LONG 100.0 /* milliseconds, and LOST times the best: run only once */
#define LOST 50.0
#define HOPELESS 3.0   /* times the best: not run again */
#define RULES 4        /* which engines are exact enough; counts their changes */
#define LOOKED_AT 4096 /* floats of a result */
#define NAN_BYTE 0xff
#define FILL_BYTE 0x3c /* small numbers in every float type; zeros run too fast */

size_t ga__dnn_most_work(void) {
  const char *text = getenv("GPUARRAY_DNN_WORKSPACE");
  char *end = NULL;
  const unsigned long long bytes = text ? strtoull(text, &end, 10) : 0;
  return end != NULL && end != text && *end == '\0' ? (size_t)bytes : DEFAULT_WORK;
}

/* ---- timing ---- */

/* Memory and events of a trial. */
typedef struct trial {
  const ga_dnn_chooser *chooser;
  CUdeviceptr memory;
  void *addresses[GA_DNN_ADDRESSES];
  size_t delay; /* bytes of the workspace to fill before a run */
  CUevent start, end;
  float best; /* milliseconds */
  ga_dnn_engine engine;
} trial;

static size_t tensor_bytes(const ga_dnn_question *q, const ga_dnn_tensor *t) {
  int64_t elements = 1;
  for (int64_t i = 0; i < q->nd + 2; i++)
    elements += (t->shape[i] - 1) * t->strides[i];
  const size_t bytes = (size_t)elements * gpuarray_get_elsize((int)q->typecode);
  return (bytes + 255) / 256 * 256;
}

static void close_trial(const trial *t) {
  if (t->start)
    ga__cuda.cuEventDestroy(t->start);
  if (t->end)
    ga__cuda.cuEventDestroy(t->end);
  if (t->memory)
    ga__cuda.cuMemFree(t->memory);
}

static int open_trial(trial *t, size_t work_size) {
  const ga_dnn_question *q = t->chooser->question;
  size_t offsets[GA_DNN_ADDRESSES], total = 0;
  for (int i = 0; i < GA_DNN_TENSORS; i++) {
    offsets[i] = total;
    total += ga__dnn_has(q, i) ? tensor_bytes(q, &q->tensors[i]) : 0;
  }
  offsets[GA_DNN_TENSORS] = total;
  t->delay = work_size < MOST_DELAY ? work_size : MOST_DELAY;
  CUDA_TRY(cuMemAlloc, &t->memory, total + work_size + 1);
  for (int i = 0; i < GA_DNN_ADDRESSES; i++)
    t->addresses[i] = (void *)(uintptr_t)(t->memory + offsets[i]);
  CUDA_TRY(cuEventCreate, &t->start, 0);
  CUDA_TRY(cuEventCreate, &t->end, 0);
  CUDA_TRY(cuMemsetD8Async, t->memory, FILL_BYTE, total, t->chooser->device->stream);
  return GA_NO_ERROR;
}

/* Milliseconds of an execution, of `n` in a row. The fill before them gives the host
 * time to queue them all, so that its own time does not count. */
static int run_some(float *milliseconds, const trial *t, cudnnDescriptor plan,
                    cudnnDescriptor pack, int n) {
  const CUstream stream = t->chooser->device->stream;
  CUDA_TRY(cuMemsetD8Async, (CUdeviceptr)(uintptr_t)t->addresses[GA_DNN_TENSORS],
           FILL_BYTE, t->delay, stream);
  CUDA_TRY(cuEventRecord, t->start, stream);
  for (int i = 0; i < n; i++)
    DNN_TRY(cudnnBackendExecute, t->chooser->handle, plan, pack);
  CUDA_TRY(cuEventRecord, t->end, stream);
  CUDA_TRY(cuEventSynchronize, t->end);
  CUDA_TRY(cuEventElapsedTime, milliseconds, t->start, t->end);
  *milliseconds /= (float)n;
  return GA_NO_ERROR;
}

/* Milliseconds of a pass over the result: a copy, and half of one more for a residual.
 */
static float time_pass(const trial *t) {
  const ga_dnn_question *q = t->chooser->question;
  const size_t bytes = tensor_bytes(q, &q->tensors[DNN_RESULT]);
  const size_t some = bytes < t->chooser->most_work ? bytes : t->chooser->most_work;
  const CUstream stream = t->chooser->device->stream;
  float best = FLT_MAX, milliseconds = 0;
  for (int i = 0; i < RUNS && some > 0; i++) {
    if (ga__cuda.cuEventRecord(t->start, stream) != 0 ||
        ga__cuda.cuMemcpyDtoDAsync((CUdeviceptr)(uintptr_t)t->addresses[GA_DNN_TENSORS],
                                   (CUdeviceptr)(uintptr_t)t->addresses[DNN_RESULT],
                                   some, stream) != 0 ||
        ga__cuda.cuEventRecord(t->end, stream) != 0 ||
        ga__cuda.cuEventSynchronize(t->end) != 0 ||
        ga__cuda.cuEventElapsedTime(&milliseconds, t->start, t->end) != 0)
      return 0;
    best = milliseconds < best ? milliseconds : best;
  }
  const float whole = some > 0 ? best * (float)bytes / (float)some : 0;
  return ga__dnn_has(q, DNN_RESIDUAL) ? 1.5F * whole : whole;
}

/* The best of some runs. The first, which loads kernels, counts only if it is so slow
 * that no other is worth the time. */
static int run_plan(float *best, const trial *t, cudnnDescriptor plan,
                    cudnnDescriptor pack) {
  float milliseconds = 0;
  GA_TRY(run_some(&milliseconds, t, plan, pack, 1));
  *best = milliseconds;
  if (milliseconds > TOO_LONG && milliseconds > LOST * t->best)
    return GA_NO_ERROR;
  *best = FLT_MAX;
  for (int i = 0; i < RUNS && (i == 0 || *best <= HOPELESS * t->best); i++) {
    GA_TRY(run_some(&milliseconds, t, plan, pack, milliseconds < SHORT ? 4 : 1));
    if (milliseconds < *best)
      *best = milliseconds;
  }
  return GA_NO_ERROR;
}

/* The array that the role writes. */
static int written(const ga_dnn_question *q) {
  return q->role == GA_DNN_FORWARD ? 2 : q->role == GA_DNN_BY_IMAGE ? 0 : 1;
}

/* True if nan in a float operand is nan in what is written first. Some engine of cuDNN
 * 9.19 for 3 x 3 filters, noted as exact, gives finite numbers on an H200. */
static bool keeps_nan(const trial *t, cudnnDescriptor plan, cudnnDescriptor pack) {
  const ga_dnn_question *q = t->chooser->question;
  const CUstream stream = t->chooser->device->stream;
  const int out = written(q);
  const int in = q->role == GA_DNN_BY_IMAGE ? 2 : 0;
  const CUdeviceptr from = (CUdeviceptr)(uintptr_t)t->addresses[in];
  float found[LOOKED_AT] = {0};
  const size_t bytes = tensor_bytes(q, &q->tensors[out]);
  const size_t size = bytes < sizeof found ? bytes : sizeof found;
  const size_t n_nan = tensor_bytes(q, &q->tensors[in]);
  if (q->typecode != GA_FLOAT)
    return true;
  bool is_run =
      ga__cuda.cuMemsetD8Async(from, NAN_BYTE, n_nan, stream) == 0 &&
      ga__cuda.cudnnBackendExecute(t->chooser->handle, plan, pack) == 0 &&
      ga__cuda.cuMemcpyDtoHAsync(found, (CUdeviceptr)(uintptr_t)t->addresses[out], size,
                                 stream) == 0;
  is_run &= ga__cuda.cuMemsetD8Async(from, FILL_BYTE, n_nan, stream) == 0;
  is_run &= ga__cuda.cuStreamSynchronize(stream) == 0;
  for (size_t i = 0; is_run && i < size / sizeof *found; i++)
    if (found[i] != found[i])
      return true;
  return false;
}

/* Times an engine; FLT_MAX for one that fails, needs too much workspace or, if it is
 * the fastest so far, loses nan. */
static float time_engine(trial *t, const ga_dnn_engine *engine) {
  const ga_dnn_chooser *c = t->chooser;
  ga_dnn_descriptors plan, pack;
  size_t work_size;
  float milliseconds = FLT_MAX;
  if (ga__dnn_plan(&plan, &work_size, c->handle, c->graph, engine) != GA_NO_ERROR)
    return FLT_MAX;
  if (work_size <= c->most_work &&
      ga__dnn_pack(&pack, c->question, t->addresses) == GA_NO_ERROR) {
    if (run_plan(&milliseconds, t, ga__dnn_last(&plan), ga__dnn_last(&pack)) !=
        GA_NO_ERROR) {
      milliseconds = FLT_MAX;
      ga__cuda.cuStreamSynchronize(c->device->stream); /* of what was queued */
    }
    if (milliseconds < t->best &&
        !keeps_nan(t, ga__dnn_last(&plan), ga__dnn_last(&pack)))
      milliseconds = FLT_MAX;
    ga__dnn_destroy(&pack);
  }
  ga__dnn_destroy(&plan);
  if (milliseconds < t->best) {
    t->best = milliseconds;
    t->engine = *engine;
  }
  return milliseconds;
}

/* The other tile sizes of an engine. */
static void time_tiles(trial *t, const ga_dnn_engine *engine) {
  int64_t least, most;
  if (!ga__dnn_tiles(&least, &most, t->chooser->graph, engine->number))
    return;
  for (int64_t tile = least; tile <= most && tile - least < MOST_TILES; tile++) {
    ga_dnn_engine other = *engine;
    if (ga__dnn_set_tile(&other, tile) && memcmp(&other, engine, sizeof other) != 0)
      time_engine(t, &other);
  }
}

/* ---- candidates ---- */

static int no_engine(void) {
  return GA_FAIL(GA_DEVSUP_ERROR, "cuDNN has no engine for this convolution");
}

/* True if no entry before it is of the same engine. */
static bool is_first(const ga_dnn_engine *list, size_t at) {
  for (size_t i = 0; i < at; i++)
    if (list[i].number == list[at].number)
      return false;
  return true;
}

static int time_all(trial *t, const ga_dnn_engine *list, size_t n, bool has_tiles) {
  float times[CANDIDATES];
  size_t timed = 0, i = 0;
  GA_TRY(open_trial(t, t->chooser->most_work));
  for (; i < n && timed < MOST_TIMED; i++) {
    times[i] = time_engine(t, &list[i]);
    timed += times[i] < FLT_MAX;
  }
  if (timed == 0)
    return no_engine();
  for (size_t k = 0; has_tiles && k < i; k++)
    if (times[k] <= HOPELESS * t->best && is_first(list, k))
      time_tiles(t, &list[k]);
  return GA_NO_ERROR;
}

int ga__dnn_time(ga_dnn_engine *out, const ga_dnn_chooser *c) {
  trial t = {.chooser = c, .best = FLT_MAX};
  size_t n_ranked;
  ga_dnn_engine *list = ga__alloc(CANDIDATES, sizeof *list);
  GA_TRY_MEMORY(list);
  size_t n = ga__dnn_engines(list, CANDIDATES, &n_ranked, c->graph, c->question, false);
  const bool is_poor = n_ranked < FEW_RANKED;
  if (is_poor)
    n = ga__dnn_engines(list, CANDIDATES, &n_ranked, c->graph, c->question, true);
  int status = n == 0 ? no_engine() : time_all(&t, list, n, is_poor);
  if (status == GA_NO_ERROR) {
    const float pass = ga__dnn_has_epilogue(c->question) ? time_pass(&t) : 0;
    *out = t.engine;
    out->cost = (int64_t)(1e6 * (double)(t.best - pass));
  }
  close_trial(&t);
  ga__free(list);
  return status;
}

/* True if the engine has a plan under the limit. */
static bool is_possible(const ga_dnn_chooser *c, const ga_dnn_engine *engine) {
  ga_dnn_descriptors plan;
  size_t work_size;
  if (ga__dnn_plan(&plan, &work_size, c->handle, c->graph, engine) != GA_NO_ERROR)
    return false;
  ga__dnn_destroy(&plan);
  return work_size <= c->most_work;
}

int ga__dnn_guess(ga_dnn_engine *out, const ga_dnn_chooser *c) {
  size_t n_ranked, i = 0;
  ga_dnn_engine *list = ga__alloc(CANDIDATES, sizeof *list);
  GA_TRY_MEMORY(list);
  size_t n = ga__dnn_engines(list, CANDIDATES, &n_ranked, c->graph, c->question, true);
  while (i < n && !is_possible(c, &list[i]))
    i++;
  if (i < n)
    *out = list[i];
  ga__free(list);
  return i < n ? GA_NO_ERROR : no_engine();
}

/* ---- disk ---- */

static int make_key(ga_strbuf *key, const ga_dnn_chooser *c) {
  char name[256];
  const int64_t *words = (const int64_t *)(const void *)c->question;
  CUDA_TRY(cuDeviceGetName, name, (int)sizeof name, c->device->device);
  ga__cache_key(key, "cuda", name);
  ga__strbuf_addf(key, "cudnn %zu, workspace %zu, rules %d\n",
                  ga__cuda.cudnnGetVersion(), c->most_work, RULES);
  for (size_t i = 0; i < sizeof *c->question / sizeof *words; i++)
    ga__strbuf_addf(key, "%lld ", (long long)words[i]);
  return ga__strbuf_status(key);
}

bool ga__dnn_recall(ga_dnn_engine *out, const ga_dnn_chooser *c, const char *folder) {
  ga_strbuf key = {0};
  void *bytes = NULL;
  size_t size = 0;
  bool is_found = false;
  if (folder != NULL && make_key(&key, c) == GA_NO_ERROR &&
      ga__cache_read(&bytes, &size, folder, key.text, key.length) == GA_CACHE_HIT) {
    is_found = size == sizeof *out;
    if (is_found)
      memcpy(out, bytes, size);
    is_found = is_found && out->n_knobs >= 0 && out->n_knobs <= GA_DNN_KNOBS;
  }
  ga__free(bytes);
  ga__strbuf_clear(&key);
  return is_found;
}

void ga__dnn_remember(const ga_dnn_engine *engine, const ga_dnn_chooser *c,
                      const char *folder) {
  ga_strbuf key = {0};
  if (folder != NULL && make_key(&key, c) == GA_NO_ERROR)
    ga__cache_write(folder, key.text, key.length, engine, sizeof *engine);
  ga__strbuf_clear(&key);
}
