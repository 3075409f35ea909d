/* Collectives of buffers and arrays: two ranks in one process, each a thread with a
 * device of the mock; and contexts that have none. */
#include "mock_context.h"
#include "null_context.h"

#include <gpuarray/collectives.h>
#include <limits.h>
#include <pthread.h>

#include "c/array/array.h"

#define RANKS 2
#define SHAPE(...)                                                                     \
  (const size_t[]) {                                                                   \
    __VA_ARGS__                                                                        \
  }

typedef struct rank {
  int number;
  gpucommCliqueId id;
  gpucontext *ctx;
  gpucomm *comm;
} rank;

static GpuArray ints(const rank *r, unsigned int nd, const size_t *dims, int first) {
  int values[64];
  GpuArray a = {0};
  for (int i = 0; i < 64; i++)
    values[i] = first + i;
  CHECK_OK(GpuArray_copy_from_host(&a, r->ctx, values, GA_INT, nd, dims, NULL));
  return a;
}

static GpuArray new_ints(const rank *r, unsigned int nd, const size_t *dims) {
  GpuArray a = {0};
  CHECK_OK(GpuArray_zeros(&a, r->ctx, GA_INT, nd, dims, GA_C_ORDER));
  return a;
}

/* The elements in order, of an array that is one block. */
static void check_ints(const GpuArray *a, size_t n, const int *expected) {
  int values[64] = {0};
  CHECK_OK(GpuArray_read(values, n * sizeof *values, a));
  CHECK(memcmp(values, expected, n * sizeof *values) == 0);
}

#define CHECK_INTS(a, n, ...) check_ints(a, n, (const int[]){__VA_ARGS__})

/* ---- what ranks do ---- */

static void test_questions(const rank *r) {
  int count = 0, number = -1;
  CHECK_OK(gpucomm_get_count(r->comm, &count));
  CHECK_OK(gpucomm_get_rank(r->comm, &number));
  CHECK(count == RANKS && number == r->number);
  CHECK(gpucomm_context(r->comm) == r->ctx);
  CHECK(*(gpucontext **)(void *)r->comm == r->ctx);
  CHECK_STATUS(GA_VALUE_ERROR, gpucomm_get_count(NULL, &count));
  CHECK_STATUS(GA_VALUE_ERROR, gpucomm_get_rank(r->comm, NULL));
  CHECK(gpucomm_context(NULL) == NULL);
}

static void test_reduce(const rank *r) {
  GpuArray a = ints(r, 1, SHAPE(3), 1 + 10 * r->number), b = new_ints(r, 1, SHAPE(3));
  CHECK_OK(GpuArray_reduce(&a, r->number == 1 ? &b : NULL, GA_SUM, 1, r->comm));
  if (r->number == 1)
    CHECK_INTS(&b, 3, 12, 14, 16);
  CHECK_OK(r->number == 0 ? GpuArray_reduce(&a, &b, GA_PROD, 0, r->comm)
                          : GpuArray_reduce_from(&a, GA_PROD, 0, r->comm));
  if (r->number == 0)
    CHECK_INTS(&b, 3, 11, 24, 39);
  CHECK_OK(GpuArray_all_reduce(&a, &b, GA_MAX, r->comm));
  CHECK_INTS(&b, 3, 11, 12, 13);
  CHECK_OK(GpuArray_all_reduce(&a, &a, GA_MIN, r->comm)); /* in place */
  CHECK_INTS(&a, 3, 1, 2, 3);
  GpuArray_clear(&a);
  GpuArray_clear(&b);
}

static void test_reduce_scatter(const rank *r) {
  GpuArray a = ints(r, 2, SHAPE(2, 2), 0), b = new_ints(r, 1, SHAPE(2));
  CHECK_OK(GpuArray_reduce_scatter(&a, &b, GA_SUM, r->comm));
  if (r->number == 0)
    CHECK_INTS(&b, 2, 0, 2);
  else
    CHECK_INTS(&b, 2, 4, 6);
  GpuArray_clear(&a);
  GpuArray_clear(&b);
}

