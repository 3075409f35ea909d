/* Choice between our kernels, products and the vendor's library, by timing them.
 *
 * The arrays of the call are not used for it: they may be placeholders, and the result
 * must stay as it is if the call fails. */
#include "c/convolution/conv_choice.h"

#include <math.h>
#include <string.h>

#include "c/base/counts.h"
#include "c/device/context.h"
#include "c/device/recorder.h"
#include "c/system/cache.h"
#include <gpuarray/queue.h>

enum { ALIGNMENT = 256, ROUNDS = 3, RUNS = 4 };
#define DELAY ((size_t)64 << 20) /* bytes of fill, while which the host queues runs */
#define FILL_BYTE 0x3c /* small numbers in every float type; zeros run too fast */

/* ---- signature ---- */

/* All that decides how long a convolution takes. Compared as bytes. */
typedef struct signature {
  int64_t ways; /* a bit for each */
  int64_t role, typecode, is_tf32, is_deterministic, batch, groups, channels, results;
  int64_t axes[GA_CONV_AXES][6];
  int64_t arrays[3][3 + GA_CONV_AXES]; /* offset from the alignment, strides */
} signature;

static void list_arrays(const ga_conv_array *list[3], const ga_conv *c) {
  list[0] = &c->image;
  list[1] = &c->filters;
  list[2] = &c->result;
}

static signature signature_of(const ga_conv *c, const ga_conv_run runs[GA_CONV_WAYS]) {
  const ga_conv_array *arrays[3];
  signature s = {.role = c->role,
                 .typecode = c->typecode,
                 .is_tf32 = atomic_load(&c->context->blas.is_tf32),
                 .is_deterministic = c->is_deterministic,
                 .batch = (int64_t)c->batch,
                 .groups = (int64_t)c->groups,
                 .channels = (int64_t)c->channels,
                 .results = (int64_t)c->results};
  for (int i = 0; i < GA_CONV_AXES; i++) {
    const ga_conv_axis *a = &c->axes[i];
    const size_t words[6] = {a->image,  a->filter,   a->result,
                             a->stride, a->dilation, a->before};
    for (int k = 0; k < 6; k++)
      s.axes[i][k] = (int64_t)words[k];
  }
  for (int way = 0; way < GA_CONV_WAYS; way++)
    s.ways |= (int64_t)(runs[way] != NULL) << way;
  list_arrays(arrays, c);
  for (int i = 0; i < 3; i++) {
    s.arrays[i][0] = (int64_t)(arrays[i]->offset % ALIGNMENT);
    for (int k = 0; k < 2; k++)
      s.arrays[i][1 + k] = arrays[i]->outer[k];
    for (int k = 0; k < GA_CONV_AXES; k++)
      s.arrays[i][3 + k] = arrays[i]->inner[k];
  }
  return s;
}

/* ---- memory of a trial ---- */

/* Moves an array of these lengths to a buffer of its own, filled with numbers. */
static int move_array(ga_conv_array *a, const ga_conv *c,
                      const size_t lengths[2 + GA_CONV_AXES]) {
  const size_t itemsize = gpuarray_get_elsize(c->typecode);
  const ssize_t strides[2 + GA_CONV_AXES] = {a->outer[0], a->outer[1], a->inner[0],
                                             a->inner[1], a->inner[2]};
  size_t below = 0, above = 1;
  for (int i = 0; i < 2 + GA_CONV_AXES; i++)
    *(strides[i] < 0 ? &below : &above) += (lengths[i] - 1) * ga__magnitude(strides[i]);
  const size_t start = ga__ceil_div(below * itemsize, ALIGNMENT) * ALIGNMENT;
  a->offset = start + a->offset % ALIGNMENT;
  const size_t size = a->offset + above * itemsize;
  a->data = NULL;
  GA_TRY(ga__buffer_new(&a->data, c->context, size));
  return ga__buffer_fill(a->data, 0, FILL_BYTE, size);
}

static void close_trial(const ga_conv *t) {
  const ga_conv_array *arrays[3];
  list_arrays(arrays, t);
  for (int i = 0; i < 3; i++)
    if (arrays[i]->data)
      gpudata_release(arrays[i]->data);
}

