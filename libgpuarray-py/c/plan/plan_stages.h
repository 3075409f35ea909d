/* The stages of a plan that reads, between the file that cuts it and the one that runs
 * them. */
#ifndef GA_C_PLAN_STAGES_H
#define GA_C_PLAN_STAGES_H

#include "c/plan/plan.h"

/* Steps without a wait, and what is read after them. */
typedef struct ga_stage {
  GpuPlan *plan;            /* of the steps; NULL where they compute integers only */
  unsigned int *steps;      /* for each of its steps, the whole plan's */
  unsigned int *ins, *ints; /* values of the whole plan that it is given */
  unsigned int *outs;       /* and that it gives */
  unsigned int *integers;   /* steps whose integers others need than its plan */
  unsigned int n_integers;
  unsigned int *dead; /* arrays that nothing reads after it */
  unsigned int n_dead;
  unsigned int first_read, n_reads; /* steps */
  const char *label;                /* of the reads, interned */
} ga_stage;

typedef struct ga_stages {
  ga_stage *list;
  unsigned int n;
  bool *copied; /* inputs that are written although the run may still fail, or that are
                   results as they are after it */
  const GpuArray *const *given; /* the run's inputs */
  /* Scratch of a run, for each value of the whole plan: arrays that were made, where
   * all arrays are, integers. */
  GpuArray *arrays;
  const GpuArray **at;
  long long *integers;
  /* Of a stage: what its plan is given and gives. */
  const GpuArray **ins;
  GpuArray **outs;
  long long *ints;
  /* Of its reads: arrays, those that had to be made contiguous, places of bytes. */
  const GpuArray **from;
  GpuArray *copies;
  void **places;
  long long *words; /* room for the elements */
} ga_stages;

/* The plan of a stage, from number *i on, which becomes the number after it; NULL at
 * the end, and for a plan that does not read. It is of its owner's lock. */
static inline GpuPlan *ga__stages_next(const GpuPlan *p, unsigned int *i) {
  while (p->stages != NULL && *i < p->stages->n) {
    GpuPlan *stage = p->stages->list[(*i)++].plan;
    if (stage != NULL)
      return stage;
  }
  return NULL;
}

#endif
