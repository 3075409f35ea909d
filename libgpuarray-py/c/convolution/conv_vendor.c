/* Convolutions by the vendor's library, and which are left to it.
 *
 * What it does not serve, and what it fails at before it has queued anything, is left
 * to our own kernels: without the library a convolution is slower, never refused. */
#include "c/convolution/conv_choice.h"

#include <stdlib.h>
#include <string.h>

#include "c/convolution/conv_gpu.h"
#include "c/convolution/conv_map.h"
#include "c/system/ending.h"
#include "c/tape/record_replay.h"

/* ---- description ---- */

/* True for an axis that only precedes the others. */
static bool is_empty_axis(const ga_conv_axis *a) {
  return a->image == 1 && a->filter == 1 && a->result == 1 && a->before == 0;
}

/* First spatial axis of the call. Vendors have more engines for two axes than for
 * one. */
static int first_axis(const ga_conv *c) {
  int first = 0;
  while (first < GA_CONV_AXES - 2 && is_empty_axis(&c->axes[first]))
    first++;
  return first;
}

/* Zeros behind the image; none where the last results end before it does. */
static size_t padding_after(const ga_conv_axis *a) {
  const size_t end = (a->result - 1) * a->stride + (a->filter - 1) * a->dilation + 1;
  return end > a->before + a->image ? end - a->before - a->image : 0;
}

static ga_dnn_operand operand_of(const ga_conv_array *a, size_t outer, size_t inner,
                                 int first) {
  ga_dnn_operand o = {.buffer = a->data,
                      .offset = a->offset,
                      .shape = {outer, inner},
                      .strides = {a->outer[0], a->outer[1]}};
  for (int i = first; i < GA_CONV_AXES; i++)
    o.strides[2 + i - first] = a->inner[i];
  return o;
}

/* Filters with negative strides are flipped ones; false if only some axes are so. */
static bool unflip(ga_dnn_call *call, size_t itemsize) {
  ga_dnn_operand *o = &call->filters;
  unsigned int n_negative = 0, n_long = 0;
  for (unsigned int i = 2; i < call->nd + 2; i++) {
    n_long += o->shape[i] > 1;
    if (o->strides[i] >= 0)
      continue;
    n_negative++;
    o->strides[i] = -o->strides[i];
    o->offset -= (o->shape[i] - 1) * (size_t)o->strides[i] * itemsize;
  }
  call->is_flipped = n_negative > 0;
  return n_negative == 0 || n_negative == n_long;
}

/* False for what no vendor has. */
static bool describe(ga_dnn_call *call, const ga_conv *c) {
  const int first = first_axis(c);
  if (c->is_unshared || ga__conv_count(c) == 0)
    return false;
  *call = (ga_dnn_call){
      .role = c->role == GA_CONV_RESULT  ? GA_DNN_FORWARD
              : c->role == GA_CONV_IMAGE ? GA_DNN_BY_IMAGE
                                         : GA_DNN_BY_FILTERS,
      .typecode = c->typecode,
      .nd = (unsigned int)(GA_CONV_AXES - first),
      .groups = (unsigned int)c->groups,
      .is_tf32 = atomic_load(&c->context->blas.is_tf32),
      .is_deterministic = c->is_deterministic,
      .image = operand_of(&c->image, c->batch, c->channels * c->groups, first),
      .filters = operand_of(&c->filters, c->results * c->groups, c->channels, first),
      .result = operand_of(&c->result, c->batch, c->results * c->groups, first)};
  for (int i = first; i < GA_CONV_AXES; i++) {
    const ga_conv_axis *a = &c->axes[i];
    const int to = i - first;
    if (a->image == 0 || a->filter == 0 || a->result == 0)
      return false;
    call->stride[to] = a->stride;
    call->dilation[to] = a->dilation;
    call->before[to] = a->before;
    call->after[to] = padding_after(a);
    call->image.shape[2 + to] = a->image;
    call->filters.shape[2 + to] = a->filter;
    call->result.shape[2 + to] = a->result;
  }
  return unflip(call, gpuarray_get_elsize(c->typecode));
}

/* ---- choice ---- */

