/* Compilation ahead of a run: the kernels of a plan's steps, and those declared by
 * GpuPlan_needs_*. */
#include "c/blas/products.h"
#include "c/elemwise/elemwise_state.h"
#include "c/plan/stages_state.h"
#include "c/reduce/reduce_object.h"
#include "c/reduce/reduction.h"

#include <string.h>

#define STEP_SOURCES 6 /* the most sources of one step or need */

/* ---- declared kernels ---- */

static void take_source(GpuPlan *p, ga_source source, bool is_sure) {
  ga_need *at = &p->kernels.list[p->kernels.n++];
  if (is_sure) {
    *at = p->kernels.list[p->kernels.n_sure];
    at = &p->kernels.list[p->kernels.n_sure++];
  }
  *at = (ga_need){source, p->places.current};
}

static void clear_needs(GpuPlan *p) {
  for (unsigned int i = 0; i < p->kernels.n; i++)
    ga__strbuf_clear(&p->kernels.list[i].source.body);
  ga__free(p->kernels.list);
  p->kernels.list = NULL;
  p->kernels.n = 0;
}

/* Owns the sources in every case. */
static int take_sources(GpuPlan *p, ga_source *sources, unsigned int n, bool is_sure) {
  int status = GA_NO_ERROR;
  ga__plan_at_free(p, clear_needs);
  if (p->kernels.n + n > p->kernels.capacity) {
    unsigned int wanted = 2 * p->kernels.capacity + n;
    ga_need *bigger = ga__realloc(p->kernels.list, wanted, sizeof *bigger);
    if (bigger != NULL) {
      p->kernels.list = bigger;
      p->kernels.capacity = wanted;
    } else
      status = GA_MEMORY_ERROR;
  }
  for (unsigned int i = 0; i < n; i++)
    if (status == GA_NO_ERROR)
      take_source(p, sources[i], is_sure);
    else
      ga__strbuf_clear(&sources[i].body);
  return status;
}

int GpuPlan_needs_kernel(GpuPlan *p, const char *source, const char *name) {
  GA_TRY(ga__plan_check_given(p, "kernel", source, name));
  ga_source one = {0};
  if (strlen(name) >= sizeof one.name || *name == '\0' || *source == '\0')
    return GA_FAIL(GA_VALUE_ERROR,
                   "plan %s, kernel %s: its name has %zu characters, expected 1 to "
                   "%zu, and its source %zu",
                   p->name, name, strlen(name), sizeof one.name - 1, strlen(source));
  memcpy(one.name, name, strlen(name) + 1);
  one.is_closed = ga__kernel_is_closed(source);
  ga__strbuf_add(&one.body, source);
  GA_TRY(ga__strbuf_status(&one.body));
  return take_sources(p, &one, 1, true);
}

static int check_need(const GpuPlan *p, const char *what, const gpucontext *ctx,
                      unsigned int nd) {
  if (ctx != ga__plan_here(p))
    return GA_FAIL(GA_VALUE_ERROR, "plan %s, %s: it is on %s, the plan on %s", p->name,
                   what, ctx->name, ga__plan_here(p)->name);
  return ga__plan_check_axes(p, what, nd);
}

int GpuPlan_needs_elemwise(GpuPlan *p, GpuElemwise *ge, unsigned int nd,
                           unsigned int singles) {
  ga_source sources[STEP_SOURCES] = {0};
  unsigned int n;
  GA_TRY(ga__plan_check_given(p, "elementwise kernel", ge, ge));
  GA_TRY(check_need(p, "elementwise kernel", ge->context, nd));
  GA_TRY(ga__elemwise_sources(sources, &n, ge, nd, singles));
  return take_sources(p, sources, n, true);
}

