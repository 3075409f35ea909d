/* Convolutions by filters of one element as products of matrices, against those of one
 * item for each element: roles, layouts and groups. */
#include "device_context.h"

#include "c/convolution/conv_call.h"

enum { MOST = 1 << 14, ND = 5 };

/* Layouts: channels before places, channels last, every second place of a row. */
enum layout { IN_ORDER, CHANNELS_LAST, APART, LAYOUTS };

static gpucontext *ctx;

/* An array of batch, channels and three lengths, or of filters. */
static GpuArray make(int typecode, const size_t dims[ND], enum layout layout) {
  static unsigned char data[MOST * 8];
  const unsigned int last[ND] = {0, 4, 1, 2, 3};
  size_t memory[ND] = {dims[0], dims[1], dims[2], dims[3], dims[4]}, n = 1;
  GpuArray whole, a;
  if (layout == CHANNELS_LAST)
    memory[1] = dims[2], memory[2] = dims[3], memory[3] = dims[4], memory[4] = dims[1];
  if (layout == APART)
    memory[4] *= 2;
  for (int i = 0; i < ND; i++)
    n *= memory[i];
  CHECK(n <= MOST);
  for (size_t i = 0; i < n; i++) {
    const int value = (int)(i * 7 + i / 5) % 5 - 2;
    if (typecode == GA_DOUBLE)
      ((double *)(void *)data)[i] = value;
    else if (typecode == GA_FLOAT)
      ((float *)(void *)data)[i] = (float)value;
    else /* bfloat16 */
      ((uint16_t *)(void *)data)[i] =
          (const uint16_t[]){0xc000, 0xbf80, 0, 0x3f80, 0x4000}[value + 2];
  }
  CHECK_OK(GpuArray_copy_from_host(&whole, ctx, data, typecode, ND, memory, NULL));
  if (layout == CHANNELS_LAST)
    CHECK_OK(GpuArray_transpose(&a, &whole, last));
  else if (layout == APART)
    CHECK_OK(GpuArray_index(&a, &whole, (const ssize_t[ND]){0},
                            (const ssize_t[ND]){(ssize_t)memory[0], (ssize_t)memory[1],
                                                (ssize_t)memory[2], (ssize_t)memory[3],
                                                (ssize_t)memory[4]},
                            (const ssize_t[ND]){1, 1, 1, 1, 2}));
  else
    CHECK_OK(GpuArray_view(&a, &whole));
  GpuArray_clear(&whole);
  return a;
}

static ga_conv_array memory_of(const GpuArray *a) {
  const ssize_t size = (ssize_t)GpuArray_ITEMSIZE(a);
  ssize_t strides[ND];
  for (int i = 0; i < ND; i++)
    strides[i] = a->dimensions[i] > 1 ? a->strides[i] / size : 0;
  return (ga_conv_array){.data = a->data,
                         .offset = a->offset,
                         .outer = {strides[0], strides[1]},
                         .inner = {strides[2], strides[3], strides[4]}};
}

/* Reads the bytes of an array in order; returns their number. */
static size_t read_all(unsigned char *out, const GpuArray *a) {
  const size_t size = ga__array_count(a) * GpuArray_ITEMSIZE(a);
  GpuArray copy;
  CHECK_OK(GpuArray_copy(&copy, a, GA_C_ORDER));
  CHECK_OK(GpuArray_read(out, size, &copy));
  GpuArray_clear(&copy);
  return size;
}

typedef struct sizes {
  size_t batch, groups, channels, results, places[3];
} sizes;

static void check_role(enum ga_conv_role role, int typecode, const sizes *s,
                       enum layout of_image, enum layout of_result) {
  static unsigned char expected[MOST * 8], got[MOST * 8];
  const size_t *p = s->places;
  const size_t image[ND] = {s->batch, s->groups * s->channels, p[0], p[1], p[2]};
  const size_t result[ND] = {s->batch, s->groups * s->results, p[0], p[1], p[2]};
  const size_t filters[ND] = {s->groups * s->results, s->channels, 1, 1, 1};
  GpuArray x = make(typecode, image, of_image), y = make(typecode, result, of_result),
           w = make(typecode, filters, IN_ORDER);
  GpuArray *out = role == GA_CONV_RESULT ? &y : role == GA_CONV_IMAGE ? &x : &w;
  ga_conv c = {.role = role,
               .context = ctx,
               .typecode = typecode,
               .batch = s->batch,
               .groups = s->groups,
               .channels = s->channels,
               .results = s->results,
               .image = memory_of(&x),
               .filters = memory_of(&w),
               .result = memory_of(&y)};
  for (int i = 0; i < GA_CONV_AXES; i++)
    c.axes[i] = (ga_conv_axis){p[i], 1, p[i], 1, 1, 0};
  CHECK_OK(ga__conv_direct(&c));
  const size_t size = read_all(expected, out);
  CHECK_OK(GpuArray_memset(out, 1));
  CHECK_OK(ga__conv_columns(&c));
  CHECK(read_all(got, out) == size);
  CHECK(memcmp(got, expected, size) == 0);
  GpuArray_clear(&x);
  GpuArray_clear(&y);
  GpuArray_clear(&w);
}

int main(void) {
  const sizes cases[] = {{3, 1, 9, 12, {1, 3, 5}}, /* copied */
                         {1, 1, 9, 12, {2, 3, 5}}, /* one image */
                         {4, 2, 8, 3, {1, 1, 1}},  /* one place, groups */
                         {2, 3, 5, 4, {1, 2, 7}}};
  ctx = open_device();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int role = 0; role < 3; role++)
      for (int layout = 0; layout < LAYOUTS; layout++)
        check_role((enum ga_conv_role)role, GA_FLOAT, &cases[i], (enum layout)layout,
                   (enum layout)((layout + (int)i) % LAYOUTS));
  for (int role = 0; role < 3; role++) {
    check_role((enum ga_conv_role)role, GA_DOUBLE, &cases[0], IN_ORDER, APART);
    check_role((enum ga_conv_role)role, GA_BFLOAT16, &cases[0], APART, CHANNELS_LAST);
  }
  gpucontext_deref(ctx);
  return check_result("test_conv_products");
}
