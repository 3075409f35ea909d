/* arange from 0, by a kernel, so that plans can record it. */
#ifndef GA_C_COUNT_H
#define GA_C_COUNT_H

#include "c/array/array.h"
#include "c/program/kernel.h"

/* 0, 1, 2, ... as a new int64 vector of `n` elements. */
int ga__count(GpuArray *out, gpucontext *ctx, size_t n);
/* The kernel's source, to prebuild it. */
int ga__count_source(ga_source *out);

#endif
