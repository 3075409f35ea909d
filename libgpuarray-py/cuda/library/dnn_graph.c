/* cuDNN's operation graph of one convolution, and its execution plans. */
#include "cuda/library/dnn_graph.h"

enum { DATA_FLOAT = 0, DATA_DOUBLE = 1, DATA_HALF = 2, DATA_BFLOAT16 = 9 };
enum { MODE_CONVOLUTION = 0, MODE_CROSS_CORRELATION = 1 };

static const int64_t ids[GA_DNN_TENSORS] = {1, 2, 3, 4, 5};

static int type_of(int64_t typecode) {
  return typecode == GA_HALF       ? DATA_HALF
         : typecode == GA_BFLOAT16 ? DATA_BFLOAT16
         : typecode == GA_DOUBLE   ? DATA_DOUBLE
                                   : DATA_FLOAT;
}

/* ---- graph ---- */

static int add_tensor(ga_dnn_descriptors *d, const ga_dnn_question *q, int i) {
  const ga_dnn_tensor *t = &q->tensors[i];
  const size_t rank = (size_t)q->nd + 2;
  GA_TRY(ga__dnn_add(d, DNN_TENSOR));
  GA_TRY(ga__dnn_set_word(d, TENSOR_TYPE, TYPE_DATA_TYPE, type_of(q->typecode)));
  GA_TRY(ga__dnn_set(d, TENSOR_SHAPE, TYPE_INT64, rank, t->shape));
  GA_TRY(ga__dnn_set(d, TENSOR_STRIDES, TYPE_INT64, rank, t->strides));
  GA_TRY(ga__dnn_set_int(d, TENSOR_ALIGNMENT, t->alignment));
  GA_TRY(ga__dnn_set_int(d, TENSOR_ID, ids[i]));
  return ga__dnn_finalize(d);
}

static int add_convolution(ga_dnn_descriptors *d, const ga_dnn_question *q) {
  const size_t nd = (size_t)q->nd;
  GA_TRY(ga__dnn_add(d, DNN_CONVOLUTION));
  GA_TRY(ga__dnn_set_word(d, CONVOLUTION_COMPUTE_TYPE, TYPE_DATA_TYPE,
                          q->typecode == GA_DOUBLE ? DATA_DOUBLE : DATA_FLOAT));
  GA_TRY(ga__dnn_set_word(d, CONVOLUTION_MODE, TYPE_CONVOLUTION_MODE,
                          q->is_flipped ? MODE_CONVOLUTION : MODE_CROSS_CORRELATION));
  GA_TRY(ga__dnn_set_int(d, CONVOLUTION_AXES, q->nd));
  GA_TRY(ga__dnn_set(d, CONVOLUTION_STRIDES, TYPE_INT64, nd, q->stride));
  GA_TRY(ga__dnn_set(d, CONVOLUTION_DILATIONS, TYPE_INT64, nd, q->dilation));
  GA_TRY(ga__dnn_set(d, CONVOLUTION_BEFORE, TYPE_INT64, nd, q->before));
  GA_TRY(ga__dnn_set(d, CONVOLUTION_AFTER, TYPE_INT64, nd, q->after));
  return ga__dnn_finalize(d);
}

/* The operation of a role, and the names of its attributes. */
typedef struct operation {
  enum ga_dnn_kind kind;
  int alpha, beta, convolution;
  int tensors[3];
} operation;

static const operation operations[] = {
    [GA_DNN_FORWARD] = {DNN_FORWARD, 700, 701, 702, {704, 703, 705}},
    [GA_DNN_BY_IMAGE] = {DNN_BY_IMAGE, 706, 707, 708, {710, 709, 711}},
    [GA_DNN_BY_FILTERS] = {DNN_BY_FILTERS, 712, 713, 714, {716, 715, 717}},
};

/* Descriptors of a graph. */
typedef struct parts {
  cudnnDescriptor tensors[GA_DNN_TENSORS];
  cudnnDescriptor convolution, operations[4];
  int64_t n_operations;
} parts;

