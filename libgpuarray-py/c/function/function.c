/* Functions: a plan with named inputs and outputs, and state (values kept between
 * calls). */
#include "c/function/function.h"

#include <string.h>

#include "c/array/array.h"

/* ---- creation ---- */

static void free_names(ga_names *names) {
  for (unsigned int i = 0; names->list && i < names->n; i++)
    ga__free(names->list[i]);
  ga__free(names->list);
}

/* Reads nothing of the plan, which may be freed already. */
void GpuFunction_free(GpuFunction *f) {
  if (f == NULL)
    return;
  free_names(&f->inputs);
  free_names(&f->ints);
  free_names(&f->outputs);
  for (unsigned int i = 0; f->values && i < f->n_values; i++) {
    ga__free(f->values[i].name);
    GpuArray_clear(&f->values[i].array);
  }
  if (f->owns_plan)
    GpuPlan_free(f->plan);
  ga__free(f->values);
  ga__free(f->given);
  ga__free(f->shown);
  ga__free(f->kept);
  ga__free((void *)f->ins);
  ga__free((void *)f->outs);
  ga__free(f->next);
  ga__free(f->copies);
  ga__free(f->note);
  ga__turn_close(&f->turn);
  ga__free(f);
}

static int copy_names(ga_names *out, const char *const *names, unsigned int n) {
  out->n = n;
  out->list = ga__alloc((size_t)n + 1, sizeof *out->list);
  GA_TRY_MEMORY(out->list);
  for (unsigned int i = 0; names && i < n; i++)
    if (names[i] && (out->list[i] = ga__strdup(names[i])) == NULL)
      return GA_MEMORY_ERROR;
  return GA_NO_ERROR;
}

/* A deep copy, made now and not recorded, even inside a step's callback. */
static int copy_to_keep(GpuArray *out, const GpuArray *a, const char *operation) {
  GA_TRY(ga__tape_refuse(a, operation));
  ga_recording *recording = ga__recording_suspend();
  int status = GpuArray_copy(out, a, GA_C_ORDER);
  ga__recording_resume(recording);
  return status;
}

/* Checks the input or output that a state value is bound to: in range, of its type, and
 * free. */
static int check_slot(const GpuFunction *f, const gpufunction_value *v,
                      const char *what, int place, const unsigned int *list,
                      unsigned int n, const bool *taken) {
  const GpuPlan *p = f->plan;
  char text[GA_ARRAY_TEXT];
  if (place == -1)
    return GA_NO_ERROR;
  if (place < 0 || (unsigned int)place >= n)
    return GA_FAIL(GA_VALUE_ERROR,
                   "function %s: value %s is bound to %s %d, but there are %u", p->name,
                   v->name, what, place, n);
  if (taken[place])
    return GA_FAIL(GA_VALUE_ERROR,
                   "function %s: two values are bound to %s %d; the second is %s",
                   p->name, what, place, v->name);
  const ga_value *of = &p->graph.values[list[place]];
  gpucontext *there = ga__plan_context(p, of->place);
  if (GpuArray_context(v->start) != there)
    return GA_FAIL(GA_VALUE_ERROR, "function %s: value %s is on %s, the plan on %s",
                   p->name, v->name, gpucontext_name(GpuArray_context(v->start)),
                   gpucontext_name(there));
  if (of->typecode != v->start->typecode || of->nd != v->start->nd)
    return GA_FAIL(GA_INVALID_ERROR,
                   "function %s: value %s is %s, but %s %d is %s of %u axes", p->name,
                   v->name, ga__array_text(text, v->start), what, place,
                   ga__dtype_name(of->typecode), of->nd);
  return GA_NO_ERROR;
}

static ga_kept_value *find_value(const GpuFunction *f, const char *name) {
  for (unsigned int i = 0; i < f->n_values; i++)
    if (strcmp(f->values[i].name, name) == 0)
      return &f->values[i];
  return NULL;
}

