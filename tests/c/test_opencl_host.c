/* Pinned memory of OpenCL, on a processor that says it is a discrete GPU: results land
 * there, large transfers go through it, each of the driver's calls may fail, and all of
 * it is given back. */
#define _POSIX_C_SOURCE 200809L
#include "discrete_gpu.h"
#include "host_bytes.h"

#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gpuarray/host.h>

#include "c/device/pieces.h"

#define N ((size_t)10000)
#define LARGE (9 * GA_PIECES_LEAST + 12345) /* bytes */

/* ---- the driver, counted ---- */

static ga_opencl_api real;
static atomic_long n_calls, fail_at = -1;
static atomic_long n_memories, n_mapped, n_transfers;

static bool fails(void) {
  return atomic_fetch_add(&n_calls, 1) == atomic_load(&fail_at);
}

static cl_mem create_buffer(cl_context context, cl_ulong flags, size_t size, void *host,
                            cl_int *code) {
  *code = CL_OUT_OF_RESOURCES;
  cl_mem made = fails() ? NULL : real.clCreateBuffer(context, flags, size, host, code);
  if (made)
    atomic_fetch_add(&n_memories, 1);
  return made;
}

static cl_int release_memory(cl_mem memory) {
  atomic_fetch_sub(&n_memories, 1);
  return real.clReleaseMemObject(memory);
}

static void *map_buffer(cl_command_queue queue, cl_mem memory, cl_bool blocking,
                        cl_ulong flags, size_t offset, size_t size, cl_uint n_waits,
                        const cl_event *waits, cl_event *event, cl_int *code) {
  *code = CL_OUT_OF_RESOURCES;
  void *mapped = fails()
                     ? NULL
                     : real.clEnqueueMapBuffer(queue, memory, blocking, flags, offset,
                                               size, n_waits, waits, event, code);
  if (mapped)
    atomic_fetch_add(&n_mapped, 1);
  return mapped;
}

static cl_int unmap(cl_command_queue queue, cl_mem memory, void *mapped,
                    cl_uint n_waits, const cl_event *waits, cl_event *event) {
  atomic_fetch_sub(&n_mapped, 1);
  return real.clEnqueueUnmapMemObject(queue, memory, mapped, n_waits, waits, event);
}

static cl_int read_buffer(cl_command_queue queue, cl_mem memory, cl_bool blocking,
                          size_t offset, size_t size, void *host, cl_uint n_waits,
                          const cl_event *waits, cl_event *event) {
  atomic_fetch_add(&n_transfers, 1);
  return fails() ? CL_OUT_OF_RESOURCES
                 : real.clEnqueueReadBuffer(queue, memory, blocking, offset, size, host,
                                            n_waits, waits, event);
}

static cl_int write_buffer(cl_command_queue queue, cl_mem memory, cl_bool blocking,
                           size_t offset, size_t size, const void *host,
                           cl_uint n_waits, const cl_event *waits, cl_event *event) {
  atomic_fetch_add(&n_transfers, 1);
  return fails() ? CL_OUT_OF_RESOURCES
                 : real.clEnqueueWriteBuffer(queue, memory, blocking, offset, size,
                                             host, n_waits, waits, event);
}

/* The work is done, and the driver does not say so. */
static cl_int finish(cl_command_queue queue) {
  cl_int code = real.clFinish(queue);
  return fails() ? CL_OUT_OF_RESOURCES : code;
}

static cl_int put_marker(cl_command_queue queue, cl_uint n_waits, const cl_event *waits,
                         cl_event *event) {
  return fails() ? CL_OUT_OF_RESOURCES
                 : real.clEnqueueMarkerWithWaitList(queue, n_waits, waits, event);
}

static void count_calls(void) {
  real = *api;
  api->clCreateBuffer = create_buffer;
  api->clReleaseMemObject = release_memory;
  api->clEnqueueMapBuffer = map_buffer;
  api->clEnqueueUnmapMemObject = unmap;
  api->clEnqueueReadBuffer = read_buffer;
  api->clEnqueueWriteBuffer = write_buffer;
  api->clFinish = finish;
  api->clEnqueueMarkerWithWaitList = put_marker;
}

/* Buffers and pinned blocks are the driver's again. */
static void check_given_back(void) {
  CHECK(atomic_load(&n_memories) == 0);
}

