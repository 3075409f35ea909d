/* Large transfers between a device and any memory of the host, in pieces.
 *
 * One processor copies more slowly than a bus, so that several do. Each takes the next
 * piece when it is through with one, and has two parts of pinned memory: while the
 * device works on one of them the processor works on the other. The first pieces and
 * the last are small, since the bus stands still before the first one is copied, and
 * the processors but one at the last. */
#define _POSIX_C_SOURCE 200809L
#include "c/device/pieces.h"
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

#define SMALL ((size_t)512 << 10) /* bytes of the smallest pieces */
#define LARGE ((size_t)2 << 20)
/* Bytes of the largest transfer that few threads make by stores past the caches. To
 * start a thread costs 50 us on a virtual machine, as much as to copy 512 KiB. */
#define STREAMED ((size_t)32 << 20)
enum { PARTS = 2, FEW_THREADS = 4, MOST_THREADS = 12 };

/* What the threads share. */
typedef struct job {
  const ga_backend *backend;
  void *device, *memory;
  size_t offset, size;
  char *host;
  bool writes;
  bool is_streamed;   /* into pinned memory by stores past the caches */
  atomic_size_t next; /* the byte where the next piece begins */
  pthread_mutex_t lock;
  int status; /* the first that is a failure, and its text */
  char *text;
} job;

/* A piece that lies in a part of pinned memory. */
typedef struct part {
  char *pinned;
  void *event; /* behind the device's copy; NULL: there is none under way */
  size_t at, size;
} part;

typedef struct worker {
  job *job;
  struct worker *all;
  unsigned int place, n; /* in the list of them, and how many there are */
  pthread_t thread;
  bool is_started;
  part parts[PARTS];
} worker;

static size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

/* No further piece is begun. */
static void note_failure(job *j, int status) {
  pthread_mutex_lock(&j->lock);
  if (j->status == GA_NO_ERROR) {
    j->status = status;
    j->text = ga__strdup(gpuarray_error_text());
  }
  pthread_mutex_unlock(&j->lock);
  atomic_store(&j->next, j->size);
}

/* The bytes of a piece that has so many of them on its nearer side. */
static size_t piece_size(size_t near) {
  size_t size = near / MOST_THREADS / SMALL * SMALL;
  return size < SMALL ? SMALL : smaller(size, LARGE);
}

static bool take_piece(job *j, part *p) {
  p->at = atomic_load(&j->next);
  do {
    if (p->at >= j->size)
      return false;
    size_t rest = j->size - p->at;
    p->size = smaller(piece_size(smaller(p->at, rest)), rest);
  } while (!atomic_compare_exchange_weak(&j->next, &p->at, p->at + p->size));
  return true;
}

/* memcpy whose stores do not pass through the caches, from where the bus would have to
 * fetch them; `dst` is aligned to 16 bytes. */
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
static bool has_fast_strings; /* "rep movsb" is fast: Intel's and AMD's ERMS */

static void ask_processor(void) {
  enum { FEATURES = 7, ERMS = 1 << 9 };
  unsigned int a, b, c, d;
  has_fast_strings = __get_cpuid_count(FEATURES, 0, &a, &b, &c, &d) != 0 && (b & ERMS);
}
#endif

/* memcpy through the caches, where the bus finds what was just stored. The C library's
 * own takes stores past them for megabytes: with 8 threads 35 GB/s in place of 45. */
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

/* Waits for the device's copy of a part. What was read goes to its place. */
static int finish_part(const job *j, part *p) {
  if (p->event == NULL)
    return GA_NO_ERROR;
  int status = j->backend->event_wait(j->device, p->event);
  j->backend->event_free(j->device, p->event);
  p->event = NULL;
  if (status == GA_NO_ERROR && !j->writes)
    memcpy(j->host + p->at, p->pinned, p->size);
  return status;
}

