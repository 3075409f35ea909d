/* Binding lookup and replay: a plan's tape for the layouts of its inputs. */
#include <string.h>

#include "c/array/array.h"
#include "c/plan/plan_overlap.h"

static uint64_t *write_layout(uint64_t *words, const GpuArray *a, unsigned int nd,
                              bool fixed) {
  *words++ = (uint64_t)a->flags << 8 | a->offset % GA_PLAN_ALIGNMENT;
  *words++ = fixed ? a->offset + 1 : 0;
  for (unsigned int k = 0; k < nd; k++) {
    *words++ = a->dimensions[k];
    *words++ = (uint64_t)a->strides[k];
  }
  return words;
}

/* The part of the signature after its integers. */
static void write_layouts(const GpuPlan *p, const GpuArray *const *ins) {
  const ga_plan_graph *g = &p->graph;
  uint64_t *words = p->signature.words + g->n_int_inputs + p->signature.n_conditions;
  for (unsigned int i = 0; i < g->n_inputs; i++)
    if (p->views.hidden == NULL || !p->views.hidden[i])
      words = write_layout(words, ins[i], ins[i]->nd, p->bindings.fixed[i]);
  for (unsigned int i = 0; i < p->views.n; i++) {
    unsigned int v = p->views.list[i];
    words = write_layout(words, &p->views.arrays[v], g->values[v].nd,
                         p->bindings.fixed[g->n_inputs + i]);
  }
}

/* True if the recording fixed the address of an input that was not fixed before. */
static bool fixes_more(const GpuPlan *p, const ga_bound *bound) {
  for (unsigned int i = 0; i < p->graph.n_inputs + p->views.n; i++)
    if (ga__tape_fixed(bound->tape, i) && !p->bindings.fixed[i])
      return true;
  return false;
}

/* Records a new binding. A recording may fix addresses of inputs; these then belong to
 * the signature, so it is written and recorded again. */
static int bind_anew(ga_bound **out, GpuPlan *p, const GpuArray *const *ins,
                     const long long *ints, int *failed_step) {
  ga_bound *recorded;
  GA_TRY(ga__plan_bind(&recorded, p, ins, ints, failed_step));
  while (fixes_more(p, recorded)) {
    ga__bound_note_fixed(p, recorded);
    ga__bound_free(recorded);
    write_layouts(p, ins);
    GA_TRY(ga__plan_bind(&recorded, p, ins, ints, failed_step));
  }
  p->info.n_binds++;
  ga__plan_prepare_rest(p);
  GA_TRY(ga__bound_add(p, recorded));
  *out = recorded;
  return GA_NO_ERROR;
}

/* The binding for the inputs' and views' layouts; the signature has its integers. */
static int find_bound(ga_bound **out, GpuPlan *p, const GpuArray *const *ins,
                      const long long *ints, int *failed_step) {
  write_layouts(p, ins);
  ga_bound *cached = ga__bound_find(p);
  if (cached == NULL)
    GA_TRY(bind_anew(&cached, p, ins, ints, failed_step));
  ga__tape_protect(cached->tape, p->settings.protects);
  *out = cached;
  return GA_NO_ERROR;
}

int ga__plan_get_bound(ga_bound **out, GpuPlan *p, const GpuArray *const *ins,
                       const long long *ints, int *failed_step) {
  GA_TRY(ga__branch_sign(p, ins, ints, failed_step));
  return find_bound(out, p, ins, ints, failed_step);
}

/* Returns the results on real buffers, each with a reference of its own. */
static void hand_out(GpuArray *const *outs, const ga_bound *bound) {
  for (unsigned int i = 0; i < bound->n_outputs; i++) {
    *outs[i] = bound->outputs[i];
    gpudata *stand_in = bound->outputs[i].data;
    if (stand_in->tape != NULL) {
      ga_binding real = bound->bindings[ga__tape_slot(stand_in)];
      outs[i]->data = real.buffer;
      outs[i]->offset += real.base;
    }
    gpudata_retain(outs[i]->data);
  }
}

/* The buffer of a view's slot. A view in a branch that is not taken is not computed;
 * any buffer serves, for nothing reads it. */
static ga_binding view_binding(const GpuPlan *p, unsigned int place,
                               const GpuArray *const *ins) {
  unsigned int view = p->views.list[place];
  const GpuArray *a = &p->views.arrays[view];
  if (a->data != NULL)
    return (ga_binding){a->data, ga__plan_base(p, p->graph.n_inputs + place, a)};
  const ga_value *root = &p->graph.values[ga__plan_root(&p->graph, view)];
  return (ga_binding){root->input >= 0 ? ins[root->input]->data : root->constant.data,
                      0};
}