static int open_trial(ga_conv *t, const ga_conv *c) {
  size_t lengths[3][2 + GA_CONV_AXES] = {{c->batch, c->channels * c->groups},
                                         {c->results * c->groups, c->channels},
                                         {c->batch, c->results * c->groups}};
  for (int i = 0; i < GA_CONV_AXES; i++) {
    lengths[0][2 + i] = c->axes[i].image;
    lengths[1][2 + i] = c->axes[i].filter;
    lengths[2][2 + i] = c->axes[i].result;
  }
  *t = *c;
  t->image.data = t->filters.data = t->result.data = NULL;
  int status = move_array(&t->image, c, lengths[0]);
  GA_THEN(status, move_array(&t->filters, c, lengths[1]));
  GA_THEN(status, move_array(&t->result, c, lengths[2]));
  if (status != GA_NO_ERROR)
    close_trial(t);
  return status;
}

/* ---- timing ---- */

static int time_round(double *seconds, const ga_conv *t, ga_conv_run run,
                      gpudata *delay) {
  gpuqueue *queue = ga__queue_current(t->context);
  gpuevent *start = NULL, *end = NULL;
  int status = ga__buffer_fill(delay, 0, FILL_BYTE, DELAY);
  GA_THEN(status, gpuevent_record(&start, queue));
  for (int i = 0; i < RUNS; i++)
    GA_THEN(status, run(t));
  GA_THEN(status, gpuevent_record(&end, queue));
  GA_THEN(status, gpuevent_seconds(seconds, start, end));
  gpuevent_release(start);
  gpuevent_release(end);
  return status;
}

/* The best of some rounds. The first loads or compiles kernels and does not count. */
static int time_runs(double *best, const ga_conv *t, ga_conv_run run, gpudata *delay) {
  *best = INFINITY;
  GA_TRY(run(t));
  for (int i = 0; i < ROUNDS; i++) {
    double seconds = 0;
    GA_TRY(time_round(&seconds, t, run, delay));
    if (seconds < *best)
      *best = seconds;
  }
  return GA_NO_ERROR;
}

/* Times all ways; false if there is no answer. One that fails is left out, and
 * *is_whole is false. */
static bool time_all(enum ga_conv_way *out, bool *is_whole, const ga_conv *c,
                     const ga_conv_run runs[GA_CONV_WAYS]) {
  ga_conv t;
  gpudata *delay = NULL;
  double least = INFINITY;
  *is_whole = true;
  if (open_trial(&t, c) != GA_NO_ERROR)
    return false;
  int status = ga__buffer_new(&delay, c->context, DELAY);
  for (int way = 0; way < GA_CONV_WAYS && !ga__conv_is_final(status) && delay; way++) {
    double seconds = INFINITY;
    if (runs[way] == NULL)
      continue;
    status = time_runs(&seconds, &t, runs[way], delay);
    *is_whole = *is_whole && status == GA_NO_ERROR;
    if (status == GA_NO_ERROR && seconds < least) {
      least = seconds;
      *out = (enum ga_conv_way)way;
    }
  }
  if (delay)
    gpudata_release(delay);
  close_trial(&t);
  return least < INFINITY && !ga__conv_is_final(status);
}

/* ---- memory and disk ---- */

typedef struct choice {
  struct choice *next;
  signature asked;
  enum ga_conv_way way;
} choice;

/* Attached to a context. Append-only, so that look-ups are lock-free. */
typedef struct choices {
  _Atomic(choice *) first;
} choices;

static void free_choices(gpucontext *ctx, void *object) {
  choices *all = object;
  (void)ctx;
  for (choice *k = atomic_load(&all->first), *next; k != NULL; k = next) {
    next = k->next;
    ga__free(k);
  }
  ga__free(all);
}

static const choice *find(choices *all, const signature *s) {
  const choice *k = atomic_load_explicit(&all->first, memory_order_acquire);
  while (k != NULL && memcmp(&k->asked, s, sizeof *s) != 0)
    k = k->next;
  return k;
}