/* ---- arrays ---- */

static gpuhost *memory_for(const GpuArray *a) {
  gpuhost *h = NULL;
  CHECK_OK(GpuArray_host(&h, a, 1));
  return h;
}

static int bring(gpuhost *h, const GpuArray *a) {
  void *nowhere = NULL;
  return GpuArray_read_hosts(1, &h, &nowhere, &a);
}

/* ---- tests ---- */

static void test_results_land_in_pinned_memory(void) {
  gpucontext *ctx = open_device();
  unsigned char *given = pattern(4 * N, 1), small[100], own[4 * N];
  GpuArray a = bytes_of(ctx, given, 4 * N), b = bytes_of(ctx, given + 1, 2 * N);
  GpuArray few = bytes_of(ctx, given, sizeof small);
  const GpuArray *srcs[] = {&a, &few, &b, &a};
  long staging = atomic_load(&n_mapped);
  gpuhost *hosts[] = {memory_for(&a), NULL, memory_for(&b), NULL};
  void *dsts[] = {NULL, small, NULL, own};
  CHECK(hosts[0]->is_pinned && hosts[2]->is_pinned &&
        atomic_load(&n_mapped) == staging + 2);
  CHECK_OK(GpuArray_read_hosts(4, hosts, dsts, srcs));
  CHECK(memcmp(gpuhost_bytes(hosts[0]), given, 4 * N) == 0);
  CHECK(memcmp(gpuhost_bytes(hosts[2]), given + 1, 2 * N) == 0);
  CHECK(memcmp(small, given, sizeof small) == 0);
  CHECK(memcmp(own, given, sizeof own) == 0);
  void *place = gpuhost_bytes(hosts[2]);
  gpuhost_release(hosts[2]);
  hosts[2] = memory_for(&b); /* kept for the next result */
  CHECK(gpuhost_bytes(hosts[2]) == place && atomic_load(&n_mapped) == staging + 2);
  gpuhost_release(hosts[2]);
  CHECK_OK(gpucontext_set_host_limit(ctx, 0));
  CHECK(atomic_load(&n_mapped) == staging + 1);
  GpuArray_clear(&a);
  GpuArray_clear(&b);
  GpuArray_clear(&few);
  gpucontext_deref(ctx);
  CHECK(memcmp(gpuhost_bytes(hosts[0]), given, 4 * N) == 0); /* outlives its context */
  memset(gpuhost_bytes(hosts[0]), 0, 4 * N);
  gpuhost_release(hosts[0]);
  check_given_back();
  free(given);
}

static void test_large_transfers_go_in_pieces(bool is_pinned) {
  gpucontext *ctx = open_device();
  unsigned char *given = pattern(LARGE, 2), *back = calloc(LARGE, 1);
  gpudata *b = gpudata_alloc(ctx, LARGE + 7, NULL, 0, NULL);
  atomic_store(&n_transfers, 0);
  CHECK_OK(gpudata_write(b, 3, given, LARGE));
  CHECK_OK(gpudata_read(back, b, 3, LARGE));
  CHECK(memcmp(back, given, LARGE) == 0);
  CHECK(is_pinned ? atomic_load(&n_transfers) > 10 : atomic_load(&n_transfers) == 2);
  gpudata_release(b);
  gpucontext_deref(ctx);
  free(given);
  free(back);
  check_given_back();
}

static void test_pinned_memory_is_used_straight(void) {
  gpucontext *ctx = open_device();
  unsigned char *given = pattern(LARGE, 5), *back = calloc(LARGE, 1);
  GpuArray a = bytes_of(ctx, given, LARGE);
  gpuhost *h = memory_for(&a);
  CHECK_OK(bring(h, &a));
  unsigned char *bytes = gpuhost_bytes(h);
  gpudata *b = gpudata_alloc(ctx, LARGE, NULL, 0, NULL);
  atomic_store(&n_transfers, 0);
  CHECK_OK(gpudata_write(b, 0, bytes, LARGE));
  memset(bytes, 0, LARGE); /* what was written was taken */
  CHECK_OK(gpudata_read(bytes + 3, b, 3, LARGE - 3));
  CHECK(atomic_load(&n_transfers) == 2);
  CHECK(memcmp(bytes + 3, given + 3, LARGE - 3) == 0 && bytes[2] == 0);
  CHECK_OK(gpudata_write(b, 7, bytes + 100, LARGE - 107));
  CHECK_OK(gpudata_read(back, b, 0, LARGE));
  CHECK(memcmp(back + 7, given + 100, LARGE - 107) == 0);
  gpuhost_release(h);
  gpudata_release(b);
  GpuArray_clear(&a);
  gpucontext_deref(ctx);
  free(given);
  free(back);
  check_given_back();
}

