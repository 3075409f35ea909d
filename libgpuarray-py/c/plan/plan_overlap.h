/* Copies of inputs that lie in memory which a run overwrites. */
#ifndef GA_C_PLAN_OVERLAP_H
#define GA_C_PLAN_OVERLAP_H

#include "c/plan/plan.h"

/* What a run is given, with copies in the place of some. */
typedef struct ga_apart {
  unsigned int n;
  GpuArray *copies;
  const GpuArray **list;
  bool *is_ours; /* of inputs, then of views: whether it is a copy */
} ga_apart;

/* Nothing is a copy yet. Closed also on failure. */
int ga__apart_open(ga_apart *a, const GpuPlan *p, const GpuArray *const *ins);
void ga__apart_close(ga_apart *a);

/* Whether an input is to be a copy by what the steps say, and the copies. */
bool ga__overlap_any(const GpuPlan *p, const GpuArray *const *ins);
int ga__overlap_copy(const GpuPlan *p, const GpuArray **list, GpuArray *copies);
/* The copies that the commands of a binding need, of inputs that are none yet. Of views
 * the copy takes the view's place in p->arrays. */
int ga__overlap_part(bool *changed, GpuPlan *p, const ga_bound *bound, bool *is_ours,
                     const GpuArray **list, GpuArray *copies);

#endif
