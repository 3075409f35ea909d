/* What tests ask of the null backend. */
#ifndef GA_NULL_BACKEND_H
#define GA_NULL_BACKEND_H

#include "c/backend/backend.h"

/* The device disappears: of the calls on it that can fail, the n-th from now on (0 is
 * the next) and all later ones give GA_RUN_ERROR. Negative: never. */
void ga__null_disappear(void *device, long n);

#endif
