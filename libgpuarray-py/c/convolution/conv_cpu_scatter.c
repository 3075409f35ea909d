/* Gradients by the image on processors, of convolutions without padding, by adding
 * products to where they belong. */
#include "c/base/counts.h"
#include "c/base/dtype.h"
#include "c/convolution/conv_cpu_call.h"

static bool has_padding(const ga_conv_axis *a) {
  return a->before > 0 ||
         (a->result - 1) * a->stride + (a->filter - 1) * a->dilation >= a->image;
}

/* Time of a product and the addition, in multiplications for the `results` it sums. */
#define ADDITION 4
/* How much more is gained for what was not counted. */
#define GAIN 1.25

/* Each way computes so many vectors for each element of the filters: of places of the
 * image, many of which meet no result, or of places of the result. 32 images of 20 x 12
 * x 12, 50 filters of 5 x 5, on two busy cores: 13.6 ms by places of the image, 4.0 by
 * those of the result. */
bool ga__conv_cpu_scatters(const ga_conv *c) {
  const ga_conv_axis *a = c->axes;
  const unsigned int lanes = ga__conv_lanes(c, a[2].result);
  if (c->role != GA_CONV_IMAGE || ga__dtype_work(c->typecode) != c->typecode ||
      a[2].stride != 1 || c->image.inner[2] != 1 || c->result.inner[2] != 1 ||
      a[2].result < lanes)
    return false;
  double of_image = 1, of_result = 1;
  for (int i = 0; i < GA_CONV_AXES; i++) {
    const bool is_last = i == GA_CONV_AXES - 1;
    if (has_padding(&a[i]))
      return false;
    of_image *= (double)ga__ceil_div(a[i].image, is_last ? lanes : a[i].stride);
    of_result *= (double)(is_last ? ga__ceil_div(a[i].result, lanes) : a[i].result);
  }
  return of_image * (double)c->results >
         GAIN * of_result * (double)(c->results + ADDITION);
}

int ga__conv_cpu_scatter(const ga_conv *c) {
  const ga_conv_axis *a = c->axes;
  const ga_conv_array *out = &c->image, *y = &c->result, *w = &c->filters;
  const size_t taps = a[0].filter * a[1].filter * a[2].filter;
  const size_t images = c->batch * c->groups;
  const unsigned int lanes = ga__conv_lanes(c, a[2].result);
  const size_t vectors = a[0].result * a[1].result * ga__ceil_div(a[2].result, lanes);
  size_t blocks = ga__ceil_div(GA_CPU_GROUPS * c->context->info.processors, images);
  if (blocks > c->channels)
    blocks = c->channels;
  blocks = ga__ceil_div(c->channels, ga__ceil_div(c->channels, blocks));
  const ga_conv_block block =
      ga__conv_block(c, lanes, ga__ceil_div(c->channels, blocks) * taps, vectors);
  gpukernel *kernel;
  ga_args args = {0};
  GA_TRY(ga__conv_cpu_kernel(&kernel, c, GA_CONV_CPU_SCATTER, lanes, block));
  ga__args_pointer(&args, out->data, out->offset, false);
  ga__args_pointer(&args, y->data, y->offset, true);
  ga__args_pointer(&args, w->data, w->offset, true);
  ga__conv_taps_args(&args, c, &(ga_conv_rows){.array = *y}, w);
  ga__conv_args(&args, 5,
                (ssize_t[]){(ssize_t)c->batch, (ssize_t)c->groups, (ssize_t)c->channels,
                            (ssize_t)c->results, (ssize_t)blocks});
  for (int i = 0; i < GA_CONV_AXES; i++)
    ga__args_i32(&args, (int32_t)a[i].image);
  for (int i = 0; i < GA_CONV_AXES; i++)
    ga__args_i32(&args, (int32_t)a[i].result);
  ga__conv_args(
      &args, 3,
      (ssize_t[]){y->outer[0], (ssize_t)c->results * y->outer[1], y->outer[1]});
  ga__conv_args(
      &args, 3,
      (ssize_t[]){(ssize_t)c->results * w->outer[0], w->outer[0], w->outer[1]});
  ga__conv_args(
      &args, 3,
      (ssize_t[]){out->outer[0], (ssize_t)c->channels * out->outer[1], out->outer[1]});
  ga__conv_args(&args, 2, out->inner);
  return ga__conv_cpu_launch(kernel, &args, images * blocks, 1);
}
