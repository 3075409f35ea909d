/* Kernels that a folder keeps, as the tests of caches see them. */
#ifndef KEPT_KERNELS_H
#define KEPT_KERNELS_H

#include "check.h"

/* The path of the one entry of a cache. */
static inline char *only_entry(const char *cache) {
  static char path[512];
  char command[300];
  snprintf(command, sizeof command, "ls %s/*.kernel", cache);
  FILE *list = popen(command, "r");
  CHECK(list && fgets(path, sizeof path, list));
  if (list)
    pclose(list);
  path[strcspn(path, "\n")] = '\0';
  return path;
}

#endif
