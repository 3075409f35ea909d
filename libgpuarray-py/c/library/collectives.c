/* Collectives over arrays: contiguous blocks for buffer_collectives.c. */
#include "c/array/array.h"
#include <gpuarray/collectives.h>

/* ---- checks ---- */

static int check_array(const GpuArray *a, const char *operation) {
  GA_TRY(ga__array_check(a, operation));
  if (GpuArray_ISALIGNED(a))
    return GA_NO_ERROR;
  char text[GA_ARRAY_TEXT];
  return GA_FAIL(GA_UNALIGNED_ERROR,
                 "%s: the elements of %s are not aligned; use a copy", operation,
                 ga__array_text(text, a));
}

static int check_writeable(const GpuArray *a, const char *operation) {
  if (GpuArray_ISWRITEABLE(a))
    return GA_NO_ERROR;
  char text[GA_ARRAY_TEXT];
  return GA_FAIL(GA_INVALID_ERROR, "%s: the destination %s is read-only", operation,
                 ga__array_text(text, a));
}

static int check_comm(const gpucomm *comm, const char *operation) {
  return comm ? GA_NO_ERROR : ga__fail_null(operation, "communicator");
}

/* Checks types, and that src has src_parts elements for every dest_parts of dest. */
static int check_pair(const GpuArray *src, const GpuArray *dest, size_t src_parts,
                      size_t dest_parts, const char *operation) {
  GA_TRY(ga__array_check(src, operation));
  GA_TRY(ga__array_check(dest, operation));
  size_t from = ga__array_count(src), to = ga__array_count(dest);
  char source[GA_ARRAY_TEXT], destination[GA_ARRAY_TEXT];
  if (from % src_parts != 0 || to % dest_parts != 0 ||
      from / src_parts != to / dest_parts)
    return GA_FAIL(GA_VALUE_ERROR,
                   "%s: source %s, destination %s; expected %zu elements of the source "
                   "for %zu of the destination",
                   operation, ga__array_text(source, src),
                   ga__array_text(destination, dest), src_parts, dest_parts);
  if (src->typecode != dest->typecode)
    return GA_FAIL(GA_VALUE_ERROR, "%s: source %s, destination %s; expected one type",
                   operation, ga__array_text(source, src),
                   ga__array_text(destination, dest));
  GA_TRY(check_array(src, operation));
  GA_TRY(check_array(dest, operation));
  return check_writeable(dest, operation);
}

/* ---- staging into contiguous blocks ---- */

static bool is_f_only(const GpuArray *a) {
  return GpuArray_IS_F_CONTIGUOUS(a) && !GpuArray_IS_C_CONTIGUOUS(a);
}

/* Send block: a view of `a` if contiguous in this order, else a copy. */
static int stage_in(GpuArray *block, const GpuArray *a, bool fortran, bool must_copy) {
  bool lies_so = fortran ? GpuArray_IS_F_CONTIGUOUS(a) : GpuArray_IS_C_CONTIGUOUS(a);
  return lies_so && !must_copy
             ? GpuArray_view(block, a)
             : GpuArray_copy(block, a, fortran ? GA_F_ORDER : GA_C_ORDER);
}

/* Receive block: a view of `a` if contiguous, else a new array. */
static int stage_out(GpuArray *block, const GpuArray *a) {
  return GpuArray_ISONESEGMENT(a) ? GpuArray_view(block, a)
                                  : GpuArray_empty(block, a->data->context, a->typecode,
                                                   a->nd, a->dimensions, GA_C_ORDER);
}

/* Copies a receive block back into `a` where needed, and releases it. */
static int unstage(GpuArray *a, GpuArray *block, int status) {
  if (status == GA_NO_ERROR && block->data != a->data)
    status = GpuArray_setarray(a, block);
  GpuArray_clear(block);
  return status;
}

typedef int (*exchange)(const GpuArray *from, GpuArray *to, size_t count, int opcode,
                        int root, gpucomm *comm);

/* Calls `run` on contiguous blocks of both; `count` elements per rank. */
static int exchange_arrays(const GpuArray *src, GpuArray *dest, size_t count,
                           int opcode, int root, gpucomm *comm, exchange run) {
  GpuArray from, to;
  /* Aliasing: copy the source, unless both are the same elements (in place). */
  bool is_same =
      ga__array_same_start(src, dest) && ga__array_count(src) == ga__array_count(dest);
  bool must_copy = GpuArray_share(src, dest) && !is_same;
  GA_TRY(stage_out(&to, dest));
  int status = stage_in(&from, src, is_f_only(&to), must_copy);
  if (status != GA_NO_ERROR) {
    GpuArray_clear(&to);
    return status;
  }
  status = run(&from, &to, count, opcode, root, comm);
  GpuArray_clear(&from);
  return unstage(dest, &to, status);
}

