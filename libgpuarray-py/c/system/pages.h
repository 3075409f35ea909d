/* Pages of the host's memory. */
#ifndef GA_C_PAGES_H
#define GA_C_PAGES_H

#include <stddef.h>

/* Zeroed, huge ones where the size pays for them; NULL if there are none. */
void *ga__pages_new(size_t size);
void ga__pages_free(void *pages, size_t size);

#endif