/* The convolution, with `result` for that tensor: what is written is 1 times it. */
static int add_operation(ga_dnn_descriptors *d, const ga_dnn_question *q, parts *p,
                         cudnnDescriptor result) {
  const operation *o = &operations[q->role];
  const float narrow[2] = {1, 0};
  const double wide[2] = {1, 0};
  const bool is_double = q->typecode == GA_DOUBLE;
  const enum ga_dnn_type type = is_double ? TYPE_DOUBLE : TYPE_FLOAT;
  GA_TRY(ga__dnn_add(d, o->kind));
  for (int i = 0; i < 3; i++)
    GA_TRY(ga__dnn_set(d, o->tensors[i], TYPE_DESCRIPTOR, 1,
                       i == DNN_RESULT ? &result : &p->tensors[i]));
  GA_TRY(ga__dnn_set(d, o->convolution, TYPE_DESCRIPTOR, 1, &p->convolution));
  GA_TRY(ga__dnn_set(d, o->alpha, type, 1,
                     is_double ? (const void *)&wide[0] : &narrow[0]));
  GA_TRY(ga__dnn_set(d, o->beta, type, 1,
                     is_double ? (const void *)&wide[1] : &narrow[1]));
  GA_TRY(ga__dnn_finalize(d));
  p->operations[p->n_operations++] = ga__dnn_last(d);
  return GA_NO_ERROR;
}

/* ---- epilogue ---- */

/* cudnnPointwiseMode */
enum pointwise { POINTWISE_ADD = 0, POINTWISE_RELU = 100 };

/* Number of a tensor between operations, of the result's shape, which is not stored. */
enum { FIRST_VIRTUAL = 11 };

static int add_virtual(ga_dnn_descriptors *d, const ga_dnn_question *q, int64_t id) {
  const ga_dnn_tensor *t = &q->tensors[DNN_RESULT];
  const size_t rank = (size_t)q->nd + 2;
  const bool is_virtual = true;
  GA_TRY(ga__dnn_add(d, DNN_TENSOR));
  GA_TRY(ga__dnn_set_word(d, TENSOR_TYPE, TYPE_DATA_TYPE, DATA_FLOAT));
  GA_TRY(ga__dnn_set(d, TENSOR_SHAPE, TYPE_INT64, rank, t->shape));
  GA_TRY(ga__dnn_set(d, TENSOR_STRIDES, TYPE_INT64, rank, t->strides));
  GA_TRY(ga__dnn_set_int(d, TENSOR_ALIGNMENT, t->alignment));
  GA_TRY(ga__dnn_set_int(d, TENSOR_ID, id));
  GA_TRY(ga__dnn_set(d, TENSOR_IS_VIRTUAL, TYPE_BOOLEAN, 1, &is_virtual));
  return ga__dnn_finalize(d);
}

/* y = mode(x, b), or of x alone where b is NULL. */
static int apply(ga_dnn_descriptors *d, parts *p, enum pointwise mode,
                 cudnnDescriptor x, cudnnDescriptor b, cudnnDescriptor y) {
  GA_TRY(ga__dnn_add(d, DNN_POINTWISE));
  const cudnnDescriptor pointwise = ga__dnn_last(d);
  GA_TRY(ga__dnn_set_word(d, POINTWISE_MODE, TYPE_POINTWISE_MODE, (int)mode));
  GA_TRY(ga__dnn_set_word(d, POINTWISE_COMPUTE_TYPE, TYPE_DATA_TYPE, DATA_FLOAT));
  if (mode == POINTWISE_RELU)
    GA_TRY(ga__dnn_set_word(d, POINTWISE_NAN, TYPE_NAN, 1));
  GA_TRY(ga__dnn_finalize(d));
  GA_TRY(ga__dnn_add(d, DNN_APPLY));
  GA_TRY(ga__dnn_set(d, APPLY_POINTWISE, TYPE_DESCRIPTOR, 1, &pointwise));
  GA_TRY(ga__dnn_set(d, APPLY_X, TYPE_DESCRIPTOR, 1, &x));
  if (b != NULL)
    GA_TRY(ga__dnn_set(d, APPLY_B, TYPE_DESCRIPTOR, 1, &b));
  GA_TRY(ga__dnn_set(d, APPLY_Y, TYPE_DESCRIPTOR, 1, &y));
  GA_TRY(ga__dnn_finalize(d));
  p->operations[p->n_operations++] = ga__dnn_last(d);
  return GA_NO_ERROR;
}

