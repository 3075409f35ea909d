/* Pipelined transfers between a device and pageable memory, staged through pinned
 * memory.
 *
 * The device copies parts to or from a ring of pinned slots; parts are large, since
 * each DMA has 4 us of overhead. One core copies slower than the bus, so several
 * threads copy the slices of a part; the thread that finishes a part hands its slot
 * back to the device. */
#define _POSIX_C_SOURCE 200809L
#include "c/device/pieces.h"
#include "c/base/counts.h"
#include "c/system/ending.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif
#ifdef __x86_64__
#include <cpuid.h>
#endif

#define SMALLEST_PART ((size_t)1 << 20)
#define LARGEST_PART ((size_t)8 << 20)
#define BYTES_PER_THREAD ((size_t)1 << 20) /* of work, to be worth a thread */
/* Largest upload copied with non-temporal stores: 1.2 times as fast at 64 MiB, 0.8
 * times at 256 MiB. */
#define STREAMED ((size_t)64 << 20)
enum { SLOTS = 6, SLICES = 8, MOST_THREADS = 10, PARTS = 16 };

/* A slot of the ring. */
typedef struct slot {
  char *pinned;
  void *event;          /* after the device's latest copy; NULL: none yet */
  size_t turns;         /* device copies queued so far */
  atomic_size_t copied; /* slices done of the current part */
} slot;

/* State shared by the threads. */
typedef struct job {
  const ga_backend *backend;
  void *device, *memory;
  size_t offset, size, part; /* bytes; the last part may be shorter */
  char *host;
  bool writes;
  bool is_streamed;   /* with non-temporal stores */
  atomic_size_t next; /* next slice to copy */
  slot slots[SLOTS];
  pthread_mutex_t lock;
  pthread_cond_t changed; /* a slot's turns, or the status */
  int status;             /* first failure and its text */
  char *text;
} job;

typedef struct worker {
  job *job;
  struct worker *all;
  unsigned int place, n; /* index and number of workers */
  pthread_t thread;
  bool is_started;
} worker;

/* Records the first failure; no further slice is begun. */
static void note_failure(job *j, int status) {
  pthread_mutex_lock(&j->lock);
  if (j->status == GA_NO_ERROR) {
    j->status = status;
    j->text = ga__strdup(gpuarray_error_text());
  }
  pthread_cond_broadcast(&j->changed);
  pthread_mutex_unlock(&j->lock);
}

static size_t count_parts(const job *j) {
  return (j->size + j->part - 1) / j->part;
}

/* memcpy with non-temporal stores, so that DMA need not snoop the caches; `dst` is
 * aligned to 16 bytes. */
static void copy_streaming(char *dst, const char *src, size_t n) {
  size_t i = 0;
#ifdef __SSE2__
  for (; i + 64 <= n; i += 64)
    for (size_t k = 0; k < 64; k += 16)
      _mm_stream_si128((__m128i *)(dst + i + k),
                       _mm_loadu_si128((const __m128i *)(src + i + k)));
  _mm_sfence();
#endif
  memcpy(dst + i, src + i, n - i);
}

#ifdef __x86_64__
static pthread_once_t asked = PTHREAD_ONCE_INIT;
static bool has_fast_strings; /* ERMS: "rep movsb" is fast */

static void ask_processor(void) {
  enum { FEATURES = 7, ERMS = 1 << 9 };
  unsigned int a, b, c, d;
  has_fast_strings = __get_cpuid_count(FEATURES, 0, &a, &b, &c, &d) != 0 && (b & ERMS);
}
#endif

/* memcpy into the caches, where DMA finds the data. libc's memcpy uses non-temporal
 * stores for megabytes: 35 GB/s instead of 45 with 8 threads. */
static void copy_cached(char *dst, const char *src, size_t n) {
#ifdef __x86_64__
  pthread_once(&asked, ask_processor);
  if (has_fast_strings) {
    __asm__ volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(n) : : "memory");
    return;
  }
#endif
  memcpy(dst, src, n);
}

/* Queues the device's copy of a part; the slot is free. */
static int queue_part(job *j, size_t part) {
  const ga_pinning *pinning = j->backend->pinning;
  slot *s = &j->slots[part % SLOTS];
  size_t at = part * j->part, n = ga__smaller(j->part, j->size - at);
  void *event = NULL;
  GA_TRY(j->writes ? pinning->write(j->device, j->memory, j->offset + at, s->pinned, n)
                   : pinning->read(j->device, s->pinned, j->memory, j->offset + at, n));
  GA_TRY(j->backend->event(&event, j->device, false));
  pthread_mutex_lock(&j->lock);
  if (s->event != NULL)
    j->backend->event_free(j->device, s->event);
  s->event = event;
  s->turns++;
  pthread_cond_broadcast(&j->changed);
  pthread_mutex_unlock(&j->lock);
  return GA_NO_ERROR;
}

/* Waits until `turns` copies of a slot are queued; *event follows the latest. */
static int await_turn(job *j, slot *s, size_t turns, void **event) {
  pthread_mutex_lock(&j->lock);
  while (s->turns < turns && j->status == GA_NO_ERROR)
    pthread_cond_wait(&j->changed, &j->lock);
  *event = s->event;
  int status = j->status;
  pthread_mutex_unlock(&j->lock);
  return status;
}

static int await_event(const job *j, void *event) {
  return event == NULL ? GA_NO_ERROR : j->backend->event_wait(j->device, event);
}

