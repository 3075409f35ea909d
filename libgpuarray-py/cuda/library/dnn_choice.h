/* The choice among cuDNN's engines, made once for a convolution. */
#ifndef GA_CUDA_DNN_CHOICE_H
#define GA_CUDA_DNN_CHOICE_H

#include "cuda/device_state.h"
#include "cuda/library/dnn_graph.h"

/* What chooses: the context is current, the handles' lock held. */
typedef struct ga_dnn_chooser {
  const ga_cuda_device *device;
  cudnnHandle handle; /* of the device's stream */
  const ga_dnn_descriptors *graph;
  const ga_dnn_question *question;
  size_t most_work; /* bytes of workspace that an engine may need */
} ga_dnn_chooser;

/* Bytes of workspace: GPUARRAY_DNN_WORKSPACE, by default 256 MiB. */
size_t ga__dnn_most_work(void);

/* The fastest engine as timed on memory taken for it, which waits. GA_DEVSUP_ERROR if
 * none supports the call, GA_MEMORY_ERROR without memory to time them on. */
int ga__dnn_time(ga_dnn_engine *out, const ga_dnn_chooser *c);
/* The first engine of the heuristics that has a plan. */
int ga__dnn_guess(ga_dnn_engine *out, const ga_dnn_chooser *c);

/* A choice kept on disk, in `folder` (NULL: none is): false if there is none. */
bool ga__dnn_recall(ga_dnn_engine *out, const ga_dnn_chooser *c, const char *folder);
void ga__dnn_remember(const ga_dnn_engine *engine, const ga_dnn_chooser *c,
                      const char *folder);

#endif
