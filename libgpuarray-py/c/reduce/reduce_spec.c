/* GpuReduction: validation and copy of a spec, creation, release. */
#include <string.h>

#include "c/reduce/reduce_object.h"
#include "c/reduce/reduction.h"

/* ---- validation ---- */

/* Zero-fills the fields that the caller's older struct lacks. */
static int read_spec(gpureduction_spec *out, const gpureduction_spec *spec) {
  const size_t least = offsetof(gpureduction_spec, epilogue);
  if (spec->size < least || spec->size > 16 * sizeof *spec)
    return GA_FAIL(GA_INVALID_ERROR,
                   "reduction: the spec's size is %zu, expected %zu; set it to "
                   "sizeof(gpureduction_spec)",
                   spec->size, sizeof *spec);
  memset(out, 0, sizeof *out);
  memcpy(out, spec, spec->size < sizeof *out ? spec->size : sizeof *out);
  return GA_NO_ERROR;
}

static int check_components(gpucontext *ctx, const gpureduction_spec *spec) {
  for (unsigned int k = 0; k < spec->n_components; k++) {
    const gpureduction_component *c = &spec->components[k];
    if (c->map == NULL || c->combine == NULL || c->identity == NULL)
      return GA_FAIL(
          GA_VALUE_ERROR,
          "reduction: map, combine and identity are needed; one of component "
          "%u is NULL",
          k);
    if (c->typecode != GA_SIZE)
      GA_TRY(ga__context_supports(ctx, c->typecode, "reduction"));
  }
  for (unsigned int m = 0; m < spec->n_results; m++)
    GA_TRY(ga__context_supports(ctx, spec->results[m].typecode, "reduction"));
  return GA_NO_ERROR;
}

static int check_inputs(gpucontext *ctx, const gpureduction_spec *spec) {
  if (spec->n > 0 && spec->inputs == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "reduction: got no list of its %u inputs", spec->n);
  if (spec->n == 0 || spec->n > GA_REDUCE_INPUTS)
    return GA_FAIL(GA_UNSUPPORTED_ERROR, "reduction: got %u inputs, expected 1 to %d",
                   spec->n, GA_REDUCE_INPUTS);
  for (unsigned int i = 0; i < spec->n; i++) {
    const gpuelemwise_arg *arg = &spec->inputs[i];
    if (arg->name == NULL)
      return GA_FAIL(GA_VALUE_ERROR, "reduction: input %u has no name", i);
    if ((spec->flags & GA_REDUCTION_INDEX) && strcmp(arg->name, "i") == 0)
      return GA_FAIL(GA_INVALID_ERROR,
                     "reduction: input %u is named `i`, the name of the position; give "
                     "it another name",
                     i);
    if ((arg->flags & GE_INDEX) &&
        (arg->flags != GE_INDEX || arg->typecode != GA_ULONG))
      return GA_FAIL(GA_INVALID_ERROR,
                     "reduction: the index `%s` has flags 0x%x and type %s, expected "
                     "GE_INDEX alone and uint64",
                     arg->name, (unsigned int)arg->flags,
                     ga__dtype_name(arg->typecode));
    if (arg->flags & GE_WRITE)
      return GA_FAIL(GA_INVALID_ERROR,
                     "reduction: input `%s` is GE_WRITE, expected GE_READ alone",
                     arg->name);
    GA_TRY(ga__context_supports(ctx, arg->typecode, "reduction"));
  }
  return GA_NO_ERROR;
}

static int check_pick(const gpureduction_spec *spec) {
  if (!(spec->flags & GA_REDUCTION_INDEX) || spec->n_components != 2 ||
      spec->components[1].typecode != GA_SIZE ||
      strcmp(spec->components[1].map, "i") != 0)
    return GA_FAIL(
        GA_INVALID_ERROR,
        "reduction: GA_REDUCTION_FIRST with %u components, expected two, the "
        "second of which is \"i\" of GA_SIZE, and GA_REDUCTION_INDEX",
        spec->n_components);
  return GA_NO_ERROR;
}