static int copy_slice(job *j, size_t slice) {
  size_t part = slice / SLICES, first = slice % SLICES * (j->part / SLICES);
  slot *s = &j->slots[part % SLOTS];
  void *event;
  GA_TRY(await_turn(j, s, part / SLOTS + !j->writes, &event));
  GA_TRY(await_event(j, event));
  size_t at = part * j->part + first;
  size_t n = at < j->size ? ga__smaller(j->part / SLICES, j->size - at) : 0;
  if (!j->writes)
    memcpy(j->host + at, s->pinned + first, n);
  else if (j->is_streamed)
    copy_streaming(s->pinned + first, j->host + at, n);
  else
    copy_cached(s->pinned + first, j->host + at, n);
  if (atomic_fetch_add(&s->copied, 1) + 1 < SLICES)
    return GA_NO_ERROR;
  atomic_store(&s->copied, 0);
  size_t next = j->writes ? part : part + SLOTS;
  return next < count_parts(j) ? queue_part(j, next) : GA_NO_ERROR;
}

static int copy_slices(job *j) {
  size_t slices = count_parts(j) * SLICES;
  for (size_t slice; (slice = atomic_fetch_add(&j->next, 1)) < slices;)
    GA_TRY(copy_slice(j, slice));
  return GA_NO_ERROR;
}

static void work(worker *w) {
  int status = ga__vendor_enter();
  if (status == GA_NO_ERROR) {
    status = copy_slices(w->job);
    ga__vendor_leave();
  }
  if (status != GA_NO_ERROR)
    note_failure(w->job, status);
}

/* Number of threads, including this one. */
static unsigned int threads_for(size_t size) {
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  size_t most = ga__smaller(size / BYTES_PER_THREAD, MOST_THREADS);
  if (processors > 0 && most > (size_t)processors)
    most = (size_t)processors;
  return most > 1 ? (unsigned int)most : 1;
}

static void *run(void *argument);

/* Starts threads in a binary tree, so that none waits for long. Fewer threads are only
 * slower. */
static void start_next(worker *w) {
  for (unsigned int i = 2 * w->place + 1; i <= 2 * w->place + 2 && i < w->n; i++) {
    worker *next = &w->all[i];
    next->is_started = pthread_create(&next->thread, NULL, run, next) == 0;
  }
}

static void work_and_join(worker *w) {
  work(w);
  for (unsigned int i = 2 * w->place + 1; i <= 2 * w->place + 2 && i < w->n; i++)
    if (w->all[i].is_started)
      pthread_join(w->all[i].thread, NULL);
}

static void *run(void *argument) {
  start_next(argument);
  work_and_join(argument);
  return NULL;
}

/* Runs all workers to completion. Signals are blocked in the started threads. */
static void run_all(worker *workers) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  start_next(workers);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  work_and_join(workers);
}

/* Fills the slots: the device's first copies. */
static int begin_reads(job *j) {
  for (size_t i = 0; i < ga__smaller(SLOTS, count_parts(j)); i++)
    GA_TRY(queue_part(j, i));
  return GA_NO_ERROR;
}

/* Waits for pending uploads, frees the events, and raises the first failure on this
 * thread. */
static int finish(job *j) {
  for (unsigned int i = 0; i < SLOTS; i++)
    if (j->slots[i].event != NULL) {
      if (j->status == GA_NO_ERROR && j->writes) {
        int status = await_event(j, j->slots[i].event);
        if (status != GA_NO_ERROR)
          note_failure(j, status);
      }
      j->backend->event_free(j->device, j->slots[i].event);
    }
  pthread_cond_destroy(&j->changed);
  pthread_mutex_destroy(&j->lock);
  if (j->status != GA_NO_ERROR) {
    j->backend->wait(j->device);
    ga__fail(j->status, "%s", j->text ? j->text : "a transfer failed");
  }
  ga__free(j->text);
  return j->status;
}

/* Bytes of a part: a share of the transfer, its slices whole pages. */
static size_t part_size(size_t size) {
  size_t part = size / PARTS / SMALLEST_PART * SMALLEST_PART;
  return part < SMALLEST_PART ? SMALLEST_PART : ga__smaller(part, LARGEST_PART);
}

int ga__pieces_copy(gpucontext *ctx, void *device, void *memory, size_t offset,
                    void *host, size_t size, bool writes) {
  if (ctx->backend->pinning == NULL)
    return GA_DEVSUP_ERROR;
  size_t part = part_size(size);
  gpuhost *pinned = ga__host_pool_get(ctx->memory.host_pool, SLOTS * part);
  if (pinned == NULL || !pinned->is_pinned) {
    gpuhost_release(pinned);
    return GA_DEVSUP_ERROR;
  }
  job j = {.backend = ctx->backend,
           .device = device,
           .memory = memory,
           .offset = offset,
           .size = size,
           .part = part,
           .host = host,
           .writes = writes,
           .is_streamed = writes && size <= STREAMED};
  for (unsigned int i = 0; i < SLOTS; i++)
    j.slots[i].pinned = (char *)pinned->bytes + i * part;
  pthread_mutex_init(&j.lock, NULL);
  pthread_cond_init(&j.changed, NULL);
  worker workers[MOST_THREADS] = {0};
  unsigned int n = threads_for(size);
  for (unsigned int i = 0; i < n; i++)
    workers[i] = (worker){.job = &j, .all = workers, .place = i, .n = n};
  int status = writes ? GA_NO_ERROR : begin_reads(&j);
  if (status == GA_NO_ERROR)
    run_all(workers);
  else
    note_failure(&j, status);
  status = finish(&j);
  gpuhost_release(pinned);
  return status;
}
