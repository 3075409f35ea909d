/* Calls of elementwise objects: checks, and copies of inputs that alias outputs. */
#include "c/elemwise/elemwise_state.h"

#include <string.h>

/* ---- aliasing ---- */

/* True if an output would overwrite input i before it is read. */
static bool is_endangered(const GpuElemwise *ge, void *const *args, unsigned int i) {
  if (ga__elemwise_is_scalar(ge, i) || ga__elemwise_is_index(ge, i) ||
      !ga__elemwise_is_input(ge, i))
    return false;
  for (unsigned int k = 0; k < ge->n; k++)
    if (!ga__elemwise_is_scalar(ge, k) && !ga__elemwise_is_input(ge, k) &&
        ga__elemwise_endangers(args[k], args[i]))
      return true;
  return false;
}

/* Runs on copies of the endangered inputs. */
static int run_copied(GpuElemwise *ge, void *const *args, unsigned int nd,
                      const size_t *dims) {
  void *list[GA_ELEM_MAX_ARGS];
  GpuArray copies[GA_ELEM_MAX_ARGS];
  unsigned int n_copies = 0;
  int status = GA_NO_ERROR;
  memcpy(list, args, ge->n * sizeof *list);
  for (unsigned int i = 0; i < ge->n && status == GA_NO_ERROR; i++) {
    if (!is_endangered(ge, args, i))
      continue;
    status = GpuArray_copy(&copies[n_copies], args[i], GA_C_ORDER);
    if (status == GA_NO_ERROR)
      list[i] = &copies[n_copies++];
  }
  GA_THEN(status, ga__elemwise_run(ge, list, nd, dims));
  while (n_copies > 0)
    GpuArray_clear(&copies[--n_copies]);
  return status;
}

static int run(GpuElemwise *ge, void *const *args, unsigned int nd,
               const size_t *dims) {
  for (unsigned int i = 0; i < ge->n; i++)
    if (is_endangered(ge, args, i))
      return run_copied(ge, args, nd, dims);
  return ga__elemwise_run(ge, args, nd, dims);
}

/* ---- calls ---- */

/* Checks of an array argument, except its shape. */
static int check_array(const GpuElemwise *ge, void *const *args, unsigned int i) {
  const gpuelemwise_arg *arg = &ge->args[i];
  const GpuArray *a = args[i];
  char text[GA_ARRAY_TEXT];
  GA_TRY(ga__array_check(a, "elemwise"));
  if (a->data->context != ge->context)
    return GA_FAIL(GA_VALUE_ERROR,
                   "elemwise: '%s' is on %s, the expression on %s; move the array "
                   "first (GpuArray_transfer)",
                   arg->name, gpucontext_name(a->data->context),
                   gpucontext_name(ge->context));
  if (ga__elemwise_is_index(ge, i))
    return GA_NO_ERROR;
  if (a->typecode != arg->typecode)
    return GA_FAIL(GA_INVALID_ERROR, "elemwise: '%s' is %s, expected %s", arg->name,
                   ga__array_text(text, a), ga__dtype_name(arg->typecode));
  if (!GpuArray_ISALIGNED(a))
    return GA_FAIL(GA_UNALIGNED_ERROR,
                   "elemwise: '%s', %s, is not aligned to its type; copy it first "
                   "(GpuArray_copy)",
                   arg->name, ga__array_text(text, a));
  if (!ga__elemwise_is_input(ge, i))
    return ga__array_writeable(a, "elemwise");
  return GA_NO_ERROR;
}

