/* Deserializes a plan by repeating the calls that built it. */
#include <string.h>

#include "c/array/array.h"
#include "c/base/hash.h"
#include "c/reduce/reduce_kernel.h"
#include "c/saving/plan_file.h"

/* Arguments of a step. */
typedef struct step_data {
  enum ga_step_kind kind;
  const char *label;
  unsigned int n_in, n_out;
  unsigned int ins[GA_PLAN_MOST], outs[GA_PLAN_MOST], stretch[GA_PLAN_MOST];
  int inplace[GA_PLAN_MOST];
  gpuelemwise_arg args[2 * GA_PLAN_MOST];
} step_data;

static void get_uints(ga_reader *r, unsigned int *list, unsigned int n) {
  for (unsigned int i = 0; i < n; i++)
    list[i] = ga__get_uint(r, UINT32_MAX);
}

static void get_args(ga_reader *r, ga_texts *owned, gpuelemwise_arg *args,
                     unsigned int n) {
  for (unsigned int i = 0; i < n; i++) {
    args[i].name = ga__get_text(r, owned);
    args[i].typecode = (int)ga__get_uint(r, GA_NBASE);
    args[i].flags = (int)ga__get_uint(r, GE_SCALAR | GE_READ | GE_WRITE | GE_INDEX);
    if (args[i].name == NULL)
      r->failed = true;
  }
}

static int read_elemwise(GpuPlan *p, ga_reader *r, ga_texts *owned, step_data *d) {
  gpuplan_elemwise step = {.size = sizeof step,
                           .label = d->label,
                           .preamble = ga__get_text(r, owned),
                           .expr = ga__get_text(r, owned),
                           .n_out = d->n_out,
                           .out_args = d->args,
                           .inplace = d->inplace,
                           .n_in = d->n_in,
                           .in_args = d->args + d->n_out,
                           .ins = d->ins,
                           .stretch = d->stretch};
  get_args(r, owned, d->args, d->n_out + d->n_in);
  get_uints(r, d->stretch, d->n_in);
  for (unsigned int i = 0; i < d->n_out; i++)
    d->inplace[i] = ga__get_place(r, d->n_in);
  return r->failed || step.expr == NULL ? ga__plan_malformed()
                                        : GpuPlan_elemwise(p, d->outs, &step);
}

static int read_reduce(GpuPlan *p, ga_reader *r, ga_texts *owned, step_data *d) {
  gpureduction_component components[GA_REDUCE_VALUES];
  gpureduction_result results[GA_REDUCE_VALUES];
  gpureduction_spec spec = {.size = sizeof spec,
                            .n = d->n_in,
                            .inputs = d->args,
                            .components = components,
                            .results = results};
  unsigned int axes = ga__get_uint(r, UINT32_MAX);
  spec.preamble = ga__get_text(r, owned);
  spec.prologue = ga__get_text(r, owned);
  spec.map = ga__get_text(r, owned);
  spec.combine = ga__get_text(r, owned);
  spec.identity = ga__get_text(r, owned);
  spec.acc_typecode = (int)ga__get_uint(r, GA_NBASE);
  spec.out_typecode = (int)ga__get_uint(r, GA_NBASE);
  spec.epilogue = ga__get_text(r, owned);
  spec.flags = ga__get_uint(r, UINT32_MAX);
  spec.n_components = ga__get_uint(r, GA_REDUCE_VALUES);
  for (unsigned int i = 0; i < spec.n_components; i++) {
    components[i].map = ga__get_text(r, owned);
    components[i].combine = ga__get_text(r, owned);
    components[i].identity = ga__get_text(r, owned);
    components[i].typecode = (int)ga__get_uint(r, GA_NBASE);
  }
  spec.n_results = ga__get_uint(r, GA_REDUCE_VALUES);
  for (unsigned int i = 0; i < spec.n_results; i++) {
    results[i].epilogue = ga__get_text(r, owned);
    results[i].typecode = (int)ga__get_uint(r, GA_NBASE);
  }
  get_args(r, owned, d->args, d->n_in);
  get_uints(r, d->stretch, d->n_in);
  return r->failed
             ? ga__plan_malformed()
             : GpuPlan_reduce(p, d->outs, d->label, &spec, d->ins, d->stretch, axes);
}