static int check_spec(gpucontext *ctx, const gpureduction_spec *spec) {
  const unsigned int known =
      GA_REDUCTION_INDEX | GA_REDUCTION_NEEDS_ELEMENTS | GA_REDUCTION_FIRST;
  if (spec->flags & ~known)
    return GA_FAIL(GA_INVALID_ERROR, "reduction: flags 0x%x, of which 0x%x are unknown",
                   spec->flags, spec->flags & ~known);
  if (spec->n_components > GA_REDUCE_VALUES || spec->n_results > GA_REDUCE_VALUES)
    return GA_FAIL(
        GA_UNSUPPORTED_ERROR,
        "reduction: got %u components and %u results, expected at most %d of "
        "each",
        spec->n_components, spec->n_results, GA_REDUCE_VALUES);
  if ((spec->n_components > 0 && spec->components == NULL) ||
      (spec->n_results > 0 && spec->results == NULL))
    return GA_FAIL(GA_VALUE_ERROR,
                   "reduction: %u components and %u results, of which one list is NULL",
                   spec->n_components, spec->n_results);
  GA_TRY(check_inputs(ctx, spec));
  GA_TRY(check_components(ctx, spec));
  return spec->flags & GA_REDUCTION_FIRST ? check_pick(spec) : GA_NO_ERROR;
}

/* ---- copy ---- */

static int copy_inputs(ga_reduce_spec *own, const gpureduction_spec *spec) {
  gpuelemwise_arg *inputs = ga__alloc(spec->n, sizeof *inputs);
  GA_TRY_MEMORY(inputs);
  own->inputs = inputs;
  own->n = spec->n;
  for (unsigned int i = 0; i < spec->n; i++) {
    inputs[i] = spec->inputs[i];
    inputs[i].name = NULL;
  }
  for (unsigned int i = 0; i < spec->n; i++)
    GA_TRY(ga__copy_text(&inputs[i].name, spec->inputs[i].name));
  return GA_NO_ERROR;
}

static int copy_components(ga_reduce_spec *own, const gpureduction_spec *spec) {
  gpureduction_component *list = ga__alloc(spec->n_components, sizeof *list);
  GA_TRY_MEMORY(list);
  own->components = list;
  own->n_components = spec->n_components;
  for (unsigned int k = 0; k < spec->n_components; k++) {
    const gpureduction_component *c = &spec->components[k];
    list[k].typecode = ga__dtype_work(c->typecode);
    GA_TRY(ga__copy_text(&list[k].map, c->map));
    GA_TRY(ga__copy_text(&list[k].combine, c->combine));
    GA_TRY(ga__copy_text(&list[k].identity, c->identity));
  }
  return GA_NO_ERROR;
}

static int copy_results(ga_reduce_spec *own, const gpureduction_spec *spec) {
  gpureduction_result *list = ga__alloc(spec->n_results, sizeof *list);
  GA_TRY_MEMORY(list);
  own->results = list;
  own->n_results = spec->n_results;
  for (unsigned int m = 0; m < spec->n_results; m++) {
    list[m].typecode = spec->results[m].typecode;
    GA_TRY(ga__copy_text(&list[m].epilogue, spec->results[m].epilogue));
  }
  return GA_NO_ERROR;
}

/* The spec from which GpuReduction_new could recreate this one. */
static void restore_spec(GpuReduction *gr) {
  const ga_reduce_spec *own = &gr->spec;
  gr->given = (gpureduction_spec){.size = sizeof gr->given,
                                  .preamble = own->preamble,
                                  .prologue = own->prologue,
                                  .map = own->components[0].map,
                                  .combine = own->components[0].combine,
                                  .identity = own->components[0].identity,
                                  .acc_typecode = own->components[0].typecode,
                                  .out_typecode = own->results[0].typecode,
                                  .n = own->n,
                                  .inputs = own->inputs,
                                  .epilogue = own->results[0].epilogue,
                                  .flags = own->flags,
                                  .n_components = own->n_components,
                                  .components = own->components,
                                  .n_results = own->n_results,
                                  .results = own->results};
}

