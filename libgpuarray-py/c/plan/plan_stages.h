/* Stages of a plan that reads integers back: plan_stages.c cuts, plan_stages_run.c
 * runs. */
#ifndef GA_C_PLAN_STAGES_H
#define GA_C_PLAN_STAGES_H

#include "c/plan/plan.h"

/* Steps without a wait, and the reads after them. */
typedef struct ga_stage {
  GpuPlan *plan;            /* NULL where all steps are integers */
  unsigned int *steps;      /* numbers in the whole plan */
  unsigned int *ins, *ints; /* inputs, as values of the whole plan */
  unsigned int *outs;       /* outputs */
  unsigned int *integers;   /* steps whose integers the host needs */
  unsigned int n_integers;
  unsigned int *dead; /* values that die after it */
  unsigned int n_dead;
  unsigned int first_read, n_reads;
  const char *label; /* of the reads, interned */
} ga_stage;

typedef struct ga_stages {
  ga_stage *list;
  unsigned int n;
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
