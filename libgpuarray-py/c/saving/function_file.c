/* File format of functions: a plan's file with one more section for names, values and a
 * note. */
#include "c/function/function.h"

#include "c/saving/plan_file.h"

/* ---- writing ---- */

static void put_names(ga_strbuf *out, const ga_names *names) {
  for (unsigned int i = 0; i < names->n; i++)
    ga__put_text(out, names->list[i]);
}

static int put_function(ga_strbuf *out, const GpuFunction *f) {
  put_names(out, &f->inputs);
  put_names(out, &f->ints);
  put_names(out, &f->outputs);
  ga__put_int(out, f->n_values);
  for (unsigned int i = 0; i < f->n_values; i++) {
    const ga_kept_value *v = &f->values[i];
    ga__put_text(out, v->name);
    ga__put_int(out, (uint64_t)(int64_t)v->input);
    ga__put_int(out, (uint64_t)(int64_t)v->output);
    ga__put_int(out, v->optional);
    GA_TRY(ga__put_array(out, &v->array));
  }
  ga__put_bytes(out, f->note, f->note_size);
  return ga__strbuf_status(out);
}

int GpuFunction_save(GpuFunction *f, const char *path) {
  ga_strbuf body = {0}, section = {0};
  if (f == NULL || path == NULL)
    return ga__fail_null("function save", f ? "path" : "function");
  GA_TRY(ga__turn_take(&f->turn, "function save", f->plan->name));
  int status = ga__plan_put(&body, f->plan);
  GA_THEN(status, put_function(&section, f));
  ga__turn_end(&f->turn);
  if (status == GA_NO_ERROR) {
    ga__put_section(&body, GA_PLAN_FUNCTION, &section);
    status = ga__strbuf_status(&body);
  }
  GA_THEN(status, ga__plan_write(path, f->plan, &body));
  ga__strbuf_clear(&body);
  ga__strbuf_clear(&section);
  return status;
}

/* ---- reading ---- */

/* Reads `n` names, whose texts `owned` keeps. *out is to be freed by ga__free. */
static int get_names(const char ***out, unsigned int n, ga_reader *r, ga_texts *owned) {
  *out = ga__alloc((size_t)n + 1, sizeof **out);
  GA_TRY_MEMORY(*out);
  for (unsigned int i = 0; i < n; i++)
    (*out)[i] = ga__get_text(r, owned);
  return r->failed ? ga__plan_malformed() : GA_NO_ERROR;
}

/* The context of the value, of its input or else of its output; the plan's own where
 * there is no such input or output, which GpuFunction_new then says. */
static gpucontext *context_of(const GpuPlan *p, const gpufunction_value *v) {
  const ga_plan_graph *g = &p->graph;
  if (v->input >= 0 && (unsigned int)v->input < g->n_inputs)
    return ga__plan_context(p, g->values[g->inputs[v->input]].place);
  if (v->output >= 0 && (unsigned int)v->output < g->n_outputs)
    return ga__plan_context(p, g->values[g->outputs[v->output]].place);
  return p->context;
}

/* The state values, with their initial arrays in *arrays. */
static int get_values(gpufunction_value **values, GpuArray **arrays, unsigned int *n,
                      const GpuPlan *p, ga_reader *r, ga_texts *owned) {
  unsigned int count = ga__get_uint(r, UINT32_MAX);
  if (r->failed || count > r->left)
    return ga__plan_malformed();
  *values = ga__alloc((size_t)count + 1, sizeof **values);
  *arrays = ga__alloc((size_t)count + 1, sizeof **arrays);
  GA_TRY_MEMORY(*values && *arrays);
  for (unsigned int i = 0; i < count; i++) {
    gpufunction_value *v = &(*values)[i];
    v->name = ga__get_text(r, owned);
    v->input = ga__get_place(r, INT32_MAX);
    v->output = ga__get_place(r, INT32_MAX);
    v->optional = (int)ga__get_uint(r, 1);
    v->start = &(*arrays)[i];
    GA_TRY(ga__get_array(&(*arrays)[i], context_of(p, v), r));
    ++*n;
  }
  return GA_NO_ERROR;
}

static int read_function(GpuFunction **out, GpuPlan *p, ga_reader *r) {
  ga_texts owned = {0};
  const char **inputs = NULL, **ints = NULL, **outputs = NULL;
  gpufunction_value *values = NULL;
  GpuArray *arrays = NULL;
  gpufunction_spec spec = {.size = sizeof spec};
  int status = get_names(&inputs, p->graph.n_inputs, r, &owned);
  GA_THEN(status, get_names(&ints, p->graph.n_int_inputs, r, &owned));
  GA_THEN(status, get_names(&outputs, p->graph.n_outputs, r, &owned));
  GA_THEN(status, get_values(&values, &arrays, &spec.n_values, p, r, &owned));
  ga_reader note = ga__get_bytes(r);
  if (status == GA_NO_ERROR && (r->failed || r->left > 0))
    status = ga__plan_malformed();
  spec.inputs = inputs;
  spec.ints = ints;
  spec.outputs = outputs;
  spec.values = values;
  spec.note = note.at;
  spec.note_size = note.left;
  GA_THEN(status, GpuFunction_new(out, p, &spec));
  for (unsigned int i = 0; i < spec.n_values; i++)
    GpuArray_clear(&arrays[i]);
  ga__texts_clear(&owned);
  ga__free((void *)inputs);
  ga__free((void *)ints);
  ga__free((void *)outputs);
  ga__free(values);
  ga__free(arrays);
  return status;
}

static int load(GpuFunction **res, const ga_given_contexts *given, const char *path) {
  GpuPlan *plan = NULL;
  ga_reader function;
  char *bytes;
  GA_TRY(ga__plan_read(&plan, &function, &bytes, given, path));
  GpuFunction *f = NULL;
  int status = GA_NO_ERROR;
  if (function.at == NULL)
    status = GA_FAIL(GA_VALUE_ERROR,
                     "function load: %s holds only a plan, without names and values; "
                     "load it with GpuPlan_load",
                     path);
  GA_THEN(status, read_function(&f, plan, &function));
  GA_THEN(status, ga__plan_prepare_loaded(plan));
  ga__free(bytes);
  if (status == GA_NO_ERROR) {
    f->owns_plan = true;
    *res = f;
    return GA_NO_ERROR;
  }
  GpuFunction_free(f);
  GpuPlan_free(plan);
  return status;
}

int GpuFunction_load_on(GpuFunction **res, unsigned int n,
                        const gpuplan_context *contexts, const char *path) {
  if (res == NULL || contexts == NULL || path == NULL)
    return ga__fail_null("function load", res == NULL        ? "place"
                                          : contexts == NULL ? "list of contexts"
                                                             : "path");
  const ga_given_contexts given = {n, contexts};
  GA_TRY(ga__given_check("function load", &given));
  ga_recording *recording =
      ga__recording_suspend(); /* the values are allocated, not recorded */
  int status = load(res, &given, path);
  ga__recording_resume(recording);
  return status;
}

int GpuFunction_load(GpuFunction **res, gpucontext *ctx, const char *path) {
  const gpuplan_context own = {NULL, ctx};
  return GpuFunction_load_on(res, 1, &own, path);
}