/* Checks that argument i broadcasts to the output's shape. */
static int check_broadcast(const GpuElemwise *ge, const GpuArray *a, unsigned int i,
                           unsigned int nd, const size_t *dims, int flags) {
  char ours[GA_SHAPE_TEXT], theirs[GA_SHAPE_TEXT];
  bool fits = a->nd == nd || (a->nd < nd && (flags & GE_PADSHAPE));
  bool broadcasts = ga__elemwise_is_input(ge, i) && (flags & GE_BROADCAST);
  for (unsigned int k = 0; fits && k < nd; k++) {
    unsigned int missing = nd - a->nd;
    size_t dim = k < missing ? 1 : a->dimensions[k - missing];
    fits = dim == dims[k] || (dim == 1 && broadcasts);
  }
  if (fits)
    return GA_NO_ERROR;
  return GA_FAIL(GA_VALUE_ERROR, "elemwise: '%s' has shape %s, expected %s%s",
                 ge->args[i].name, ga__shape_text(ours, a->nd, a->dimensions),
                 ga__shape_text(theirs, nd, dims),
                 !ga__elemwise_is_input(ge, i) ? ": outputs do not broadcast"
                 : flags & GE_BROADCAST ? " or 1 along axes that broadcast"
                                        : "; GE_BROADCAST broadcasts axes of length 1");
}

/* Rank of a call: the output's, or with GE_PADSHAPE the highest. */
static unsigned int common_rank(const GpuElemwise *ge, void *const *args,
                                unsigned int nd, int flags) {
  for (unsigned int i = 0; (flags & GE_PADSHAPE) && i < ge->n; i++)
    if (!ga__elemwise_is_scalar(ge, i) && ((const GpuArray *)args[i])->nd > nd)
      nd = ((const GpuArray *)args[i])->nd;
  return nd;
}

int GpuElemwise_call(GpuElemwise *ge, void **args, int flags) {
  if (ge == NULL || args == NULL)
    return ga__fail_null("elemwise", ge == NULL ? "object" : "arguments");
  GA_TRY(ga__context_check(ge->context));
  const GpuArray *first = NULL;
  for (unsigned int i = 0; i < ge->n; i++) {
    if (ga__elemwise_is_scalar(ge, i)) {
      if (args[i] == NULL)
        return GA_FAIL(GA_VALUE_ERROR,
                       "elemwise: got NULL for '%s', expected its value",
                       ge->args[i].name);
      continue;
    }
    GA_TRY(check_array(ge, args, i));
    if (first == NULL && !ga__elemwise_is_input(ge, i))
      first = args[i];
  }
  if (first == NULL)
    return GA_FAIL(GA_VALUE_ERROR,
                   "elemwise: no argument is GE_WRITE, so there is no output");
  size_t dims[GA_MAX_NDIM];
  unsigned int nd = common_rank(ge, args, first->nd, flags);
  for (unsigned int k = 0; k < nd; k++)
    dims[k] = k < nd - first->nd ? 1 : first->dimensions[k + first->nd - nd];
  for (unsigned int i = 0; i < ge->n; i++)
    if (!ga__elemwise_is_scalar(ge, i))
      GA_TRY(check_broadcast(ge, args[i], i, nd, dims, flags));
  return run(ge, args, nd, dims);
}

/* ---- calls that allocate their outputs ---- */

/* Broadcast shape of the inputs, and the outputs' order: F if every input of that shape
 * is F and not C contiguous. */
static int output_shape(unsigned int *nd, size_t *dims, ga_order *order,
                        const GpuElemwise *ge, void *const *args) {
  *nd = 0;
  for (unsigned int i = ge->n_out; i < ge->n; i++) {
    if (ga__elemwise_is_scalar(ge, i))
      continue;
    const GpuArray *a = args[i];
    if (ga__array_has_shape(a, *nd, dims))
      continue;
    int status = ga__shape_broadcast(nd, dims, a->nd, a->dimensions);
    if (status != GA_NO_ERROR)
      return ga__fail_within(status, "elemwise");
  }
  bool any = false;
  *order = GA_F_ORDER;
  for (unsigned int i = ge->n_out; i < ge->n; i++) {
    const GpuArray *a = args[i];
    if (ga__elemwise_is_scalar(ge, i) || !ga__array_has_shape(a, *nd, dims))
      continue;
    any = true;
    if (GpuArray_IS_C_CONTIGUOUS(a) || !GpuArray_IS_F_CONTIGUOUS(a))
      *order = GA_C_ORDER;
  }
  if (!any)
    *order = GA_C_ORDER;
  return GA_NO_ERROR;
}

