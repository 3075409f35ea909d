/* cuDNN's operation graph of one convolution, its engines, and execution plans. */
#ifndef GA_CUDA_DNN_GRAPH_H
#define GA_CUDA_DNN_GRAPH_H

#include "c/backend/backend.h"
#include "cuda/library/dnn_descriptors.h"

enum { GA_DNN_AXES = 2 + GA_DNN_MAX_AXES };

/* A tensor; axes beyond its rank are 0. */
typedef struct ga_dnn_tensor {
  int64_t shape[GA_DNN_AXES], strides[GA_DNN_AXES];
  int64_t alignment; /* bytes, of its address: at most 16 */
} ga_dnn_tensor;

/* Tensors of a question; bias and residual may not be there. */
enum { DNN_IMAGE, DNN_FILTERS, DNN_RESULT, DNN_BIAS, DNN_RESIDUAL, GA_DNN_TENSORS };

/* What a plan is made for: the key of caches, compared as bytes, so without padding.
 * The tensors differ most, so they come first. */
typedef struct ga_dnn_question {
  ga_dnn_tensor tensors[GA_DNN_TENSORS];
  int64_t role, typecode, nd;
  int64_t is_relu;
  int64_t is_flipped, is_tf32, is_deterministic;
  int64_t stride[GA_DNN_MAX_AXES], dilation[GA_DNN_MAX_AXES];
  int64_t before[GA_DNN_MAX_AXES], after[GA_DNN_MAX_AXES];
} ga_dnn_question;

/* An engine by its number in the graph's list, with values of its knobs; those that are
 * not listed have their defaults. Compared as bytes, so zeroed first. `cost` is that of
 * the backend's table, of one that was chosen. */
enum { GA_DNN_KNOBS = 24 };
typedef struct ga_dnn_knob {
  int64_t type, value;
} ga_dnn_knob;
typedef struct ga_dnn_engine {
  int64_t number, n_knobs;
  ga_dnn_knob knobs[GA_DNN_KNOBS];
  int64_t cost;
} ga_dnn_engine;

static inline bool ga__dnn_has(const ga_dnn_question *q, int tensor) {
  return q->tensors[tensor].alignment > 0;
}

static inline bool ga__dnn_has_epilogue(const ga_dnn_question *q) {
  return ga__dnn_has(q, DNN_BIAS) || ga__dnn_has(q, DNN_RESIDUAL) || q->is_relu;
}

/* Each leaves nothing on failure. */
int ga__dnn_graph(ga_dnn_descriptors *graph, cudnnHandle handle,
                  const ga_dnn_question *q);
int ga__dnn_plan(ga_dnn_descriptors *plan, size_t *work_size, cudnnHandle handle,
                 const ga_dnn_descriptors *graph, const ga_dnn_engine *engine);
/* Arguments of an execution; `addresses` are of the tensors, then of the workspace. */
enum { GA_DNN_ADDRESSES = GA_DNN_TENSORS + 1 };
int ga__dnn_pack(ga_dnn_descriptors *pack, const ga_dnn_question *q,
                 void *const addresses[GA_DNN_ADDRESSES]);

/* Engines whose numbers are exact enough for the question, the most promising first by
 * cuDNN's heuristics; returns how many. *n_ranked: how many the heuristics ranked by
 * speed. With `all`, then every other engine. */
size_t ga__dnn_engines(ga_dnn_engine *list, size_t room, size_t *n_ranked,
                       const ga_dnn_descriptors *graph, const ga_dnn_question *q,
                       bool all);
/* The range of an engine's tile sizes; false if it has none to choose from. */
bool ga__dnn_tiles(int64_t *least, int64_t *most, const ga_dnn_descriptors *graph,
                   int64_t number);
/* Sets the tile size; false without room for one more knob. */
bool ga__dnn_set_tile(ga_dnn_engine *engine, int64_t tile);

#endif
