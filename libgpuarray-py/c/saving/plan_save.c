/* Serializes a plan. */
#include <string.h>

#include "c/array/array.h"
#include "c/base/hash.h"
#include "c/elemwise/elemwise_state.h"
#include "c/reduce/reduction.h"
#include "c/routines/kernel_routine.h"
#include "c/saving/plan_file.h"

static void put_args(ga_strbuf *out, const gpuelemwise_arg *args, unsigned int n) {
  for (unsigned int i = 0; i < n; i++) {
    ga__put_text(out, args[i].name);
    ga__put_int(out, (uint64_t)args[i].typecode);
    ga__put_int(out, (uint64_t)args[i].flags);
  }
}

int ga__put_array(ga_strbuf *out, const GpuArray *a) {
  GpuArray copy;
  size_t size = ga__array_count(a) * gpuarray_get_elsize(a->typecode);
  char *bytes = ga__alloc(size + 1, 1);
  GA_TRY_MEMORY(bytes);
  int status = GpuArray_copy(&copy, a, GA_C_ORDER);
  if (status == GA_NO_ERROR) {
    status = GpuArray_read(bytes, size, &copy);
    GpuArray_clear(&copy);
  }
  if (status == GA_NO_ERROR) {
    ga__put_int(out, (uint64_t)a->typecode);
    ga__put_int(out, a->nd);
    for (unsigned int i = 0; i < a->nd; i++)
      ga__put_int(out, a->dimensions[i]);
    ga__strbuf_addn(out, bytes, size);
  }
  ga__free(bytes);
  return status;
}

static void put_elemwise(ga_strbuf *out, const ga_step *s) {
  const GpuElemwise *ge = s->elemwise;
  ga__put_text(out, ge->preamble);
  ga__put_text(out, ge->expr);
  put_args(out, ge->args, ge->n);
  ga__put_uints(out, s->stretch, s->n_in);
  for (unsigned int i = 0; i < s->n_out; i++)
    ga__put_int(out, (uint64_t)(int64_t)s->inplace[i]);
}

static void put_reduce(ga_strbuf *out, const ga_step *s) {
  gpureduction_spec spec;
  ga__reduction_spec(&spec, s->reduction);
  ga__put_int(out, s->axes);
  ga__put_text(out, spec.preamble);
  ga__put_text(out, spec.prologue);
  ga__put_text(out, spec.map);
  ga__put_text(out, spec.combine);
  ga__put_text(out, spec.identity);
  ga__put_int(out, (uint64_t)spec.acc_typecode);
  ga__put_int(out, (uint64_t)spec.out_typecode);
  ga__put_text(out, spec.epilogue);
  ga__put_int(out, spec.flags);
  ga__put_int(out, spec.n_components);
  for (unsigned int i = 0; i < spec.n_components; i++) {
    ga__put_text(out, spec.components[i].map);
    ga__put_text(out, spec.components[i].combine);
    ga__put_text(out, spec.components[i].identity);
    ga__put_int(out, (uint64_t)spec.components[i].typecode);
  }
  ga__put_int(out, spec.n_results);
  for (unsigned int i = 0; i < spec.n_results; i++) {
    ga__put_text(out, spec.results[i].epilogue);
    ga__put_int(out, (uint64_t)spec.results[i].typecode);
  }
  put_args(out, spec.inputs, spec.n);
  ga__put_uints(out, s->stretch, s->n_in);
}

static void put_types(ga_strbuf *out, const GpuPlan *p, const ga_step *s) {
  for (unsigned int i = 0; i < s->n_out; i++) {
    ga__put_int(out, (uint64_t)p->graph.values[s->outs[i]].typecode);
    ga__put_int(out, p->graph.values[s->outs[i]].nd);
  }
}

static void put_routine(ga_strbuf *out, const GpuPlan *p, const ga_step *s) {
  const ga_routine_step *r = s->routine;
  ga__put_text(out, ga__routine_name(r));
  ga__put_int(out, r->n_params);
  for (unsigned int i = 0; i < r->n_params; i++)
    ga__put_int(out, (uint64_t)r->params[i]);
  ga__put_int(out, r->n_texts);
  for (unsigned int i = 0; i < r->n_texts; i++)
    ga__put_text(out, r->texts[i]);
  put_types(out, p, s);
}

