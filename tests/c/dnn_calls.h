/* Convolutions for the table of neural networks on the mock: calls, their memory, and
 * what they are to give. */
#ifndef DNN_CALLS_H
#define DNN_CALLS_H

#include "mock_context.h"

#include "c/device/buffer.h"
#include "c/device/context.h"

#define ROOM 4096 /* elements of an array */

static gpucontext *ctx;
static void *device;

/* ---- calls ---- */

typedef struct layer {
  unsigned int nd, groups;
  size_t image[5], filters[5];
  size_t stride[3], dilation[3], before[3], after[3];
  bool is_last, is_flipped; /* channels last */
} layer;

static inline void lay_out(ga_dnn_operand *o, const size_t *shape, unsigned int nd,
                           bool is_last) {
  size_t extent = 1;
  memcpy(o->shape, shape, (nd + 2) * sizeof *shape);
  for (unsigned int place = nd + 2; place-- > 0;) {
    const unsigned int axis = !is_last || place == 0 ? place
                              : place == nd + 1      ? 1
                                                     : place + 1;
    o->strides[axis] = (ssize_t)extent;
    extent *= shape[axis];
  }
}

static inline ga_dnn_call describe(const layer *l, enum ga_dnn_role role,
                                   int typecode) {
  ga_dnn_call c = {.role = role,
                   .typecode = typecode,
                   .nd = l->nd,
                   .groups = l->groups,
                   .is_flipped = l->is_flipped,
                   .is_deterministic = true};
  size_t result[5] = {l->image[0], l->filters[0]};
  for (unsigned int i = 0; i < l->nd; i++) {
    c.stride[i] = l->stride[i];
    c.dilation[i] = l->dilation[i];
    c.before[i] = l->before[i];
    c.after[i] = l->after[i];
    const size_t extent = (l->filters[2 + i] - 1) * l->dilation[i] + 1;
    result[2 + i] =
        (l->image[2 + i] + l->before[i] + l->after[i] - extent) / l->stride[i] + 1;
  }
  lay_out(&c.image, l->image, l->nd, l->is_last);
  lay_out(&c.filters, l->filters, l->nd, l->is_last);
  lay_out(&c.result, result, l->nd, l->is_last);
  return c;
}

/* Small whole numbers, exact in every type. */
static inline void fill(double *values, int seed) {
  for (int i = 0; i < ROOM; i++)
    values[i] = (i * 7 + seed) % 11 - 5;
}

static inline gpudata *upload(double *values, int typecode) {
  static float narrow[ROOM];
  for (int i = 0; i < ROOM; i++)
    narrow[i] = (float)values[i];
  const bool is_double = typecode == GA_DOUBLE;
  gpudata *b = gpudata_alloc(ctx, is_double ? sizeof(double) * ROOM : sizeof narrow,
                             is_double ? (void *)values : narrow, GA_BUFFER_INIT, NULL);
  CHECK(b != NULL);
  return b;
}

static inline void download(double *values, gpudata *b, int typecode) {
  static float narrow[ROOM];
  if (typecode == GA_DOUBLE) {
    CHECK_OK(gpudata_read(values, b, 0, sizeof(double) * ROOM));
    return;
  }
  CHECK_OK(gpudata_read(narrow, b, 0, sizeof narrow));
  for (int i = 0; i < ROOM; i++)
    values[i] = (double)narrow[i];
}

typedef struct arrays {
  double image[ROOM], filters[ROOM], result[ROOM];
} arrays;

static inline void give_memory(ga_dnn_call *c, arrays *a) {
  c->image.buffer = upload(a->image, c->typecode);
  c->filters.buffer = upload(a->filters, c->typecode);
  c->result.buffer = upload(a->result, c->typecode);
}

static inline void take_memory(ga_dnn_call *c) {
  gpudata_release(c->image.buffer);
  gpudata_release(c->filters.buffer);
  gpudata_release(c->result.buffer);
  if (c->work)
    gpudata_release(c->work);
  c->work = NULL;
}

/* Asks for the workspace and runs the call. */
static inline int run(ga_dnn_call *c, const char *folder) {
  const ga_dnn *dnn = ga__context_dnn(ctx);
  if (dnn == NULL)
    return GA_MEMORY_ERROR;
  int status = dnn->workspace(&c->work_size, NULL, device, c, folder);
  if (status == GA_NO_ERROR && c->work_size > 0 && c->work == NULL)
    status = ga__buffer_new(&c->work, ctx, c->work_size);
  return status == GA_NO_ERROR ? ga__context_convolution(ctx, c) : status;
}

/* ---- reference ---- */

