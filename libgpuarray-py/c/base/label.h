/* The label of a thread's work, and names that live as long as the process. */
#ifndef GA_C_LABEL_H
#define GA_C_LABEL_H

#include "c/base/status.h"

#define GA_LABEL_SIZE 256 /* with its end; a longer text is cut */

/* A copy of `text` that is never freed, the same for the same text, so that whoever
 * keeps it need not own it. Bounded: past many thousand different texts it is "...".
 * NULL only where the host has no memory. Thread-safe. */
const char *ga__intern(const char *text);

/* The thread's label, interned; "" if there is none. */
const char *ga__label(void);
/* Sets it to an interned text, and gives the one before, to be put back. */
const char *ga__label_swap(const char *interned);

#endif
