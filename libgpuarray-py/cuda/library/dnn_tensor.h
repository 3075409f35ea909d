/* A convolution's arrays as cuDNN's tensors. */
#ifndef GA_CUDA_DNN_TENSOR_H
#define GA_CUDA_DNN_TENSOR_H

#include "cuda/library/dnn_graph.h"

/* True for types, ranks and layouts that cuDNN may support: channels outermost or
 * innermost of the axes behind the batch, without overlap. */
bool ga__dnn_fits(const ga_dnn_call *call);

/* The call without its memory, for a call that fits. Axes of length 1 get the strides
 * that the layout gives them, so that equal calls are equal. */
ga_dnn_question ga__dnn_question_of(const ga_dnn_call *call);

#endif
