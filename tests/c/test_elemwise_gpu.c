/* The elementwise kernels of GPUs over random layouts, beside a loop on the host. Where
 * there is no GPU, a processor runs them: what it is said to be decides on the kernels,
 * not what it is. */
#include "device_context.h"

#include "c/array/array.h"
#include "c/device/context.h"
#include <gpuarray/elemwise.h>

#define ND 3

/* An array, and the block on the host that its buffer has a copy of. */
typedef struct twin {
  GpuArray base, view;
  unsigned char *host;
  size_t bytes;
} twin;

static uint32_t random_state = 12345;

static size_t random_below(size_t n) {
  random_state = random_state * 1664525u + 1013904223u;
  return (random_state >> 8) % n;
}

/* ---- the host's side ---- */

static uint64_t get_value(const unsigned char *at, size_t itemsize) {
  uint64_t value = 0;
  memcpy(&value, at, itemsize < 8 ? itemsize : 8);
  return value;
}

static unsigned char *place(const twin *t, const size_t *index) {
  ptrdiff_t at = (ptrdiff_t)t->view.offset;
  for (unsigned int k = 0; k < ND; k++)
    if (t->view.dimensions[k] > 1)
      at += (ptrdiff_t)index[k] * t->view.strides[k];
  return t->host + at;
}

/* c = a + 3 * b and, if given, d = a ^ b, as the kernel has them. */
static void compute(const twin *c, const twin *d, const twin *a, const twin *b) {
  const size_t *dims = c->view.dimensions;
  size_t index[ND];
  for (index[0] = 0; index[0] < dims[0]; index[0]++)
    for (index[1] = 0; index[1] < dims[1]; index[1]++)
      for (index[2] = 0; index[2] < dims[2]; index[2]++) {
        uint64_t x = get_value(place(a, index), GpuArray_ITEMSIZE(&a->view));
        uint64_t y = get_value(place(b, index), GpuArray_ITEMSIZE(&b->view));
        uint64_t sum = x + 3 * y, differ = x ^ y;
        memcpy(place(c, index), &sum, GpuArray_ITEMSIZE(&c->view));
        if (d)
          memcpy(place(d, index), &differ, GpuArray_ITEMSIZE(&d->view));
      }
}

/* ---- layouts ---- */

/* A view of `dims` into a new base: its axes in any order, with gaps, from either end;
 * axes in `stretched` have length 1. */
static twin make_twin(gpucontext *ctx, int typecode, const size_t *dims,
                      unsigned int stretched) {
  twin t = {.bytes = gpuarray_get_elsize(typecode)};
  unsigned int order[ND] = {0, 1, 2};
  size_t lengths[ND];
  ssize_t starts[ND], stops[ND], steps[ND];
  for (unsigned int k = ND; k-- > 1;) {
    unsigned int other = (unsigned int)random_below(k + 1), kept = order[k];
    order[k] = order[other];
    order[other] = kept;
  }
  for (unsigned int k = 0; k < ND; k++) {
    unsigned int axis = order[k];
    size_t wanted = stretched >> axis & 1 ? 1 : dims[axis];
    size_t step = random_below(4) == 0 ? 2 : 1, extra = random_below(3) == 0 ? 3 : 0;
    lengths[k] = wanted * step + extra;
    bool back = random_below(4) == 0;
    steps[k] = back ? -(ssize_t)step : (ssize_t)step;
    starts[k] = back ? (ssize_t)((wanted - 1) * step) : (ssize_t)extra;
    stops[k] = starts[k] + steps[k] * ((ssize_t)wanted - 1) + (back ? -1 : 1);
    t.bytes *= lengths[k];
  }
  t.host = malloc(t.bytes);
  for (size_t i = 0; i < t.bytes; i++)
    t.host[i] = (unsigned char)random_below(256);
  CHECK_OK(GpuArray_copy_from_host(&t.base, ctx, t.host, typecode, ND, lengths, NULL));
  CHECK_OK(GpuArray_index(&t.view, &t.base, starts, stops, steps));
  unsigned int axes[ND];
  for (unsigned int k = 0; k < ND; k++)
    axes[order[k]] = k;
  CHECK_OK(GpuArray_transpose_inplace(&t.view, axes));
  return t;
}

/* Whether the device's block is the host's. */
static bool is_equal(const twin *t) {
  unsigned char *got = malloc(t->bytes);
  CHECK_OK(GpuArray_read(got, t->bytes, &t->base));
  bool equal = memcmp(got, t->host, t->bytes) == 0;
  free(got);
  return equal;
}

static void clear(twin *t) {
  GpuArray_clear(&t->view);
  GpuArray_clear(&t->base);
  free(t->host);
}

/* ---- tests ---- */

static const int types[] = {GA_UBYTE, GA_USHORT, GA_UINT, GA_ULONG};

static void run_layout(gpucontext *ctx, GpuElemwise *ge, const int *typecodes,
                       const size_t *dims) {
  unsigned int stretched = random_below(3) == 0 ? 1u << random_below(ND) : 0;
  twin c = make_twin(ctx, typecodes[0], dims, 0);
  twin d = make_twin(ctx, typecodes[1], dims, 0);
  twin a = make_twin(ctx, typecodes[2], dims, 0);
  twin b = make_twin(ctx, typecodes[3], dims, stretched);
  void *args[] = {&c.view, &d.view, &a.view, &b.view};
  CHECK_OK(GpuElemwise_call(ge, args, GE_BROADCAST));
  compute(&c, &d, &a, &b);
  CHECK(is_equal(&c));
  CHECK(is_equal(&d));
  CHECK(is_equal(&a));
  clear(&a), clear(&b), clear(&c), clear(&d);
}

