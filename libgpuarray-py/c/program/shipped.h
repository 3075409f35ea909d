/* Programs that were compiled when the library was built, and lie in a folder beside
 * it: in one for each architecture, entries as the cache on disk has them, whose keys
 * name no compiler. */
#ifndef GA_C_SHIPPED_H
#define GA_C_SHIPPED_H

#include "c/base/strbuf.h"

/* Stores a program in such a folder; false if that cannot be done. */
bool ga__ship(const char *folder, const char *backend, const char *arch,
              const char *source, const void *bytes, size_t size);

/* The bytes of a program, in memory that the caller frees with ga__free, or NULL: those
 * for `arch`, or for the first of its family, whose code runs on all of it. */
void *ga__shipped_program(size_t *size, const char *backend, const char *arch,
                          const char *source);

#endif
