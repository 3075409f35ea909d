/* Users' kernels: gpukernel_* and GpuKernel_*. */
#include <assert.h>
#include <gpuarray/kernel.h>
#include <string.h>

#include "c/base/counts.h"
#include "c/base/dtype.h"
#include "c/program/kernel.h"
#include "c/program/kernel_waits.h"
#include "c/system/dump.h"

#define DEFAULT_THREADS 256

static bool is_pointer(int typecode) {
  return typecode == GA_BUFFER || typecode == GA_INPUT;
}

static int check_types(unsigned int n, const int *typecodes) {
  bool has_buffer = false;
  if (n > GA_MAX_ARGS)
    return GA_FAIL(
        GA_UNSUPPORTED_ERROR,
        "gpukernel_init: %u arguments are more than the %d a kernel may have", n,
        GA_MAX_ARGS);
  if (n > 0 && typecodes == NULL)
    return GA_FAIL(GA_VALUE_ERROR,
                   "gpukernel_init: the types of %u arguments are "
                   "missing",
                   n);
  for (unsigned int i = 0; i < n; i++) {
    size_t size = gpuarray_get_elsize(typecodes[i]);
    if (size == 0 || size > sizeof((ga_arg *)0)->value)
      return GA_FAIL(
          GA_INVALID_ERROR,
          "gpukernel_init: argument %u is of %s, which cannot be passed; use "
          "GA_BUFFER or GA_INPUT for a pointer",
          i, ga__dtype_name(typecodes[i]));
    has_buffer |= is_pointer(typecodes[i]);
    if (typecodes[i] == GA_OFFSET && !has_buffer)
      return GA_FAIL(
          GA_VALUE_ERROR,
          "gpukernel_init: argument %u is an offset (GA_OFFSET), and no GA_BUFFER or "
          "GA_INPUT stands before it; an offset belongs to the nearest pointer before "
          "it",
          i);
  }
  return GA_NO_ERROR;
}

static int check_flags(gpucontext *ctx, int flags) {
  GA_TRY(ga__backend_speaks(ctx->backend, flags));
  if (flags & GA_USE_DOUBLE)
    return ga__context_supports(ctx, GA_DOUBLE, "gpukernel_init");
  return GA_NO_ERROR;
}

static int join(ga_strbuf *body, unsigned int count_, const char *const *strings,
                const size_t *lengths) {
  for (unsigned int i = 0; i < count_; i++) {
    if (strings[i] == NULL)
      return GA_FAIL(GA_VALUE_ERROR, "gpukernel_init: text %u of %u is missing", i,
                     count_);
    ga__strbuf_addn(body, strings[i],
                    lengths && lengths[i] ? lengths[i] : strlen(strings[i]));
  }
  return ga__strbuf_status(body);
}

static void free_kernel(gpukernel *k) {
  ga__free(k->types);
  ga__free(k->args);
  ga__free(k->is_set);
  ga__free(k);
}

/* A kernel with nothing compiled. */
static gpukernel *new_kernel(unsigned int n_args, const int *typecodes) {
  gpukernel *k = ga__alloc(1, sizeof *k);
  if (k == NULL)
    return NULL;
  k->n_args = n_args;
  k->types = ga__alloc(n_args, sizeof *k->types);
  k->args = ga__alloc(n_args, sizeof *k->args);
  k->is_set = ga__alloc(n_args, sizeof *k->is_set);
  if (k->types == NULL || k->args == NULL || k->is_set == NULL) {
    free_kernel(k);
    return NULL;
  }
  if (n_args > 0)
    memcpy(k->types, typecodes, n_args * sizeof *typecodes);
  return k;
}

/* Shares the kernel of this name and body that the context prebuilt for a plan,
 * possibly still compiling; else gets its own program. slow_lock is held. */
static int find_program(gpukernel *k, enum ga_origin *origin, gpucontext *ctx,
                        const char *body, const char *name, char **err_str) {
  k->original = ga__kernel_named(ctx, name, body);
  if (k->original) {
    k->program = k->original->program;
    *origin = GA_FROM_MEMORY;
    return GA_NO_ERROR;
  }
  ga_key text = {0};
  int status = ga__key_of(&text, ctx, body);
  GA_THEN(status, ga__program_get(&k->program, origin, ctx, &text, name, err_str));
  ga__key_clear(&text);
  return status;
}

