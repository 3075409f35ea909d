/* Programmatic dependent launch: which kernels wait for the one before them. */
#ifndef GA_C_KERNEL_WAITS_H
#define GA_C_KERNEL_WAITS_H

#include <stdbool.h>

/* True if the text has one kernel, whose first statement is KERNEL_BEGIN, and nothing
 * by which the compiler may read memory before it: GA_RESTRICT, __ldg. */
bool ga__kernel_waits(const char *text);

#endif