static void test_broadcast(const rank *r) {
  GpuArray a = ints(r, 1, SHAPE(4), 100 * r->number);
  if (r->number == 1)
    a.flags &= ~GA_WRITEABLE; /* the root only reads */
  CHECK_OK(GpuArray_broadcast(&a, 1, r->comm));
  CHECK_INTS(&a, 4, 100, 101, 102, 103);
  GpuArray_clear(&a);

  /* Types that NCCL does not know are moved all the same. */
  const short mine[3] = {(short)r->number, 5, 6};
  short got[3];
  CHECK_OK(GpuArray_copy_from_host(&a, r->ctx, mine, GA_SHORT, 1, SHAPE(3), NULL));
  CHECK_OK(GpuArray_broadcast(&a, 0, r->comm));
  CHECK_OK(GpuArray_read(got, sizeof got, &a));
  CHECK(got[0] == 0 && got[1] == 5 && got[2] == 6);
  GpuArray_clear(&a);
}

static void test_all_gather(const rank *r) {
  GpuArray a = ints(r, 1, SHAPE(2), 10 * r->number), b = new_ints(r, 2, SHAPE(2, 2));
  CHECK_OK(GpuArray_all_gather(&a, &b, r->comm));
  CHECK_INTS(&b, 4, 0, 1, 10, 11);

  /* This rank's part of the destination is the source. */
  CHECK_OK(gpudata_memset(b.data, 0, 0));
  size_t mine = 8 * (size_t)r->number;
  CHECK_OK(gpudata_write(b.data, mine, r->number ? (int[]){7, 8} : (int[]){5, 6}, 8));
  CHECK_OK(gpucomm_all_gather(b.data, mine, b.data, 0, 2, GA_INT, r->comm));
  CHECK_INTS(&b, 4, 5, 6, 7, 8);

  /* Another part is copied first. */
  GpuArray part = b;
  part.nd = 1;
  part.dimensions[0] = 2;
  part.strides[0] = 4;
  part.offset = 8 - mine;
  GpuArray_fix_flags(&part);
  CHECK_OK(GpuArray_all_gather(&part, &b, r->comm));
  CHECK_INTS(&b, 4, 7, 8, 5, 6);
  GpuArray_clear(&a);
  GpuArray_clear(&b);
}

/* Not one block: taken in C order by way of copies. The mock runs no kernel, so that a
 * strided copy moves nothing; that the right number of elements arrives in a block of
 * its own shows that the view's gaps are left alone. */
static void test_strided(const rank *r) {
  GpuArray a = ints(r, 2, SHAPE(4, 3), 1), row, out = new_ints(r, 1, SHAPE(3));
  CHECK_OK(GpuArray_index(&row, &a, (const ssize_t[]){2, 0}, (const ssize_t[]){0, 3},
                          (const ssize_t[]){0, 1}));
  CHECK_OK(GpuArray_all_reduce(&row, &out, GA_SUM, r->comm)); /* a contiguous part */
  CHECK_INTS(&out, 3, 14, 16, 18);
  GpuArray_clear(&row);

  GpuArray column;
  long before = mock->launches;
  CHECK_OK(GpuArray_index(&column, &a, (const ssize_t[]){0, 1}, (const ssize_t[]){3, 0},
                          (const ssize_t[]){1, 0}));
  CHECK_OK(GpuArray_all_reduce(&out, &column, GA_SUM, r->comm));
  CHECK_OK(gpudata_sync(a.data));
  CHECK(mock->launches > before);
  CHECK_INTS(&a, 12, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
  GpuArray_clear(&column);
  GpuArray_clear(&out);
  GpuArray_clear(&a);
}

static void test_messages(const rank *r) {
  const int other = 1 - r->number;
  GpuArray a = ints(r, 1, SHAPE(3), 1 + 10 * r->number), b = new_ints(r, 1, SHAPE(3));
  CHECK_OK(r->number == 0 ? GpuArray_send(&a, 1, r->comm)
                          : GpuArray_receive(&b, 0, r->comm));
  if (r->number == 1)
    CHECK_INTS(&b, 3, 1, 2, 3);
  CHECK_OK(r->number == 1 ? GpuArray_send(&a, 0, r->comm)
                          : GpuArray_receive(&b, 1, r->comm));
  if (r->number == 0)
    CHECK_INTS(&b, 3, 11, 12, 13);
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_send(&a, 2, r->comm));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_receive(&a, -1, r->comm));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_send(&a, other, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_send(NULL, other, r->comm));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_receive(NULL, other, r->comm));
  CHECK_STATUS(GA_VALUE_ERROR, gpucomm_receive(a.data, 0, 4, GA_INT, other, r->comm));
  a.flags &= ~GA_WRITEABLE;
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_receive(&a, other, r->comm));
  GpuArray_clear(&a);
  GpuArray_clear(&b);
}

