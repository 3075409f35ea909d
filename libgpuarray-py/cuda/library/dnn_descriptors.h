/* cuDNN's backend descriptors: making them, reading and writing attributes. */
#ifndef GA_CUDA_DNN_DESCRIPTORS_H
#define GA_CUDA_DNN_DESCRIPTORS_H

#include "c/base/status.h"
#include "cuda/api.h"

/* Descriptors that are destroyed together; the last one is what the others are for. */
enum { GA_DNN_DESCRIPTORS = 64 };
typedef struct ga_dnn_descriptors {
  cudnnDescriptor list[GA_DNN_DESCRIPTORS];
  unsigned int n;
} ga_dnn_descriptors;

void ga__dnn_destroy(ga_dnn_descriptors *d);
static inline cudnnDescriptor ga__dnn_last(const ga_dnn_descriptors *d) {
  return d->list[d->n - 1];
}

/* Fails with cuDNN's text: GA_DEVSUP_ERROR for what it does not support. */
int ga__dnn_fail(cudnnStatus result, const char *call);
#define DNN_TRY(name, ...) CUDA_LIBRARY_TRY(ga__dnn_fail, name, __VA_ARGS__)

/* cudnnBackendDescriptorType */
enum ga_dnn_kind {
  DNN_POINTWISE = 0,
  DNN_CONVOLUTION = 1,
  DNN_ENGINE = 2,
  DNN_CONFIG = 3,
  DNN_HEURISTICS = 4,
  DNN_PLAN = 5,
  DNN_KNOB_CHOICE = 7,
  DNN_KNOB_INFO = 8,
  DNN_FORWARD = 10,
  DNN_BY_FILTERS = 11,
  DNN_BY_IMAGE = 12,
  DNN_APPLY = 13, /* of a pointwise operation */
  DNN_GRAPH = 15,
  DNN_PACK = 16,
  DNN_TENSOR = 17
};

/* cudnnBackendAttributeType */
enum ga_dnn_type {
  TYPE_HANDLE = 0,
  TYPE_DATA_TYPE = 1,
  TYPE_BOOLEAN = 2,
  TYPE_INT64 = 3,
  TYPE_FLOAT = 4,
  TYPE_DOUBLE = 5,
  TYPE_POINTER = 6,
  TYPE_CONVOLUTION_MODE = 7,
  TYPE_HEURISTIC_MODE = 8,
  TYPE_KNOB = 9,
  TYPE_NAN = 10,
  TYPE_NUMERICAL_NOTE = 11,
  TYPE_POINTWISE_MODE = 14,
  TYPE_DESCRIPTOR = 15
};

/* cudnnBackendAttributeName */
enum ga_dnn_name {
  POINTWISE_MODE = 0,
  POINTWISE_COMPUTE_TYPE = 1,
  POINTWISE_NAN = 2,
  CONVOLUTION_COMPUTE_TYPE = 100,
  CONVOLUTION_MODE = 101,
  CONVOLUTION_DILATIONS = 102,
  CONVOLUTION_STRIDES = 103,
  CONVOLUTION_AFTER = 104,
  CONVOLUTION_BEFORE = 105,
  CONVOLUTION_AXES = 106,
  HEURISTICS_MODE = 200,
  HEURISTICS_GRAPH = 201,
  HEURISTICS_RESULTS = 202,
  CONFIG_ENGINE = 300,
  CONFIG_KNOB_CHOICES = 302,
  PLAN_HANDLE = 400,
  PLAN_CONFIG = 401,
  PLAN_WORKSPACE_SIZE = 402,
  KNOB_CHOICE_TYPE = 600,
  KNOB_CHOICE_VALUE = 601,
  APPLY_POINTWISE = 750,
  APPLY_X = 751,
  APPLY_B = 752,
  APPLY_Y = 753,
  GRAPH_HANDLE = 800,
  GRAPH_OPERATIONS = 801,
  GRAPH_ENGINE_COUNT = 802,
  TENSOR_ALIGNMENT = 900,
  TENSOR_TYPE = 901,
  TENSOR_SHAPE = 902,
  TENSOR_STRIDES = 903,
  TENSOR_ID = 906,
  TENSOR_IS_VIRTUAL = 907,
  PACK_IDS = 1000,
  PACK_ADDRESSES = 1001,
  PACK_WORKSPACE = 1003,
  KNOB_INFO_TYPE = 1200,
  KNOB_INFO_MOST = 1201,
  KNOB_INFO_LEAST = 1202,
  ENGINE_GRAPH = 1300,
  ENGINE_NUMBER = 1301,
  ENGINE_KNOBS = 1302,
  ENGINE_NOTES = 1303
};

/* A new descriptor at the end of the list; room is the caller's concern. */
int ga__dnn_add(ga_dnn_descriptors *d, enum ga_dnn_kind kind);
/* The four below are about the last one of the list. */
int ga__dnn_set(const ga_dnn_descriptors *d, int name, enum ga_dnn_type type,
                size_t count, const void *values);
int ga__dnn_set_int(const ga_dnn_descriptors *d, int name, int64_t value);
/* An enumeration's value. */
int ga__dnn_set_word(const ga_dnn_descriptors *d, int name, enum ga_dnn_type type,
                     int value);
int ga__dnn_finalize(const ga_dnn_descriptors *d);

/* Values of an attribute; returns how many there are, at most `room`, or 0 on
 * failure. */
size_t ga__dnn_get(cudnnDescriptor d, int name, enum ga_dnn_type type, size_t room,
                   void *values);

#endif