static int copy_spec(GpuReduction *gr, const gpureduction_spec *spec) {
  ga_reduce_spec *own = &gr->spec;
  own->flags = spec->flags;
  own->is_cpu = gr->context->info.is_cpu;
  own->is_vector = own->is_cpu && gr->context->info.warp > 1;
  GA_TRY(copy_inputs(own, spec));
  GA_TRY(copy_components(own, spec));
  GA_TRY(copy_results(own, spec));
  GA_TRY(ga__copy_text(&own->preamble, spec->preamble));
  GA_TRY(ga__copy_text(&own->prologue, spec->prologue));
  restore_spec(gr);
  gr->parts_input = (gpuelemwise_arg){.name = "part", .typecode = GA_BYTE};
  gr->parts = *own;
  gr->parts.is_parts = true;
  gr->parts.prologue = NULL;
  gr->parts.n = 1;
  gr->parts.inputs = &gr->parts_input;
  return GA_NO_ERROR;
}

/* ---- creation ---- */

/* Normalizes single components and results to lists, then checks and copies. */
static int make(GpuReduction *gr, gpucontext *ctx, const gpureduction_spec *spec) {
  gpureduction_spec full;
  GA_TRY(read_spec(&full, spec));
  const gpureduction_component component = {full.map, full.combine, full.identity,
                                            full.acc_typecode};
  const gpureduction_result result = {full.epilogue, full.out_typecode};
  if (full.n_components == 0) {
    full.n_components = 1;
    full.components = &component;
  }
  if (full.n_results == 0) {
    full.n_results = 1;
    full.results = &result;
  }
  GA_TRY(check_spec(ctx, &full));
  gr->context = ctx;
  if (!gr->borrowed)
    gpucontext_retain(ctx);
  return copy_spec(gr, &full);
}

int ga__reduction_new(GpuReduction **out, gpucontext *ctx,
                      const gpureduction_spec *spec, bool borrowed) {
  if (ctx == NULL || spec == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "reduction: needs a context and a spec; got NULL");
  GpuReduction *gr = ga__alloc(1, sizeof *gr);
  GA_TRY_MEMORY(gr);
  gr->borrowed = borrowed;
  int status = make(gr, ctx, spec);
  if (status != GA_NO_ERROR) {
    GpuReduction_free(gr);
    return status;
  }
  *out = gr;
  return GA_NO_ERROR;
}

GpuReduction *GpuReduction_new(gpucontext *ctx, const gpureduction_spec *spec,
                               int *ret) {
  GpuReduction *gr = NULL;
  int status = ga__reduction_new(&gr, ctx, spec, false);
  if (status != GA_NO_ERROR && ret != NULL)
    *ret = status;
  return gr;
}

static void free_spec(ga_reduce_spec *own) {
  for (unsigned int i = 0; i < own->n; i++)
    ga__free(own->inputs[i].name);
  for (unsigned int k = 0; k < own->n_components; k++) {
    ga__free(own->components[k].map);
    ga__free(own->components[k].combine);
    ga__free(own->components[k].identity);
  }
  for (unsigned int m = 0; m < own->n_results; m++)
    ga__free(own->results[m].epilogue);
  ga__free(own->inputs);
  ga__free(own->components);
  ga__free(own->results);
  ga__free(own->preamble);
  ga__free(own->prologue);
}

void GpuReduction_free(GpuReduction *gr) {
  if (gr == NULL)
    return;
  for (ga_reduce_variant *v = atomic_load(&gr->variants); v != NULL;) {
    ga_reduce_variant *next = v->next;
    ga__free(v);
    v = next;
  }
  free_spec(&gr->spec);
  if (gr->context != NULL && !gr->borrowed)
    gpucontext_deref(gr->context);
  ga__free(gr);
}

unsigned int GpuReduction_results(const GpuReduction *gr) {
  return gr == NULL ? 0 : gr->spec.n_results;
}

void ga__reduction_spec(gpureduction_spec *out, const GpuReduction *gr) {
  *out = gr->given;
}