/* The child reads what it sees, and gives nothing back. */
static void test_a_forked_process_reads_it(void) {
  gpucontext *ctx = open_device();
  unsigned char *given = pattern(4 * N, 6);
  GpuArray a = bytes_of(ctx, given, 4 * N);
  long staging = atomic_load(&n_mapped);
  gpuhost *h = memory_for(&a);
  int status = 1;
  CHECK_OK(bring(h, &a));
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    bool same = memcmp(gpuhost_bytes(h), given, 4 * N) == 0;
    gpuhost_release(h);
    _exit(!same || atomic_load(&n_mapped) != staging + 1);
  }
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(memcmp(gpuhost_bytes(h), given, 4 * N) == 0);
  gpuhost_release(h); /* not kept: two processes have seen it */
  CHECK(atomic_load(&n_mapped) == staging);
  GpuArray_clear(&a);
  gpucontext_deref(ctx);
  free(given);
  check_given_back();
}

/* A result and a large transfer, of which one of the driver's calls fails: an error, or
 * the right bytes. */
static int transfer(gpucontext *ctx, const unsigned char *given, size_t size,
                    bool writes) {
  unsigned char *back = calloc(size, 1);
  GpuArray a = {0};
  gpuhost *h = NULL;
  long turn = atomic_exchange(&fail_at, -1);
  CHECK_OK(GpuArray_empty(&a, ctx, GA_UBYTE, 1, &size, GA_C_ORDER));
  if (!writes)
    CHECK_OK(GpuArray_write(&a, given, size));
  CHECK_OK(gpucontext_trim(ctx));
  atomic_store(&n_calls, 0);
  atomic_store(&fail_at, turn);
  int status = writes ? GpuArray_write(&a, given, size) : GpuArray_host(&h, &a, 0);
  if (status == GA_NO_ERROR && !writes) {
    void *nowhere = h ? NULL : back;
    const GpuArray *src = &a;
    status = GpuArray_read_hosts(1, &h, &nowhere, &src);
    if (h && status == GA_NO_ERROR)
      memcpy(back, gpuhost_bytes(h), size);
  }
  if (status == GA_NO_ERROR && !writes) {
    memset(back, 0, size);
    status = GpuArray_read(back, size, &a);
  }
  atomic_store(&fail_at, -1);
  if (status == GA_NO_ERROR && writes)
    status = GpuArray_read(back, size, &a);
  CHECK(status != GA_NO_ERROR || memcmp(back, given, size) == 0);
  gpuhost_release(h);
  GpuArray_clear(&a);
  free(back);
  return status;
}

static void test_failures_of_the_driver(bool writes) {
  const size_t size = GA_PIECES_LEAST + 12345;
  unsigned char *given = pattern(size, 4);
  long n = 0, n_failed = 0;
  for (bool failed = true; failed && n < 400; n++) {
    gpucontext *ctx = open_device();
    atomic_store(&fail_at, n);
    n_failed += transfer(ctx, given, size, writes) != GA_NO_ERROR;
    failed = atomic_load(&n_calls) > n;
    gpucontext_deref(ctx);
    check_given_back();
  }
  CHECK(n > 8 && n < 400 && n_failed > 4);
  free(given);
}

int main(int argc, char **argv) {
  (void)argc;
  gpucontext_deref(open_opencl());
  pretend_gpu();
  count_calls();
  test_results_land_in_pinned_memory();
  test_large_transfers_go_in_pieces(true);
  test_pinned_memory_is_used_straight();
  test_a_forked_process_reads_it();
  test_failures_of_the_driver(true);
  test_failures_of_the_driver(false);
  setenv("GPUARRAY_HOST_SIZE", "0", 1);
  test_large_transfers_go_in_pieces(false);
  return check_result(argv[0]);
}
