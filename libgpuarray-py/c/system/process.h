/* Process id and fork count, without a system call. */
#ifndef GA_C_PROCESS_H
#define GA_C_PROCESS_H

/* Keeps both current from now on; call it once. */
void ga__process_watch(void);
/* Process id and number of forks; 0 before the first context. */
long ga__process(void);
unsigned int ga__forks(void);

#endif