/* Adds a state value; `read` and `written` mark inputs and outputs that are taken. */
static int add_value(GpuFunction *f, const gpufunction_value *v, bool *read,
                     bool *written) {
  const GpuPlan *p = f->plan;
  if (v->name == NULL || v->start == NULL || v->start->data == NULL)
    return GA_FAIL(GA_VALUE_ERROR,
                   "function %s: value %u needs a name and an array to start with",
                   p->name, f->n_values);
  GA_TRY(ga__array_check(v->start, p->name));
  if (find_value(f, v->name))
    return GA_FAIL(GA_VALUE_ERROR, "function %s: two values are called %s", p->name,
                   v->name);
  GA_TRY(check_slot(f, v, "input", v->input, p->graph.inputs, p->graph.n_inputs, read));
  GA_TRY(check_slot(f, v, "output", v->output, p->graph.outputs, p->graph.n_outputs,
                    written));
  ga_kept_value *new = &f->values[f->n_values];
  new->name = ga__strdup(v->name);
  GA_TRY_MEMORY(new->name);
  *new = (ga_kept_value){.name = new->name,
                         .input = v->input,
                         .output = v->output,
                         .optional = v->optional != 0 && v->input >= 0};
  f->n_values++;
  if (v->input >= 0) {
    read[v->input] = true;
    f->kept[v->input] = (int)f->n_values - 1;
  }
  if (v->output >= 0)
    written[v->output] = true;
  return copy_to_keep(&new->array, v->start, p->name);
}

static int add_values(GpuFunction *f, const gpufunction_spec *spec) {
  const GpuPlan *p = f->plan;
  bool *read = ga__alloc((size_t)p->graph.n_inputs + 1, sizeof *read);
  bool *written = ga__alloc((size_t)p->graph.n_outputs + 1, sizeof *written);
  int status = read && written ? GA_NO_ERROR : GA_MEMORY_ERROR;
  for (unsigned int i = 0; read && i < p->graph.n_inputs; i++)
    f->kept[i] = -1;
  for (unsigned int i = 0; status == GA_NO_ERROR && i < spec->n_values; i++)
    status = add_value(f, &spec->values[i], read, written);
  for (unsigned int i = 0; status == GA_NO_ERROR && i < p->graph.n_inputs; i++)
    if (f->kept[i] < 0 || f->values[f->kept[i]].optional)
      f->given[f->n_given++] = i;
  for (unsigned int i = 0; status == GA_NO_ERROR && i < p->graph.n_outputs; i++)
    if (!written[i])
      f->shown[f->n_shown++] = i;
  ga__free(read);
  ga__free(written);
  return status;
}

static int fill(GpuFunction *f, const gpufunction_spec *spec) {
  const GpuPlan *p = f->plan;
  size_t n_in = (size_t)p->graph.n_inputs + 1, n_out = (size_t)p->graph.n_outputs + 1;
  f->values = ga__alloc((size_t)spec->n_values + 1, sizeof *f->values);
  f->given = ga__alloc(n_in, sizeof *f->given);
  f->kept = ga__alloc(n_in, sizeof *f->kept);
  f->ins = ga__alloc(n_in, sizeof *f->ins);
  f->shown = ga__alloc(n_out, sizeof *f->shown);
  f->outs = ga__alloc(n_out, sizeof *f->outs);
  f->next = ga__alloc(n_out, sizeof *f->next);
  f->copies = ga__alloc((size_t)spec->n_values + 1, sizeof *f->copies);
  f->note = ga__alloc(spec->note_size + 1, 1);
  GA_TRY_MEMORY(f->values && f->given && f->kept && f->ins && f->shown && f->outs &&
                f->next && f->copies && f->note);
  if (spec->note_size > 0)
    memcpy(f->note, spec->note, spec->note_size);
  f->note_size = spec->note_size;
  GA_TRY(copy_names(&f->inputs, spec->inputs, p->graph.n_inputs));
  GA_TRY(copy_names(&f->ints, spec->ints, p->graph.n_int_inputs));
  GA_TRY(copy_names(&f->outputs, spec->outputs, p->graph.n_outputs));
  return add_values(f, spec);
}