static int check_inputs(GpuElemwise *ge, void *const *args) {
  for (unsigned int i = ge->n_out; i < ge->n; i++) {
    if (args[i] == NULL)
      return GA_FAIL(GA_VALUE_ERROR, "elemwise: got NULL for '%s', expected its value",
                     ge->args[i].name);
    if (ga__elemwise_is_scalar(ge, i))
      continue;
    GA_TRY(check_array(ge, args, i));
    if (!ga__elemwise_is_input(ge, i))
      return GA_FAIL(GA_INVALID_ERROR,
                     "elemwise: '%s' is written but does not lead the arguments as "
                     "GE_WRITE only; use GpuElemwise_call",
                     ge->args[i].name);
  }
  return GA_NO_ERROR;
}

/* Allocates outputs and runs. */
static int apply_list(GpuElemwise *ge, GpuArray *const *outs, void *const *ins) {
  GpuArray created[GA_ELEM_MAX_ARGS];
  void *args[GA_ELEM_MAX_ARGS];
  unsigned int nd, n_made = 0;
  size_t dims[GA_MAX_NDIM];
  ga_order order = GA_C_ORDER;
  for (unsigned int i = 0; i < ge->n; i++)
    args[i] = i < ge->n_out ? &created[i] : ins[i - ge->n_out];
  GA_TRY(ga__context_check(ge->context));
  GA_TRY(check_inputs(ge, args));
  GA_TRY(output_shape(&nd, dims, &order, ge, args));
  int status = GA_NO_ERROR;
  while (n_made < ge->n_out && status == GA_NO_ERROR) {
    status = GpuArray_empty(&created[n_made], ge->context, ge->args[n_made].typecode,
                            nd, dims, order);
    n_made += status == GA_NO_ERROR;
  }
  GA_THEN(status, run(ge, args, nd, dims));
  for (unsigned int i = 0; i < n_made; i++) {
    if (status == GA_NO_ERROR)
      *outs[i] = created[i];
    else
      GpuArray_clear(&created[i]);
  }
  return status;
}

static int check_outputs(const GpuElemwise *ge, GpuArray *const *outs) {
  if (ge == NULL || outs == NULL)
    return ga__fail_null("elemwise", ge == NULL ? "object" : "outputs");
  if (ge->n_out == 0)
    return GA_FAIL(GA_VALUE_ERROR, "elemwise: no argument is GE_WRITE only and first, "
                                   "so there is no output to make");
  for (unsigned int i = 0; i < ge->n_out; i++)
    if (outs[i] == NULL)
      return GA_FAIL(GA_VALUE_ERROR, "elemwise: got no array for output '%s'",
                     ge->args[i].name);
  return GA_NO_ERROR;
}

int GpuElemwise_apply(GpuElemwise *ge, GpuArray *const *outs, void *const *ins) {
  GA_TRY(check_outputs(ge, outs));
  if (ge->n > ge->n_out && ins == NULL)
    return ga__fail_null("elemwise", "inputs");
  return apply_list(ge, outs, ins);
}

/* GpuElemwise_apply for one output and `n` array inputs. */
static int apply_arrays(GpuElemwise *ge, GpuArray *out, unsigned int n,
                        void *const *ins) {
  GA_TRY(check_outputs(ge, &out));
  if (ge->n_out != 1 || ge->n != n + 1 || ge->n_arrays != n + 1)
    return GA_FAIL(GA_INVALID_ERROR,
                   "elemwise: the expression has %u outputs and %u inputs, expected "
                   "one output and %u array%s",
                   ge->n_out, ge->n - ge->n_out, n, n == 1 ? "" : "s");
  return apply_list(ge, &out, ins);
}

int GpuElemwise_apply1(GpuElemwise *ge, GpuArray *out, const GpuArray *a) {
  void *ins[] = {(void *)a};
  return apply_arrays(ge, out, 1, ins);
}

int GpuElemwise_apply2(GpuElemwise *ge, GpuArray *out, const GpuArray *a,
                       const GpuArray *b) {
  void *ins[] = {(void *)a, (void *)b};
  return apply_arrays(ge, out, 2, ins);
}