static void test_exchanges(const rank *r) {
  const bool is_root = r->number == 1;
  GpuArray a = ints(r, 2, SHAPE(2, 2), 1 + 10 * r->number);
  GpuArray b = new_ints(r, 2, SHAPE(2, 2)), part = ints(r, 1, SHAPE(2), r->number);
  CHECK_OK(GpuArray_all_to_all(&a, &b, r->comm));
  if (r->number == 0)
    CHECK_INTS(&b, 4, 1, 2, 11, 12);
  else
    CHECK_INTS(&b, 4, 3, 4, 13, 14);
  CHECK_OK(GpuArray_all_to_all(&b, &b, r->comm)); /* by a copy: the inverse */
  CHECK_OK(GpuArray_gather(&part, is_root ? &b : NULL, 1, r->comm));
  if (is_root)
    CHECK_INTS(&b, 4, 0, 1, 1, 2);
  CHECK_OK(GpuArray_scatter(is_root ? &a : NULL, &part, 1, r->comm));
  if (is_root)
    CHECK_INTS(&part, 2, 13, 14);
  else
    CHECK_INTS(&part, 2, 11, 12);
  CHECK_STATUS(GA_VALUE_ERROR,
               gpucomm_all_to_all(a.data, 0, a.data, 0, 2, GA_INT, r->comm));
  CHECK_TEXT("expected disjoint ranges");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_all_to_all(&a, &part, r->comm));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_all_to_all(&a, NULL, r->comm));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_all_to_all(&a, &b, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_gather(&a, &part, r->number, r->comm));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_gather(NULL, &part, 0, r->comm));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_gather(&a, &part, 0, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_gather(&a, NULL, r->number, r->comm));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_scatter(&part, &a, r->number, r->comm));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_scatter(&a, NULL, 1 - r->number, r->comm));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_scatter(NULL, &a, r->number, r->comm));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_scatter(&a, &part, 0, NULL));
  CHECK_STATUS(GA_VALUE_ERROR,
               gpucomm_gather(a.data, 0, NULL, 0, 1, GA_INT, r->number, r->comm));
  CHECK_STATUS(GA_VALUE_ERROR,
               gpucomm_scatter(NULL, 0, b.data, 0, 1, GA_INT, r->number, r->comm));
  GpuArray_clear(&a);
  GpuArray_clear(&b);
  GpuArray_clear(&part);
}

