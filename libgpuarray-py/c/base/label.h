/* The thread's label (source location for error messages), and interned strings. */
#ifndef GA_C_LABEL_H
#define GA_C_LABEL_H

#include "c/base/status.h"

#define GA_LABEL_SIZE 256 /* NUL included; a longer text is cut */

/* Interned copy of `text`, never freed, so that callers need not own it: the same
 * pointer for the same text. Bounded: past 65536 different texts it is "...". NULL
 * without memory. Thread-safe. */
const char *ga__intern(const char *text);

/* The thread's label, interned; "" if there is none. */
const char *ga__label(void);
/* Sets the label to an interned text; returns the previous one, to be restored. */
const char *ga__label_swap(const char *interned);

#endif