static void put_step(ga_strbuf *out, const GpuPlan *p, const ga_step *s) {
  ga__put_int(out, (uint64_t)s->kind);
  ga__put_text(out, s->label);
  ga__put_int(out, s->n_in);
  ga__put_uints(out, s->ins, s->n_in);
  ga__put_int(out, s->n_out);
  switch (s->kind) {
  case GA_STEP_INT:
    ga__put_int(out, (uint64_t)s->integer);
    break;
  case GA_STEP_DEVICE:
  case GA_STEP_DIM:
  case GA_STEP_INT_OP:
    ga__put_int(out, (uint64_t)s->op);
    break;
  case GA_STEP_ELEMWISE:
    put_elemwise(out, s);
    break;
  case GA_STEP_REDUCE:
    put_reduce(out, s);
    break;
  case GA_STEP_GEMV:
  case GA_STEP_GEMM:
    ga__put_double(out, s->alpha);
    ga__put_double(out, s->beta);
    ga__put_int(out, (uint64_t)s->ta);
    ga__put_int(out, (uint64_t)s->tb);
    ga__put_int(out, s->inplace[0] >= 0);
    break;
  case GA_STEP_DIMSHUFFLE:
  case GA_STEP_INDEX:
    ga__put_int(out, s->nd);
    for (unsigned int i = 0; i < s->nd; i++)
      ga__put_int(out, (uint64_t)(int64_t)s->pattern[i]);
    break;
  case GA_STEP_FUNCTION:
    for (unsigned int i = 0; i < s->n_out; i++) {
      const ga_value *v = &p->graph.values[s->outs[i]];
      ga__put_int(out, (uint64_t)v->typecode);
      ga__put_int(out, v->nd);
      ga__put_int(out, (uint64_t)(int64_t)s->inplace[i]);
    }
    break;
  case GA_STEP_ROUTINE:
    put_routine(out, p, s);
    break;
  case GA_STEP_LOOP:
    ga__put_text(out, s->takes);
    put_types(out, p, s);
    break;
  case GA_STEP_RESHAPE:
  case GA_STEP_BROADCAST:
  case GA_STEP_COPY:
  case GA_STEP_CHOOSE:
  case GA_STEP_READ:
  case GA_STEP_REPORTS:
  case GA_STEP_TRANSFER:
  case GA_STEP_KINDS:
    break;
  }
}

/* The conditions of a step, where they differ from those of the step before. */
static void put_when(ga_strbuf *out, const ga_step *s, const ga_step *before) {
  unsigned int n = before != NULL ? before->n_when : 0;
  bool same = s->n_when == n;
  for (unsigned int i = 0; same && i < n; i++)
    same = s->when[i].value == before->when[i].value &&
           s->when[i].wanted == before->when[i].wanted;
  if (same)
    return;
  ga__put_int(out, GA_PLAN_WHEN);
  ga__put_int(out, s->n_when);
  for (unsigned int i = 0; i < s->n_when; i++) {
    ga__put_int(out, s->when[i].value);
    ga__put_int(out, s->when[i].wanted);
  }
}

/* GA_UNSUPPORTED_ERROR for a step beyond the limits of the format. */
static int check_step(const GpuPlan *p, const ga_step *s) {
  if (s->n_out > 0 && s->n_in <= GA_PLAN_MOST && s->n_out <= GA_PLAN_MOST &&
      s->n_when <= GA_PLAN_MOST)
    return GA_NO_ERROR;
  return GA_FAIL(GA_UNSUPPORTED_ERROR,
                 "plan save: step %s of %s has %u inputs and %u results; a file holds "
                 "steps of at most %d, and at least one result",
                 s->label, p->name, s->n_in, s->n_out, GA_PLAN_MOST);
}

static int put_values(ga_strbuf *out, const GpuPlan *p, const GpuPlan *whole);

