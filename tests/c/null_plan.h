/* What tests of plans on the null backend share: a vector and an integer to run one
 * with, a file for it, and each allocation failing in turn. */
#ifndef NULL_PLAN_H
#define NULL_PLAN_H

#include "null_context.h"

#include <gpuarray/plan.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The next of several calls, while none has failed. */
#define STEP(call)                                                                     \
  if (status == GA_NO_ERROR)                                                           \
  status = (call)

static inline gpuplan_info info_of(GpuPlan *p) {
  gpuplan_info info = {0};
  CHECK_OK(GpuPlan_info(p, &info));
  return info;
}

/* Runs a plan of a float32 vector, here of `n` elements, and an integer. */
static inline int call_vector(GpuPlan *p, gpucontext *ctx, size_t n, long long integer,
                              GpuArray *out, int *failed) {
  GpuArray x = {0};
  int status = GpuArray_zeros(&x, ctx, GA_FLOAT, 1, &n, GA_C_ORDER);
  STEP(
      GpuPlan_call(p, (GpuArray *[]){out}, (const GpuArray *[]){&x}, &integer, failed));
  GpuArray_clear(&x);
  return status;
}

/* A step's function: fills ins[0], whose memory the result takes over, with bytes of
 * the integer that comes second. */
static inline int fill_bytes(void *data, GpuArray *const *outs,
                             const GpuArray *const *ins, const long long *ints) {
  (void)data;
  int status = GpuArray_view(outs[0], ins[0]);
  STEP(GpuArray_memset(outs[0], (int)ints[1]));
  return status;
}

/* An empty file for a plan; `path` ends with XXXXXX. */
static inline void make_file(char *path) {
  int file = mkstemp(path);
  CHECK(file >= 0);
  close(file);
}

/* What ends a function that makes a plan: it is given, or freed where a call failed. */
static inline int give_plan(GpuPlan **out, GpuPlan *p, int status) {
  if (status == GA_NO_ERROR)
    *out = p;
  else
    GpuPlan_free(p);
  return status;
}

/* A trial builds and runs a plan, and leaves nothing behind. */
typedef int plan_trial(gpucontext *ctx);

/* Does it with the n-th allocation failing, for every n until none does. */
static inline void fail_each_allocation(plan_trial *trial, gpucontext *ctx) {
  int status = GA_MEMORY_ERROR;
  for (long n = 0; status != GA_NO_ERROR; n++) {
    ga__alloc_fail_at(n);
    status = trial(ctx);
    ga__alloc_fail_at(-1);
    CHECK(status == GA_NO_ERROR || status == GA_MEMORY_ERROR);
    CHECK(n < 1000);
  }
}

#endif