/* Compiles `body` and gets its kernel `name`. */
static int compile_user(gpukernel *k, gpucontext *ctx, const char *body,
                        const char *name, char **err_str) {
  enum ga_origin origin;
  GA_TRY(ga__dump_source(body));
  k->waits = ga__kernel_waits(body);
  pthread_mutex_lock(&ctx->slow_lock);
  int status = find_program(k, &origin, ctx, body, name, err_str);
  GA_THEN(status, ga__kernel_open(k, ctx, k->program, name));
  if (status == GA_NO_ERROR)
    ga__program_count(ctx, origin, 1);
  pthread_mutex_unlock(&ctx->slow_lock);
  return status;
}

static int init_kernel(gpukernel **out, gpucontext *ctx, unsigned int count_,
                       const char *const *strings, const size_t *lengths,
                       const char *fname, unsigned int numargs, const int *typecodes,
                       int flags, char **err_str) {
  GA_TRY(ga__context_check(ctx));
  if (count_ == 0 || strings == NULL || fname == NULL)
    return GA_FAIL(GA_VALUE_ERROR,
                   "gpukernel_init: the source and the kernel's name are needed");
  GA_TRY(check_types(numargs, typecodes));
  GA_TRY(check_flags(ctx, flags));
  ga_strbuf body = {0};
  int status = join(&body, count_, strings, lengths);
  gpukernel *k = NULL;
  if (status == GA_NO_ERROR && (k = new_kernel(numargs, typecodes)) == NULL)
    status = GA_MEMORY_ERROR;
  GA_THEN(status, compile_user(k, ctx, body.text, fname, err_str));
  ga__strbuf_clear(&body);
  if (status != GA_NO_ERROR) {
    if (k)
      free_kernel(k);
    return status == GA_COMPILE_ERROR ? GA_IMPL_ERROR : status; /* as libgpuarray 0.7 */
  }
  gpucontext_retain(ctx);
  *out = k;
  return GA_NO_ERROR;
}

gpukernel *gpukernel_init(gpucontext *ctx, unsigned int count, const char **strings,
                          const size_t *lengths, const char *fname,
                          unsigned int numargs, const int *typecodes, int flags,
                          int *ret, char **err_str) {
  gpukernel *k = NULL;
  int status = init_kernel(&k, ctx, count, strings, lengths, fname, numargs, typecodes,
                           flags, err_str);
  if (status != GA_NO_ERROR && ret)
    *ret = status;
  return k;
}

int ga__user_kernel_adopt(gpukernel **out, gpucontext *ctx, ga_program *program,
                          const char *name) {
  gpukernel *k = new_kernel(0, NULL);
  GA_TRY_MEMORY(k);
  int status = ga__kernel_open(k, ctx, program, name);
  if (status != GA_NO_ERROR) {
    free_kernel(k);
    return status;
  }
  gpucontext_retain(ctx);
  *out = k;
  return GA_NO_ERROR;
}

void gpukernel_release(gpukernel *k) {
  if (k == NULL ||
      atomic_fetch_sub_explicit(&k->references, 1, memory_order_acq_rel) != 1)
    return;
  assert(!k->of_context); /* the context owns those */
  gpucontext *ctx = k->context;
  if (ga__context_is_ours(ctx) && atomic_load(&k->is_open))
    ctx->backend->kernel_free(ctx->device, k->kernel);
  free_kernel(k);
  gpucontext_deref(ctx);
}

/* Reads an argument from the caller's pointer. */
static int read_arg(ga_arg *arg, const gpukernel *k, unsigned int i, void *a) {
  if (a == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "kernel %s: argument %u is NULL", k->name, i);
  if (is_pointer(k->types[i])) {
    gpudata *buffer = a;
    if (buffer->context != k->context)
      return GA_FAIL(GA_VALUE_ERROR,
                     "kernel %s on %s: argument %u is a buffer of another context, %s",
                     k->name, k->context->name, i, buffer->context->name);
    *arg = (ga_arg){.kind = GA_ARG_MEMORY, .size = sizeof(void *), .buffer = buffer};
    arg->is_read_only = k->types[i] == GA_INPUT;
    return GA_NO_ERROR;
  }
  size_t size = gpuarray_get_elsize(k->types[i]);
  enum ga_arg_kind kind = k->types[i] == GA_OFFSET ? GA_ARG_OFFSET : GA_ARG_VALUE;
  *arg = (ga_arg){.kind = kind, .size = (unsigned int)size};
  memcpy(arg->value.bytes, a, size);
  return GA_NO_ERROR;
}