int GpuFunction_new(GpuFunction **res, GpuPlan *plan, const gpufunction_spec *spec) {
  if (res == NULL || plan == NULL || spec == NULL)
    return GA_FAIL(GA_VALUE_ERROR,
                   "function: needs a result pointer, a plan and a spec; got NULL");
  if (spec->size != sizeof *spec)
    return GA_FAIL(GA_INVALID_ERROR,
                   "function: gpufunction_spec.size is %zu, expected %zu: compile "
                   "against this library's headers",
                   spec->size, sizeof *spec);
  if ((spec->n_values > 0 && spec->values == NULL) ||
      (spec->note_size > 0 && spec->note == NULL))
    return GA_FAIL(GA_VALUE_ERROR, "function: the list of %s is NULL",
                   spec->note_size > 0 && spec->note == NULL ? "the note's bytes"
                                                             : "values");
  GpuFunction *f = ga__alloc(1, sizeof *f);
  GA_TRY_MEMORY(f);
  f->plan = plan;
  ga__turn_open(&f->turn);
  int status = fill(f, spec);
  for (unsigned int i = 0; status == GA_NO_ERROR && i < f->n_values; i++)
    if (f->values[i].output >= 0)
      status = GpuPlan_protect(plan, 1);
  if (status == GA_NO_ERROR)
    *res = f;
  else
    GpuFunction_free(f);
  return status;
}

/* ---- calls ---- */

static int check_call(const GpuFunction *f, GpuArray *const *outs,
                      const GpuArray *const *ins) {
  for (unsigned int i = 0; i < f->n_shown; i++)
    if (outs == NULL || outs[i] == NULL)
      return GA_FAIL(GA_VALUE_ERROR, "function %s: got no array for output %u of %u",
                     f->plan->name, i, f->n_shown);
  if (f->n_given > 0 && ins == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "function %s: got no list of its %u inputs",
                   f->plan->name, f->n_given);
  return GA_NO_ERROR;
}

/* A call that changes state cannot be recorded as steps of another plan. */
static int check_within(const GpuFunction *f) {
  for (unsigned int i = 0; ga__plan_is_within(f->plan) && i < f->n_values; i++)
    if (f->values[i].output >= 0)
      return GA_FAIL(
          GA_UNSUPPORTED_ERROR,
          "function %s: a call changes the value %s, which a step of another "
          "plan cannot do while it is recorded; give GpuPlan_defer a function "
          "that makes the call",
          f->plan->name, f->values[i].name);
  return GA_NO_ERROR;
}

/* True if no result that someone holds shares the value's memory. */
static bool is_unshared(const ga_kept_value *v) {
  return atomic_load_explicit(&v->array.data->references, memory_order_acquire) == 1;
}

/* Binds a state value to an input; a copy of it where the plan would overwrite it
 * although the value, or a result that shares its memory, must stay. */
static int load_value(GpuFunction *f, unsigned int input) {
  int number = f->kept[input];
  ga_kept_value *v = &f->values[number];
  f->ins[input] = &v->array;
  if (!f->plan->graph.destroyed[input] || (v->output >= 0 && is_unshared(v)))
    return GA_NO_ERROR;
  GA_TRY(GpuArray_copy(&f->copies[number], &v->array, GA_C_ORDER));
  f->ins[input] = &f->copies[number];
  return GA_NO_ERROR;
}

/* Results that share a state value's memory are read-only. */
static void protect_values(const GpuFunction *f, GpuArray *const *outs) {
  for (unsigned int i = 0; i < f->n_shown; i++)
    for (unsigned int k = 0; k < f->n_values; k++)
      if (outs[i]->data == f->values[k].array.data)
        outs[i]->flags &= ~GA_WRITEABLE;
}

