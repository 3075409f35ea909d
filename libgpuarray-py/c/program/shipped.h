/* Programs shipped with the library, compiled when it was built: a folder beside it,
 * with a folder per architecture, in the disk cache's format. Their keys name no
 * compiler version. */
#ifndef GA_C_SHIPPED_H
#define GA_C_SHIPPED_H

#include "c/base/strbuf.h"

/* Stores a program; false on failure. */
bool ga__ship(const char *folder, const char *backend, const char *arch,
              const char *source, const void *bytes, size_t size);

/* The binary for `arch`, else for its family's base architecture (sm_86: sm_80), which
 * runs on it too. NULL if missing; the caller frees it with ga__free. */
void *ga__shipped_program(size_t *size, const char *backend, const char *arch,
                          const char *source);

#endif