/* The convolution, then what is there of + residual, + bias, max(0, ), in the order
 * that cuDNN's compiled engines have. */
static int add_operations(ga_dnn_descriptors *d, const ga_dnn_question *q, parts *p) {
  const int adds[] = {DNN_RESIDUAL, DNN_BIAS};
  int64_t left = ga__dnn_has(q, DNN_RESIDUAL) + ga__dnn_has(q, DNN_BIAS) + q->is_relu;
  int64_t id = FIRST_VIRTUAL;
  cudnnDescriptor x = p->tensors[DNN_RESULT];
  if (left > 0) {
    GA_TRY(add_virtual(d, q, id++));
    x = ga__dnn_last(d);
  }
  GA_TRY(add_operation(d, q, p, x));
  for (int i = 0; i < 2; i++) {
    if (!ga__dnn_has(q, adds[i]))
      continue;
    cudnnDescriptor y = p->tensors[DNN_RESULT];
    if (--left > 0) {
      GA_TRY(add_virtual(d, q, id++));
      y = ga__dnn_last(d);
    }
    GA_TRY(apply(d, p, POINTWISE_ADD, x, p->tensors[adds[i]], y));
    x = y;
  }
  if (!q->is_relu)
    return GA_NO_ERROR;
  return apply(d, p, POINTWISE_RELU, x, NULL, p->tensors[DNN_RESULT]);
}

static int add_graph(ga_dnn_descriptors *d, cudnnHandle handle,
                     const ga_dnn_question *q) {
  parts p = {.n_operations = 0};
  for (int i = 0; i < GA_DNN_TENSORS; i++) {
    if (!ga__dnn_has(q, i))
      continue;
    GA_TRY(add_tensor(d, q, i));
    p.tensors[i] = ga__dnn_last(d);
  }
  GA_TRY(add_convolution(d, q));
  p.convolution = ga__dnn_last(d);
  GA_TRY(add_operations(d, q, &p));
  GA_TRY(ga__dnn_add(d, DNN_GRAPH));
  GA_TRY(ga__dnn_set(d, GRAPH_HANDLE, TYPE_HANDLE, 1, &handle));
  GA_TRY(ga__dnn_set(d, GRAPH_OPERATIONS, TYPE_DESCRIPTOR, (size_t)p.n_operations,
                     p.operations));
  return ga__dnn_finalize(d);
}

/* Destroys what a failed call has made. */
static int end(ga_dnn_descriptors *d, int status) {
  if (status != GA_NO_ERROR)
    ga__dnn_destroy(d);
  return status;
}

int ga__dnn_graph(ga_dnn_descriptors *graph, cudnnHandle handle,
                  const ga_dnn_question *q) {
  graph->n = 0;
  return end(graph, add_graph(graph, handle, q));
}

/* ---- plan ---- */

static int add_knobs(ga_dnn_descriptors *d, const ga_dnn_engine *engine) {
  for (int64_t i = 0; i < engine->n_knobs; i++) {
    GA_TRY(ga__dnn_add(d, DNN_KNOB_CHOICE));
    GA_TRY(
        ga__dnn_set_word(d, KNOB_CHOICE_TYPE, TYPE_KNOB, (int)engine->knobs[i].type));
    GA_TRY(ga__dnn_set_int(d, KNOB_CHOICE_VALUE, engine->knobs[i].value));
    GA_TRY(ga__dnn_finalize(d));
  }
  return GA_NO_ERROR;
}

