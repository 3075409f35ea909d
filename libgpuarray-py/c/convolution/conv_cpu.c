/* Convolutions on processors: by blocks of results and vectors of places, without
 * im2col. */
#include "c/base/counts.h"
#include "c/convolution/conv_cpu_call.h"

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

/* Places of a phase along each axis, the last two as one where they join, and the
 * number of phases. */
static size_t places_of(const ga_conv *c, size_t lengths[GA_CONV_AXES]) {
  size_t phases = 1;
  for (int i = 0; i < GA_CONV_AXES; i++) {
    const size_t stride = ga__conv_has_phases(c) ? c->axes[i].stride : 1;
    lengths[i] = ga__ceil_div(ga__conv_places(c, i), stride);
    phases *= stride;
  }
  if (ga__conv_is_flat(c)) {
    lengths[2] *= lengths[1];
    lengths[1] = 1;
  }
  return phases;
}

/* Turns the taps around: x begins at the last, the filters are read in their order. */
static void turn(ga_conv *c, ga_conv_rows *x, ga_conv_window *window) {
  const ssize_t itemsize = (ssize_t)gpuarray_get_elsize(ga__dtype_work(c->typecode));
  ssize_t last = 0;
  for (int i = 0; i < GA_CONV_AXES; i++) {
    ga_conv_axis *a = &c->axes[i];
    const ssize_t taps = (ssize_t)a->filter - 1, reach = taps * (ssize_t)a->dilation;
    if (a->stride > 1) { /* rows that joined: a phase is a tap */
      last += taps * x->phase;
      x->phase = -x->phase;
      continue;
    }
    last += reach * x->array.inner[i];
    window->from[i] += reach;
    a->dilation = (size_t)-(ssize_t)a->dilation;
  }
  x->array.offset += (size_t)(last * itemsize);
}

static int launch_places(const ga_conv *c, ga_conv_rows *x, const ga_conv_rows *filters,
                         ga_conv_window *window) {
  const bool is_gradient = c->role == GA_CONV_IMAGE, is_flat = ga__conv_is_flat(c);
  const bool has_phases = ga__conv_has_phases(c);
  const ga_conv_array *out = ga__conv_output(c), *w = &filters->array;
  ga_conv joined = is_flat ? ga__conv_flattened(c) : *c;
  if (is_gradient && !has_phases)
    turn(&joined, x, window);
  const size_t results = is_gradient ? c->channels : c->results;
  const size_t channels = is_gradient ? c->results : c->channels;
  size_t places[GA_CONV_AXES];
  const size_t phases = places_of(c, places);
  const unsigned int lanes = ga__conv_lanes(c, places[2]);
  const size_t vectors =
      c->batch * places[0] * places[1] * ga__ceil_div(places[2], lanes);
  const ga_conv_block block = ga__conv_block(c, lanes, results, vectors);
  const size_t tiles = ga__ceil_div(vectors, block.broad);
  const size_t units = c->groups * phases * tiles * ga__ceil_div(results, block.tall);
  gpukernel *kernel;
  ga_args args = {0};
  GA_TRY(ga__conv_cpu_kernel(
      &kernel, c, has_phases ? GA_CONV_CPU_IMAGE : GA_CONV_CPU_RESULT, lanes, block));
  ga__args_pointer(&args, out->data, out->offset, false);
  ga__args_pointer(&args, x->array.data, x->array.offset, true);
  ga__args_pointer(&args, w->data, w->offset, true);
  ga__conv_taps_args(&args, &joined, x, w);
  /* Processors with AVX-512 have second caches of 1 MiB and more. */
  const size_t cache = GA_CONV_CACHE * (ga__conv_has_wide_registers(c) ? 4 : 1);
  const size_t pass = cache / (channels * block.broad * lanes + 1);
  ga__conv_args(&args, 5,
                (ssize_t[]){(ssize_t)c->batch, (ssize_t)c->groups, (ssize_t)channels,
                            (ssize_t)results,
                            (ssize_t)(pass < 1       ? 1
                                      : pass < tiles ? pass
                                                     : tiles)});
  /* Rows that joined are far from any padding: lines of taps meet both. */
  const size_t rows[2] = {is_gradient ? c->axes[0].result : c->axes[0].image,
                          is_flat       ? INT32_MAX
                          : is_gradient ? c->axes[1].result
                                        : c->axes[1].image};
  for (int i = 0; i < 2; i++)
    ga__args_i32(&args, (int32_t)rows[i]);
  for (int i = 0; i < GA_CONV_AXES; i++)
    ga__args_i32(&args, (int32_t)c->axes[i].before);
  for (int i = 0; i < GA_CONV_AXES; i++)
    ga__args_i32(&args, (int32_t)(has_phases ? ga__conv_places(c, i) : places[i]));
  ga__conv_args(&args, GA_CONV_AXES,
                (ssize_t[]){window->from[0], is_flat ? 1 << 30 : window->from[1],
                            window->from[2]});
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