static int read_product(GpuPlan *p, ga_reader *r, const step_data *d,
                        unsigned int *out) {
  double alpha = ga__get_double(r), beta = ga__get_double(r);
  cb_transpose ta = (cb_transpose)ga__get_uint(r, cb_conj_trans);
  cb_transpose tb = (cb_transpose)ga__get_uint(r, cb_conj_trans);
  int inplace = (int)ga__get_uint(r, 1);
  unsigned int added = d->n_in == 3 ? d->ins[2] : 0;
  if (r->failed || d->n_in < 2)
    return ga__plan_malformed();
  if (d->kind == GA_STEP_GEMV)
    return GpuPlan_gemv(p, out, d->label, alpha, d->ins[0], ta, d->ins[1], beta, added,
                        inplace);
  return GpuPlan_gemm(p, out, d->label, alpha, d->ins[0], ta, d->ins[1], tb, beta,
                      added, inplace);
}

static int read_dimshuffle(GpuPlan *p, ga_reader *r, const step_data *d,
                           unsigned int *out) {
  int pattern[GA_MAX_NDIM];
  unsigned int nd = ga__get_uint(r, GA_MAX_NDIM);
  for (unsigned int i = 0; i < nd; i++)
    pattern[i] = ga__get_place(r, GA_MAX_NDIM);
  return r->failed ? ga__plan_malformed()
                   : GpuPlan_dimshuffle(p, out, d->label, d->ins[0], nd, pattern);
}

static int read_index(GpuPlan *p, ga_reader *r, const step_data *d, unsigned int *out) {
  int form[GA_MAX_NDIM];
  unsigned int n = ga__get_uint(r, GA_MAX_NDIM), integers = 0;
  for (unsigned int i = 0; i < n; i++) {
    form[i] = ga__get_place(r, 2 * GP_INDEX_SLICE);
    integers += form[i] < 0 ? 0 : ga__index_integers(form[i]);
  }
  return r->failed || integers != d->n_in - 1
             ? ga__plan_malformed()
             : GpuPlan_index(p, out, d->label, d->ins[0], n, form, d->ins + 1);
}

static int read_function(GpuPlan *p, ga_reader *r, step_data *d) {
  gpuplan_type types[GA_PLAN_MOST];
  for (unsigned int i = 0; i < d->n_out; i++) {
    types[i].typecode = (int)ga__get_uint(r, GA_NBASE);
    types[i].nd = ga__get_uint(r, GA_MAX_NDIM);
    d->inplace[i] = ga__get_place(r, d->n_in);
  }
  return r->failed ? ga__plan_malformed()
                   : GpuPlan_function(p, d->outs, d->label, NULL, NULL, d->n_in, d->ins,
                                      d->n_out, types, d->inplace);
}

static void get_types(ga_reader *r, gpuplan_type *types, unsigned int n) {
  for (unsigned int i = 0; i < n; i++) {
    types[i].typecode = (int)ga__get_uint(r, GA_NBASE);
    types[i].nd = ga__get_uint(r, GA_MAX_NDIM);
  }
}

/* Its body follows. */
static int read_loop(GpuPlan *p, ga_reader *r, ga_texts *owned, step_data *d) {
  gpuplan_type types[GA_PLAN_MOST];
  const gpuplan_loop step = {.size = sizeof step,
                             .label = d->label,
                             .turns = d->ins[0],
                             .takes = ga__get_text(r, owned),
                             .n_in = d->n_in - 1,
                             .ins = d->ins + 1,
                             .n_out = d->n_out,
                             .results = types};
  get_types(r, types, d->n_out);
  return r->failed || step.takes == NULL ? ga__plan_malformed()
                                         : GpuPlan_loop(p, d->outs, &step);
}

static int read_routine(GpuPlan *p, ga_reader *r, ga_texts *owned, step_data *d) {
  long long params[GA_PLAN_MOST];
  const char *texts[GA_PLAN_MOST];
  gpuplan_type types[GA_PLAN_MOST];
  gpuplan_routine step = {.size = sizeof step,
                          .label = d->label,
                          .name = ga__get_text(r, owned),
                          .params = params,
                          .texts = texts,
                          .n_in = d->n_in,
                          .ins = d->ins,
                          .n_out = d->n_out,
                          .results = types};
  step.n_params = ga__get_uint(r, GA_PLAN_MOST);
  for (unsigned int i = 0; i < step.n_params; i++)
    params[i] = (long long)ga__get_int(r);
  step.n_texts = ga__get_uint(r, GA_PLAN_MOST);
  for (unsigned int i = 0; i < step.n_texts; i++)
    texts[i] = ga__get_text(r, owned);
  get_types(r, types, d->n_out);
  return r->failed || step.name == NULL ? ga__plan_malformed()
                                        : GpuPlan_routine(p, d->outs, &step);
}

