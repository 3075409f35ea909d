/* A null device whose compilations and launches are watched. */
#ifndef GA_TESTS_WATCHED_KERNELS_H
#define GA_TESTS_WATCHED_KERNELS_H

#include "null_context.h"

#include <gpuarray/kernel.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

#include "c/program/kernel.h"
#include "c/system/cache.h"

static char folder[] = "/tmp/gpuarray-test-XXXXXX";

/* What the hooked backend saw. */
static atomic_int compiles; /* by several threads at once */
static int launches;
static ga_launch last_launch;
static ga_arg last_args[GA_MAX_ARGS];

static int watched_compile(void **program, void *device, const char *source,
                           ga_strbuf *log) {
  compiles++;
  const char *wrong = strstr(source, "WRONG");
  if (wrong) {
    ga__strbuf_add(log, "line 2: what is WRONG?");
    return GA_FAIL(GA_COMPILE_ERROR, "the compiler refused");
  }
  return ga__null_backend.compile(program, device, source, log);
}

static int watched_launch(void *device, void *kernel, const ga_launch *launch) {
  (void)device, (void)kernel;
  launches++;
  last_launch = *launch;
  memcpy(last_args, launch->args, launch->n_args * sizeof *last_args);
  return GA_NO_ERROR;
}

static gpucontext *open_watched(void) {
  gpucontext *ctx = open_null();
  hooked.compile = watched_compile;
  hooked.launch = watched_launch;
  compiles = 0;
  launches = 0;
  return ctx;
}

static gpucontext_cache cache_info(gpucontext *ctx) {
  gpucontext_cache info;
  CHECK_OK(gpucontext_cache_info(ctx, &info));
  return info;
}

static ga_source make_source(const char *body) {
  ga_source source = {.name = "", .is_closed = true};
  ga__kernel_name(source.name, "test", body);
  ga__strbuf_addf(&source.body, "KERNEL void %s() { %s }", source.name, body);
  return source;
}

static gpukernel *get(gpucontext *ctx, const char *body) {
  ga_source source = make_source(body);
  gpukernel *k = NULL;
  CHECK_OK(ga__kernel_get(&k, ctx, &source));
  ga__strbuf_clear(&source.body);
  return k;
}

/* Bodies that begin with OPEN are not known to be closed. */
static void prepare(gpucontext *ctx, int wanted, unsigned int n,
                    const char *const *bodies) {
  ga_source sources[8] = {{.name = ""}};
  const ga_source *list[8] = {NULL};
  for (unsigned int i = 0; i < n; i++) {
    sources[i] = make_source(bodies[i]);
    sources[i].is_closed = strncmp(bodies[i], "OPEN", 4) != 0;
    list[i] = &sources[i];
  }
  CHECK_STATUS(wanted, ga__kernel_prepare(ctx, n, list, true));
  for (unsigned int i = 0; i < n; i++)
    ga__strbuf_clear(&sources[i].body);
}

#endif
