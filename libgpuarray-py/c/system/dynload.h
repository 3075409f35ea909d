/* Dynamic loading of vendor libraries, with a report of every attempt. */
#ifndef GA_C_DYNLOAD_H
#define GA_C_DYNLOAD_H

#include "c/base/strbuf.h"

/* dlopen: keeps the first candidate (path or soname) that opens; NULL if none does.
 * Adds a line to `report` for every attempt. */
void *ga__dynload_open(const char *const *candidates, ga_strbuf *report);
/* A library that is in the process already, by its soname; NULL if it is not. */
void *ga__dynload_loaded(const char *soname);
/* dlsym: the address of a function, or NULL. */
void *ga__dynload_symbol(void *library, const char *name);
/* dlclose, for a library that no other refers to. */
void ga__dynload_close(void *library);
/* The path of the library that has this symbol, as the loader opened it; false if it is
 * unknown or does not fit. */
bool ga__dynload_path(char *out, size_t size, const void *symbol);

/* Adds every file that matches the glob `pattern`, newest version first, to `paths`: a
 * list grown with ga__realloc and ended by NULL. */
int ga__dynload_glob(char ***paths, const char *pattern);
/* Adds <folder>/<pattern> for the folders of wheels: GPUARRAY_WHEEL_PATH, a
 * ':'-separated list of site-packages folders that the Python package sets. Example of
 * a pattern: "nvidia/cu13/lib/libnvrtc.so.*". */
int ga__dynload_wheels(char ***paths, const char *pattern);
int ga__dynload_add(char ***paths, const char *path);
void ga__dynload_paths_free(char **paths);

#endif
