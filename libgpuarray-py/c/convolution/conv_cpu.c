/* Convolutions on processors: by blocks of results and vectors of places, without
 * im2col. */
#include "c/convolution/conv_cpu.h"
#include "c/base/counts.h"

bool ga__conv_cpu_takes(const ga_conv *c) {
  double taps = 1, phases = 1;
  for (int i = 0; i < GA_CONV_AXES; i++) {
    taps *= (double)c->axes[i].filter;
    phases *= (double)c->axes[i].stride;
  }
  return c->context->info.is_cpu && !c->is_unshared && taps <= GA_CONV_TAPS &&
         phases <= GA_CONV_PHASES && ga__conv_is_narrow(c) &&
         ga__conv_windows_are_narrow(c);
}

/* ---- result and image ---- */

/* Vectors of places, of all phases. */
static size_t vectors_of(const ga_conv *c, size_t *phases) {
  const bool is_gradient = c->role == GA_CONV_IMAGE;
  size_t n = c->batch, lengths[GA_CONV_AXES];
  *phases = 1;
  for (int i = 0; i < GA_CONV_AXES; i++) {
    const ga_conv_axis *a = &c->axes[i];
    lengths[i] = is_gradient ? ga__ceil_div(a->image, a->stride) : a->result;
    *phases *= is_gradient ? a->stride : 1;
  }
  n *= lengths[0] * lengths[1] * ga__ceil_div(lengths[2], ga__conv_lanes(c));
  return n;
}

static int launch_places(const ga_conv *c, const ga_conv_rows *x,
                         const ga_conv_rows *filters, const ga_conv_window *window) {
  const bool is_gradient = c->role == GA_CONV_IMAGE;
  const ga_conv_array *out = ga__conv_output(c), *w = &filters->array;
  const size_t results = is_gradient ? c->channels : c->results;
  const size_t channels = is_gradient ? c->results : c->channels;
  size_t phases;
  const size_t vectors = vectors_of(c, &phases);
  const ga_conv_block block = ga__conv_block(results, vectors);
  const size_t tiles = ga__ceil_div(vectors, block.broad);
  const size_t units = c->groups * phases * tiles * ga__ceil_div(results, block.tall);
  gpukernel *kernel;
  ga_args args = {0};
  GA_TRY(ga__conv_cpu_kernel(
      &kernel, c, is_gradient ? GA_CONV_CPU_IMAGE : GA_CONV_CPU_RESULT, block));
  ga__args_pointer(&args, out->data, out->offset, false);
  ga__args_pointer(&args, x->array.data, x->array.offset, true);
  ga__args_pointer(&args, w->data, w->offset, true);
  ga__conv_taps_args(&args, c, x, w);
  const size_t pass = GA_CONV_CACHE / (channels * block.broad * ga__conv_lanes(c) + 1);
  ga__conv_args(&args, 5,
                (ssize_t[]){(ssize_t)c->batch, (ssize_t)c->groups, (ssize_t)channels,
                            (ssize_t)results,
                            (ssize_t)(pass < 1       ? 1
                                      : pass < tiles ? pass
                                                     : tiles)});
  for (int i = 0; i < 2; i++)
    ga__args_i32(&args, (int32_t)(is_gradient ? c->axes[i].result : c->axes[i].image));
  for (int i = 0; i < GA_CONV_AXES; i++)
    ga__args_i32(&args, (int32_t)c->axes[i].before);
  for (int i = 0; i < GA_CONV_AXES; i++)
    ga__args_i32(&args, (int32_t)(is_gradient ? c->axes[i].image : c->axes[i].result));
  ga__conv_args(&args, GA_CONV_AXES, window->from);
  ga__conv_args(&args, 3,
                (ssize_t[]){x->array.outer[0], (ssize_t)channels * x->array.outer[1],
                            x->array.outer[1]});
  ga__conv_args(&args, 3,
                (ssize_t[]){(ssize_t)c->results * w->outer[0], w->outer[is_gradient],
                            w->outer[!is_gradient]});
  ga__conv_args(
      &args, 3,
      (ssize_t[]){out->outer[0], (ssize_t)results * out->outer[1], out->outer[1]});
  ga__conv_args(&args, GA_CONV_AXES, out->inner);
  return ga__conv_cpu_launch(kernel, &args, units, 1);
}

static int run_places(const ga_conv *c) {
  ga_conv_rows x = {.copy = NULL}, w = {.copy = NULL};
  ga_conv_window window = {{0}, {0}};
  int status = ga__conv_filters_rows(&w, c);
  GA_THEN(status, c->role == GA_CONV_IMAGE ? ga__conv_result_rows(&x, &window, c)
                                           : ga__conv_image_rows(&x, &window, c));
  GA_THEN(status, launch_places(c, &x, &w, &window));
  gpudata_release(w.copy);
  gpudata_release(x.copy);
  return status;
}

int ga__conv_cpu(const ga_conv *c) {
  if (ga__conv_count(c) == 0)
    return GA_NO_ERROR;
  return c->role == GA_CONV_FILTERS ? ga__conv_cpu_filters(c)
         : ga__conv_cpu_scatters(c) ? ga__conv_cpu_scatter(c)
                                    : run_places(c);
}
