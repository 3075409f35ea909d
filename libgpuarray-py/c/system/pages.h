/* Pages of host memory. */
#ifndef GA_C_PAGES_H
#define GA_C_PAGES_H

#include <stddef.h>

/* Zeroed pages, huge ones from 4 MiB on; NULL without memory. */
void *ga__pages_new(size_t size);
void ga__pages_free(void *pages, size_t size);

#endif