static inline size_t at(const ga_dnn_operand *o, size_t a, size_t b,
                        const size_t *space, unsigned int nd) {
  size_t sum = a * (size_t)o->strides[0] + b * (size_t)o->strides[1];
  for (unsigned int i = 0; i < nd; i++)
    sum += space[i] * (size_t)o->strides[2 + i];
  return sum;
}

static inline bool next(size_t *space, const size_t *lengths, unsigned int nd) {
  for (unsigned int i = nd; i-- > 0;) {
    if (++space[i] < lengths[i])
      return true;
    space[i] = 0;
  }
  return false;
}

/* The places of one product; false where the image is padded. */
static inline bool find_place(size_t place[3], const ga_dnn_call *c, const size_t *o,
                              const size_t *f) {
  for (unsigned int i = 0; i < c->nd; i++) {
    place[i] = o[i] * c->stride[i] + f[i] * c->dilation[i] - c->before[i];
    if (place[i] >= c->image.shape[2 + i]) /* also below 0 */
      return false;
  }
  return true;
}

static inline void add_product(arrays *a, const ga_dnn_call *c, size_t n, size_t r,
                               size_t k, const size_t *o, const size_t *f) {
  size_t place[3], e[3];
  const size_t group = r / (c->filters.shape[0] / c->groups);
  if (!find_place(place, c, o, f))
    return;
  for (unsigned int i = 0; i < c->nd; i++)
    e[i] = c->is_flipped ? c->filters.shape[2 + i] - 1 - f[i] : f[i];
  double *x =
      &a->image[at(&c->image, n, group * c->filters.shape[1] + k, place, c->nd)];
  double *w = &a->filters[at(&c->filters, r, k, e, c->nd)];
  double *y = &a->result[at(&c->result, n, r, o, c->nd)];
  if (c->role == GA_DNN_FORWARD)
    *y += *x * *w;
  else if (c->role == GA_DNN_BY_IMAGE)
    *x += *y * *w;
  else
    *w += *x * *y;
}

static inline size_t count(const ga_dnn_operand *o, unsigned int nd) {
  size_t n = 1;
  for (unsigned int i = 0; i < nd + 2; i++)
    n *= o->shape[i];
  return n;
}

static inline double *written(arrays *a, const ga_dnn_call *c) {
  return c->role == GA_DNN_FORWARD    ? a->result
         : c->role == GA_DNN_BY_IMAGE ? a->image
                                      : a->filters;
}

static inline void compute(arrays *a, const ga_dnn_call *c) {
  double *out = written(a, c);
  for (size_t i = 0; i < count(ga__dnn_written(c), c->nd); i++)
    out[i] = 0;
  for (size_t n = 0; n < c->result.shape[0]; n++)
    for (size_t r = 0; r < c->result.shape[1]; r++)
      for (size_t k = 0; k < c->filters.shape[1]; k++) {
        size_t o[3] = {0, 0, 0};
        do {
          size_t f[3] = {0, 0, 0};
          do
            add_product(a, c, n, r, k, o, f);
          while (next(f, c->filters.shape + 2, c->nd));
        } while (next(o, c->result.shape + 2, c->nd));
      }
}

static arrays expected, original;

static inline void make_arrays(void) {
  fill(original.image, 1);
  fill(original.filters, 3);
  fill(original.result, 8);
  expected = original;
}

static inline void check_values(const ga_dnn_call *c) {
  static double got[ROOM];
  const double *wanted = written(&expected, c);
  compute(&expected, c);
  download(got, ga__dnn_written(c)->buffer, c->typecode);
  for (size_t i = 0; i < count(ga__dnn_written(c), c->nd); i++)
    CHECK(got[i] == wanted[i]);
}

/* Opens the context anew, which forgets choices. */
static inline void reopen(void) {
  gpucontext_deref(ctx);
  ctx = open_cuda("cuda0");
  device = ctx->device;
}

/* Several of each property. */
static const layer layers[] = {
    {2, 1, {2, 3, 7, 6}, {4, 3, 3, 2}, {1, 1}, {1, 1}, {1, 0}, {1, 0}, false, false},
    {2, 2, {2, 4, 7, 6}, {6, 2, 3, 3}, {2, 1}, {1, 2}, {0, 2}, {1, 1}, false, true},
    {2, 4, {2, 4, 5, 5}, {4, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, true, false},
    {1, 1, {3, 2, 9}, {2, 2, 4}, {2}, {1}, {3}, {0}, false, true},
    {3,
     1,
     {1, 2, 4, 5, 3},
     {3, 2, 2, 3, 2},
     {1, 2, 1},
     {2, 1, 1},
     {0, 1, 1},
     {0, 0, 1},
     true,
     true},
};
enum { N_LAYERS = sizeof layers / sizeof *layers };

#endif
