/* GpuElemwise: creation and release. */
#include "c/elemwise/elemwise_private.h"

#include <ctype.h>
#include <string.h>

#include "c/elemwise/elemwise_map.h"

static bool is_identifier(const char *name) {
  if (!(isalpha((unsigned char)name[0]) || name[0] == '_'))
    return false;
  for (const char *c = name; *c; c++)
    if (!isalnum((unsigned char)*c) && *c != '_')
      return false;
  return strncmp(name, GA_ELEM_PREFIX, strlen(GA_ELEM_PREFIX)) != 0;
}

static int check_arg(gpucontext *ctx, const gpuelemwise_arg *args, unsigned int i) {
  const gpuelemwise_arg *arg = &args[i];
  if (arg->name == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "elemwise: argument %u has no name", i);
  if (!is_identifier(arg->name))
    return GA_FAIL(GA_INVALID_ERROR,
                   "elemwise: argument %u is named '%s', expected a C identifier that "
                   "does not begin with " GA_ELEM_PREFIX,
                   i, arg->name);
  for (unsigned int k = 0; k < i; k++)
    if (strcmp(arg->name, args[k].name) == 0)
      return GA_FAIL(GA_INVALID_ERROR, "elemwise: two arguments are named '%s'",
                     arg->name);
  bool scalar = arg->flags & GE_SCALAR;
  bool size = arg->typecode == GA_SIZE || arg->typecode == GA_SSIZE;
  if (!(scalar && size))
    GA_TRY(ga__dtype_check(arg->typecode, "elemwise"));
  if (scalar && (arg->flags & GE_WRITE))
    return GA_FAIL(GA_INVALID_ERROR,
                   "elemwise: the scalar '%s' is GE_WRITE; only arrays can be written",
                   arg->name);
  if (arg->flags & GE_INDEX)
    return arg->flags == GE_INDEX && arg->typecode == GA_ULONG
               ? GA_NO_ERROR
               : GA_FAIL(GA_INVALID_ERROR,
                         "elemwise: the index '%s' has flags 0x%x and type %s, "
                         "expected GE_INDEX alone and uint64",
                         arg->name, (unsigned int)arg->flags,
                         ga__dtype_name(arg->typecode));
  if (!scalar && !(arg->flags & (GE_READ | GE_WRITE)))
    return GA_FAIL(
        GA_INVALID_ERROR,
        "elemwise: the array '%s' has no flags, expected GE_READ, GE_WRITE or both",
        arg->name);
  return size ? GA_NO_ERROR : ga__context_supports(ctx, arg->typecode, "elemwise");
}

static int copy_args(GpuElemwise *ge, const gpuelemwise_arg *args) {
  ge->args = ga__alloc(ge->n, sizeof *ge->args);
  GA_TRY_MEMORY(ge->args);
  bool leading = true;
  for (unsigned int i = 0; i < ge->n; i++) {
    ge->args[i] = args[i];
    ge->args[i].name = ga__strdup(args[i].name);
    GA_TRY_MEMORY(ge->args[i].name);
    leading = leading && args[i].flags == GE_WRITE;
    ge->n_out += leading;
    ge->n_arrays += !ga__elemwise_is_scalar(ge, i);
  }
  return GA_NO_ERROR;
}

bool ga__elemwise_has_index(const GpuElemwise *ge) {
  for (unsigned int i = 0; i < ge->n; i++)
    if (ga__elemwise_is_index(ge, i))
      return true;
  return false;
}

/* Maximum rank of a strided kernel: its arguments are limited in number, and in bytes
 * to what every driver accepts. */
static unsigned int axes_limit(const GpuElemwise *ge) {
  unsigned int scalars = ge->n - ge->n_arrays, nd = GA_MAX_NDIM;
  for (; nd > 1; nd--) {
    unsigned int count = 5 + 3 * nd + ge->n_arrays * (2 + nd) + scalars;
    unsigned int bytes = 32 + 12 * nd + ge->n_arrays * (16 + 8 * nd) + 16 * scalars;
    if (count <= GA_MAX_ARGS && bytes <= 3800)
      break;
  }
  return nd;
}