/* Where our kernels for GPUs are faster than cuDNN's exact and repeatable engines by so
 * much that no timing is needed: few channels of many places, and depthwise filters.
 * Float on an H200, in us, ours and cuDNN 9.19, for the result, by image, by filters:
 *
 *   64 x 3 x 224 x 224, 64 of 7 x 7, stride 2    530   935    400 35815    803  1837
 *   60 x 1 x 256 x 256, 6 of 7 x 7               309   394    157  1367    654  4400
 * not:
 *   64 x 64 x 56 x 56, 64 of 3 x 3               407   233    407   231    499   563
 *   64 x 256 x 14 x 14, 256 of 3 x 3             414   172    414   171    426   176
 *   64 x 512 x 7 x 7, 2048 of 1 x 1              210   204    265   310    207   226
 *   500 x 20 x 12 x 12, 50 of 5 x 5               71    61    275    67     83    90
 *
 * Between these, where a group has few channels or few results, both are timed; for
 * filters of one element products of matrices, too. */
#define FEW_CHANNELS 4
#define MANY_PLACES ((size_t)1 << 20) /* of a batch: one image is too little work */
#define SOME_CHANNELS 16

/* Nanoseconds of the library's engine up to which nothing else is timed: a launch takes
 * some 3000, and a kernel of ours takes the compiler half a second. */
#define BRIEF 8000

static bool own_is_faster(const ga_conv *c) {
  const size_t places =
      c->batch * c->axes[0].image * c->axes[1].image * c->axes[2].image;
  if (c->groups > 1)
    return c->channels == 1;
  return c->channels <= FEW_CHANNELS && places >= MANY_PLACES;
}

static bool is_open(const ga_conv *c) {
  return c->channels <= SOME_CHANNELS || c->results <= SOME_CHANNELS;
}

/* ---- call ---- */

/* The tape, if an array is a placeholder. */
static ga_tape *tape_of(const ga_conv *c) {
  return c->image.data->tape     ? c->image.data->tape
         : c->filters.data->tape ? c->filters.data->tape
                                 : c->result.data->tape;
}

static int ask_workspace(ga_dnn_call *call, int64_t *cost, const ga_dnn *dnn,
                         gpucontext *ctx) {
  GA_TRY(ga__vendor_enter());
  int status = dnn->workspace(&call->work_size, cost, ga__queue_device(ctx), call,
                              ctx->cache.folder);
  ga__vendor_leave();
  return status;
}

static int queue_call(const ga_conv *c, ga_dnn_call *call) {
  ga_tape *tape = tape_of(c);
  if (call->work_size > 0)
    GA_TRY(ga__buffer_new(&call->work, c->context, call->work_size));
  int status = tape ? ga__tape_convolution(tape, call)
                    : ga__context_convolution(c->context, call);
  if (call->work)
    gpudata_release(call->work);
  return status;
}

/* GA_NO_ERROR if the library has queued it. */
static int run_vendor(const ga_conv *c) {
  ga_dnn_call call;
  const ga_dnn *dnn = ga__context_dnn(c->context);
  if (!describe(&call, c))
    return GA_DEVSUP_ERROR;
  GA_TRY(ask_workspace(&call, NULL, dnn, c->context));
  return queue_call(c, &call);
}

/* True where the library, which serves it, has timed its own choice as brief. */
static bool is_brief(const ga_conv *c) {
  ga_dnn_call call;
  int64_t cost = 0;
  return describe(&call, c) &&
         ask_workspace(&call, &cost, ga__context_dnn(c->context), c->context) ==
             GA_NO_ERROR &&
         cost > 0 && cost <= BRIEF;
}

/* ---- with what reads the result ---- */

static bool same_strides(const ga_conv_array *a, const ga_conv_array *b) {
  return memcmp(a->outer, b->outer, sizeof a->outer) == 0 &&
         memcmp(a->inner, b->inner, sizeof a->inner) == 0;
}

/* An argument that is an array of the convolution's type. */
static bool is_operand(const ga_conv *c, const ga_mapping *map, unsigned int i) {
  return i < map->ge->n && i != map->made && !ga__elemwise_is_scalar(map->ge, i) &&
         map->ge->args[i].typecode == c->typecode;
}

/* False for arrays of other types, or of other layouts than engines with an epilogue
 * have. */
static bool describe_reader(ga_dnn_call *call, const ga_conv *c, const ga_mapping *map,
                            const ga_conv_reader *reader) {
  const int first = first_axis(c);
  const size_t results = c->results * c->groups;
  call->is_relu = reader->is_relu;
  if (reader->bias > 0) {
    if (!is_operand(c, map, reader->bias))
      return false;
    const ga_conv_array bias = ga__conv_map_array(map, reader->bias);
    if (results > 1 && bias.outer[1] != 1)
      return false;
    call->bias = operand_of(&bias, 1, results, first);
    for (unsigned int i = 0; i < call->nd; i++)
      call->bias.shape[2 + i] = 1;
  }
  if (reader->residual > 0) {
    if (!is_operand(c, map, reader->residual))
      return false;
    const ga_conv_array residual = ga__conv_map_array(map, reader->residual);
    if (!same_strides(&residual, &c->result) || residual.data == c->result.data)
      return false;
    call->residual = operand_of(&residual, c->batch, results, first);
    memcpy(call->residual.shape, call->result.shape, sizeof call->result.shape);
  }
  return true;
}

