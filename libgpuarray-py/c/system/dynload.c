/* Dynamic loading of vendor libraries, with a report of every attempt. */
#define _GNU_SOURCE /* dladdr */
#include "c/system/dynload.h"

#include <ctype.h>
#include <dlfcn.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

void *ga__dynload_open(const char *const *candidates, ga_strbuf *report) {
  for (; candidates && *candidates; candidates++) {
    void *library = dlopen(*candidates, RTLD_NOW | RTLD_LOCAL);
    if (library) {
      ga__strbuf_addf(report, "%s: opened\n", *candidates);
      return library;
    }
    const char *why = dlerror();
    ga__strbuf_addf(report, "%s: not opened: %s\n", *candidates,
                    why ? why : "the loader gives no reason");
  }
  return NULL;
}

void *ga__dynload_loaded(const char *soname) {
  return dlopen(soname, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
}

void *ga__dynload_symbol(void *library, const char *name) {
  return dlsym(library, name);
}

int ga__dynload_add(char ***paths, const char *path) {
  size_t n = 0;
  while (*paths && (*paths)[n])
    n++;
  char *copy = ga__strdup(path);
  GA_TRY_MEMORY(copy);
  char **longer = ga__realloc(*paths, n + 2, sizeof *longer);
  if (longer == NULL) {
    ga__free(copy);
    return GA_MEMORY_ERROR;
  }
  longer[n] = copy;
  longer[n + 1] = NULL;
  *paths = longer;
  return GA_NO_ERROR;
}

void ga__dynload_paths_free(char **paths) {
  for (char **path = paths; path && *path; path++)
    ga__free(*path);
  ga__free(paths);
}

void ga__dynload_close(void *library) {
  dlclose(library);
}

bool ga__dynload_path(char *out, size_t size, const void *symbol) {
  Dl_info about;
  if (dladdr(symbol, &about) == 0 || about.dli_fname == NULL ||
      strlen(about.dli_fname) >= size)
    return false;
  strcpy(out, about.dli_fname);
  return true;
}

/* Version order: digits compare by value, "so.9" before "so.12". */
static int compare_versions(const char *a, const char *b) {
  while (*a && *b) {
    if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
      char *a_end, *b_end;
      unsigned long x = strtoul(a, &a_end, 10), y = strtoul(b, &b_end, 10);
      if (x != y)
        return x < y ? -1 : 1;
      a = a_end;
      b = b_end;
    } else if (*a != *b) {
      return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
    } else {
      a++;
      b++;
    }
  }
  return (*a != '\0') - (*b != '\0');
}

static int newest_first(const void *a, const void *b) {
  return compare_versions(*(char *const *)b, *(char *const *)a);
}

int ga__dynload_glob(char ***paths, const char *pattern) {
  glob_t matches;
  int answer = glob(pattern, 0, NULL, &matches);
  if (answer == GLOB_NOMATCH || answer == GLOB_ABORTED)
    return GA_NO_ERROR;
  if (answer != 0)
    return GA_FAIL(GA_MEMORY_ERROR, "the host has no memory to search for %s", pattern);
  qsort(matches.gl_pathv, matches.gl_pathc, sizeof *matches.gl_pathv, newest_first);
  int status = GA_NO_ERROR;
  for (size_t i = 0; i < matches.gl_pathc && status == GA_NO_ERROR; i++)
    status = ga__dynload_add(paths, matches.gl_pathv[i]);
  globfree(&matches);
  return status;
}

int ga__dynload_wheels(char ***paths, const char *pattern) {
  const char *folder = getenv("GPUARRAY_WHEEL_PATH");
  while (folder && *folder) {
    size_t length = strcspn(folder, ":");
    if (length > 0) {
      ga_strbuf full = {0};
      ga__strbuf_addn(&full, folder, length);
      ga__strbuf_addf(&full, "/%s", pattern);
      int status = ga__strbuf_status(&full);
      GA_THEN(status, ga__dynload_glob(paths, full.text));
      ga__strbuf_clear(&full);
      GA_TRY(status);
    }
    folder += length + (folder[length] == ':');
  }
  return GA_NO_ERROR;
}
