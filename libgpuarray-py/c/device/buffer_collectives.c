/* Collectives over buffers: checks; the backend does the work. */
#include <limits.h>
#include <stdatomic.h>

#include "c/base/dtype.h"
#include "c/device/buffer.h"
#include "c/device/queue.h"
#include "c/system/ending.h"
#include <gpuarray/buffer_collectives.h>

struct _gpucomm {
  gpucontext *context;  /* first, as consumers of libgpuarray expect */
  _Atomic(void *) comm; /* the backend's; NULL once it was aborted */
  int ranks, rank;
};

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
  *created = (gpucomm){.context = ctx, .ranks = ndev, .rank = rank};
  int status = join(created, comm_id);
  if (status != GA_NO_ERROR) {
    ga__free(created);
    return status;
  }
  gpucontext_retain(ctx);
  *comm = created;
  return GA_NO_ERROR;
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
    gpucontext_deref(ctx);
  }
  ga__free(comm);
}

int gpucomm_abort(gpucomm *comm) {
  if (comm == NULL)
    return ga__fail_null(__func__, "communicator");
  gpucontext *ctx = comm->context;
  void *open = atomic_exchange(&comm->comm, NULL);
  if (open == NULL)
    return GA_NO_ERROR;
  GA_TRY(ga__vendor_enter());
  ctx->backend->collectives->abort(ctx->device, open);
  ga__vendor_leave();
  return GA_NO_ERROR;
}

static int fail_aborted(const char *operation) {
  return GA_FAIL(GA_COMM_ERROR, "%s: the communicator was aborted", operation);
}