static void test_refused_buffers(const rank *r) {
  int err;
  gpucontext *other = open_null();
  gpudata *src = gpudata_alloc(r->ctx, 128, NULL, 0, &err);
  gpudata *dest = gpudata_alloc(r->ctx, 128, NULL, 0, &err);
  gpudata *foreign = gpudata_alloc(other, 128, NULL, 0, &err);
  const size_t many = (size_t)INT_MAX + 1;
  gpucomm *c = r->comm;
  /* In the order that the header promises: each call has all later mistakes as well. */
  CHECK_STATUS(GA_XLARGE_ERROR,
               gpucomm_all_reduce(foreign, 999, dest, 0, many, -1, -1, c));
  CHECK_STATUS(GA_VALUE_ERROR, gpucomm_all_reduce(foreign, 999, dest, 0, 4, -1, -1, c));
  CHECK_TEXT("same context");
  CHECK_STATUS(GA_INVALID_ERROR, gpucomm_all_reduce(src, 999, dest, 0, 4, -1, -1, c));
  CHECK_TEXT("type");
  CHECK_STATUS(GA_INVALID_ERROR,
               gpucomm_all_reduce(src, 999, dest, 0, 4, GA_INT, -1, c));
  CHECK_TEXT("operation -1");
  CHECK_STATUS(GA_VALUE_ERROR,
               gpucomm_all_reduce(src, 125, dest, 0, 1, GA_INT, GA_SUM, c));
  CHECK_STATUS(GA_VALUE_ERROR,
               gpucomm_all_reduce(src, 0, dest, 999, 1, GA_INT, GA_SUM, c));
  CHECK_STATUS(GA_VALUE_ERROR,
               gpucomm_all_reduce(src, 0, src, 4, 2, GA_INT, GA_SUM, c));
  CHECK_TEXT("overlap");
  CHECK_STATUS(GA_VALUE_ERROR,
               gpucomm_all_reduce(src, 0, NULL, 0, 1, GA_INT, GA_SUM, c));
  CHECK_STATUS(GA_VALUE_ERROR,
               gpucomm_all_reduce(NULL, 0, dest, 0, 1, GA_INT, GA_SUM, c));
  CHECK_STATUS(GA_VALUE_ERROR,
               gpucomm_all_reduce(src, 0, dest, 0, 1, GA_INT, GA_SUM, NULL));
  CHECK_STATUS(GA_INVALID_ERROR,
               gpucomm_all_reduce(src, 0, dest, 0, 1, GA_CFLOAT, GA_SUM, c));
  CHECK_STATUS(GA_XLARGE_ERROR,
               gpucomm_reduce_scatter(src, 0, dest, 0, SIZE_MAX, GA_INT, GA_SUM, c));
  CHECK_STATUS(GA_VALUE_ERROR,
               gpucomm_reduce_scatter(src, 0, dest, 0, 17, GA_INT, GA_SUM, c));
  CHECK_STATUS(GA_VALUE_ERROR, gpucomm_all_gather(src, 0, dest, 0, 17, GA_INT, c));
  CHECK_STATUS(GA_INVALID_ERROR, gpucomm_all_gather(src, 0, dest, 0, 1, -1, c));
  CHECK_STATUS(GA_VALUE_ERROR, gpucomm_broadcast(src, 0, 1, GA_INT, 2, c));
  CHECK_TEXT("root 2 of 2 ranks");
  CHECK_STATUS(GA_VALUE_ERROR,
               gpucomm_reduce(src, 0, dest, 0, 1, GA_INT, GA_SUM, -1, c));
  CHECK_OK(gpudata_sync(src));
  gpudata_release(src);
  gpudata_release(dest);
  gpudata_release(foreign);
  gpucontext_deref(other);
}

static void test_refused_arrays(const rank *r) {
  GpuArray a = ints(r, 1, SHAPE(3), 0), b = new_ints(r, 1, SHAPE(3)), odd, wrong;
  gpucomm *c = r->comm;
  CHECK_OK(GpuArray_empty(&wrong, r->ctx, GA_UINT, 1, SHAPE(3), GA_C_ORDER));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_all_reduce(&a, &wrong, GA_SUM, c));
  CHECK_TEXT("one type");
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_reduce_scatter(&a, &b, GA_SUM, c));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_all_gather(&a, &b, c));
  CHECK_TEXT("expected 1 elements of the source for 2 of the destination");
  odd = b;
  odd.flags &= ~GA_WRITEABLE;
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_all_reduce(&a, &odd, GA_SUM, c));
  CHECK_TEXT("read-only");
  CHECK_STATUS(GA_INVALID_ERROR, GpuArray_broadcast(&odd, 1 - r->number, c));
  odd = b;
  odd.flags &= ~GA_ALIGNED;
  CHECK_STATUS(GA_UNALIGNED_ERROR, GpuArray_all_reduce(&a, &odd, GA_SUM, c));
  CHECK_STATUS(GA_UNALIGNED_ERROR, GpuArray_reduce_from(&odd, GA_SUM, 0, c));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_all_reduce(&a, &b, GA_SUM, NULL));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_all_reduce(&a, NULL, GA_SUM, c));
  CHECK_STATUS(GA_VALUE_ERROR, GpuArray_broadcast(NULL, 0, c));
  GpuArray_clear(&a);
  GpuArray_clear(&b);
  GpuArray_clear(&wrong);
}

/* What NCCL refuses; this type is one that the mock does not reduce. */
static void test_failures_of_nccl(const rank *r) {
  GpuArray a, b;
  CHECK_OK(GpuArray_zeros(&a, r->ctx, GA_HALF, 1, SHAPE(3), GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&b, r->ctx, GA_HALF, 1, SHAPE(3), GA_C_ORDER));
  CHECK_STATUS(GA_COMM_ERROR, GpuArray_all_reduce(&a, &b, GA_SUM, r->comm));
  CHECK_TEXT("ncclAllReduce: invalid argument (4): the other rank hung up");
  CHECK(strcmp(gpucomm_error(r->ctx), gpuarray_error_text()) == 0);
  GpuArray_clear(&a);
  GpuArray_clear(&b);
}