bool ga__plan_is_sealed(const GpuPlan *p) {
  for (unsigned int i = 0; i < p->graph.n_steps; i++)
    if (p->graph.steps[i].kind == GA_STEP_ROUTINE &&
        strcmp(ga__routine_name(p->graph.steps[i].routine), GA_PLAN_KERNEL) == 0)
      return true;
  return false;
}

ga_hash ga__plan_seal(const char *bytes, size_t size) {
  return ga__hash(bytes, size, (ga_hash){1, 1});
}

/* A checksum of what was written from `start` on. */
static void put_seal(ga_strbuf *out, const GpuPlan *p, size_t start) {
  if (!ga__plan_is_sealed(p) || ga__strbuf_status(out) != GA_NO_ERROR)
    return;
  const ga_hash seal = ga__plan_seal(out->text + start, out->length - start);
  ga__put_int(out, seal.a);
  ga__put_int(out, seal.b);
}

static void put_outputs(ga_strbuf *out, const GpuPlan *p) {
  ga__put_int(out, GA_PLAN_END);
  ga__put_int(out, p->graph.n_outputs);
  ga__put_uints(out, p->graph.outputs, p->graph.n_outputs);
}

/* The body of the step before, in the plan of the file. */
static int put_body(ga_strbuf *out, const GpuPlan *body, const GpuPlan *whole) {
  if (body == NULL)
    return GA_NO_ERROR;
  ga__put_int(out, GA_PLAN_BODY);
  ga__put_text(out, body->name);
  const size_t start = out->length;
  GA_TRY(put_values(out, body, whole));
  put_outputs(out, body);
  put_seal(out, body, start);
  return GA_NO_ERROR;
}

/* The context of a value, or of the step that makes it, where it is another one than
 * that of what was put before: its number in the plan of the file. */
static void put_on(ga_strbuf *out, unsigned int *current, unsigned int place,
                   const GpuPlan *p, const GpuPlan *whole) {
  if (place == *current)
    return;
  ga__put_int(out, GA_PLAN_ON);
  ga__put_int(out, ga__plan_find_place(whole, ga__plan_context(p, place)));
  *current = place;
}

/* Values in order of their numbers; a step stands for its `n_out` results. */
static int put_values(ga_strbuf *out, const GpuPlan *p, const GpuPlan *whole) {
  unsigned int step = 0, place = 0;
  for (unsigned int i = 0; i < p->graph.n_values; i++) {
    const ga_value *v = &p->graph.values[i];
    const bool is_made = v->input < 0 && v->constant.data == NULL;
    put_on(out, &place, is_made ? p->graph.steps[step].place : v->place, p, whole);
    if (v->input >= 0 && v->integer) {
      ga__put_int(out, GA_PLAN_INT_INPUT);
    } else if (v->input >= 0) {
      ga__put_int(out, GA_PLAN_INPUT);
      ga__put_int(out, (uint64_t)v->typecode);
      ga__put_int(out, v->nd);
      ga__put_int(out, v->broadcastable);
    } else if (v->constant.data != NULL) {
      ga__put_int(out, GA_PLAN_CONSTANT);
      GA_TRY(ga__put_array(out, &v->constant));
    } else {
      GA_TRY(check_step(p, &p->graph.steps[step]));
      put_when(out, &p->graph.steps[step], step > 0 ? &p->graph.steps[step - 1] : NULL);
      ga__put_int(out, GA_PLAN_STEP);
      put_step(out, p, &p->graph.steps[step]);
      GA_TRY(put_body(out, p->graph.steps[step].body, whole));
      i += p->graph.steps[step++].n_out - 1;
    }
  }
  return GA_NO_ERROR;
}

void ga__put_section(ga_strbuf *out, enum ga_plan_section section,
                     const ga_strbuf *content) {
  ga__put_int(out, (uint64_t)section);
  ga__put_bytes(out, content->text, content->length);
}

/* The kernels of a context, where its driver returns binaries; else nothing. */
static int put_kernels(ga_strbuf *out, bool *has_any, const ga_saved_kernels *kernels,
                       gpucontext *ctx) {
  ga_strbuf programs = {0};
  int status = ga__kernels_put(&programs, kernels, ctx);
  *has_any |= status == GA_NO_ERROR;
  if (status == GA_NO_ERROR)
    ga__strbuf_addn(out, programs.text, programs.length);
  ga__strbuf_clear(&programs);
  return status == GA_DEVSUP_ERROR ? GA_NO_ERROR : status;
}