/* Two threads may add a signature twice: the first found counts. */
static void add(choices *all, const signature *s, enum ga_conv_way way) {
  choice *k = ga__alloc(1, sizeof *k);
  if (k == NULL)
    return; /* timed again */
  *k = (choice){.asked = *s, .way = way};
  k->next = atomic_load(&all->first);
  while (!atomic_compare_exchange_weak(&all->first, &k->next, k))
    ;
}

static int make_key(ga_strbuf *key, const gpucontext *ctx, const signature *s) {
  const int64_t *words = (const int64_t *)(const void *)s;
  size_t version = 0;
  if (s->ways >> GA_CONV_BY_VENDOR & 1)
    GA_TRY(ctx->backend->dnn->version(&version));
  ga__cache_key(key, ctx->backend->name, ctx->info.name);
  ga__strbuf_addf(key, "way of a convolution, with version %zu\n", version);
  for (size_t i = 0; i < sizeof *s / sizeof *words; i++)
    ga__strbuf_addf(key, "%lld ", (long long)words[i]);
  return ga__strbuf_status(key);
}

/* The choice from disk. False if there is none. */
static bool read_choice(enum ga_conv_way *way, const char *folder, const ga_strbuf *key,
                        const ga_conv_run runs[GA_CONV_WAYS]) {
  void *bytes = NULL;
  size_t size = 0;
  const bool is_hit =
      folder != NULL &&
      ga__cache_read(&bytes, &size, folder, key->text, key->length) == GA_CACHE_HIT &&
      size == 1;
  const unsigned char byte = is_hit ? *(const unsigned char *)bytes : GA_CONV_WAYS;
  ga__free(bytes);
  if (byte >= GA_CONV_WAYS || runs[byte] == NULL)
    return false;
  *way = byte;
  return true;
}

/* Records all ways: kernels compile on other threads, while the vendor's library times
 * its own. */
static void rehearse(const ga_conv *c, const ga_conv_run runs[GA_CONV_WAYS]) {
  for (int way = 0; way < GA_CONV_WAYS; way++)
    if (runs[way] != NULL)
      runs[way](c);
}

/* The choice from disk, or by timing, which is stored; false if there is none. */
static bool choose(enum ga_conv_way *way, const ga_conv *c, const signature *s,
                   const ga_conv_run runs[GA_CONV_WAYS]) {
  const char *folder = c->context->cache.folder;
  ga_strbuf key = {0};
  bool is_whole, is_chosen = false;
  if (make_key(&key, c->context, s) == GA_NO_ERROR) {
    is_chosen = read_choice(way, folder, &key, runs);
    if (!is_chosen && ga__recording_drop(c->context)) {
      rehearse(c, runs);
      *way = GA_CONV_UNDECIDED;
    } else if (!is_chosen) {
      ga_recording *recording = ga__recording_suspend();
      is_chosen = time_all(way, &is_whole, c, runs);
      ga__recording_resume(recording);
      const char byte = (char)*way;
      if (is_chosen && is_whole && folder != NULL)
        ga__cache_write(folder, key.text, key.length, &byte, 1);
    }
  }
  ga__strbuf_clear(&key);
  return is_chosen;
}

enum ga_conv_way ga__conv_fastest(const ga_conv *c,
                                  const ga_conv_run runs[GA_CONV_WAYS],
                                  enum ga_conv_way otherwise,
                                  bool (*is_brief)(const ga_conv *c)) {
  const signature s = signature_of(c, runs);
  enum ga_conv_way way = otherwise;
  void *object;
  if (ga__context_attach(&object, c->context, GA_ATTACHED_USERS, sizeof(choices),
                         free_choices) != GA_NO_ERROR)
    return otherwise;
  const choice *known = find(object, &s);
  if (known)
    return known->way;
  if (is_brief != NULL && is_brief(c))
    way = GA_CONV_BY_VENDOR;
  else if (!choose(&way, c, &s, runs))
    return way == GA_CONV_UNDECIDED ? way : otherwise;
  add(object, &s, way);
  return way;
}
