/* cuDNN's backend descriptors: making them, reading and writing attributes. */
#include "cuda/library/dnn_descriptors.h"

enum {
  NOT_SUPPORTED = 3000,
  INTERNAL_ERROR = 4000,
  HOST_ALLOCATION_FAILED = 4003,
  DEVICE_ALLOCATION_FAILED = 4004
};

int ga__dnn_fail(cudnnStatus result, const char *call) {
  char text[512] = "";
  const bool is_memory =
      result == HOST_ALLOCATION_FAILED || result == DEVICE_ALLOCATION_FAILED;
  const int status = is_memory ? GA_MEMORY_ERROR
                     : result >= NOT_SUPPORTED && result < INTERNAL_ERROR
                         ? GA_DEVSUP_ERROR
                         : GA_IMPL_ERROR;
  if (ga__cuda.cudnnGetLastErrorString)
    ga__cuda.cudnnGetLastErrorString(text, sizeof text);
  text[sizeof text - 1] = '\0';
  return GA_FAIL(status, "%s: %s%s%s", call, ga__cuda.cudnnGetErrorString(result),
                 *text ? ": " : "", text);
}

void ga__dnn_destroy(ga_dnn_descriptors *d) {
  while (d->n > 0)
    ga__cuda.cudnnBackendDestroyDescriptor(d->list[--d->n]);
}

int ga__dnn_add(ga_dnn_descriptors *d, enum ga_dnn_kind kind) {
  DNN_TRY(cudnnBackendCreateDescriptor, (int)kind, &d->list[d->n]);
  d->n++;
  return GA_NO_ERROR;
}

int ga__dnn_set(const ga_dnn_descriptors *d, int name, enum ga_dnn_type type,
                size_t count, const void *values) {
  DNN_TRY(cudnnBackendSetAttribute, ga__dnn_last(d), name, (int)type, (int64_t)count,
          values);
  return GA_NO_ERROR;
}

int ga__dnn_set_int(const ga_dnn_descriptors *d, int name, int64_t value) {
  return ga__dnn_set(d, name, TYPE_INT64, 1, &value);
}

int ga__dnn_set_word(const ga_dnn_descriptors *d, int name, enum ga_dnn_type type,
                     int value) {
  return ga__dnn_set(d, name, type, 1, &value);
}

int ga__dnn_finalize(const ga_dnn_descriptors *d) {
  DNN_TRY(cudnnBackendFinalize, ga__dnn_last(d));
  return GA_NO_ERROR;
}

size_t ga__dnn_get(cudnnDescriptor d, int name, enum ga_dnn_type type, size_t room,
                   void *values) {
  int64_t count = 0;
  cudnnStatus result = ga__cuda.cudnnBackendGetAttribute(d, name, (int)type,
                                                         (int64_t)room, &count, values);
  if (result != 0 || count < 0)
    return 0;
  return (size_t)count < room ? (size_t)count : room;
}