/* The compiled kernels of each context, and the bindings. */
static int put_sections(ga_strbuf *out, GpuPlan *p, ga_saved_kernels *kernels) {
  ga_strbuf own = {0}, more = {0}, bindings = {0};
  bool has_any = false;
  int status = GA_NO_ERROR;
  for (unsigned int i = 0; i < ga__plan_places(p); i++)
    GA_THEN(status, ga__kernels_collect(&kernels[i], p, i));
  GA_THEN(status, ga__bindings_put(&bindings, kernels, p));
  GA_THEN(status, put_kernels(&own, &has_any, kernels, p->context));
  for (unsigned int i = 1; i < ga__plan_places(p); i++) {
    ga_strbuf one = {0};
    GA_THEN(status, put_kernels(&one, &has_any, &kernels[i], ga__plan_context(p, i)));
    ga__put_bytes(&more, one.text, one.length);
    ga__strbuf_clear(&one);
  }
  if (status == GA_NO_ERROR && has_any) {
    ga__put_section(out, GA_PLAN_KERNELS, &own);
    ga__put_section(out, GA_PLAN_BINDINGS, &bindings);
    if (ga__plan_places(p) > 1)
      ga__put_section(out, GA_PLAN_MORE, &more);
  }
  GA_THEN(status, ga__strbuf_status(&own));
  GA_THEN(status, ga__strbuf_status(&more));
  GA_THEN(status, ga__strbuf_status(&bindings));
  ga__strbuf_clear(&own);
  ga__strbuf_clear(&more);
  ga__strbuf_clear(&bindings);
  return status;
}

static int put_compiled(ga_strbuf *out, GpuPlan *p) {
  ga_saved_kernels *kernels = ga__alloc(ga__plan_places(p), sizeof *kernels);
  GA_TRY_MEMORY(kernels);
  int status = put_sections(out, p, kernels);
  for (unsigned int i = 0; i < ga__plan_places(p); i++)
    ga__free(kernels[i].list);
  ga__free(kernels);
  return status;
}

int ga__plan_put(ga_strbuf *out, GpuPlan *p) {
  GA_TRY(ga__turn_take(&p->turn, "plan save", p->name));
  ga__put_text(out, p->name);
  ga__plan_prepare_rest(p);
  const bool has_names = ga__plan_format(p) > GA_PLAN_FORMAT_OF_ONE;
  int status = has_names ? ga__places_put(out, p) : GA_NO_ERROR;
  GA_THEN(status, ga__stages_settle(p));
  const size_t start = out->length;
  GA_THEN(status, put_values(out, p, p));
  if (status == GA_NO_ERROR) {
    if (p->settings.confirms)
      ga__put_int(out, GA_PLAN_CONFIRM);
    put_outputs(out, p);
    put_seal(out, p, start);
    status = put_compiled(out, p);
  }
  ga__turn_end(&p->turn);
  return status == GA_NO_ERROR ? ga__strbuf_status(out) : status;
}

int ga__plan_write(const char *path, const GpuPlan *p, const ga_strbuf *body) {
  ga_strbuf head = {0};
  ga_hash hash = ga__hash(body->text, body->length, (ga_hash){0, 0});
  ga__strbuf_add(&head, GA_PLAN_MARK);
  ga__put_int(&head, ga__plan_format(p));
  ga__put_int(&head, body->length);
  ga__put_int(&head, hash.a);
  ga__put_int(&head, hash.b);
  int status = ga__strbuf_status(&head);
  GA_THEN(status, ga__file_write("plan", path, &head, body));
  ga__strbuf_clear(&head);
  return status;
}

int GpuPlan_save(GpuPlan *p, const char *path) {
  if (p == NULL || path == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "plan save: needs a plan and a path; got NULL");
  ga_strbuf body = {0};
  int status = ga__plan_put(&body, p);
  GA_THEN(status, ga__plan_write(path, p, &body));
  ga__strbuf_clear(&body);
  return status;
}
