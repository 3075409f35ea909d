/* Communicators: their life, and what is known of their calls. */
#include "c/ranks/communicator.h"

#include <string.h>
#include <unistd.h>

#include "c/system/ending.h"

/* ---- communicators ---- */

/* Fails with `status` if the context's backend has no collectives. */
static int collectives_of(const ga_collectives **out, gpucontext *ctx, int status,
                          const char *operation) {
  GA_TRY(ga__context_check(ctx));
  if (ctx->backend->collectives == NULL)
    return GA_FAIL(status,
                   "%s: the context %s has no collectives; they are offered on CUDA, "
                   "by NCCL",
                   operation, ctx->name);
  *out = ctx->backend->collectives;
  return GA_NO_ERROR;
}

static int join(gpucomm *c, gpucommCliqueId id) {
  gpucontext *ctx = c->context;
  GA_TRY(ga__vendor_enter());
  void *made = NULL;
  int status = ctx->backend->collectives->open(&made, ctx->device, id.internal,
                                               c->ranks, c->rank);
  atomic_init(&c->comm, made);
  ga__vendor_leave();
  return status == GA_NO_ERROR
             ? status
             : ga__fail_within(status, "gpucomm_new, rank %d of %d", c->rank, c->ranks);
}

int gpucomm_new(gpucomm **comm, gpucontext *ctx, gpucommCliqueId comm_id, int ndev,
                int rank) {
  const ga_collectives *collectives;
  if (comm == NULL)
    return ga__fail_null(__func__, "pointer for the communicator");
  *comm = NULL;
  GA_TRY(collectives_of(&collectives, ctx, GA_UNSUPPORTED_ERROR, "gpucomm_new"));
  if (ndev < 1 || rank < 0 || rank >= ndev)
    return GA_FAIL(GA_VALUE_ERROR,
                   "gpucomm_new: got rank %d of %d, expected 0 to one less than the "
                   "number of ranks",
                   rank, ndev);
  gpucomm *created = ga__alloc(1, sizeof *created);
  GA_TRY_MEMORY(created);
  created->context = ctx;
  created->ranks = ndev;
  created->rank = rank;
  created->turn.context = ctx;
  atomic_init(&created->references, 1);
  pthread_mutex_init(&created->lock, NULL);
  pthread_mutex_init(&created->log.lock, NULL);
  pthread_mutex_init(&created->watch.lock, NULL);
  gpucontext_retain(ctx);
  int status = join(created, comm_id);
  if (status == GA_NO_ERROR)
    *comm = created;
  else
    ga__comm_release(created);
  return status;
}

void ga__comm_retain(gpucomm *comm) {
  atomic_fetch_add_explicit(&comm->references, 1, memory_order_relaxed);
}

void ga__comm_release(gpucomm *comm) {
  if (atomic_fetch_sub_explicit(&comm->references, 1, memory_order_acq_rel) != 1)
    return;
  if (ga__context_is_ours(comm->context))
    gpucontext_deref(comm->context);
  pthread_mutex_destroy(&comm->lock);
  pthread_mutex_destroy(&comm->log.lock);
  pthread_mutex_destroy(&comm->watch.lock);
  ga__free(comm->log.marks);
  ga__free(comm);
}

void gpucomm_free(gpucomm *comm) {
  if (comm == NULL)
    return;
  gpucontext *ctx = comm->context;
  if (ga__context_is_ours(ctx)) {
    (void)ga__context_wait(ctx);
    void *open = atomic_exchange(&comm->comm, NULL);
    if (open && ga__vendor_enter() == GA_NO_ERROR) {
      ctx->backend->collectives->close(ctx->device, open);
      ga__vendor_leave();
    }
    gpuevent_release(comm->watch.event);
    gpuqueue_release(comm->beside);
    comm->watch.event = NULL;
    comm->beside = NULL;
  }
  ga__comm_release(comm);
}

/* Waits for a call that another thread is queuing, for a while: NCCL may itself wait
 * for a rank that is gone, until it is told of the abort. */
static bool lock_for_a_while(gpucomm *comm) {
  enum { TRIES = 2000, PAUSE = 1000 /* us */ };
  for (int i = 0; i < TRIES; i++) {
    if (pthread_mutex_trylock(&comm->lock) == 0)
      return true;
    usleep(PAUSE);
  }
  return false;
}

int gpucomm_abort(gpucomm *comm) {
  if (comm == NULL)
    return ga__fail_null(__func__, "communicator");
  gpucontext *ctx = comm->context;
  void *open = atomic_exchange(&comm->comm, NULL);
  if (open == NULL)
    return GA_NO_ERROR;
  const bool is_locked = lock_for_a_while(comm);
  int status = ga__vendor_enter();
  if (status == GA_NO_ERROR) {
    ctx->backend->collectives->abort(ctx->device, open);
    ga__vendor_leave();
  }
  if (is_locked)
    pthread_mutex_unlock(&comm->lock);
  return status;
}