static int add_config(ga_dnn_descriptors *d, const ga_dnn_descriptors *graph,
                      const ga_dnn_engine *engine) {
  const cudnnDescriptor *knobs = &d->list[1];
  const cudnnDescriptor of_graph = ga__dnn_last(graph);
  GA_TRY(ga__dnn_add(d, DNN_ENGINE));
  const cudnnDescriptor chosen = ga__dnn_last(d);
  GA_TRY(ga__dnn_set(d, ENGINE_GRAPH, TYPE_DESCRIPTOR, 1, &of_graph));
  GA_TRY(ga__dnn_set_int(d, ENGINE_NUMBER, engine->number));
  GA_TRY(ga__dnn_finalize(d));
  GA_TRY(add_knobs(d, engine));
  GA_TRY(ga__dnn_add(d, DNN_CONFIG));
  GA_TRY(ga__dnn_set(d, CONFIG_ENGINE, TYPE_DESCRIPTOR, 1, &chosen));
  if (engine->n_knobs > 0)
    GA_TRY(ga__dnn_set(d, CONFIG_KNOB_CHOICES, TYPE_DESCRIPTOR, (size_t)engine->n_knobs,
                       knobs));
  return ga__dnn_finalize(d);
}

static int add_plan(ga_dnn_descriptors *d, size_t *work_size, cudnnHandle handle,
                    const ga_dnn_descriptors *graph, const ga_dnn_engine *engine) {
  int64_t bytes = 0;
  GA_TRY(add_config(d, graph, engine));
  const cudnnDescriptor config = ga__dnn_last(d);
  GA_TRY(ga__dnn_add(d, DNN_PLAN));
  GA_TRY(ga__dnn_set(d, PLAN_HANDLE, TYPE_HANDLE, 1, &handle));
  GA_TRY(ga__dnn_set(d, PLAN_CONFIG, TYPE_DESCRIPTOR, 1, &config));
  GA_TRY(ga__dnn_finalize(d));
  if (ga__dnn_get(ga__dnn_last(d), PLAN_WORKSPACE_SIZE, TYPE_INT64, 1, &bytes) != 1 ||
      bytes < 0)
    return GA_FAIL(GA_IMPL_ERROR, "cuDNN does not tell the workspace of a plan");
  *work_size = (size_t)bytes;
  return GA_NO_ERROR;
}

int ga__dnn_plan(ga_dnn_descriptors *plan, size_t *work_size, cudnnHandle handle,
                 const ga_dnn_descriptors *graph, const ga_dnn_engine *engine) {
  plan->n = 0;
  return end(plan, add_plan(plan, work_size, handle, graph, engine));
}

/* ---- arguments ---- */

static int add_pack(ga_dnn_descriptors *d, const ga_dnn_question *q,
                    void *const addresses[GA_DNN_ADDRESSES]) {
  int64_t present[GA_DNN_TENSORS];
  void *list[GA_DNN_TENSORS];
  size_t n = 0;
  for (int i = 0; i < GA_DNN_TENSORS; i++) {
    if (!ga__dnn_has(q, i))
      continue;
    present[n] = ids[i];
    list[n++] = addresses[i];
  }
  GA_TRY(ga__dnn_add(d, DNN_PACK));
  GA_TRY(ga__dnn_set(d, PACK_IDS, TYPE_INT64, n, present));
  GA_TRY(ga__dnn_set(d, PACK_ADDRESSES, TYPE_POINTER, n, (const void *)list));
  GA_TRY(ga__dnn_set(d, PACK_WORKSPACE, TYPE_POINTER, 1,
                     (const void *)&addresses[GA_DNN_TENSORS]));
  return ga__dnn_finalize(d);
}

int ga__dnn_pack(ga_dnn_descriptors *pack, const ga_dnn_question *q,
                 void *const addresses[GA_DNN_ADDRESSES]) {
  pack->n = 0;
  return end(pack, add_pack(pack, q, addresses));
}
