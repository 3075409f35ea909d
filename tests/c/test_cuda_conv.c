/* Arrays' convolutions by cuDNN, on a mock of it: which go there, and what is left to
 * our kernels. */
#include "dnn_calls.h"

#include <gpuarray/dnn.h>

/* The array of an operand, filled with `values`. */
static GpuArray array_of(const ga_dnn_operand *o, unsigned int nd, double *values,
                         int typecode) {
  GpuArray a;
  ssize_t strides[5];
  gpudata *data = upload(values, typecode);
  for (unsigned int i = 0; i < nd + 2; i++)
    strides[i] = o->strides[i] * (ssize_t)gpuarray_get_elsize(typecode);
  CHECK_OK(GpuArray_fromdata(&a, data, 0, typecode, nd + 2, o->shape, strides, 1));
  gpudata_release(data);
  return a;
}

static gpuconv conv_of(const ga_dnn_call *c) {
  gpuconv conv;
  gpuconv_init(&conv, c->nd);
  conv.groups = c->groups;
  conv.flags = c->is_flipped ? GA_CONV_FLIP : 0;
  for (unsigned int i = 0; i < c->nd; i++) {
    conv.stride[i] = c->stride[i];
    conv.dilation[i] = c->dilation[i];
    conv.before[i] = c->before[i];
    conv.after[i] = c->after[i];
  }
  return conv;
}

typedef struct trio {
  GpuArray image, filters, result;
} trio;

static trio make_trio(const ga_dnn_call *c) {
  make_arrays();
  return (trio){array_of(&c->image, c->nd, original.image, c->typecode),
                array_of(&c->filters, c->nd, original.filters, c->typecode),
                array_of(&c->result, c->nd, original.result, c->typecode)};
}

static void clear_trio(trio *t) {
  GpuArray_clear(&t->image);
  GpuArray_clear(&t->filters);
  GpuArray_clear(&t->result);
}

static int call(trio *t, const ga_dnn_call *c, const gpuconv *conv) {
  return c->role == GA_DNN_FORWARD
             ? GpuArray_conv(&t->result, &t->image, &t->filters, conv)
         : c->role == GA_DNN_BY_IMAGE
             ? GpuArray_conv_grad_image(&t->image, &t->result, &t->filters, conv)
             : GpuArray_conv_grad_filters(&t->filters, &t->image, &t->result, conv);
}

/* Counts which side a convolution takes. */
static void check_own(trio *t, const ga_dnn_call *c, const gpuconv *conv) {
  const long executions = mock->convolutions, launches = mock->launches;
  CHECK_OK(call(t, c, conv));
  CHECK_OK(gpucontext_sync(ctx));
  CHECK(mock->convolutions == executions && mock->launches == launches + 1);
}

static void test_results(void) {
  for (int l = 0; l < N_LAYERS; l++)
    for (int role = 0; role < 3; role++) {
      ga_dnn_call c = describe(&layers[l], (enum ga_dnn_role)role, GA_FLOAT);
      const gpuconv conv = conv_of(&c);
      trio t = make_trio(&c);
      const long executions = mock->convolutions, launches = mock->launches;
      CHECK_OK(call(&t, &c, &conv));
      CHECK_OK(gpucontext_sync(ctx));
      CHECK(mock->convolutions > executions && mock->launches == launches);
      c.image.buffer = t.image.data;
      c.filters.buffer = t.filters.data;
      c.result.buffer = t.result.data;
      check_values(&c);
      clear_trio(&t);
    }
}

/* Reversed filters are what flipped ones are. */
static void test_reversed_filters(void) {
  ga_dnn_call c = describe(&layers[0], GA_DNN_FORWARD, GA_FLOAT);
  const gpuconv conv = conv_of(&c);
  trio t = make_trio(&c);
  for (unsigned int i = 2; i < 4; i++) {
    t.filters.offset += (t.filters.dimensions[i] - 1) * (size_t)t.filters.strides[i];
    t.filters.strides[i] = -t.filters.strides[i];
  }
  GpuArray_fix_flags(&t.filters);
  CHECK_OK(call(&t, &c, &conv));
  c.is_flipped = true;
  c.result.buffer = t.result.data;
  check_values(&c);
  clear_trio(&t);
}

/* The engines of mock_dnn.c: 1 is exact, 3 is faster and adds in any order. */
static void test_sums_in_any_order(void) {
  ga_dnn_call c = describe(&layers[0], GA_DNN_FORWARD, GA_FLOAT);
  gpuconv conv = conv_of(&c);
  for (int any_order = 0; any_order < 2; any_order++) {
    trio t = make_trio(&c);
    conv.flags = any_order ? GA_CONV_ANY_ORDER : 0;
    CHECK_OK(call(&t, &c, &conv));
    CHECK_OK(gpucontext_sync(ctx));
    CHECK(mock->dnn_engine == (any_order ? 3 : 1));
    clear_trio(&t);
  }
}