/* Queues the device's copy of a part. */
static int begin_part(const job *j, part *p) {
  const ga_pinning *pinning = j->backend->pinning;
  if (j->writes) {
    if (j->is_streamed)
      copy_streaming(p->pinned, j->host + p->at, p->size);
    else
      copy_cached(p->pinned, j->host + p->at, p->size);
    GA_TRY(pinning->write(j->device, j->memory, j->offset + p->at, p->pinned, p->size));
  } else
    GA_TRY(pinning->read(j->device, p->pinned, j->memory, j->offset + p->at, p->size));
  return j->backend->event(&p->event, j->device, false);
}

static int copy_pieces(worker *w) {
  job *j = w->job;
  int status = GA_NO_ERROR;
  unsigned int turn = 0;
  for (; status == GA_NO_ERROR; turn = (turn + 1) % PARTS) {
    status = finish_part(j, &w->parts[turn]);
    if (status != GA_NO_ERROR || !take_piece(j, &w->parts[turn]))
      break;
    status = begin_part(j, &w->parts[turn]);
  }
  for (unsigned int i = 0; i < PARTS; i++) {
    int late = finish_part(j, &w->parts[(turn + i) % PARTS]);
    status = status == GA_NO_ERROR ? late : status;
  }
  return status;
}

static void work(worker *w) {
  int status = ga__vendor_enter();
  if (status == GA_NO_ERROR) {
    status = copy_pieces(w);
    ga__vendor_leave();
  }
  if (status != GA_NO_ERROR)
    note_failure(w->job, status);
}

/* How many threads, this one among them: as the machine and the transfer allow. */
static unsigned int threads_for(size_t size, bool is_streamed) {
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  size_t most = smaller(size / SMALL / PARTS, is_streamed ? FEW_THREADS : MOST_THREADS);
  if (processors > 0 && most > (size_t)processors)
    most = (size_t)processors;
  return most > 1 ? (unsigned int)most : 1;
}

static void *run(void *argument);

/* Starts the two after this one, which start others: so none waits for long. With fewer
 * threads than wanted it takes longer. */
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

/* All are done when it returns. The others get no signals. */
static void run_all(worker *workers) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  start_next(workers);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  work_and_join(workers);
}

/* The status of a job; its text becomes this thread's. What failed may have left work
 * under way, which is waited for. */
static int finish(job *j) {
  pthread_mutex_destroy(&j->lock);
  if (j->status != GA_NO_ERROR) {
    j->backend->wait(j->device);
    ga__fail(j->status, "%s", j->text ? j->text : "a transfer failed");
  }
  ga__free(j->text);
  return j->status;
}

int ga__pieces_copy(gpucontext *ctx, void *device, void *memory, size_t offset,
                    void *host, size_t size, bool writes) {
  if (ctx->backend->pinning == NULL)
    return GA_DEVSUP_ERROR;
  bool is_streamed = writes && size <= STREAMED;
  unsigned int n = threads_for(size, is_streamed);
  size_t most = piece_size(size / 2);
  gpuhost *pinned = ga__host_pool_get(ctx->memory.host_pool, n * PARTS * most);
  if (pinned == NULL || !pinned->is_pinned) {
    gpuhost_release(pinned);
    return GA_DEVSUP_ERROR;
  }
  job j = {.backend = ctx->backend,
           .device = device,
           .memory = memory,
           .offset = offset,
           .size = size,
           .host = host,
           .writes = writes,
           .is_streamed = is_streamed};
  worker workers[MOST_THREADS] = {0};
  pthread_mutex_init(&j.lock, NULL);
  for (unsigned int i = 0; i < n; i++) {
    workers[i] = (worker){.job = &j, .all = workers, .place = i, .n = n};
    for (unsigned int k = 0; k < PARTS; k++)
      workers[i].parts[k].pinned = (char *)pinned->bytes + (i * PARTS + k) * most;
  }
  run_all(workers);
  int status = finish(&j);
  gpuhost_release(pinned);
  return status;
}