static void *run_rank(void *argument) {
  rank *r = argument;
  CHECK_OK(gpucomm_new(&r->comm, r->ctx, r->id, RANKS, r->number));
  test_questions(r);
  test_reduce(r);
  test_reduce_scatter(r);
  test_broadcast(r);
  test_all_gather(r);
  test_strided(r);
  test_messages(r);
  test_exchanges(r);
  test_refused_buffers(r);
  test_refused_arrays(r);
  test_failures_of_nccl(r);
  gpucomm_free(r->comm);
  return NULL;
}

/* ---- abort ---- */

/* A rank that waits for another, which never comes; a third thread ends that. */
static void *run_waiting(void *argument) {
  rank *r = argument;
  CHECK_OK(gpucomm_new(&r->comm, r->ctx, r->id, RANKS, r->number));
  if (r->number == 1) {
    CHECK_OK(gpucomm_state(r->comm));
    return NULL;
  }
  GpuArray a = ints(r, 1, SHAPE(3), 1);
  CHECK_OK(GpuArray_all_reduce(&a, &a, GA_SUM, r->comm));
  CHECK_OK(gpudata_sync(a.data)); /* until it is aborted */
  GpuArray_clear(&a);
  return NULL;
}

/* A thread for each rank of a clique. */
static void start_ranks(pthread_t *threads, rank *ranks, void *(*run)(void *)) {
  static const char *const names[RANKS] = {"cuda0", "cuda1"};
  gpucommCliqueId id;
  for (int i = 0; i < RANKS; i++)
    ranks[i] = (rank){.number = i, .ctx = open_cuda(names[i])};
  CHECK_OK(gpucomm_gen_clique_id(ranks[0].ctx, &id));
  for (int i = 0; i < RANKS; i++) {
    ranks[i].id = id;
    CHECK(pthread_create(&threads[i], NULL, run, &ranks[i]) == 0);
  }
}

static void test_abort(void) {
  pthread_t threads[RANKS];
  rank ranks[RANKS];
  start_ranks(threads, ranks, run_waiting);
  CHECK(pthread_join(threads[1], NULL) == 0);
  CHECK_OK(gpucomm_abort(ranks[1].comm));
  CHECK(pthread_join(threads[0], NULL) == 0);
  CHECK_STATUS(GA_COMM_ERROR, gpucomm_state(ranks[0].comm));
  CHECK_TEXT("an operation of NCCL's");
  CHECK_STATUS(GA_COMM_ERROR, gpucomm_state(ranks[1].comm));
  CHECK_TEXT("the communicator was closed or aborted");
  GpuArray a = ints(&ranks[1], 1, SHAPE(3), 1);
  CHECK_STATUS(GA_COMM_ERROR, GpuArray_all_reduce(&a, &a, GA_SUM, ranks[1].comm));
  CHECK_STATUS(GA_COMM_ERROR, GpuArray_send(&a, 0, ranks[1].comm));
  CHECK_TEXT("gpucomm_send: the communicator was closed or aborted");
  GpuArray_clear(&a);
  CHECK_OK(gpucomm_abort(ranks[1].comm)); /* once */
  CHECK_STATUS(GA_VALUE_ERROR, gpucomm_abort(NULL));
  CHECK_STATUS(GA_VALUE_ERROR, gpucomm_state(NULL));
  for (int i = 0; i < RANKS; i++) {
    gpucomm_free(ranks[i].comm);
    gpucontext_deref(ranks[i].ctx);
  }
}

/* ---- cliques ---- */

static void test_ranks(void) {
  pthread_t threads[RANKS];
  rank ranks[RANKS];
  start_ranks(threads, ranks, run_rank);
  for (int i = 0; i < RANKS; i++) {
    CHECK(pthread_join(threads[i], NULL) == 0);
    gpucontext_deref(ranks[i].ctx);
  }
}