static void test_left_to_our_kernels(void) {
  ga_dnn_call c = describe(&layers[0], GA_DNN_FORWARD, GA_FLOAT);
  const gpuconv conv = conv_of(&c);
  trio t = make_trio(&c);
  t.filters.offset += (t.filters.dimensions[2] - 1) * (size_t)t.filters.strides[2];
  t.filters.strides[2] = -t.filters.strides[2]; /* one of two axes */
  GpuArray_fix_flags(&t.filters);
  check_own(&t, &c, &conv);
  clear_trio(&t);
  t = make_trio(&c);
  setenv("GPUARRAY_DNN", "own", 1);
  check_own(&t, &c, &conv);
  setenv("GPUARRAY_DNN", "vendor", 1);
  clear_trio(&t);
  t = make_trio(&c);
  const long launches = mock->launches;
  mock->fail_with = 3000;
  mock->fail_at = 0; /* the execution */
  CHECK_OK(call(&t, &c, &conv));
  CHECK_OK(gpucontext_sync(ctx));
  CHECK(mock->fail_at < 0 && mock->launches == launches + 1);
  clear_trio(&t);
}

/* Commands of a call, and convolutions of the library among them. */
static long launches_of(trio *t, const ga_dnn_call *c, const gpuconv *conv,
                        long *by_library) {
  const long executions = mock->convolutions, launches = mock->launches;
  CHECK_OK(call(t, c, conv));
  CHECK_OK(gpucontext_sync(ctx));
  *by_library = mock->convolutions - executions;
  return mock->launches - launches;
}

/* A launch is shorter than the library's best engine; four, one for each phase of the
 * strides, are longer. Both are timed, once. */
static void test_the_faster_one(void) {
  layer strided = layers[0];
  strided.stride[0] = strided.stride[1] = 2;
  for (int is_strided = 0; is_strided < 2; is_strided++) {
    const ga_dnn_call c =
        describe(is_strided ? &strided : &layers[0], GA_DNN_BY_IMAGE, GA_FLOAT);
    const gpuconv conv = conv_of(&c);
    long by_library;
    trio t = make_trio(&c);
    CHECK(launches_of(&t, &c, &conv, &by_library) > 4 && by_library > 4);
    for (int again = 0; again < 2; again++) {
      const long launches = launches_of(&t, &c, &conv, &by_library);
      CHECK(launches == !is_strided && by_library == is_strided);
    }
    gpuconv any_order = conv; /* is another question */
    any_order.flags |= GA_CONV_ANY_ORDER;
    CHECK(launches_of(&t, &c, &any_order, &by_library) > 4 && by_library > 4);
    clear_trio(&t);
  }
}

/* A few microseconds of the library leave nothing to gain. */
static void test_a_brief_one(void) {
  const ga_dnn_call c = describe(&layers[0], GA_DNN_BY_IMAGE, GA_FLOAT);
  const gpuconv conv = conv_of(&c);
  long by_library;
  gpucontext_deref(ctx);
  ctx = open_cuda("cuda0"); /* has chosen nothing */
  device = ctx->device;
  mock->is_fast = true;
  trio t = make_trio(&c);
  CHECK(launches_of(&t, &c, &conv, &by_library) == 0 && by_library > 4);
  CHECK(launches_of(&t, &c, &conv, &by_library) == 0 && by_library == 1);
  mock->is_fast = false;
  clear_trio(&t);
}

/* Filters of one element: their gradient is two launches of a convolution's kernels,
 * for its terms are split, and one of a product of matrices. */
static void test_one_product(void) {
  const size_t dims[] = {1, 256, 32, 32}, filters[] = {256, 256, 1, 1};
  GpuArray x, y, w;
  gpuconv conv;
  gpuconv_init(&conv, 2);
  CHECK_OK(GpuArray_zeros(&x, ctx, GA_FLOAT, 4, dims, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&y, ctx, GA_FLOAT, 4, dims, GA_C_ORDER));
  CHECK_OK(GpuArray_empty(&w, ctx, GA_FLOAT, 4, filters, GA_C_ORDER));
  setenv("GPUARRAY_DNN", "own", 1);
  for (int again = 0; again < 3; again++) {
    const long launches = mock->launches;
    CHECK_OK(GpuArray_conv_grad_filters(&w, &x, &y, &conv));
    CHECK_OK(gpucontext_sync(ctx));
    CHECK(again ? mock->launches == launches + 1 : mock->launches > launches + 4);
  }
  unsetenv("GPUARRAY_DNN");
  GpuArray_clear(&x);
  GpuArray_clear(&y);
  GpuArray_clear(&w);
}