/* The fewest inputs that the file format allows for a step of this kind. */
static unsigned int least_inputs(enum ga_step_kind kind) {
  switch (kind) {
  case GA_STEP_INT:
  case GA_STEP_DEVICE:
  case GA_STEP_FUNCTION:
  case GA_STEP_REPORTS:
  case GA_STEP_ROUTINE:
    return 0;
  case GA_STEP_INT_OP:
    return 2;
  case GA_STEP_CHOOSE:
    return 3;
  default:
    return 1;
  }
}

static int build_step(GpuPlan *p, ga_reader *r, ga_texts *owned, step_data *d) {
  unsigned int *out = d->outs;
  switch (d->kind) {
  case GA_STEP_INT:
    return GpuPlan_int(p, out, (long long)ga__get_int(r));
  case GA_STEP_DEVICE:
    return GpuPlan_device(p, out, (int)ga__get_uint(r, INT32_MAX));
  case GA_STEP_DIM:
    return GpuPlan_dim(p, out, d->ins[0], ga__get_uint(r, GA_MAX_NDIM));
  case GA_STEP_INT_OP:
    return GpuPlan_int_op(p, out, (int)ga__get_uint(r, GP_INT_CAST), d->ins[0],
                          d->ins[1]);
  case GA_STEP_ELEMWISE:
    return read_elemwise(p, r, owned, d);
  case GA_STEP_REDUCE:
    return read_reduce(p, r, owned, d);
  case GA_STEP_GEMV:
  case GA_STEP_GEMM:
    return read_product(p, r, d, out);
  case GA_STEP_DIMSHUFFLE:
    return read_dimshuffle(p, r, d, out);
  case GA_STEP_INDEX:
    return read_index(p, r, d, out);
  case GA_STEP_RESHAPE:
    return GpuPlan_reshape(p, out, d->label, d->ins[0], d->n_in - 1, d->ins + 1);
  case GA_STEP_BROADCAST:
    return GpuPlan_broadcast(p, out, d->label, d->ins[0], d->n_in - 1, d->ins + 1);
  case GA_STEP_COPY:
    return GpuPlan_copy(p, out, d->label, d->ins[0]);
  case GA_STEP_CHOOSE:
    return GpuPlan_choose(p, out, d->label, d->ins[0], d->ins[1], d->ins[2]);
  case GA_STEP_FUNCTION:
    return read_function(p, r, d);
  case GA_STEP_READ:
    return GpuPlan_read(p, out, d->label, d->ins[0], d->n_out);
  case GA_STEP_REPORTS:
    return GpuPlan_reports(p, out, d->label);
  case GA_STEP_ROUTINE:
    return read_routine(p, r, owned, d);
  case GA_STEP_LOOP:
    return read_loop(p, r, owned, d);
  case GA_STEP_TRANSFER:
    return GpuPlan_transfer(p, out, d->label, d->ins[0]);
  case GA_STEP_KINDS:
    break;
  }
  return ga__plan_malformed();
}

static int read_when(GpuPlan *p, ga_reader *r) {
  unsigned int conditions[GA_PLAN_MOST];
  int wanted[GA_PLAN_MOST];
  unsigned int n = ga__get_uint(r, GA_PLAN_MOST);
  for (unsigned int i = 0; i < n; i++) {
    conditions[i] = ga__get_uint(r, UINT32_MAX);
    wanted[i] = (int)ga__get_uint(r, 1);
  }
  return r->failed ? ga__plan_malformed() : GpuPlan_when(p, n, conditions, wanted);
}

static int read_step(GpuPlan *p, ga_reader *r) {
  step_data *d = ga__alloc(1, sizeof *d);
  ga_texts owned = {0};
  GA_TRY_MEMORY(d);
  d->kind = (enum ga_step_kind)ga__get_uint(r, GA_STEP_KINDS - 1);
  d->label = ga__get_text(r, &owned);
  d->n_in = ga__get_uint(r, GA_PLAN_MOST);
  get_uints(r, d->ins, d->n_in);
  d->n_out = ga__get_uint(r, GA_PLAN_MOST);
  bool fits =
      !r->failed && d->label && d->n_out > 0 && d->n_in >= least_inputs(d->kind);
  int status = fits ? build_step(p, r, &owned, d) : ga__plan_malformed();
  ga__texts_clear(&owned);
  ga__free(d);
  return status;
}