int GpuPlan_needs_reduction(GpuPlan *p, GpuReduction *gr, unsigned int nd,
                            unsigned int axes) {
  ga_source sources[STEP_SOURCES] = {0};
  unsigned int n;
  GA_TRY(ga__plan_check_given(p, "reduction", gr, gr));
  GA_TRY(check_need(p, "reduction", gr->context, nd));
  if (nd < 32 && axes >> nd != 0)
    return GA_FAIL(GA_VALUE_ERROR,
                   "plan %s, reduction: the mask of axes, 0x%x, is out of range for "
                   "arrays of %u axes",
                   p->name, axes, nd);
  GA_TRY(ga__reduction_sources(sources, &n, gr, nd, axes));
  return take_sources(p, sources, n, false);
}

/* ---- kernels of steps ---- */

/* Inputs of an elementwise step that broadcast from one element, whatever the
 * shapes. */
static unsigned int scalar_inputs(const ga_plan_graph *g, const ga_step *s) {
  unsigned int mask = 0;
  for (unsigned int i = 0; i < s->n_in && i < 32; i++) {
    const ga_value *v = &g->values[s->ins[i]];
    unsigned int all = v->nd >= 32 ? ~0u : (1u << v->nd) - 1;
    if (!v->integer && (s->stretch[i] & all) == all)
      mask |= 1u << i;
  }
  return mask;
}

/* True if a value is contiguous in C order where the inputs are: an input, or the fresh
 * result of a step. */
static bool is_packed(const ga_plan_graph *g, unsigned int value) {
  while (g->values[value].maker > 0) {
    const ga_step *s = &g->steps[g->values[value].maker - 1];
    unsigned int out = 0;
    while (s->outs[out] != value)
      out++;
    bool is_over = s->inplace != NULL && s->inplace[out] >= 0;
    switch (s->kind) {
    case GA_STEP_ELEMWISE:
    case GA_STEP_REDUCE:
    case GA_STEP_GEMV:
    case GA_STEP_GEMM:
    case GA_STEP_COPY:
      if (!is_over)
        return true;
      value = s->ins[s->inplace[out]];
      break;
    default:
      return false;
    }
  }
  return true;
}

/* True if an elementwise step uses the flat kernel where the inputs are contiguous. */
static bool is_flat(const ga_plan_graph *g, const ga_step *s, unsigned int scalars) {
  unsigned int nd = ga__plan_joint_rank(g, s->n_in, s->ins), n_whole = 0;
  for (unsigned int i = 0; i < s->n_in; i++) {
    const ga_value *v = &g->values[s->ins[i]];
    if (v->integer || (i < 32 && scalars >> i & 1))
      continue;
    if (v->nd != nd || s->stretch[i] != 0 || !is_packed(g, s->ins[i]))
      return false;
    n_whole++;
  }
  return n_whole > 0;
}

/* The flat kernel, and the strided one where inputs may need it. In a function's body
 * the inputs' layouts are not known, so it needs both. */
static int elemwise_sources(ga_source *out, unsigned int *n, const ga_plan_graph *g,
                            const ga_step *s, bool is_body) {
  unsigned int scalars = scalar_inputs(g, s);
  GA_TRY(ga__elemwise_sources(out, n, s->elemwise,
                              ga__plan_joint_rank(g, s->n_in, s->ins), scalars));
  while (*n > 1 && !is_body && is_flat(g, s, scalars))
    ga__strbuf_clear(&out[--*n].body);
  return GA_NO_ERROR;
}

/* True if the step may become the epilogue of a GEMM. Only the sizes tell, and they
 * choose the kernel too, so nothing is compiled ahead for it. */
static bool may_join_product(const GpuPlan *p, unsigned int step) {
  const ga_step *s = &p->graph.steps[step];
  const bool is_cpu = ga__plan_context(p, s->place)->info.is_cpu;
  for (unsigned int i = 0; i < s->n_in && !is_cpu; i++) {
    const ga_value *v = &p->graph.values[s->ins[i]];
    if (v->maker > 0 && v->last_use == step &&
        p->graph.steps[v->maker - 1].kind == GA_STEP_GEMM)
      return true;
  }
  return false;
}