/* Describes both, and asks for the workspace and the cost. */
static int ask_mapped(ga_dnn_call *call, int64_t *cost, const ga_conv *c,
                      const ga_mapping *map, const ga_conv_reader *reader) {
  const ga_dnn *dnn = ga__context_dnn(c->context);
  if (dnn == NULL || !describe(call, c) || !describe_reader(call, c, map, reader) ||
      !dnn->serves(ga__queue_device(c->context), call))
    return GA_DEVSUP_ERROR;
  return ask_workspace(call, cost, dnn, c->context);
}

bool ga__conv_vendor_gains(const ga_conv *c, const ga_mapping *map,
                           const ga_conv_reader *reader) {
  ga_dnn_call call;
  int64_t cost, apart;
  return ask_mapped(&call, &cost, c, map, reader) == GA_NO_ERROR &&
         describe(&call, c) &&
         ask_workspace(&call, &apart, ga__context_dnn(c->context), c->context) ==
             GA_NO_ERROR &&
         cost < apart;
}

int ga__conv_vendor_mapped(const ga_conv *c, const ga_mapping *map,
                           const ga_conv_reader *reader) {
  ga_dnn_call call;
  int status = ask_mapped(&call, NULL, c, map, reader);
  GA_THEN(status, queue_call(c, &call));
  if (status == GA_NO_ERROR || ga__conv_is_final(status))
    return status;
  return GA_FAIL(GA_DEVSUP_ERROR, "conv: the vendor's library does not compute what "
                                  "reads the result");
}

/* ---- choice among all ---- */

static bool vendor_serves(const ga_conv *c) {
  ga_dnn_call call;
  if (!describe(&call, c))
    return false;
  const ga_dnn *dnn = ga__context_dnn(c->context);
  return dnn != NULL && dnn->serves(ga__queue_device(c->context), &call);
}

/* True for one that both can compute. GPUARRAY_DNN=vendor leaves it to the library, for
 * comparisons and tests. */
static bool has_choice(const ga_conv *c) {
  const char *asked = getenv("GPUARRAY_DNN");
  return ga__conv_tiles_serve(c) && (asked == NULL || strcmp(asked, "vendor") != 0);
}

/* Products of matrices, where they serve. Returns true if there are any. */
static bool add_products(ga_conv_run runs[GA_CONV_WAYS], const ga_conv *c) {
  if (ga__conv_product_takes(c))
    runs[GA_CONV_BY_PRODUCTS] = ga__conv_product;
  if (ga__conv_columns_takes(c))
    runs[GA_CONV_BY_COLUMNS] = ga__conv_columns;
  return runs[GA_CONV_BY_PRODUCTS] || runs[GA_CONV_BY_COLUMNS];
}

/* Fills in the ways that there are. */
static enum ga_conv_way choose(ga_conv_run runs[GA_CONV_WAYS], const ga_conv *c,
                               ga_conv_run own) {
  const bool chooses = has_choice(c);
  runs[GA_CONV_BY_OWN] = own;
  if (chooses && own_is_faster(c))
    return GA_CONV_BY_OWN;
  enum ga_conv_way way = vendor_serves(c) ? GA_CONV_BY_VENDOR : GA_CONV_BY_OWN;
  if (way == GA_CONV_BY_VENDOR)
    runs[way] = run_vendor;
  if (chooses && (add_products(runs, c) || (way == GA_CONV_BY_VENDOR && is_open(c))))
    way = ga__conv_fastest(c, runs, way, runs[GA_CONV_BY_VENDOR] ? is_brief : NULL);
  return way;
}

enum ga_conv_way ga__conv_way(const ga_conv *c, ga_conv_run own) {
  ga_conv_run runs[GA_CONV_WAYS] = {0};
  return choose(runs, c, own);
}

int ga__conv_vendor(bool *done, const ga_conv *c, ga_conv_run own) {
  ga_conv_run runs[GA_CONV_WAYS] = {0};
  const enum ga_conv_way way = choose(runs, c, own);
  *done = false;
  if (way == GA_CONV_BY_OWN || way == GA_CONV_UNDECIDED)
    return GA_NO_ERROR;
  const int status = runs[way](c);
  *done = status == GA_NO_ERROR;
  return ga__conv_is_final(status) ? status : GA_NO_ERROR;
}