int ga__get_array(GpuArray *out, gpucontext *ctx, ga_reader *r) {
  size_t dims[GA_MAX_NDIM], size;
  int typecode = (int)ga__get_uint(r, GA_NBASE);
  unsigned int nd = ga__get_uint(r, GA_MAX_NDIM);
  for (unsigned int i = 0; i < nd; i++)
    dims[i] = ga__get_int(r);
  if (r->failed)
    return ga__plan_malformed();
  GA_TRY(ga__shape_count(&size, nd, dims));
  size_t itemsize = gpuarray_get_elsize(typecode);
  const char *bytes = size > r->left ? NULL : ga__get(r, size * itemsize);
  if (bytes == NULL)
    return ga__plan_malformed();
  return GpuArray_copy_from_host(out, ctx, bytes, typecode, nd, dims, NULL);
}

static int read_constant(GpuPlan *p, ga_reader *r) {
  GpuArray a;
  unsigned int value;
  GA_TRY(ga__get_array(&a, ga__plan_here(p), r));
  int status = GpuPlan_constant(p, &value, &a);
  GpuArray_clear(&a);
  return status;
}

static int read_outputs(GpuPlan *p, ga_reader *r) {
  unsigned int n = ga__get_uint(r, UINT32_MAX);
  for (unsigned int i = 0; i < n; i++) {
    unsigned int value = ga__get_uint(r, UINT32_MAX);
    if (r->failed)
      return ga__plan_malformed();
    GA_TRY(GpuPlan_output(p, value));
  }
  return r->failed ? ga__plan_malformed() : GA_NO_ERROR;
}

static int read_body(GpuPlan *p, ga_reader *r, const ga_file_places *places,
                     unsigned int depth);

/* What follows is on another context. A body has its own places for them. */
static int read_on(GpuPlan *p, ga_reader *r, const ga_file_places *places) {
  const unsigned int number = ga__get_uint(r, UINT32_MAX);
  unsigned int place;
  if (r->failed || number >= places->n)
    return ga__plan_malformed();
  GA_TRY(GpuPlan_add_context(p, &place,
                             ga__plan_context(places->plan, places->list[number])));
  return GpuPlan_on(p, place);
}

static int read_values(GpuPlan *p, ga_reader *r, const ga_file_places *places,
                       unsigned int depth) {
  for (;;) {
    unsigned int value, part = ga__get_uint(r, GA_PLAN_ON);
    if (r->failed)
      return ga__plan_malformed();
    if (part == GA_PLAN_END)
      return read_outputs(p, r);
    if (part == GA_PLAN_STEP)
      GA_TRY(read_step(p, r));
    else if (part == GA_PLAN_CONSTANT)
      GA_TRY(read_constant(p, r));
    else if (part == GA_PLAN_WHEN)
      GA_TRY(read_when(p, r));
    else if (part == GA_PLAN_CONFIRM)
      GA_TRY(GpuPlan_confirm(p));
    else if (part == GA_PLAN_ON)
      GA_TRY(read_on(p, r, places));
    else if (part == GA_PLAN_BODY)
      GA_TRY(read_body(p, r, places, depth));
    else if (part == GA_PLAN_INT_INPUT)
      GA_TRY(GpuPlan_int_input(p, &value));
    else {
      int typecode = (int)ga__get_uint(r, GA_NBASE);
      unsigned int nd = ga__get_uint(r, GA_MAX_NDIM),
                   mask = ga__get_uint(r, UINT32_MAX);
      if (r->failed)
        return ga__plan_malformed();
      GA_TRY(GpuPlan_input(p, &value, typecode, nd, mask));
    }
  }
}

/* Values, outputs, and the checksum where one is due. */
static int read_content(GpuPlan *p, ga_reader *r, const ga_file_places *places,
                        unsigned int depth) {
  const char *start = r->at;
  GA_TRY(read_values(p, r, places, depth));
  if (!ga__plan_is_sealed(p))
    return GA_NO_ERROR;
  const ga_hash seal = ga__plan_seal(start, (size_t)(r->at - start));
  const uint64_t a = ga__get_int(r), b = ga__get_int(r);
  if (r->failed || a != seal.a || b != seal.b)
    return GA_FAIL(GA_VALUE_ERROR,
                   "plan load: the arguments of a user kernel in %s do not match the "
                   "kernel: save the plan again",
                   p->name);
  return GA_NO_ERROR;
}

/* The body of the step before, on its context. */
static int read_body(GpuPlan *p, ga_reader *r, const ga_file_places *places,
                     unsigned int depth) {
  ga_texts owned = {0};
  GpuPlan *body = NULL;
  const char *name = ga__get_text(r, &owned);
  int status = name && p->graph.n_steps > 0 && depth < GA_PLAN_DEPTH
                   ? GpuPlan_new(&body, ga__plan_here(p), name)
                   : ga__plan_malformed();
  ga__texts_clear(&owned);
  GA_THEN(status, read_content(body, r, places, depth + 1));
  if (status == GA_NO_ERROR)
    return GpuPlan_body(p, p->graph.steps[p->graph.n_steps - 1].outs[0], body);
  GpuPlan_free(body);
  return status;
}