static int step_sources(ga_source *out, unsigned int *n, const GpuPlan *p,
                        unsigned int step, bool is_body) {
  const ga_step *s = &p->graph.steps[step];
  *n = 0;
  switch (s->kind) {
  case GA_STEP_ELEMWISE:
    return may_join_product(p, step) ? GA_NO_ERROR
                                     : elemwise_sources(out, n, &p->graph, s, is_body);
  case GA_STEP_REDUCE:
    return ga__reduction_sources(
        out, n, s->reduction, ga__plan_joint_rank(&p->graph, s->n_in, s->ins), s->axes);
  case GA_STEP_GEMV:
  case GA_STEP_GEMM:
    return ga__blas_sources(out, n, ga__plan_context(p, s->place),
                            p->graph.values[s->ins[0]].typecode,
                            s->kind == GA_STEP_GEMM);
  case GA_STEP_ROUTINE:
    return ga__routine_sources(out, n, s->routine);
  default:
    return GA_NO_ERROR;
  }
}

/* ---- bodies of functions ---- */

/* Constant folding of a condition on this device: true only where it is true whatever
 * the lengths are. */
static bool is_sure(const ga_plan_graph *g, unsigned int value) {
  const unsigned int maker = g->values[value].maker;
  if (maker == 0)
    return false;
  const ga_step *s = &g->steps[maker - 1];
  if (s->kind == GA_STEP_INT_OP && s->op == GP_INT_OR)
    return is_sure(g, s->ins[0]) || is_sure(g, s->ins[1]);
  return (s->kind == GA_STEP_INT || s->kind == GA_STEP_DEVICE) && s->integer != 0;
}

/* True if a step of a body is likely to run. A condition on lengths counts as false:
 * bodies use such conditions for small or odd shapes. */
static bool is_likely(const ga_plan_graph *g, const ga_step *s) {
  for (unsigned int i = 0; i < s->n_when; i++)
    if (is_sure(g, s->when[i].value) != s->when[i].wanted)
      return false;
  return true;
}

/* The body that is done in place of a missing function, or NULL. */
static const GpuPlan *body_of(const ga_step *s) {
  return s->kind == GA_STEP_FUNCTION && s->function == NULL ? s->body : NULL;
}

static size_t count_room(const GpuPlan *p, bool bodies) {
  size_t room = 0;
  for (unsigned int i = 0; i < p->graph.n_steps; i++) {
    const GpuPlan *body = bodies ? body_of(&p->graph.steps[i]) : NULL;
    room += body ? count_room(body, true) : STEP_SOURCES;
  }
  return room;
}

/* ---- all of a plan ---- */

/* Which kernels are compiled. */
typedef struct choice {
  unsigned int place; /* of the whole plan */
  bool rest;          /* also those that the first signature is unlikely to need */
  bool bodies;        /* also those of functions' bodies */
} choice;

static int copy_source(ga_source *out, const ga_source *source) {
  *out = *source;
  out->body = (ga_strbuf){0};
  ga__strbuf_add(&out->body, source->body.text);
  return ga__strbuf_status(&out->body);
}

static int list_steps(ga_source *sources, unsigned int *total, const GpuPlan *p,
                      choice c, bool is_body) {
  int status = GA_NO_ERROR;
  for (unsigned int i = 0; status == GA_NO_ERROR && i < p->graph.n_steps; i++) {
    const ga_step *s = &p->graph.steps[i];
    const GpuPlan *body = c.bodies ? body_of(s) : NULL;
    unsigned int more = 0;
    if (is_body ? !is_likely(&p->graph, s) : s->place != c.place)
      continue;
    if (body != NULL)
      status = list_steps(sources, total, body, c, true);
    else if (c.rest || s->kind != GA_STEP_REDUCE)
      status = step_sources(sources + *total, &more, p, i, is_body);
    *total += more;
  }
  return status;
}