static int call_locked(GpuFunction *f, GpuArray *const *outs,
                       const GpuArray *const *ins, const long long *ints) {
  const GpuPlan *p = f->plan;
  for (unsigned int i = 0; i < p->graph.n_inputs; i++)
    f->ins[i] = NULL;
  for (unsigned int i = 0; i < f->n_given; i++)
    f->ins[f->given[i]] = ins[i];
  for (unsigned int i = 0; i < p->graph.n_inputs; i++)
    if (f->ins[i] == NULL && f->kept[i] >= 0)
      GA_TRY(load_value(f, i));
  for (unsigned int i = 0; i < p->graph.n_outputs; i++)
    f->outs[i] = &f->next[i];
  for (unsigned int i = 0; i < f->n_shown; i++)
    f->outs[f->shown[i]] = outs[i];
  GA_TRY(GpuPlan_call(f->plan, f->outs, f->ins, ints, NULL));
  for (unsigned int i = 0; i < f->n_values; i++) {
    ga_kept_value *v = &f->values[i];
    if (v->output < 0)
      continue;
    GpuArray_clear(&v->array);
    v->array = f->next[v->output];
    f->next[v->output] = (GpuArray){0};
  }
  protect_values(f, outs);
  return GA_NO_ERROR;
}

/* Settles the plan, so that the overwritten inputs are known. */
static int settle(GpuPlan *p) {
  GA_TRY(ga__turn_take(&p->turn, "function call", p->name));
  int status = ga__plan_settle(p);
  ga__turn_end(&p->turn);
  return status;
}

int GpuFunction_call(GpuFunction *f, GpuArray *const *outs, const GpuArray *const *ins,
                     const long long *ints) {
  if (f == NULL)
    return ga__fail_null("function call", "function");
  GA_TRY(check_call(f, outs, ins));
  GA_TRY(check_within(f));
  GA_TRY(ga__turn_take(&f->turn, "function call", f->plan->name));
  int status = settle(f->plan);
  GA_THEN(status, call_locked(f, outs, ins, ints));
  for (unsigned int i = 0; i < f->n_values; i++)
    GpuArray_clear(&f->copies[i]);
  ga__turn_end(&f->turn);
  return status;
}

/* ---- state values ---- */

static int get_value(ga_kept_value **out, const GpuFunction *f, const char *operation,
                     const char *name, const void *array) {
  if (f == NULL || name == NULL || array == NULL)
    return ga__fail_null(operation, f == NULL      ? "function"
                                    : name == NULL ? "name"
                                                   : "array");
  *out = find_value(f, name);
  if (*out == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "%s: %s keeps no value called %s", operation,
                   f->plan->name, name);
  return GA_NO_ERROR;
}

int GpuFunction_get(GpuFunction *f, const char *name, GpuArray *value) {
  ga_kept_value *v;
  GA_TRY(get_value(&v, f, "function get", name, value));
  GA_TRY(ga__turn_take(&f->turn, "function get", f->plan->name));
  int status = GpuArray_copy(value, &v->array, GA_C_ORDER);
  ga__turn_end(&f->turn);
  return status;
}

int GpuFunction_set(GpuFunction *f, const char *name, const GpuArray *value) {
  ga_kept_value *v;
  GpuArray copy;
  char text[GA_ARRAY_TEXT];
  GA_TRY(get_value(&v, f, "function set", name, value));
  GA_TRY(ga__array_check(value, "function set"));
  if (value->typecode != v->array.typecode || value->nd != v->array.nd)
    return GA_FAIL(GA_INVALID_ERROR, "function set: %s of %s is %s of %u axes; got %s",
                   name, f->plan->name, ga__dtype_name(v->array.typecode), v->array.nd,
                   ga__array_text(text, value));
  GA_TRY(ga__array_same_context(&v->array, value, "function set"));
  GA_TRY(copy_to_keep(&copy, value, "function set"));
  int status = ga__turn_take(&f->turn, "function set", f->plan->name);
  if (status != GA_NO_ERROR) {
    GpuArray_clear(&copy);
    return status;
  }
  GpuArray_clear(&v->array);
  v->array = copy;
  ga__turn_end(&f->turn);
  return GA_NO_ERROR;
}