/* Where both channels and results are more than 16, nothing is timed. */
static void test_what_is_timed(void) {
  static const size_t numbers[][2] = {{16, 17}, {17, 16}, {17, 17}};
  for (int i = 0; i < 3; i++) {
    const size_t channels = numbers[i][0], results = numbers[i][1];
    const layer l = {2,
                     1,
                     {1, channels, 3, 3},
                     {results, channels, 2, 2},
                     {1, 1},
                     {1, 1},
                     {0},
                     {0},
                     false,
                     false};
    const ga_dnn_call c = describe(&l, GA_DNN_FORWARD, GA_FLOAT);
    const gpuconv conv = conv_of(&c);
    trio t = make_trio(&c);
    long by_library;
    const long launches = launches_of(&t, &c, &conv, &by_library);
    CHECK(i < 2 ? launches > 4 : launches == 0 && by_library > 0);
    clear_trio(&t);
  }
}

static void test_the_faster_one_on_disk(void) {
  char folder[] = "/tmp/gpuarray-conv-XXXXXX", command[64];
  const ga_dnn_call c = describe(&layers[0], GA_DNN_FORWARD, GA_FLOAT);
  const gpuconv conv = conv_of(&c);
  long by_library;
  CHECK(mkdtemp(folder) != NULL);
  setenv("GPUARRAY_CACHE_DIR", folder, 1);
  for (int turn = 0; turn < 3; turn++) {
    mock->dnn_version = turn < 2 ? 0 : 91300; /* another version is timed anew */
    gpucontext_deref(ctx);
    ctx = open_cuda("cuda0");
    trio t = make_trio(&c);
    const long launches = launches_of(&t, &c, &conv, &by_library);
    CHECK(turn == 1 ? launches == 1 && by_library == 0
                    : launches > 4 && by_library > 4);
    clear_trio(&t);
  }
  mock->dnn_version = 0;
  setenv("GPUARRAY_CACHE_DIR", "", 1);
  snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK(system(command) == 0);
}

/* Depthwise rows of an item: as many as read 24 rows of the image. */
static void test_rows_of_depthwise_kernels(void) {
  char folder[] = "/tmp/gpuarray-depthwise-XXXXXX", command[128];
  const unsigned int processors = ctx->info.processors;
  ctx->info.processors = 1; /* small images are enough for all of it */
  CHECK(mkdtemp(folder) != NULL);
  setenv("GPUARRAY_DUMP_KERNELS", folder, 1);
  for (size_t taps = 17; taps <= 18; taps++) {
    GpuArray image, filters, result;
    gpuconv conv;
    gpuconv_init(&conv, 2);
    conv.groups = 2;
    const size_t shapes[3][4] = {
        {1, 2, 99 + taps, 100}, {2, 1, taps, 1}, {1, 2, 100, 100}};
    CHECK_OK(GpuArray_zeros(&image, ctx, GA_FLOAT, 4, shapes[0], GA_C_ORDER));
    CHECK_OK(GpuArray_zeros(&filters, ctx, GA_FLOAT, 4, shapes[1], GA_C_ORDER));
    CHECK_OK(GpuArray_zeros(&result, ctx, GA_FLOAT, 4, shapes[2], GA_C_ORDER));
    CHECK_OK(GpuArray_conv(&result, &image, &filters, &conv));
    snprintf(command, sizeof command, "grep -qxF '#define CV_TALL %d' %s/*",
             taps == 17 ? 8 : 4, folder);
    CHECK(system(command) == 0);
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
    GpuArray_clear(&image);
    GpuArray_clear(&filters);
    GpuArray_clear(&result);
  }
  unsetenv("GPUARRAY_DUMP_KERNELS");
  ctx->info.processors = processors;
}

int main(void) {
  open_mock();
  setenv("GPUARRAY_DNN", "vendor", 1);
  setenv("GPUARRAY_DNN_WORKSPACE", "4096", 1);
  ctx = open_cuda("cuda0");
  device = ctx->device;
  test_results();
  test_reversed_filters();
  test_sums_in_any_order();
  test_left_to_our_kernels();
  unsetenv("GPUARRAY_DNN");
  test_the_faster_one();
  test_a_brief_one();
  test_one_product();
  test_what_is_timed();
  test_the_faster_one_on_disk();
  test_rows_of_depthwise_kernels();
  gpucontext_deref(ctx);
  check_given_back();
  return check_result("arrays' convolutions by cuDNN");
}