int gpucomm_state(gpucomm *comm) {
  if (comm == NULL)
    return ga__fail_null(__func__, "communicator");
  void *open = atomic_load(&comm->comm);
  return open ? comm->context->backend->collectives->state(open)
              : fail_aborted(__func__);
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

/* ---- checks ---- */

/* An operand: `count` elements of a buffer; `data` is NULL on ranks that have none. */
typedef struct operand {
  gpudata *data;
  size_t offset, count, bytes;
} operand;

/* A collective call. */
typedef struct call {
  const char *operation;
  gpucomm *comm;
  operand parts[2];
  int typecode, opcode, root;
  bool has_opcode, has_root;
  bool receives; /* writes the second operand */
  bool is_apart; /* operands may not overlap at all */
  bool writes[2];
} call;

static bool fits(const operand *p, size_t itemsize) {
  size_t bytes;
  return !__builtin_mul_overflow(p->count, itemsize, &bytes) &&
         p->offset <= p->data->size && bytes <= p->data->size - p->offset;
}

static int check_size(const call *c, const operand *p, size_t itemsize) {
  if (p->data == NULL || p->count <= INT_MAX || fits(p, itemsize ? itemsize : 1))
    return GA_NO_ERROR;
  return GA_FAIL(GA_XLARGE_ERROR, "%s: %zu elements do not fit a buffer of %zu bytes",
                 c->operation, p->count, p->data->size);
}

static int check_context(const call *c, const operand *p) {
  if (p->data == NULL)
    return GA_NO_ERROR;
  if (p->data->context != c->comm->context)
    return GA_FAIL(GA_VALUE_ERROR,
                   "%s: a buffer is of %s, the communicator of %s; they must be of the "
                   "same context",
                   c->operation, gpucontext_name(p->data->context),
                   gpucontext_name(c->comm->context));
  if (p->data->tape)
    return GA_FAIL(GA_UNSUPPORTED_ERROR, "%s: collectives cannot be recorded in a plan",
                   c->operation);
  return GA_NO_ERROR;
}

static int check_range(const call *c, operand *p, size_t itemsize) {
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
static int check_overlap(const call *c) {
  const operand *a = &c->parts[0], *b = &c->parts[1];
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

static int check_words(const call *c) {
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
static int check(call *c) {
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
  if (atomic_load(&c->comm->comm) == NULL)
    return fail_aborted(c->operation);
  return ga__context_check(c->comm->context);
}

static int check_destination(const call *c) {
  if (c->parts[1].data)
    return GA_NO_ERROR;
  return GA_FAIL(GA_VALUE_ERROR,
                 "%s: got no destination, but this rank receives the result",
                 c->operation);
}

/* ---- operations ---- */

static const ga_collectives *of(const gpucomm *comm) {
  return comm->context->backend->collectives;
}

static char *at(const operand *p) {
  return p->data ? (char *)ga__buffer_memory(p->data) + p->offset : NULL;
}

/* Checks a call and begins queuing it; *device is the backend's queue. */
static int begin(void **device, ga_use uses[2], call *c) {
  int n = 0;
  GA_TRY(check(c));
  if (c->receives)
    GA_TRY(check_destination(c));
  for (int i = 0; i < 2; i++)
    if (c->parts[i].data)
      uses[n++] = (ga_use){c->parts[i].data, c->writes[i]};
  return ga__queue_begin(device, c->comm->context, (unsigned int)n, uses);
}

/* Ends queuing; returns the backend's status, its text prefixed by the operation. */
static int end(const ga_use uses[2], const call *c, int status) {
  gpucontext *ctx = c->comm->context;
  ga__queue_end(ctx, c->parts[1].data ? 2 : 1, uses);
  if (status == GA_NO_ERROR)
    return status;
  return ga__fail_within(ga__context_status(ctx, status), "%s", c->operation);
}

static call reduction(const char *operation, gpucomm *comm, operand from, operand to,
                      int typecode, int opcode) {
  return (call){.operation = operation,
                .comm = comm,
                .parts = {from, to},
                .typecode = typecode,
                .opcode = opcode,
                .has_opcode = true,
                .receives = true,
                .writes = {false, true}};
}

int gpucomm_reduce(gpudata *src, size_t offsrc, gpudata *dest, size_t offdest,
                   size_t count, int typecode, int opcode, int root, gpucomm *comm) {
  const bool receives = comm && comm->rank == root;
  call c =
      reduction(__func__, comm, (operand){src, offsrc, count, 0},
                (operand){receives ? dest : NULL, offdest, count, 0}, typecode, opcode);
  c.root = root;
  c.has_root = true;
  c.receives = receives;
  void *device;
  ga_use uses[2];
  GA_TRY(begin(&device, uses, &c));
  return end(uses, &c,
             of(comm)->reduce(device, atomic_load(&comm->comm), at(&c.parts[0]),
                              at(&c.parts[1]), count, typecode, opcode, root));
}

int gpucomm_all_reduce(gpudata *src, size_t offsrc, gpudata *dest, size_t offdest,
                       size_t count, int typecode, int opcode, gpucomm *comm) {
  call c = reduction(__func__, comm, (operand){src, offsrc, count, 0},
                     (operand){dest, offdest, count, 0}, typecode, opcode);
  void *device;
  ga_use uses[2];
  GA_TRY(begin(&device, uses, &c));
  return end(uses, &c,
             of(comm)->all_reduce(device, atomic_load(&comm->comm), at(&c.parts[0]),
                                  at(&c.parts[1]), count, typecode, opcode));
}

/* count * ranks; SIZE_MAX, larger than any buffer, on overflow. */
static size_t times_ranks(size_t count, const gpucomm *comm) {
  size_t all = count;
  if (comm && __builtin_mul_overflow(count, (size_t)comm->ranks, &all))
    return SIZE_MAX;
  return all;
}

int gpucomm_reduce_scatter(gpudata *src, size_t offsrc, gpudata *dest, size_t offdest,
                           size_t count, int typecode, int opcode, gpucomm *comm) {
  call c =
      reduction(__func__, comm, (operand){src, offsrc, times_ranks(count, comm), 0},
                (operand){dest, offdest, count, 0}, typecode, opcode);
  void *device;
  ga_use uses[2];
  GA_TRY(begin(&device, uses, &c));
  return end(uses, &c,
             of(comm)->reduce_scatter(device, atomic_load(&comm->comm), at(&c.parts[0]),
                                      at(&c.parts[1]), count, typecode, opcode));
}

int gpucomm_broadcast(gpudata *array, size_t offset, size_t count, int typecode,
                      int root, gpucomm *comm) {
  call c = {.operation = __func__,
            .comm = comm,
            .parts = {{array, offset, count, 0}},
            .typecode = typecode,
            .root = root,
            .has_root = true,
            .writes = {comm && comm->rank != root}};
  void *device;
  ga_use uses[2];
  GA_TRY(begin(&device, uses, &c));
  return end(uses, &c,
             of(comm)->broadcast(device, atomic_load(&comm->comm), at(&c.parts[0]),
                                 count, typecode, root));
}

int gpucomm_all_gather(gpudata *src, size_t offsrc, gpudata *dest, size_t offdest,
                       size_t count, int typecode, gpucomm *comm) {
  call c = {
      .operation = __func__,
      .comm = comm,
      .parts = {{src, offsrc, count, 0}, {dest, offdest, times_ranks(count, comm), 0}},
      .typecode = typecode,
      .receives = true,
      .writes = {false, true}};
  void *device;
  ga_use uses[2];
  GA_TRY(begin(&device, uses, &c));
  return end(uses, &c,
             of(comm)->all_gather(device, atomic_load(&comm->comm), at(&c.parts[0]),
                                  at(&c.parts[1]), count, typecode));
}

/* ---- exchanges ---- */

/* Queues messages; the first operand is `from`, or on ranks that only receive `to`. */
static int run_exchange(call *c, ga_exchange x) {
  void *device;
  ga_use uses[2];
  GA_TRY(begin(&device, uses, c));
  const bool sends = x.last_target > x.first_target;
  if (sends)
    x.from = at(&c->parts[0]);
  if (x.last_source > x.first_source)
    x.to = at(&c->parts[sends ? 1 : 0]);
  return end(uses, c, of(c->comm)->exchange(device, atomic_load(&c->comm->comm), &x));
}

static call message(const char *operation, gpucomm *comm, operand array, int typecode,
                    int peer, bool receives) {
  return (call){.operation = operation,
                .comm = comm,
                .parts = {array},
                .typecode = typecode,
                .root = peer,
                .has_root = true,
                .writes = {receives}};
}

int gpucomm_send(gpudata *array, size_t offset, size_t count, int typecode, int peer,
                 gpucomm *comm) {
  call c = message(__func__, comm, (operand){array, offset, count, 0}, typecode, peer,
                   false);
  return run_exchange(&c, (ga_exchange){.count = count,
                                        .typecode = typecode,
                                        .first_target = peer,
                                        .last_target = peer + 1});
}

int gpucomm_receive(gpudata *array, size_t offset, size_t count, int typecode, int peer,
                    gpucomm *comm) {
  call c =
      message(__func__, comm, (operand){array, offset, count, 0}, typecode, peer, true);
  return run_exchange(&c, (ga_exchange){.count = count,
                                        .typecode = typecode,
                                        .first_source = peer,
                                        .last_source = peer + 1});
}

int gpucomm_all_to_all(gpudata *src, size_t offsrc, gpudata *dest, size_t offdest,
                       size_t count, int typecode, gpucomm *comm) {
  const size_t all = times_ranks(count, comm);
  const size_t step = count * gpuarray_get_elsize(typecode);
  call c = {.operation = __func__,
            .comm = comm,
            .parts = {{src, offsrc, all, 0}, {dest, offdest, all, 0}},
            .typecode = typecode,
            .receives = true,
            .is_apart = true,
            .writes = {false, true}};
  const int ranks = comm ? comm->ranks : 0;
  return run_exchange(&c, (ga_exchange){.count = count,
                                        .typecode = typecode,
                                        .from_step = step,
                                        .to_step = step,
                                        .last_target = ranks,
                                        .last_source = ranks});
}

int gpucomm_gather(gpudata *src, size_t offsrc, gpudata *dest, size_t offdest,
                   size_t count, int typecode, int root, gpucomm *comm) {
  const bool receives = comm && comm->rank == root;
  call c = {.operation = __func__,
            .comm = comm,
            .parts = {{src, offsrc, count, 0},
                      {receives ? dest : NULL, offdest, times_ranks(count, comm), 0}},
            .typecode = typecode,
            .root = root,
            .has_root = true,
            .receives = receives,
            .writes = {false, true}};
  return run_exchange(&c,
                      (ga_exchange){.count = count,
                                    .typecode = typecode,
                                    .to_step = count * gpuarray_get_elsize(typecode),
                                    .first_target = root,
                                    .last_target = root + 1,
                                    .last_source = receives ? comm->ranks : 0});
}

int gpucomm_scatter(gpudata *src, size_t offsrc, gpudata *dest, size_t offdest,
                    size_t count, int typecode, int root, gpucomm *comm) {
  const bool sends = comm && comm->rank == root;
  const operand part = {dest, offdest, count, 0};
  call c = {.operation = __func__,
            .comm = comm,
            .parts = {part},
            .typecode = typecode,
            .root = root,
            .has_root = true,
            .writes = {true}};
  if (sends) {
    c.parts[0] = (operand){src, offsrc, times_ranks(count, comm), 0};
    c.parts[1] = part;
    c.receives = true;
    c.writes[0] = false;
    c.writes[1] = true;
  }
  return run_exchange(&c,
                      (ga_exchange){.count = count,
                                    .typecode = typecode,
                                    .from_step = count * gpuarray_get_elsize(typecode),
                                    .last_target = sends ? comm->ranks : 0,
                                    .first_source = root,
                                    .last_source = root + 1});
}