/* ---- operations ---- */

static int run_reduce(const GpuArray *from, GpuArray *to, size_t count, int opcode,
                      int root, gpucomm *comm) {
  return gpucomm_reduce(from->data, from->offset, to->data, to->offset, count,
                        from->typecode, opcode, root, comm);
}

static int run_all_reduce(const GpuArray *from, GpuArray *to, size_t count, int opcode,
                          int root, gpucomm *comm) {
  (void)root;
  return gpucomm_all_reduce(from->data, from->offset, to->data, to->offset, count,
                            from->typecode, opcode, comm);
}

static int run_reduce_scatter(const GpuArray *from, GpuArray *to, size_t count,
                              int opcode, int root, gpucomm *comm) {
  (void)root;
  return gpucomm_reduce_scatter(from->data, from->offset, to->data, to->offset, count,
                                from->typecode, opcode, comm);
}

static int run_all_gather(const GpuArray *from, GpuArray *to, size_t count, int opcode,
                          int root, gpucomm *comm) {
  (void)opcode, (void)root;
  return gpucomm_all_gather(from->data, from->offset, to->data, to->offset, count,
                            from->typecode, comm);
}

int GpuArray_reduce_from(const GpuArray *src, int opcode, int root, gpucomm *comm) {
  GA_TRY(check_comm(comm, "reduce_from"));
  GA_TRY(check_array(src, "reduce_from"));
  GpuArray from;
  GA_TRY(stage_in(&from, src, is_f_only(src), false));
  int status = gpucomm_reduce(from.data, from.offset, NULL, 0, ga__array_count(src),
                              src->typecode, opcode, root, comm);
  GpuArray_clear(&from);
  return status;
}

int GpuArray_reduce(const GpuArray *src, GpuArray *dest, int opcode, int root,
                    gpucomm *comm) {
  int rank = 0;
  GA_TRY(check_comm(comm, "reduce"));
  GA_TRY(gpucomm_get_rank(comm, &rank));
  if (rank != root)
    return GpuArray_reduce_from(src, opcode, root, comm);
  GA_TRY(check_pair(src, dest, 1, 1, "reduce"));
  return exchange_arrays(src, dest, ga__array_count(src), opcode, root, comm,
                         run_reduce);
}

int GpuArray_all_reduce(const GpuArray *src, GpuArray *dest, int opcode,
                        gpucomm *comm) {
  GA_TRY(check_comm(comm, "all_reduce"));
  GA_TRY(check_pair(src, dest, 1, 1, "all_reduce"));
  return exchange_arrays(src, dest, ga__array_count(src), opcode, 0, comm,
                         run_all_reduce);
}

int GpuArray_reduce_scatter(const GpuArray *src, GpuArray *dest, int opcode,
                            gpucomm *comm) {
  int ranks = 1;
  GA_TRY(check_comm(comm, "reduce_scatter"));
  GA_TRY(gpucomm_get_count(comm, &ranks));
  GA_TRY(check_pair(src, dest, (size_t)ranks, 1, "reduce_scatter"));
  return exchange_arrays(src, dest, ga__array_count(dest), opcode, 0, comm,
                         run_reduce_scatter);
}

int GpuArray_broadcast(GpuArray *array, int root, gpucomm *comm) {
  int rank = 0;
  GpuArray block;
  GA_TRY(check_comm(comm, "broadcast"));
  GA_TRY(gpucomm_get_rank(comm, &rank));
  GA_TRY(check_array(array, "broadcast"));
  if (rank != root)
    GA_TRY(check_writeable(array, "broadcast"));
  GA_TRY(rank == root ? stage_in(&block, array, is_f_only(array), false)
                      : stage_out(&block, array));
  int status = gpucomm_broadcast(block.data, block.offset, ga__array_count(array),
                                 array->typecode, root, comm);
  if (rank != root)
    return unstage(array, &block, status);
  GpuArray_clear(&block);
  return status;
}

int GpuArray_all_gather(const GpuArray *src, GpuArray *dest, gpucomm *comm) {
  int ranks = 1;
  GA_TRY(check_comm(comm, "all_gather"));
  GA_TRY(gpucomm_get_count(comm, &ranks));
  GA_TRY(check_pair(src, dest, 1, (size_t)ranks, "all_gather"));
  return exchange_arrays(src, dest, ga__array_count(src), 0, 0, comm, run_all_gather);
}

/* ---- exchanges ---- */

