/* The convolutions of the mock's cuDNN, computed term by term. */
#include "mock_dnn.h"

#include <math.h>

static double load(const tensor *t, int64_t at) {
  return t->type == 1 ? ((const double *)t->address)[at]
                      : (double)((const float *)t->address)[at];
}

static void add_to(const tensor *t, int64_t at, double value) {
  if (t->type == 1)
    ((double *)t->address)[at] += value;
  else
    ((float *)t->address)[at] += (float)value;
}

static int64_t place(const tensor *t, int64_t a, int64_t b, const int64_t at[3]) {
  int64_t sum = a * t->strides[0] + b * t->strides[1];
  for (int i = 0; i < 3; i++)
    sum += at[i] * t->strides[2 + i];
  return sum;
}

/* Counts `at` up through three lengths; false at the end. */
static bool next(int64_t at[3], const int64_t *lengths) {
  for (int i = 2; i >= 0; i--) {
    if (++at[i] < lengths[i])
      return true;
    at[i] = 0;
  }
  return false;
}

static void add_products(const convolution *c, int64_t n, int64_t r,
                         const int64_t o[3]) {
  const int64_t per_group = c->filters.shape[0] / c->groups;
  for (int64_t k = 0; k < c->filters.shape[1]; k++) {
    const int64_t channel = r / per_group * c->filters.shape[1] + k;
    int64_t f[3] = {0, 0, 0};
    do {
      int64_t at[3], e[3];
      bool is_inside = true;
      for (int i = 0; i < 3; i++) {
        at[i] = o[i] * c->stride[i] + f[i] * c->dilation[i] - c->before[i];
        e[i] = c->is_flipped ? c->filters.shape[2 + i] - 1 - f[i] : f[i];
        is_inside = is_inside && at[i] >= 0 && at[i] < c->image.shape[2 + i];
      }
      if (!is_inside)
        continue;
      const int64_t x = place(&c->image, n, channel, at);
      const int64_t w = place(&c->filters, r, k, e), y = place(&c->result, n, r, o);
      const bool reads_image = c->kind != BY_IMAGE, reads_result = c->kind != FORWARD;
      const double by = reads_result ? load(&c->result, y) : load(&c->filters, w);
      const double term =
          by * (reads_image ? load(&c->image, x) : load(&c->filters, w));
      if (c->loses_nan && isnan(term))
        continue;
      if (c->kind == FORWARD)
        add_to(&c->result, y, term);
      else if (c->kind == BY_IMAGE)
        add_to(&c->image, x, term);
      else
        add_to(&c->filters, w, term);
    } while (next(f, c->filters.shape + 2));
  }
}

static void clear(const tensor *t) {
  for (int64_t a = 0; a < t->shape[0]; a++)
    for (int64_t b = 0; b < t->shape[1]; b++) {
      int64_t at[3] = {0, 0, 0};
      do {
        const int64_t where = place(t, a, b, at);
        if (t->type == 1)
          ((double *)t->address)[where] = 0;
        else
          ((float *)t->address)[where] = 0;
      } while (next(at, t->shape + 2));
    }
}

/* Applies the operations behind the convolution to an element. */
static void apply_rest(const convolution *c, int64_t n, int64_t r, const int64_t o[3]) {
  float *y = (float *)c->result.address + place(&c->result, n, r, o);
  for (int i = 0; i < c->n_applied; i++) {
    const tensor *b = &c->applied[i].b;
    const int64_t at[3] = {b->shape[2] > 1 ? o[0] : 0, b->shape[3] > 1 ? o[1] : 0,
                           b->shape[4] > 1 ? o[2] : 0};
    if (c->applied[i].is_relu)
      *y = *y < 0 ? 0 : *y;
    else
      *y += (float)load(b, place(b, b->shape[0] > 1 ? n : 0, r, at));
  }
}

void mock_convolve(const convolution *c) {
  if (c->image.type > 1)
    return; /* 16-bit types are not computed */
  clear(c->kind == FORWARD    ? &c->result
        : c->kind == BY_IMAGE ? &c->image
                              : &c->filters);
  for (int64_t n = 0; n < c->result.shape[0]; n++)
    for (int64_t r = 0; r < c->result.shape[1]; r++) {
      int64_t o[3] = {0, 0, 0};
      do
        add_products(c, n, r, o);
      while (next(o, c->result.shape + 2));
    }
  for (int64_t n = 0; c->n_applied > 0 && n < c->result.shape[0]; n++)
    for (int64_t r = 0; r < c->result.shape[1]; r++) {
      int64_t o[3] = {0, 0, 0};
      do
        apply_rest(c, n, r, o);
      while (next(o, c->result.shape + 2));
    }
}