/* Without `rest`, reductions are left out: their sizes tell whether they are fused, and
 * which kernel they use. */
static int list_sources(ga_source **out, unsigned int *n, const GpuPlan *p, choice c) {
  size_t room = count_room(p, c.bodies) + p->kernels.n + 1;
  ga_source *sources = ga__alloc(room, sizeof *sources);
  int status = sources == NULL ? GA_MEMORY_ERROR : GA_NO_ERROR;
  unsigned int total = 0;
  const unsigned int n_needs = c.rest ? p->kernels.n : p->kernels.n_sure;
  for (unsigned int i = 0; status == GA_NO_ERROR && i < n_needs; i++)
    if (p->kernels.list[i].place == c.place)
      status = copy_source(&sources[total++], &p->kernels.list[i].source);
  GA_THEN(status, list_steps(sources, &total, p, c, false));
  if (status == GA_NO_ERROR) {
    *out = sources;
    *n = total;
  } else
    ga__plan_free_sources(sources, total);
  return status;
}

int ga__plan_sources(ga_source **out, unsigned int *n, const GpuPlan *p,
                     unsigned int place) {
  return list_sources(out, n, p,
                      (choice){.place = place, .rest = true, .bodies = true});
}

void ga__plan_free_sources(ga_source *sources, unsigned int n) {
  for (unsigned int i = 0; i < n; i++)
    ga__strbuf_clear(&sources[i].body);
  ga__free(sources);
}

static int prepare_place(const GpuPlan *p, choice c, bool waits) {
  ga_source *sources;
  unsigned int n;
  GA_TRY(list_sources(&sources, &n, p, c));
  const ga_source **list = ga__alloc(n + 1, sizeof *list);
  int status = list == NULL ? GA_MEMORY_ERROR : GA_NO_ERROR;
  for (unsigned int i = 0; list && i < n; i++)
    list[i] = &sources[i];
  if (status == GA_NO_ERROR && n > 0)
    status = ga__kernel_prepare(ga__plan_context(p, c.place), n, list, waits);
  ga__plan_free_sources(sources, n);
  ga__free((void *)list);
  return status;
}

/* Also the bodies of loops by the host, which are bound stage by stage. */
static int prepare(const GpuPlan *p, choice c, bool waits) {
  for (c.place = 0; c.place < ga__plan_places(p); c.place++)
    GA_TRY(prepare_place(p, c, waits));
  const GpuPlan *body;
  for (unsigned int i = 0; (body = ga__loops_next(p, &i)) != NULL;)
    GA_TRY(prepare(body, c, waits));
  return GA_NO_ERROR;
}

/* True if a compiler of its contexts works in the background. */
static bool compiles_at_once(const GpuPlan *p) {
  bool does = false;
  for (unsigned int i = 0; i < ga__plan_places(p); i++)
    does |= ga__plan_context(p, i)->backend->compiles_at_once;
  return does;
}

int GpuPlan_prepare(GpuPlan *p) {
  GA_TRY(ga__plan_check_given(p, "prepare", p, p));
  return prepare(p, (choice){.rest = true, .bodies = true}, true);
}

int ga__plan_prepare_loaded(GpuPlan *p) {
  return prepare(p, (choice){.rest = true}, true);
}

int GpuPlan_prepare_ahead(GpuPlan *p) {
  GA_TRY(ga__plan_check_given(p, "prepare", p, p));
  p->kernels.is_ahead = compiles_at_once(p);
  return prepare(p, (choice){.rest = !p->kernels.is_ahead, .bodies = true}, false);
}

void ga__plan_prepare_rest(GpuPlan *p) {
  if (!p->kernels.is_ahead)
    return;
  p->kernels.is_ahead = false;
  /* a failure is reported where the kernel is needed */
  prepare(p, (choice){.rest = true, .bodies = true}, false);
}