/* Two outputs and two inputs, in sizes beyond which tiles are used, with edges. */
static void test_layouts(gpucontext *ctx) {
  static const size_t shapes[][ND] = {{3, 150, 160}, {64, 8, 130},  {5, 7, 2000},
                                      {90, 3, 256},  {1, 1, 70001}, {5, 1, 20001}};
  for (size_t t = 0; t < 5; t += 2) {
    int of[4];
    for (size_t i = 0; i < 4; i++)
      of[i] = types[t == 4 ? i : t]; /* the last: all types in one kernel */
    gpuelemwise_arg args[] = {{"c", of[0], GE_WRITE},
                              {"d", of[1], GE_WRITE},
                              {"a", of[2], GE_READ},
                              {"b", of[3], GE_READ}};
    GpuElemwise *ge = GpuElemwise_new(
        ctx, NULL, "c = (ga_ulong)a + 3 * (ga_ulong)b; d = (ga_ulong)a ^ (ga_ulong)b",
        4, args, 0, 0);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
      for (int again = 0; again < 2; again++)
        run_layout(ctx, ge, of, shapes[i]);
    GpuElemwise_free(ge);
  }
}

/* y += x.T for every size of element: the output is read, too, and copies go through
 * the same kernels. */
static void test_transposed(gpucontext *ctx) {
  const size_t dims[] = {1, 300, 260};
  for (size_t t = 0; t < 4; t++) {
    gpuelemwise_arg args[] = {{"y", types[t], GE_READ | GE_WRITE},
                              {"x", types[t], GE_READ}};
    GpuElemwise *ge = GpuElemwise_new(ctx, NULL, "y = y + 3 * x", 2, args, 0, 0);
    for (int again = 0; again < 2; again++) {
      twin x = make_twin(ctx, types[t], dims, 0), y = make_twin(ctx, types[t], dims, 0);
      void *list[] = {&y.view, &x.view};
      CHECK_OK(GpuElemwise_call(ge, list, 0));
      compute(&y, NULL, &y, &x);
      CHECK(is_equal(&y));
      clear(&x), clear(&y);
    }
    GpuElemwise_free(ge);
  }
}

/* A matrix that is added to its own transpose, in place. */
static void test_overlap(gpucontext *ctx) {
  enum { N = 260 };
  uint32_t *values = malloc(sizeof(uint32_t[N][N]));
  for (uint32_t i = 0; i < N * N; i++)
    values[i] = i * i;
  GpuArray a, turned;
  CHECK_OK(GpuArray_copy_from_host(&a, ctx, values, GA_UINT, 2, (const size_t[]){N, N},
                                   NULL));
  CHECK_OK(GpuArray_transpose(&turned, &a, NULL));
  gpuelemwise_arg args[] = {{"y", GA_UINT, GE_READ | GE_WRITE},
                            {"x", GA_UINT, GE_READ}};
  GpuElemwise *ge = GpuElemwise_new(ctx, NULL, "y = y + x", 2, args, 0, 0);
  void *list[] = {&a, &turned};
  CHECK_OK(GpuElemwise_call(ge, list, 0));
  uint32_t *got = malloc(sizeof(uint32_t[N][N]));
  CHECK_OK(GpuArray_read(got, sizeof(uint32_t[N][N]), &a));
  bool right = true;
  for (uint32_t i = 0; i < N; i++)
    for (uint32_t k = 0; k < N; k++)
      right = right && got[i * N + k] == values[i * N + k] + values[k * N + i];
  CHECK(right);
  GpuElemwise_free(ge);
  GpuArray_clear(&a), GpuArray_clear(&turned);
  free(values), free(got);
}

/* Positions that take 64 bits, near the end of a long axis of which the array has a
 * few elements: as the last launch of a walk over 2^31 elements has them. */
static void test_far_positions(gpucontext *ctx) {
  const size_t gap = ((size_t)1 << 31) + 5, bytes = 2 * gap + 1;
  size_t most;
  CHECK_OK(gpucontext_property(ctx, GA_CTX_PROP_LARGEST_MEMBLOCK, &most));
  if (most < bytes)
    return; /* No array of this device has such positions. */
  int status;
  gpudata *data = gpudata_alloc(ctx, bytes, NULL, 0, &status);
  if (data == NULL)
    return; /* Nor has this one, for now. */
  GpuArray far, near;
  const size_t dims[] = {3};
  CHECK_OK(GpuArray_fromdata(&far, data, 0, GA_UBYTE, 1, dims,
                             (const ssize_t[]){(ssize_t)gap}, 1));
  CHECK_OK(GpuArray_copy_from_host(&near, ctx, "\1\2\3", GA_UBYTE, 1, dims, NULL));
  CHECK_OK(GpuArray_move(&far, &near));
  CHECK_OK(GpuArray_memset(&near, 0));
  CHECK_OK(GpuArray_move(&near, &far));
  unsigned char got[3] = {0};
  CHECK_OK(GpuArray_read(got, sizeof got, &near));
  CHECK(got[0] == 1 && got[1] == 2 && got[2] == 3);
  CHECK_OK(gpudata_read(got, data, 2 * gap, 1));
  CHECK(got[0] == 3);
  GpuArray_clear(&far), GpuArray_clear(&near);
  gpudata_release(data);
}

int main(int argc, char **argv) {
  (void)argc;
  gpucontext *ctx = open_device();
  ctx->info.is_cpu = false;
  test_layouts(ctx);
  test_transposed(ctx);
  test_overlap(ctx);
  test_far_positions(ctx);
  CHECK_OK(gpucontext_sync(ctx));
  gpucontext_deref(ctx);
  return check_result(argv[0]);
}
