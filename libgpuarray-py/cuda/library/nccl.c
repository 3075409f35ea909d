/* Collectives by NCCL, on the device's stream. */
#include "cuda/library/nccl.h"

#include <string.h>

static int nccl_fail(ncclResult result, const char *call, ncclComm comm) {
  const char *text = ga__cuda.ncclGetErrorString(result);
  const char *more = ga__cuda.ncclGetLastError ? ga__cuda.ncclGetLastError(comm) : NULL;
  bool has_more = more && *more;
  return GA_FAIL(GA_COMM_ERROR, "%s: %s (%d)%s%s", call,
                 text ? text : "an error of NCCL", result, has_more ? ": " : "",
                 has_more ? more : "");
}

/* ncclDataType of a type with arithmetic, or -1. */
static int reduced_type(int typecode) {
  switch (typecode) {
  case GA_BYTE:
    return 0;
  case GA_UBYTE:
    return 1;
  case GA_INT:
    return 2;
  case GA_UINT:
    return 3;
  case GA_LONG:
    return 4;
  case GA_ULONG:
    return 5;
  case GA_HALF:
    return 6;
  case GA_FLOAT:
    return 7;
  case GA_DOUBLE:
    return 8;
  case GA_BFLOAT16:
    return 9;
  default:
    return -1;
  }
}

static bool has_type(int typecode) {
  return reduced_type(typecode) >= 0;
}

/* Data movement only: types unknown to NCCL move as bytes. */
static int moved_type(size_t *count, int typecode) {
  if (has_type(typecode))
    return reduced_type(typecode);
  *count *= gpuarray_get_elsize(typecode);
  return reduced_type(GA_UBYTE);
}

/* ---- communicators ---- */

static int unique_id(char id[128]) {
  ncclUniqueId made;
  GA_TRY(ga__cuda_need_nccl());
  ncclResult result = ga__cuda.ncclGetUniqueId(&made);
  if (result != 0)
    return nccl_fail(result, "ncclGetUniqueId", NULL);
  memcpy(id, made.bytes, sizeof made.bytes);
  return GA_NO_ERROR;
}

static int open_comm(void **comm, void *device, const char id[128], int ranks,
                     int rank) {
  const ga_cuda_device *d = device;
  ncclUniqueId clique;
  ncclComm made = NULL;
  CUcontext previous;
  memcpy(clique.bytes, id, sizeof clique.bytes);
  GA_TRY(ga__cuda_need_nccl());
  GA_TRY(ga__cuda_enter(&previous, d));
  ncclResult result = ga__cuda.ncclCommInitRank(&made, ranks, clique, rank);
  ga__cuda_leave(d, previous);
  if (result != 0)
    return nccl_fail(result, "ncclCommInitRank", NULL);
  *comm = made;
  return GA_NO_ERROR;
}

static void close_comm(void *device, void *comm) {
  CUDA_RELEASE(device, ncclCommDestroy, comm);
}

static void abort_comm(void *device, void *comm) {
  CUDA_RELEASE(device, ncclCommAbort, comm);
}

static int comm_state(void *comm) {
  enum { IN_PROGRESS = 7 };
  ncclResult found = 0;
  ncclResult result = ga__cuda.ncclCommGetAsyncError(comm, &found);
  if (result == 0)
    result = found;
  return result == 0 || result == IN_PROGRESS
             ? GA_NO_ERROR
             : nccl_fail(result, "an operation of NCCL's", comm);
}

/* ---- operations ---- */

/* Enqueues `name(..., comm, stream)` with the device current. Our operations' numbers
 * are ncclRedOp_t. */
#define NCCL_RETURN(device, comm, name, ...)                                           \
  do {                                                                                 \
    const ga_cuda_device *d_ = device;                                                 \
    CUcontext previous_;                                                               \
    GA_TRY(ga__cuda_enter(&previous_, d_));                                            \
    ncclResult result_ = ga__cuda.name(__VA_ARGS__, comm, ga__cuda_stream(d_));        \
    ga__cuda_leave(d_, previous_);                                                     \
    return result_ == 0 ? GA_NO_ERROR : nccl_fail(result_, #name, comm);               \
  } while (0)

static int reduce(void *device, void *comm, const void *from, void *to, size_t count,
                  int typecode, int op, int root) {
  NCCL_RETURN(device, comm, ncclReduce, from, to, count, reduced_type(typecode), op,
              root);
}

static int all_reduce(void *device, void *comm, const void *from, void *to,
                      size_t count, int typecode, int op) {
  NCCL_RETURN(device, comm, ncclAllReduce, from, to, count, reduced_type(typecode), op);
}

static int reduce_scatter(void *device, void *comm, const void *from, void *to,
                          size_t count, int typecode, int op) {
  NCCL_RETURN(device, comm, ncclReduceScatter, from, to, count, reduced_type(typecode),
              op);
}

static int broadcast(void *device, void *comm, void *array, size_t count, int typecode,
                     int root) {
  int type = moved_type(&count, typecode);
  NCCL_RETURN(device, comm, ncclBroadcast, array, array, count, type, root);
}

static int all_gather(void *device, void *comm, const void *from, void *to,
                      size_t count, int typecode) {
  int type = moved_type(&count, typecode);
  NCCL_RETURN(device, comm, ncclAllGather, from, to, count, type);
}

/* Queues the messages of a group; the group is ended in any case. */
static ncclResult queue_messages(const ga_cuda_device *device, ncclComm comm,
                                 const ga_exchange *x) {
  size_t count = x->count;
  const int type = moved_type(&count, x->typecode);
  const CUstream stream = ga__cuda_stream(device);
  ncclResult result = 0;
  for (int r = x->first_target; r < x->last_target && result == 0; r++)
    result = ga__cuda.ncclSend((const char *)x->from + (size_t)r * x->from_step, count,
                               type, r, comm, stream);
  for (int r = x->first_source; r < x->last_source && result == 0; r++)
    result = ga__cuda.ncclRecv((char *)x->to + (size_t)r * x->to_step, count, type, r,
                               comm, stream);
  return result;
}

static int exchange(void *device, void *comm, const ga_exchange *what) {
  const ga_cuda_device *d = device;
  CUcontext previous;
  GA_TRY(ga__cuda_enter(&previous, d));
  ncclResult result = ga__cuda.ncclGroupStart();
  if (result == 0) {
    result = queue_messages(d, comm, what);
    ncclResult ended = ga__cuda.ncclGroupEnd();
    result = result ? result : ended;
  }
  ga__cuda_leave(d, previous);
  return result == 0 ? GA_NO_ERROR : nccl_fail(result, "ncclSend or ncclRecv", comm);
}

const ga_collectives ga__cuda_collectives = {.unique_id = unique_id,
                                             .open = open_comm,
                                             .close = close_comm,
                                             .has_type = has_type,
                                             .reduce = reduce,
                                             .all_reduce = all_reduce,
                                             .reduce_scatter = reduce_scatter,
                                             .broadcast = broadcast,
                                             .all_gather = all_gather,
                                             .exchange = exchange,
                                             .abort = abort_comm,
                                             .state = comm_state};