/* ---- introspection ---- */

static int list_length(unsigned int *n, const GpuFunction *f, int list) {
  switch (list) {
  case GF_INPUTS:
    *n = f->n_given;
    return GA_NO_ERROR;
  case GF_INTS:
    *n = f->plan->graph.n_int_inputs;
    return GA_NO_ERROR;
  case GF_OUTPUTS:
    *n = f->n_shown;
    return GA_NO_ERROR;
  case GF_VALUES:
    *n = f->n_values;
    return GA_NO_ERROR;
  }
  return GA_FAIL(GA_VALUE_ERROR, "function: unknown list %d", list);
}

int GpuFunction_count(GpuFunction *f, int list, unsigned int *n) {
  if (f == NULL || n == NULL)
    return ga__fail_null("function count", f ? "place" : "function");
  return list_length(n, f, list);
}

static int check_item(const GpuFunction *f, int list, unsigned int i) {
  unsigned int n = 0;
  GA_TRY(list_length(&n, f, list));
  if (i < n)
    return GA_NO_ERROR;
  return GA_FAIL(GA_VALUE_ERROR,
                 "function %s: item %u is out of range for a list of %u", f->plan->name,
                 i, n);
}

int GpuFunction_item(GpuFunction *f, int list, unsigned int i, gpufunction_item *res) {
  if (f == NULL || res == NULL)
    return ga__fail_null("function item", f ? "place" : "function");
  GA_TRY(check_item(f, list, i));
  const ga_plan_graph *g = &f->plan->graph;
  const ga_value *v;
  gpufunction_item item = {.typecode = GA_LONG};
  if (list == GF_INTS) {
    item.name = f->ints.list[i];
  } else if (list == GF_VALUES) {
    item = (gpufunction_item){f->values[i].name, f->values[i].array.typecode,
                              f->values[i].array.nd, f->values[i].optional};
  } else {
    unsigned int at = list == GF_INPUTS ? f->given[i] : f->shown[i];
    v = &g->values[list == GF_INPUTS ? g->inputs[at] : g->outputs[at]];
    item.name = list == GF_INPUTS ? f->inputs.list[at] : f->outputs.list[at];
    item.typecode = v->typecode;
    item.nd = v->nd;
    item.optional = list == GF_INPUTS && f->kept[at] >= 0;
  }
  *res = item;
  return GA_NO_ERROR;
}

int GpuFunction_context(GpuFunction *f, int list, unsigned int i, gpucontext **ctx) {
  if (f == NULL || ctx == NULL)
    return ga__fail_null("function context", f ? "place" : "function");
  GA_TRY(check_item(f, list, i));
  const ga_plan_graph *g = &f->plan->graph;
  if (list == GF_INTS)
    return GA_FAIL(GA_VALUE_ERROR, "function %s: integer %u is on no context",
                   f->plan->name, i);
  if (list == GF_VALUES) {
    *ctx = GpuArray_context(&f->values[i].array);
    return GA_NO_ERROR;
  }
  const unsigned int v =
      list == GF_INPUTS ? g->inputs[f->given[i]] : g->outputs[f->shown[i]];
  *ctx = ga__plan_context(f->plan, g->values[v].place);
  return GA_NO_ERROR;
}

int GpuFunction_note(GpuFunction *f, const void **bytes, size_t *size) {
  if (f == NULL || bytes == NULL || size == NULL)
    return ga__fail_null("function note", f ? "place" : "function");
  *bytes = f->note;
  *size = f->note_size;
  return GA_NO_ERROR;
}

GpuPlan *GpuFunction_plan(GpuFunction *f) {
  return f ? f->plan : NULL;
}