/* The kernels of all contexts, each as far as it is of the context's device, by the
 * contexts in the file. */
static int get_kernels(GpuPlan *p, ga_saved_kernels *kernels,
                       const ga_file_places *places, ga_reader *own, ga_reader *more) {
  for (unsigned int i = 0; i < places->n; i++) {
    ga_reader one = i == 0 ? *own : ga__get_bytes(more);
    if (more->failed)
      return ga__plan_malformed();
    if (one.left == 0)
      continue;
    GA_TRY(GpuPlan_on(p, places->list[i]));
    GA_TRY(ga__kernels_get(&kernels[i], ga__plan_here(p), &one));
    GA_TRY(ga__kernels_keep(p, &kernels[i]));
  }
  return GA_NO_ERROR;
}

/* Sections come in any order; of several of a kind the last counts. Where one context
 * stands for two of the file the plan has other stages, which its bindings are not
 * of. */
static int read_sections(GpuPlan *p, const ga_file_places *places, ga_reader *function,
                         ga_reader *r) {
  ga_reader sections[GA_PLAN_SECTIONS] = {0};
  while (r->left > 0 && !r->failed) {
    unsigned int section = ga__get_uint(r, GA_PLAN_SECTIONS - 1);
    sections[section] = ga__get_bytes(r);
  }
  if (r->failed)
    return ga__plan_malformed();
  *function = sections[GA_PLAN_FUNCTION];
  if (sections[GA_PLAN_KERNELS].at == NULL)
    return GA_NO_ERROR;
  ga_saved_kernels *kernels = ga__alloc(places->n, sizeof *kernels);
  GA_TRY_MEMORY(kernels);
  int status = get_kernels(p, kernels, places, &sections[GA_PLAN_KERNELS],
                           &sections[GA_PLAN_MORE]);
  if (status == GA_NO_ERROR && sections[GA_PLAN_BINDINGS].at &&
      ga__plan_places(p) == places->n)
    status = ga__bindings_get(p, kernels, &sections[GA_PLAN_BINDINGS]);
  for (unsigned int i = 0; i < places->n; i++)
    ga__kernels_clear(&kernels[i]);
  ga__free(kernels);
  return status;
}

static int read_plan(GpuPlan **out, ga_reader *function, unsigned int format,
                     const ga_given_contexts *given, ga_reader *r) {
  ga_file_places places = {0};
  GpuPlan *p = NULL;
  int status = ga__places_get(&p, &places, format, given, r);
  GA_THEN(status, read_content(p, r, &places, 0));
  GA_THEN(status, read_sections(p, &places, function, r));
  ga__free(places.list);
  if (status == GA_NO_ERROR)
    *out = p;
  else
    GpuPlan_free(p);
  return status;
}

int ga__plan_read(GpuPlan **out, ga_reader *function, char **bytes,
                  const ga_given_contexts *given, const char *path) {
  char *content = NULL;
  size_t size = 0;
  unsigned int format = 0;
  ga_reader body;
  GA_TRY(ga__file_read("plan", &content, &size, path, SIZE_MAX));
  int status = ga__plan_check_head(&body, &format, content, size, false);
  GA_THEN(status, read_plan(out, function, format, given, &body));
  if (status == GA_NO_ERROR) {
    *bytes = content;
    return GA_NO_ERROR;
  }
  ga__free(content);
  return ga__fail_within(status, "%s", path);
}

int GpuPlan_load_on(GpuPlan **res, unsigned int n, const gpuplan_context *contexts,
                    const char *path) {
  char *bytes;
  ga_reader function;
  if (res == NULL || contexts == NULL || path == NULL)
    return GA_FAIL(GA_VALUE_ERROR,
                   "plan load: needs a result pointer, contexts and a path; got NULL");
  const ga_given_contexts given = {n, contexts};
  GA_TRY(ga__given_check("plan load", &given));
  ga_recording *recording =
      ga__recording_suspend(); /* the constants are allocated, not recorded */
  int status = ga__plan_read(res, &function, &bytes, &given, path);
  ga__recording_resume(recording);
  if (status == GA_NO_ERROR)
    ga__free(bytes);
  return status;
}

int GpuPlan_load(GpuPlan **res, gpucontext *ctx, const char *path) {
  const gpuplan_context own = {NULL, ctx};
  return GpuPlan_load_on(res, 1, &own, path);
}
