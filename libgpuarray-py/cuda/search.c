/* Search paths of NVIDIA's libraries. */
#define _POSIX_C_SOURCE 200809L
#include "cuda/search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "c/base/hash.h"

int ga__cuda_file_major(const char *path) {
  const char *version = strstr(path, ".so.");
  return version ? atoi(version + 4) : 0;
}

/* Adds <folder>/<middle>/<file>.*; skips paths that are too long. */
static int add_folder(char ***paths, const char *folder, const char *middle,
                      const char *file) {
  char pattern[4096];
  int length = snprintf(pattern, sizeof pattern, "%s/%s/%s.*", folder, middle, file);
  if (length < 0 || (size_t)length >= sizeof pattern)
    return GA_NO_ERROR;
  return ga__dynload_glob(paths, pattern);
}

static int add_wheels(char ***paths, const char *folder, const char *file) {
  char pattern[128];
  snprintf(pattern, sizeof pattern, "nvidia/%s/lib/%s.*", folder, file);
  return ga__dynload_wheels(paths, pattern);
}

static int add_toolkit(char ***paths, const char *folder, const char *file) {
  if (folder == NULL || *folder == '\0')
    return GA_NO_ERROR;
  GA_TRY(add_folder(paths, folder, "lib64", file));
  return add_folder(paths, folder, "targets/*/lib", file);
}

int ga__cuda_search(char ***paths, const char *file, const char *wheel,
                    const char *other_wheel) {
  GA_TRY(add_wheels(paths, "cu[0-9]*", file));
  GA_TRY(add_wheels(paths, wheel, file));
  if (other_wheel)
    GA_TRY(add_wheels(paths, other_wheel, file));
  GA_TRY(add_toolkit(paths, getenv("CUDA_PATH"), file));
  GA_TRY(add_toolkit(paths, getenv("CUDA_HOME"), file));
  GA_TRY(add_toolkit(paths, "/usr/local/cuda*", file));
  const char *conda = getenv("CONDA_PREFIX");
  if (conda && *conda)
    GA_TRY(add_folder(paths, conda, "lib", file));
  GA_TRY(add_folder(paths, "/usr/lib", "*-linux-gnu", file));
  return add_folder(paths, "/usr", "lib64", file);
}

bool ga__cuda_file_id(char *out, size_t size, const char *path) {
  struct stat about;
  unsigned char head[4096];
  char digits[33];
  FILE *file = fopen(path, "rb");
  if (file == NULL)
    return false;
  bool is_known =
      fread(head, sizeof head, 1, file) == 1 && fstat(fileno(file), &about) == 0;
  fclose(file);
  if (!is_known)
    return false;
  ga__hash_text(digits, ga__hash(head, sizeof head, (ga_hash){0, 0}));
  const char *slash = strrchr(path, '/');
  snprintf(out, size, "%s %lld %.16s", slash ? slash + 1 : path,
           (long long)about.st_size, digits);
  return true;
}
