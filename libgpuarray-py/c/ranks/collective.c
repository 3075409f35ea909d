/* A collective call: its checks; it is recorded, or queued by the backend. */
#include "c/ranks/collective.h"

#include <limits.h>

#include "c/base/dtype.h"
#include "c/device/recorder.h"

/* ---- checks ---- */

static bool fits(const ga_part *p, size_t itemsize) {
  size_t bytes;
  return !__builtin_mul_overflow(p->count, itemsize, &bytes) &&
         p->offset <= p->data->size && bytes <= p->data->size - p->offset;
}

static int check_size(const ga_collective *c, const ga_part *p, size_t itemsize) {
  if (p->data == NULL || p->count <= INT_MAX || fits(p, itemsize ? itemsize : 1))
    return GA_NO_ERROR;
  return GA_FAIL(GA_XLARGE_ERROR, "%s: %zu elements do not fit a buffer of %zu bytes",
                 c->operation, p->count, p->data->size);
}

static int check_context(const ga_collective *c, const ga_part *p) {
  if (p->data == NULL)
    return GA_NO_ERROR;
  if (p->data->context != c->comm->context)
    return GA_FAIL(GA_VALUE_ERROR,
                   "%s: a buffer is of %s, the communicator of %s; they must be of the "
                   "same context",
                   c->operation, gpucontext_name(p->data->context),
                   gpucontext_name(c->comm->context));
  return GA_NO_ERROR;
}

static int check_range(const ga_collective *c, ga_part *p, size_t itemsize) {
  if (p->data == NULL)
    return GA_NO_ERROR;
  if (!fits(p, itemsize))
    return GA_FAIL(GA_VALUE_ERROR,
                   "%s: %zu elements of %zu bytes from byte %zu do not fit a buffer of "
                   "%zu bytes",
                   c->operation, p->count, itemsize, p->offset, p->data->size);
  p->bytes = p->count * itemsize;
  return GA_NO_ERROR;
}

/* In-place rule: source and destination may overlap only if the smaller one is this
 * rank's part of the larger. */
static int check_overlap(const ga_collective *c) {
  const ga_part *a = &c->parts[0], *b = &c->parts[1];
  ptrdiff_t between;
  if (a->data == NULL || b->data == NULL ||
      !ga__buffers_meet(&between, a->data, b->data))
    return GA_NO_ERROR;
  const ptrdiff_t from = (ptrdiff_t)a->offset, to = (ptrdiff_t)b->offset + between;
  const ptrdiff_t n = (ptrdiff_t)a->bytes, m = (ptrdiff_t)b->bytes;
  const ptrdiff_t rank = c->comm->rank;
  if (from >= to + m || to >= from + n)
    return GA_NO_ERROR;
  if (c->is_apart)
    return GA_FAIL(GA_VALUE_ERROR,
                   "%s: source and destination overlap; expected disjoint ranges",
                   c->operation);
  if ((n == m && from == to) || (n < m && from == to + rank * n) ||
      (m < n && to == from + rank * m))
    return GA_NO_ERROR;
  return GA_FAIL(GA_VALUE_ERROR,
                 "%s: source and destination overlap partly; expected disjoint ranges, "
                 "or one that is this rank's part of the other",
                 c->operation);
}

static int check_words(const ga_collective *c) {
  const ga_collectives *collectives = c->comm->context->backend->collectives;
  if (c->has_opcode ? !collectives->has_type(c->typecode)
                    : ga__dtype_kind(c->typecode) == 0)
    return GA_FAIL(GA_INVALID_ERROR, "%s: %s cannot be %s", c->operation,
                   ga__dtype_name(c->typecode),
                   c->has_opcode ? "reduced among devices" : "exchanged");
  if (c->has_opcode && (c->opcode < GA_SUM || c->opcode > GA_MIN))
    return GA_FAIL(GA_INVALID_ERROR,
                   "%s: got operation %d, expected GA_SUM (0), GA_PROD (1), GA_MAX (2) "
                   "or GA_MIN (3)",
                   c->operation, c->opcode);
  return GA_NO_ERROR;
}