int ga__comm_fail_ended(const char *operation) {
  return GA_FAIL(GA_COMM_ERROR, "%s: the communicator was closed or aborted",
                 operation);
}

int gpucomm_state(gpucomm *comm) {
  if (comm == NULL)
    return ga__fail_null(__func__, "communicator");
  void *open = atomic_load(&comm->comm);
  return open ? comm->context->backend->collectives->state(open)
              : ga__comm_fail_ended(__func__);
}

const char *gpucomm_error(gpucontext *ctx) {
  return gpucontext_error(ctx, GA_COMM_ERROR);
}

gpucontext *gpucomm_context(gpucomm *comm) {
  return comm ? comm->context : NULL;
}

int gpucomm_gen_clique_id(gpucontext *ctx, gpucommCliqueId *comm_id) {
  const ga_collectives *collectives = NULL;
  gpucommCliqueId id;
  GA_TRY(collectives_of(&collectives, ctx, GA_DEVSUP_ERROR, __func__));
  if (comm_id == NULL)
    return ga__fail_null(__func__, "pointer for the id");
  GA_TRY(ga__vendor_enter());
  int status = collectives->unique_id(id.internal);
  ga__vendor_leave();
  if (status == GA_NO_ERROR)
    *comm_id = id;
  return status;
}

static int check_question(const gpucomm *comm, const int *answer,
                          const char *operation) {
  if (comm && answer)
    return GA_NO_ERROR;
  return ga__fail_null(operation, comm ? "pointer for the result" : "communicator");
}

int gpucomm_get_count(gpucomm *comm, int *devcount) {
  GA_TRY(check_question(comm, devcount, __func__));
  *devcount = comm->ranks;
  return GA_NO_ERROR;
}

int gpucomm_get_rank(gpucomm *comm, int *rank) {
  GA_TRY(check_question(comm, rank, __func__));
  *rank = comm->rank;
  return GA_NO_ERROR;
}

/* ---- what is known of its calls ---- */

int gpucomm_mark(gpucomm *comm, unsigned int mark) {
  if (comm == NULL)
    return ga__fail_null(__func__, "communicator");
  comm->mark = mark;
  return GA_NO_ERROR;
}

int ga__comm_note(gpucomm *comm, unsigned int mark) {
  ga_comm_log *log = &comm->log;
  if (mark == 0)
    return GA_NO_ERROR;
  pthread_mutex_lock(&log->lock);
  int status = GA_GROW(log->marks, log->capacity, log->n);
  if (status == GA_NO_ERROR)
    log->marks[log->n++] = mark;
  pthread_mutex_unlock(&log->lock);
  return status;
}

int gpucomm_log(gpucomm *comm, unsigned int *marks, size_t most, size_t *n) {
  if (comm == NULL || n == NULL || (marks == NULL && most > 0))
    return ga__fail_null(__func__, comm == NULL ? "communicator"
                                   : n == NULL  ? "pointer for the number"
                                                : "list");
  ga_comm_log *log = &comm->log;
  pthread_mutex_lock(&log->lock);
  *n = log->n < most ? log->n : most;
  if (*n > 0) {
    memcpy(marks, log->marks, *n * sizeof *marks);
    memmove(log->marks, log->marks + *n, (log->n - *n) * sizeof *marks);
    log->n -= *n;
  }
  pthread_mutex_unlock(&log->lock);
  return GA_NO_ERROR;
}

/* An event behind what the queue of the latest call has. */
static int record(gpuevent **event, gpucomm *comm) {
  gpucontext *ctx = comm->context;
  gpuqueue *q = ga__queue_take(ctx, atomic_load(&comm->place));
  if (q == NULL) /* it was waited for when it was freed */
    return gpuevent_record(event, &ctx->queues.main);
  int status = gpuevent_record(event, q);
  if (q->place != 0)
    gpuqueue_release(q);
  return status;
}

static int look(gpucomm *comm, size_t queued) {
  ga_comm_watch *w = &comm->watch;
  int is_done = 0;
  if (w->event != NULL)
    GA_TRY(gpuevent_query(w->event, &is_done));
  if (is_done) {
    gpuevent_release(w->event);
    w->event = NULL;
    w->done = w->behind;
  }
  if (w->event == NULL && w->done < queued) {
    GA_TRY(record(&w->event, comm));
    w->behind = queued;
  }
  return GA_NO_ERROR;
}

int gpucomm_progress(gpucomm *comm, size_t *begun, size_t *queued, size_t *done) {
  if (comm == NULL || begun == NULL || queued == NULL || done == NULL)
    return ga__fail_null(__func__, comm ? "pointer for a number" : "communicator");
  GA_TRY(ga__context_check(comm->context));
  *queued = atomic_load(&comm->queued); /* before: never more than were begun */
  *begun = atomic_load(&comm->begun);
  pthread_mutex_lock(&comm->watch.lock);
  int status = look(comm, *queued);
  *done = comm->watch.done;
  pthread_mutex_unlock(&comm->watch.lock);
  return status;
}