int ga__elemwise_new(GpuElemwise **out, gpucontext *ctx, const char *preamble,
                     const char *expr, unsigned int n, const gpuelemwise_arg *args,
                     int flags, bool borrowed) {
  if (ctx == NULL || expr == NULL || (n > 0 && args == NULL))
    return ga__fail_null("elemwise", ctx == NULL    ? "context"
                                     : expr == NULL ? "expression"
                                                    : "arguments");
  if (n == 0 || n > GA_ELEM_MAX_ARGS)
    return GA_FAIL(GA_INVALID_ERROR, "elemwise: got %u arguments, expected 1 to %d", n,
                   GA_ELEM_MAX_ARGS);
  for (unsigned int i = 0; i < n; i++)
    GA_TRY(check_arg(ctx, args, i));

  GpuElemwise *ge = ga__alloc(1, sizeof *ge);
  GA_TRY_MEMORY(ge);
  pthread_mutex_init(&ge->lock, NULL);
  ge->context = ctx;
  ge->borrowed = true; /* until it retains the context */
  ge->n = n;
  ge->expr = ga__strdup(expr);
  ge->preamble = ga__strdup(preamble == NULL ? "" : preamble);
  if (copy_args(ge, args) != GA_NO_ERROR || ge->expr == NULL || ge->preamble == NULL) {
    GpuElemwise_free(ge);
    return GA_MEMORY_ERROR;
  }
  ge->spec = (ga_elem_spec){.preamble = ge->preamble,
                            .expr = ge->expr,
                            .n = n,
                            .args = ge->args,
                            .convert_half = (flags & GE_CONVERT_F16) != 0,
                            .is_cpu = ctx->info.is_cpu};
  ge->max_nd = axes_limit(ge);
  ge->vector = ga__elem_vector(&ge->spec, 0);
  if (!borrowed)
    gpucontext_retain(ctx);
  ge->borrowed = borrowed;
  *out = ge;
  return GA_NO_ERROR;
}

int GpuElemwise_create(GpuElemwise **out, gpucontext *ctx, const char *preamble,
                       const char *expr, unsigned int n, const gpuelemwise_arg *args,
                       int flags) {
  if (out == NULL)
    return ga__fail_null("elemwise", "pointer for the object");
  if (flags & ~(GE_NOADDR64 | GE_CONVERT_F16))
    return GA_FAIL(
        GA_INVALID_ERROR,
        "elemwise: got flags 0x%x, expected GE_NOADDR64 and GE_CONVERT_F16 at "
        "most",
        (unsigned int)flags);
  return ga__elemwise_new(out, ctx, preamble, expr, n, args, flags, false);
}

/* Compiles the flat kernel, so that an invalid expression fails at once. */
static int compile_flat(GpuElemwise *ge) {
  const ga_elem_wanted flat = {.kind = GA_ELEM_FLAT};
  ga_elem_variant *v;
  gpukernel *k;
  GA_TRY(ga__context_check(ge->context));
  GA_TRY(ga__variant_get(&v, ge, &flat));
  return ga__variant_kernel(&k, ge, v);
}

GpuElemwise *GpuElemwise_new(gpucontext *ctx, const char *preamble, const char *expr,
                             unsigned int n, gpuelemwise_arg *args, unsigned int nd,
                             int flags) {
  (void)nd; /* ignored: kernels are compiled when needed */
  GpuElemwise *ge = NULL;
  if (ga__elemwise_new(&ge, ctx, preamble, expr, n, args, flags, false) ==
          GA_NO_ERROR &&
      compile_flat(ge) == GA_NO_ERROR)
    return ge;
  GpuElemwise_free(ge);
  return NULL;
}

void GpuElemwise_free(GpuElemwise *ge) {
  if (ge == NULL)
    return;
  for (ga_elem_variant *v = atomic_load(&ge->variants), *next; v != NULL; v = next) {
    next = v->next;
    ga__free(v);
  }
  ga__mapped_free(ge);
  for (unsigned int i = 0; ge->args != NULL && i < ge->n; i++)
    ga__free((char *)ge->args[i].name);
  ga__free(ge->args);
  ga__free(ge->preamble);
  ga__free(ge->expr);
  pthread_mutex_destroy(&ge->lock);
  if (!ge->borrowed)
    gpucontext_deref(ge->context);
  ga__free(ge);
}