int GpuArray_send(const GpuArray *src, int peer, gpucomm *comm) {
  GpuArray from;
  GA_TRY(check_comm(comm, "send"));
  GA_TRY(check_array(src, "send"));
  GA_TRY(stage_in(&from, src, is_f_only(src), false));
  int status = gpucomm_send(from.data, from.offset, ga__array_count(src), src->typecode,
                            peer, comm);
  GpuArray_clear(&from);
  return status;
}

int GpuArray_receive(GpuArray *dest, int peer, gpucomm *comm) {
  GpuArray to;
  GA_TRY(check_comm(comm, "receive"));
  GA_TRY(check_array(dest, "receive"));
  GA_TRY(check_writeable(dest, "receive"));
  GA_TRY(stage_out(&to, dest));
  int status = gpucomm_receive(to.data, to.offset, ga__array_count(dest),
                               dest->typecode, peer, comm);
  return unstage(dest, &to, status);
}

static int run_all_to_all(const GpuArray *from, GpuArray *to, size_t count, int opcode,
                          int root, gpucomm *comm) {
  (void)opcode, (void)root;
  return gpucomm_all_to_all(from->data, from->offset, to->data, to->offset, count,
                            from->typecode, comm);
}

int GpuArray_all_to_all(const GpuArray *src, GpuArray *dest, gpucomm *comm) {
  int ranks = 1;
  GpuArray apart;
  GA_TRY(check_comm(comm, "all_to_all"));
  GA_TRY(gpucomm_get_count(comm, &ranks));
  GA_TRY(check_pair(src, dest, (size_t)ranks, (size_t)ranks, "all_to_all"));
  const size_t count = ga__array_count(src) / (size_t)ranks;
  if (!GpuArray_share(src, dest))
    return exchange_arrays(src, dest, count, 0, 0, comm, run_all_to_all);
  GA_TRY(GpuArray_copy(&apart, src, is_f_only(dest) ? GA_F_ORDER : GA_C_ORDER));
  int status = exchange_arrays(&apart, dest, count, 0, 0, comm, run_all_to_all);
  GpuArray_clear(&apart);
  return status;
}

static int run_gather(const GpuArray *from, GpuArray *to, size_t count, int opcode,
                      int root, gpucomm *comm) {
  (void)opcode;
  return gpucomm_gather(from->data, from->offset, to->data, to->offset, count,
                        from->typecode, root, comm);
}

/* A rank that sends its elements to the root. */
static int gather_from(const GpuArray *src, int root, gpucomm *comm) {
  GpuArray from;
  GA_TRY(check_array(src, "gather"));
  GA_TRY(stage_in(&from, src, is_f_only(src), false));
  int status = gpucomm_gather(from.data, from.offset, NULL, 0, ga__array_count(src),
                              src->typecode, root, comm);
  GpuArray_clear(&from);
  return status;
}

int GpuArray_gather(const GpuArray *src, GpuArray *dest, int root, gpucomm *comm) {
  int ranks = 1, rank = 0;
  GA_TRY(check_comm(comm, "gather"));
  GA_TRY(gpucomm_get_rank(comm, &rank));
  GA_TRY(gpucomm_get_count(comm, &ranks));
  if (rank != root)
    return gather_from(src, root, comm);
  GA_TRY(check_pair(src, dest, 1, (size_t)ranks, "gather"));
  return exchange_arrays(src, dest, ga__array_count(src), 0, root, comm, run_gather);
}

static int run_scatter(const GpuArray *from, GpuArray *to, size_t count, int opcode,
                       int root, gpucomm *comm) {
  (void)opcode;
  return gpucomm_scatter(from->data, from->offset, to->data, to->offset, count,
                         from->typecode, root, comm);
}

/* A rank that receives its part from the root. */
static int scatter_to(GpuArray *dest, int root, gpucomm *comm) {
  GpuArray to;
  GA_TRY(check_array(dest, "scatter"));
  GA_TRY(check_writeable(dest, "scatter"));
  GA_TRY(stage_out(&to, dest));
  int status = gpucomm_scatter(NULL, 0, to.data, to.offset, ga__array_count(dest),
                               dest->typecode, root, comm);
  return unstage(dest, &to, status);
}

int GpuArray_scatter(const GpuArray *src, GpuArray *dest, int root, gpucomm *comm) {
  int ranks = 1, rank = 0;
  GA_TRY(check_comm(comm, "scatter"));
  GA_TRY(gpucomm_get_rank(comm, &rank));
  GA_TRY(gpucomm_get_count(comm, &ranks));
  if (rank != root)
    return scatter_to(dest, root, comm);
  GA_TRY(check_pair(src, dest, (size_t)ranks, 1, "scatter"));
  return exchange_arrays(src, dest, ga__array_count(dest), 0, root, comm, run_scatter);
}