static void fill_bindings(ga_bound *bound, const GpuPlan *p,
                          const GpuArray *const *ins) {
  for (unsigned int i = 0; i < p->graph.n_inputs; i++)
    bound->bindings[i] = (ga_binding){ins[i]->data, ga__plan_base(p, i, ins[i])};
  for (unsigned int i = 0; i < p->views.n; i++)
    bound->bindings[p->graph.n_inputs + i] = view_binding(p, i, ins);
}

static int replay(GpuArray *const *outs, ga_bound *bound) {
  GA_TRY(ga__tape_replay(bound->tape, bound->bindings));
  hand_out(outs, bound);
  ga__tape_give_up(bound->tape, bound->bindings); /* the results hold references */
  return GA_NO_ERROR;
}

/* Marks a binding, if it is still cached, as replayed: the device has the resources. */
static void prove(GpuPlan *p, const ga_tape *tape) {
  for (ga_bound *b = p->bindings.latest; b; b = b->next)
    if (b->tape == tape)
      ga__tape_prove(b->tape);
}

/* Aliasing: replays the binding for copies of the inputs in place of the first one. */
static int replay_apart(GpuArray *const *outs, ga_bound **bound, GpuPlan *p,
                        const GpuArray *const *ins, const long long *ints,
                        int *failed_step) {
  ga_apart apart = {0};
  bool changed = false, moved = false;
  const ga_tape *first = (*bound)->tape;
  int status = ga__apart_open(&apart, p, ins);
  do {
    GA_THEN(status, ga__overlap_part(&changed, &moved, p, *bound, apart.is_ours,
                                     apart.list, apart.copies));
    if (status == GA_NO_ERROR && moved) {
      ga__views_end(p);
      status = ga__branch_sign(p, apart.list, ints, failed_step);
    }
    if (status == GA_NO_ERROR && changed)
      status = find_bound(bound, p, apart.list, ints, failed_step);
  } while (status == GA_NO_ERROR && changed);
  if (status == GA_NO_ERROR) {
    fill_bindings(*bound, p, apart.list);
    status = replay(outs, *bound);
  }
  if (status == GA_NO_ERROR)
    prove(p, first);
  ga__apart_close(&apart);
  return status;
}

static int run_binding(GpuArray *const *outs, ga_bound *bound, GpuPlan *p,
                       const GpuArray *const *ins, const long long *ints,
                       int *failed_step) {
  fill_bindings(bound, p, ins);
  const bool may_clash =
      p->settings.confirms || ga__tape_may_clash(bound->tape, bound->bindings);
  int status = may_clash ? replay_apart(outs, &bound, p, ins, ints, failed_step)
                         : replay(outs, bound);
  if (status != GA_NO_ERROR && ga__tape_failed(bound->tape) > 0)
    *failed_step = (int)ga__tape_failed(bound->tape) - 1;
  ga__views_end(p);
  GA_TRY(status);
  ga__tape_counts(bound->tape, &p->info.n_launches, &p->info.n_allocs,
                  &p->info.workspace);
  return GA_NO_ERROR;
}

int ga__plan_run_found(GpuArray *const *outs, ga_bound *bound, GpuPlan *p,
                       const GpuArray *const *ins, const long long *ints,
                       int *failed_step) {
  const bool is_protected = ga__tape_is_protected(bound->tape);
  int status = run_binding(outs, bound, p, ins, ints, failed_step);
  if (status != GA_MEMORY_ERROR || !is_protected)
    return status;
  *failed_step = -1;
  p->settings.protects = false;
  status = ga__plan_get_bound(&bound, p, ins, ints, failed_step);
  if (status == GA_NO_ERROR)
    status = run_binding(outs, bound, p, ins, ints, failed_step);
  else
    ga__views_end(p);
  p->settings.protects = true;
  return status;
}

int ga__plan_run_bound(GpuPlan *p, GpuArray *const *outs, const GpuArray *const *ins,
                       const long long *ints, int *failed_step) {
  ga_bound *bound;
  if (ga__plan_is_within(p))
    return ga__plan_run_within(p, outs, ins, ints, failed_step);
  int status = ga__plan_get_bound(&bound, p, ins, ints, failed_step);
  if (status == GA_NO_ERROR)
    return ga__plan_run_found(outs, bound, p, ins, ints, failed_step);
  ga__views_end(p);
  return status;
}
