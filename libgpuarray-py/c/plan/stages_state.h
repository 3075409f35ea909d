/* Stages of a plan that reads integers back, has several contexts, or loops whose
 * bodies do: plan_cut.c says where they begin, plan_stages.c makes them,
 * plan_stages_run.c runs them, plan_transfer.c copies between contexts. */
#ifndef GA_C_STAGES_STATE_H
#define GA_C_STAGES_STATE_H

#include "c/array/crossing.h"
#include "c/plan/plan_state.h"

/* Steps of one context without a wait; after them reads, copies between contexts, and a
 * loop by the host. */
typedef struct ga_stage {
  GpuPlan *plan;            /* NULL where all steps are integers */
  unsigned int place;       /* its context, as a place of the whole plan */
  unsigned int *steps;      /* numbers in the whole plan */
  unsigned int *ins, *ints; /* inputs, as values of the whole plan */
  unsigned int *outs;       /* outputs */
  unsigned int *integers;   /* steps whose integers the host needs */
  unsigned int n_integers;
  unsigned int *dead; /* values that die after it */
  unsigned int n_dead;
  unsigned int first_read, n_reads;
  unsigned int n_transfers; /* they follow the reads */
  unsigned int n_loops;     /* at most one; it follows the transfers */
  const char *label;        /* of the reads, interned */
} ga_stage;

/* A copy between contexts under way, by the step that began it. */
typedef struct ga_pending {
  ga_crossing copy;
  unsigned int step;
} ga_pending;

typedef struct ga_stages {
  ga_stage *list;
  unsigned int n;
  ga_pending *pending; /* scratch of a run, room for all transfers */
  unsigned int n_pending;
  bool *copied; /* inputs written while the run may still fail, or that are results */
  const GpuArray *const *given; /* inputs of the run */
  /* Scratch of a run, by values of the whole plan: own arrays, addresses of all arrays,
   * integers. */
  GpuArray *arrays;
  const GpuArray **at;
  long long *integers;
  /* Arguments of a stage's plan. */
  const GpuArray **ins;
  GpuArray **outs;
  long long *ints;
  /* Of its reads: arrays, contiguous copies, destinations. */
  const GpuArray **from;
  GpuArray *copies;
  void **places;
  long long *words; /* destinations' memory */
} ga_stages;

/* The stage of each step; returns the number of stages. */
unsigned int ga__stages_number(unsigned int *stage_of, const GpuPlan *p);
/* True for reads, copies between contexts and loops by the host. */
bool ga__step_ends_stage(const ga_plan_graph *g, const ga_step *s);

/* Begins the copies after a stage; they may arrive in any later one. */
int ga__transfers_begin(const GpuPlan *p, const ga_stage *stage, int *failed_step);
/* Lets those arrive that the stage needs, and those go whose sources it overwrites. */
int ga__transfers_await(const GpuPlan *p, const ga_stage *stage, int *failed_step);
/* The same of those that make `value`. */
int ga__transfers_await_value(const GpuPlan *p, unsigned int value, int *failed_step);
/* All arrive, unless the run failed; and all go. */
int ga__transfers_end(const GpuPlan *p, int status, int *failed_step);

/* Iterates over the bodies of the loops by the host. */
static inline GpuPlan *ga__loops_next(const GpuPlan *p, unsigned int *i) {
  while (*i < p->graph.n_steps) {
    const ga_step *s = &p->graph.steps[(*i)++];
    if (ga__loop_by_host(s))
      return s->body;
  }
  return NULL;
}

/* Iterates over the stages' plans from *i on; NULL at the end, or without stages. They
 * are under their owner's lock. */
static inline GpuPlan *ga__stages_next(const GpuPlan *p, unsigned int *i) {
  while (p->stages != NULL && *i < p->stages->n) {
    GpuPlan *stage = p->stages->list[(*i)++].plan;
    if (stage != NULL)
      return stage;
  }
  return NULL;
}

#endif
