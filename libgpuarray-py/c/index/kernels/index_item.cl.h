/* CPU: element xk of row y. */
const ga_int k = 0;
#include "index_locals.cl.h"
live[k] = 1;
#if !IX_UNIFORM
IX_FIND_PLACE(1)
#endif
#include "index_positions.cl.h"

#include "index_finish.cl.h"