static int check_kernel(const gpukernel *k, const char *operation) {
  if (k == NULL)
    return ga__fail_null(operation, "kernel");
  return GA_NO_ERROR;
}

int gpukernel_setarg(gpukernel *k, unsigned int i, void *a) {
  GA_TRY(check_kernel(k, __func__));
  if (i >= k->n_args)
    return GA_FAIL(GA_VALUE_ERROR,
                   "kernel %s: argument %u does not exist; the kernel has %u", k->name,
                   i, k->n_args);
  GA_TRY(read_arg(&k->args[i], k, i, a));
  k->is_set[i] = true;
  return GA_NO_ERROR;
}

static int check_geometry(gpukernel *k, unsigned int n, const size_t *gs,
                          const size_t *ls, size_t shared) {
  const ga_device_info *info = &k->context->info;
  if (n < 1 || n > 3)
    return GA_FAIL(GA_VALUE_ERROR, "kernel %s: got %u dimensions, expected 1, 2 or 3",
                   k->name, n);
  if (gs == NULL || ls == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "kernel %s: the grid or the block is missing",
                   k->name);
  size_t threads = 1;
  for (unsigned int i = 0; i < n; i++) {
    if (ls[i] == 0 || ls[i] > info->max_block[i])
      return GA_FAIL(GA_LIMIT_ERROR,
                     "kernel %s: got %zu threads in dimension %u of a block, expected "
                     "1 to %zu on %s",
                     k->name, ls[i], i, info->max_block[i], k->context->name);
    if (gs[i] > info->max_grid[i])
      return GA_FAIL(
          GA_LIMIT_ERROR,
          "kernel %s: got %zu blocks in dimension %u, expected at most %zu on %s",
          k->name, gs[i], i, info->max_grid[i], k->context->name);
    if (!ga__kernel_takes(k, threads * ls[i]))
      return GA_FAIL(GA_LIMIT_ERROR,
                     "kernel %s: a block of it has at most %zu threads on %s", k->name,
                     ga__kernel_threads(k), k->context->name);
    threads *= ls[i];
  }
  if (shared > info->local_memory)
    return GA_FAIL(
        GA_LIMIT_ERROR,
        "kernel %s: got %zu bytes of local memory, expected at most %zu on %s", k->name,
        shared, info->local_memory, k->context->name);
  return GA_NO_ERROR;
}

/* An offset refers to the nearest buffer before it, which check_types has ensured. */
static void bind_offsets(ga_arg *args, unsigned int n) {
  gpudata *buffer = NULL;
  for (unsigned int i = 0; i < n; i++)
    if (args[i].kind == GA_ARG_OFFSET)
      args[i].buffer = buffer;
    else if (args[i].kind == GA_ARG_MEMORY)
      buffer = args[i].buffer;
}

int gpukernel_call(gpukernel *k, unsigned int n, const size_t *gs, const size_t *ls,
                   size_t shared, void **args) {
  GA_TRY(check_kernel(k, __func__));
  GA_TRY(check_geometry(k, n, gs, ls, shared));
  if (atomic_load_explicit(&k->is_open, memory_order_acquire))
    GA_TRY(ga__kernel_check_parameters(k));
  ga_arg values[GA_MAX_ARGS];
  ga_launch launch = {.nd = n, .shared = shared, .n_args = k->n_args, .args = values};
  for (unsigned int i = 0; i < k->n_args; i++) {
    if (args)
      GA_TRY(read_arg(&values[i], k, i, args[i]));
    else if (k->is_set[i])
      values[i] = k->args[i];
    else
      return GA_FAIL(GA_VALUE_ERROR,
                     "kernel %s: argument %u is not set; set it with GpuKernel_setarg",
                     k->name, i);
  }
  bind_offsets(values, k->n_args);
  memcpy(launch.grid, gs, n * sizeof *gs);
  memcpy(launch.block, ls, n * sizeof *ls);
  return ga__kernel_launch(k, &launch);
}

