/* The process that this is. */
#ifndef GA_C_PROCESS_H
#define GA_C_PROCESS_H

/* Keeps the two below current from now on; to be called once. */
void ga__process_watch(void);
/* The number of this process, and how often it forked; 0 before the first context. */
long ga__process(void);
unsigned int ga__forks(void);

#endif
