/* Opening of cuDNN, a library in ten parts that load one another. */
#ifndef GA_CUDA_DNN_PARTS_H
#define GA_CUDA_DNN_PARTS_H

#include "c/base/strbuf.h"

/* The cuDNN that is in the process already, which no other may join; NULL if there is
 * none. */
void *ga__cuda_dnn_loaded(ga_strbuf *report);

/* Opens cuDNN 9 from the folder of `path`, libcudnn.so.*, as a whole; NULL, with a line
 * in the report, if it cannot be or its parts are of several versions. `lt_major`: the
 * CUDA version of the open cuBLASLt, 0 if unknown. */
void *ga__cuda_dnn_open(const char *path, int lt_major, ga_strbuf *report);

/* "9.28.1" of 92801; returns `out`. */
#define GA_DNN_VERSION_TEXT 32
char *ga__cuda_dnn_version(char out[GA_DNN_VERSION_TEXT], size_t version);

#endif
