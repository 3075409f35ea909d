/* Large transfers between a device and any memory of the host, in pieces.
 *
 * One processor copies more slowly than a bus, so that several do. Each takes the next
 * piece when it is through with one, and has two parts of pinned memory: while the
 * device works on one of them the processor works on the other. */
#define _POSIX_C_SOURCE 200809L
#include "c/pieces.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define PIECE ((size_t)2 << 20)
enum { PARTS = 2, MOST_THREADS = 8 };

/* What the threads share. */
typedef struct job {
  const ga_backend *backend;
  void *device, *memory;
  size_t offset, size;
  char *host;
  bool writes;
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
  pthread_t thread;
  part parts[PARTS];
} worker;

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

static bool take_piece(job *j, part *p) {
  p->at = atomic_load(&j->next);
  do
    if (p->at >= j->size)
      return false;
  while (!atomic_compare_exchange_weak(&j->next, &p->at, p->at + PIECE));
  p->size = j->size - p->at < PIECE ? j->size - p->at : PIECE;
  return true;
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
    memcpy(p->pinned, j->host + p->at, p->size);
    GA_TRY(pinning->write(j->device, j->memory, j->offset + p->at, p->pinned, p->size));
  } else
    GA_TRY(pinning->read(j->device, p->pinned, j->memory, j->offset + p->at, p->size));
  return j->backend->event(&p->event, j->device, false);
}

static void *work(void *argument) {
  worker *w = argument;
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
  if (status != GA_NO_ERROR)
    note_failure(j, status);
  return NULL;
}

/* How many threads, this one among them: as the machine and the transfer allow. */
static unsigned int threads_for(size_t size) {
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  size_t most = size / PIECE / PARTS;
  if (most > MOST_THREADS)
    most = MOST_THREADS;
  if (processors > 0 && most > (size_t)processors)
    most = (size_t)processors;
  return most > 1 ? (unsigned int)most : 1;
}

/* Starts the others, which get no signals, and works with them until all is done. With
 * fewer threads than wanted it takes longer. */
static void run(worker *workers, unsigned int n) {
  sigset_t all, before;
  unsigned int started = 1;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (started < n &&
         pthread_create(&workers[started].thread, NULL, work, &workers[started]) == 0)
    started++;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  work(&workers[0]);
  while (started > 1)
    pthread_join(workers[--started].thread, NULL);
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
  unsigned int n = threads_for(size);
  gpuhost *pinned = ga__host_pool_get(ctx->host_pool, n * PARTS * PIECE);
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
           .writes = writes};
  worker workers[MOST_THREADS] = {0};
  pthread_mutex_init(&j.lock, NULL);
  for (unsigned int i = 0; i < n; i++) {
    workers[i].job = &j;
    for (unsigned int k = 0; k < PARTS; k++)
      workers[i].parts[k].pinned = (char *)pinned->bytes + (i * PARTS + k) * PIECE;
  }
  run(workers, n);
  int status = finish(&j);
  gpuhost_release(pinned);
  return status;
}
