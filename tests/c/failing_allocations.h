/* A scenario with each of its allocations failing in turn. */
#ifndef FAILING_ALLOCATIONS_H
#define FAILING_ALLOCATIONS_H

#include "check.h"

/* Some may fail without harm, so that passing once proves nothing. */
static inline void fail_allocations_of(int (*scenario)(void)) {
  int passed = 0;
  long n = 0;
  for (; passed < 40 && n < 4000; n++) {
    ga__alloc_fail_at(n);
    int status = scenario();
    ga__alloc_fail_at(-1);
    passed = status == GA_NO_ERROR ? passed + 1 : 0;
    if (status != GA_NO_ERROR)
      CHECK_STATUS(GA_MEMORY_ERROR, status);
  }
  CHECK(passed == 40 && n > 60);
}

#endif
