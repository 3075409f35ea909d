/* Runs that end early because the program is asked to. Thread-safe. */
#ifndef GA_C_INTERRUPT_H
#define GA_C_INTERRUPT_H

/* GA_MISC_ERROR if the program's function (gpuarray_interrupt_by) says that this thread
 * is to end what it does. It is asked once in 20 ms at most. */
int ga__check_interrupt(void);

#endif