int gpukernel_property(gpukernel *k, int prop_id, void *res) {
  GA_TRY(check_kernel(k, __func__));
  if (res == NULL)
    return ga__fail_null(__func__, "pointer for the result");
  if (prop_id < GA_BUFFER_PROP_START)
    return gpucontext_property(k->context, prop_id, res);
  switch (prop_id) {
  case GA_KERNEL_PROP_CTX:
    *(gpucontext **)res = k->context;
    return GA_NO_ERROR;
  case GA_KERNEL_PROP_MAXLSIZE:
    GA_TRY(ga__kernel_ready(k));
    *(size_t *)res = k->threads;
    return GA_NO_ERROR;
  case GA_KERNEL_PROP_PREFLSIZE:
    *(size_t *)res = k->context->info.warp;
    return GA_NO_ERROR;
  case GA_KERNEL_PROP_NUMARGS:
    *(unsigned int *)res = k->n_args;
    return GA_NO_ERROR;
  case GA_KERNEL_PROP_TYPES:
    *(const int **)res = k->types;
    return GA_NO_ERROR;
  }
  return GA_FAIL(prop_id < GA_KERNEL_PROP_START ? GA_VALUE_ERROR : GA_INVALID_ERROR,
                 "gpukernel_property: a kernel has no property %d", prop_id);
}

gpucontext *gpukernel_context(gpukernel *k) {
  return k ? k->context : NULL;
}

/* ---- GpuKernel ---- */

int GpuKernel_init(GpuKernel *k, gpucontext *ctx, unsigned int count, const char **strs,
                   const size_t *lens, const char *name, unsigned int argcount,
                   const int *types, int flags, char **err_str) {
  gpukernel *kernel = NULL;
  if (k == NULL)
    return ga__fail_null(__func__, "pointer for the kernel");
  k->k = NULL;
  k->args = NULL;
  GA_TRY(init_kernel(&kernel, ctx, count, strs, lens, name, argcount, types, flags,
                     err_str));
  k->k = kernel;
  return GA_NO_ERROR;
}

void GpuKernel_clear(GpuKernel *k) {
  if (k == NULL)
    return;
  gpukernel_release(k->k);
  k->k = NULL;
}

gpucontext *GpuKernel_context(GpuKernel *k) {
  return k ? gpukernel_context(k->k) : NULL;
}

int GpuKernel_setarg(GpuKernel *k, unsigned int i, void *val) {
  return gpukernel_setarg(k ? k->k : NULL, i, val);
}

int GpuKernel_sched(GpuKernel *k, size_t n, size_t *gs, size_t *ls) {
  GA_TRY(check_kernel(k ? k->k : NULL, __func__));
  if (gs == NULL || ls == NULL)
    return ga__fail_null(__func__, "pointer for the result");
  const ga_device_info *info = &k->k->context->info;
  size_t warp = info->warp > 0 ? info->warp : 1;
  size_t most_blocks = info->max_grid[0];
  n = n > 0 ? n : 1;
  if (*ls == 0) {
    size_t blocks = *gs ? *gs : most_blocks, needed = ga__ceil_div(n, blocks);
    size_t wanted = *gs ? 1 : DEFAULT_THREADS;
    wanted = needed > wanted ? needed : wanted;
    wanted = ga__smaller(ga__ceil_div(wanted, warp) * warp, info->max_block[0]);
    *ls = ga__kernel_takes(k->k, wanted)
              ? wanted
              : ga__smaller(wanted, ga__kernel_threads(k->k));
  }
  if (*gs == 0)
    *gs = ga__smaller(ga__ceil_div(n, *ls), most_blocks);
  return GA_NO_ERROR;
}

int GpuKernel_call(GpuKernel *k, unsigned int n, const size_t *gs, const size_t *ls,
                   size_t shared, void **args) {
  return gpukernel_call(k ? k->k : NULL, n, gs, ls, shared, args);
}

const char *GpuKernel_error(const GpuKernel *k, int err) {
  (void)k, (void)err;
  return gpuarray_error_text();
}