/* All checks that the header promises, in its order. */
static int check(ga_collective *c) {
  size_t itemsize = gpuarray_get_elsize(c->typecode);
  if (c->comm == NULL || c->parts[0].data == NULL)
    return ga__fail_null(c->operation, c->comm ? "buffer" : "communicator");
  for (int i = 0; i < 2; i++)
    GA_TRY(check_size(c, &c->parts[i], itemsize));
  for (int i = 0; i < 2; i++)
    GA_TRY(check_context(c, &c->parts[i]));
  GA_TRY(check_words(c));
  for (int i = 0; i < 2; i++)
    GA_TRY(check_range(c, &c->parts[i], itemsize));
  GA_TRY(check_overlap(c));
  if (c->has_root && (c->root < 0 || c->root >= c->comm->ranks))
    return GA_FAIL(GA_VALUE_ERROR, "%s: got root %d of %d ranks", c->operation, c->root,
                   c->comm->ranks);
  GA_TRY(ga__collective_check(c));
  return ga__context_check(c->comm->context);
}

int ga__collective_check(const ga_collective *c) {
  return atomic_load(&c->comm->comm) ? GA_NO_ERROR : ga__comm_fail_ended(c->operation);
}

static int check_destination(const ga_collective *c) {
  if (c->parts[1].data)
    return GA_NO_ERROR;
  return GA_FAIL(GA_VALUE_ERROR,
                 "%s: got no destination, but this rank receives the result",
                 c->operation);
}

/* ---- calls ---- */

/* The tape to which a call belongs, or NULL: that of a placeholder, or that which this
 * thread records; also of a constant each run is to send the elements. */
static ga_tape *tape_of(const ga_collective *c) {
  for (int i = 0; i < 2; i++)
    if (c->parts[i].data != NULL && c->parts[i].data->tape != NULL)
      return c->parts[i].data->tape;
  return ga__recording_current(c->comm->context);
}

int ga__collective_call(ga_collective *c) {
  GA_TRY(check(c));
  if (c->receives)
    GA_TRY(check_destination(c));
  c->mark = c->comm->mark;
  ga_tape *tape = tape_of(c);
  return tape != NULL ? ga__recorder(tape)->collective(tape, c)
                      : ga__collective_run(c, false);
}

/* Queues it on this thread's queue. */
static int queue(const ga_collective *c, void *comm) {
  gpucontext *ctx = c->comm->context;
  ga_use uses[3] = {{&c->comm->turn, true}};
  unsigned int n = 1;
  void *device;
  for (int i = 0; i < 2; i++)
    if (c->parts[i].data)
      uses[n++] = (ga_use){c->parts[i].data, c->writes[i]};
  GA_TRY(ga__queue_begin(&device, ctx, n, uses));
  int status = c->queue(c, device, comm);
  atomic_store(&c->comm->place, ga__queue_current(ctx)->place);
  ga__queue_end(ctx, n, uses);
  return status == GA_NO_ERROR
             ? status
             : ga__fail_within(ga__context_status(ctx, status), "%s", c->operation);
}

/* The same on the communicator's own queue; on the thread's where no more can be
 * made. */
static int queue_beside(const ga_collective *c, void *comm) {
  gpucontext *ctx = c->comm->context;
  gpuqueue *own = ga__queue_current(ctx);
  if (c->comm->beside == NULL && gpuqueue_new(&c->comm->beside, ctx) != GA_NO_ERROR)
    return queue(c, comm);
  if (own->place != 0)
    gpuqueue_retain(own);
  int status = gpucontext_use_queue(ctx, c->comm->beside);
  if (status == GA_NO_ERROR) {
    status = queue(c, comm);
    gpucontext_use_queue(ctx, own->place != 0 ? own : NULL);
  }
  if (own->place != 0)
    gpuqueue_release(own);
  return status;
}

int ga__collective_run(const ga_collective *c, bool is_beside) {
  gpucomm *comm = c->comm;
  GA_TRY(ga__comm_note(comm, c->mark));
  pthread_mutex_lock(&comm->lock);
  atomic_fetch_add(&comm->begun, 1);
  void *open = atomic_load(&comm->comm);
  int status = open == NULL ? ga__comm_fail_ended(c->operation)
               : is_beside  ? queue_beside(c, open)
                            : queue(c, open);
  atomic_fetch_add(&comm->queued, 1);
  pthread_mutex_unlock(&comm->lock);
  return status;
}
