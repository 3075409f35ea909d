/* A context on the null backend whose table a test can change. */
#ifndef NULL_CONTEXT_H
#define NULL_CONTEXT_H

#include "check.h"

#include "c/device/context.h"

/* The table that contexts of open_null use; reset by it. */
static ga_backend hooked;

static inline gpucontext *open_null(void) {
  gpucontext *ctx = NULL;
  CHECK_OK(gpucontext_open(&ctx, "null"));
  if (ctx == NULL)
    exit(1);
  hooked = *ctx->backend;
  ctx->backend = &hooked;
  return ctx;
}

#endif
