/* Opens a vendor's library and says what was tried. */
#ifndef GA_C_DYNLOAD_H
#define GA_C_DYNLOAD_H

#include "c/base/strbuf.h"

/* Tries each candidate (a path or a soname) in order and keeps the first that opens.
 * Every attempt adds one line to `report`: what was tried and what came of it. NULL if
 * none opens. */
void *ga__dynload_open(const char *const *candidates, ga_strbuf *report);
/* The address of a function, or NULL. */
void *ga__dynload_symbol(void *library, const char *name);

/* Adds to `paths` (a list of strings, grown with ga__realloc and ended by NULL) every
 * file matching `pattern` (glob), newest version first. */
int ga__dynload_glob(char ***paths, const char *pattern);
/* Adds <folder>/<pattern> for the folders where wheels of the package index put their
 * libraries: the value of GPUARRAY_WHEEL_PATH (a ':'-separated list of site-packages
 * folders, which the Python package sets), e.g. pattern
 * "nvidia/cu13/lib/libnvrtc.so.*". */
int ga__dynload_wheels(char ***paths, const char *pattern);
int ga__dynload_add(char ***paths, const char *path);
void ga__dynload_paths_free(char **paths);

#endif
