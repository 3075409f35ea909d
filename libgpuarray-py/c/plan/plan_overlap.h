/* Aliasing: copies of inputs that overlap memory which a run overwrites. */
#ifndef GA_C_PLAN_OVERLAP_H
#define GA_C_PLAN_OVERLAP_H

#include "c/plan/plan_state.h"

/* The inputs of a run, some replaced by copies. */
typedef struct ga_apart {
  unsigned int n;
  GpuArray *copies;
  const GpuArray **list;
  bool *is_ours; /* whether it is a copy: of inputs, then of views */
} ga_apart;

/* Begins without copies. ga__apart_close is due also on failure. */
int ga__apart_open(ga_apart *a, const GpuPlan *p, const GpuArray *const *ins);
void ga__apart_close(ga_apart *a);

/* Copies of inputs that in-place results of steps would overwrite. */
bool ga__overlap_any(const GpuPlan *p, const GpuArray *const *ins);
int ga__overlap_copy(const GpuPlan *p, const GpuArray **list, GpuArray *copies);
/* Copies what a binding's commands need copied and is no copy yet. The copy of a view
 * replaces it in p->views.arrays; `moved` says that an input is another one, of which
 * all views are made again. */
int ga__overlap_part(bool *changed, bool *moved, GpuPlan *p, const ga_bound *bound,
                     bool *is_ours, const GpuArray **list, GpuArray *copies);

#endif