/* Of all calls that a collective of strided arrays makes, each fails in turn. */
static void test_failing_calls(const rank *r) {
  GpuArray a = ints(r, 2, SHAPE(4, 3), 1), from, to;
  const ssize_t stops[] = {4, 0}, steps[] = {1, 0};
  CHECK_OK(GpuArray_index(&from, &a, (const ssize_t[]){0, 1}, stops, steps));
  CHECK_OK(GpuArray_index(&to, &a, (const ssize_t[]){0, 2}, stops, steps));
  CHECK_OK(GpuArray_all_reduce(&from, &to, GA_SUM, r->comm)); /* compiles kernels */
  long failed = 0;
  for (bool is_done = false; !is_done; failed++) {
    mock->fail_at = failed;
    mock->fail_with = CUDA_ERROR_OUT_OF_MEMORY;
    int status = GpuArray_all_reduce(&from, &to, GA_SUM, r->comm);
    is_done = mock->fail_at >= 0; /* nobody met it */
    mock->fail_at = -1;
    CHECK(is_done ? status == GA_NO_ERROR
                  : status == GA_MEMORY_ERROR || status == GA_COMM_ERROR);
    CHECK_OK(gpudata_sync(a.data));
  }
  CHECK(failed > 2);
  GpuArray_clear(&from);
  GpuArray_clear(&to);
  GpuArray_clear(&a);
}

static void test_alone(void) {
  gpucontext *ctx = open_cuda("cuda0");
  gpucomm *comm = (gpucomm *)&ctx;
  gpucommCliqueId id, other;
  CHECK_OK(gpucomm_gen_clique_id(ctx, &id));
  CHECK_OK(gpucomm_gen_clique_id(ctx, &other));
  CHECK(memcmp(&id, &other, sizeof id) != 0);
  CHECK_STATUS(GA_VALUE_ERROR, gpucomm_new(&comm, ctx, id, 2, 2));
  CHECK(comm == NULL);
  CHECK_STATUS(GA_VALUE_ERROR, gpucomm_new(&comm, ctx, id, 0, 0));
  CHECK_STATUS(GA_VALUE_ERROR, gpucomm_new(&comm, ctx, id, 1, -1));
  CHECK_STATUS(GA_VALUE_ERROR, gpucomm_new(NULL, ctx, id, 1, 0));
  CHECK_STATUS(GA_VALUE_ERROR, gpucomm_new(&comm, NULL, id, 1, 0));
  CHECK_STATUS(GA_VALUE_ERROR, gpucomm_gen_clique_id(ctx, NULL));
  CHECK_STATUS(GA_COMM_ERROR, gpucomm_new(&comm, ctx, id, 9, 0));
  CHECK_TEXT("gpucomm_new, rank 0 of 9: ncclCommInitRank: invalid argument");
  ga__alloc_fail_at(0);
  CHECK_STATUS(GA_MEMORY_ERROR, gpucomm_new(&comm, ctx, id, 1, 0));
  ga__alloc_fail_at(-1);
  CHECK(comm == NULL);

  CHECK_OK(gpucomm_new(&comm, ctx, other, 1, 0));
  gpucontext_deref(ctx); /* the communicator keeps it */
  rank alone = {.ctx = ctx, .comm = comm};
  GpuArray a = ints(&alone, 1, SHAPE(3), 1);
  CHECK_OK(GpuArray_all_reduce(&a, &a, GA_SUM, comm));
  CHECK_INTS(&a, 3, 1, 2, 3);
  GpuArray_clear(&a);
  test_failing_calls(&alone);
  gpucomm_free(comm);
  gpucomm_free(NULL);
}

static void test_without_collectives(void) {
  gpucontext *ctx = open_null();
  gpucomm *comm;
  gpucommCliqueId id = {{0}};
  CHECK_STATUS(GA_UNSUPPORTED_ERROR, gpucomm_new(&comm, ctx, id, 1, 0));
  CHECK(comm == NULL);
  CHECK_TEXT("offered on CUDA");
  CHECK_STATUS(GA_DEVSUP_ERROR, gpucomm_gen_clique_id(ctx, &id));
  gpucontext_deref(ctx);
}

int main(void) {
  open_mock();
  test_ranks();
  test_abort();
  test_alone();
  test_without_collectives();
  check_given_back();
  return check_result("test_collectives");
}
