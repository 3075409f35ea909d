/* Programs shipped with the library. */
#define _GNU_SOURCE
#include "c/program/shipped.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "c/system/cache.h"

#define FOLDER "gpuarray-kernels"

/* GPUARRAY_SHIPPED_KERNELS, else FOLDER beside the library's file. NULL if it does not
 * exist or the variable is empty. The caller frees it. */
static char *find_folder(void) {
  const char *chosen = getenv("GPUARRAY_SHIPPED_KERNELS");
  ga_strbuf path = {0};
  struct stat info;
  Dl_info library;
  if (chosen) {
    ga__strbuf_add(&path, chosen);
  } else if (dladdr(FOLDER, &library) && library.dli_fname) {
    const char *slash = strrchr(library.dli_fname, '/');
    if (slash)
      ga__strbuf_addn(&path, library.dli_fname,
                      (size_t)(slash - library.dli_fname) + 1);
    ga__strbuf_add(&path, FOLDER);
  }
  if (path.failed || path.text == NULL || stat(path.text, &info) != 0 ||
      !S_ISDIR(info.st_mode)) {
    ga__strbuf_clear(&path);
    return NULL;
  }
  return path.text;
}

/* Folder and key of an entry. */
typedef struct location {
  ga_strbuf folder, key;
} location;

/* False without memory; call close_place in every case. */
static bool open_location(location *out, const char *folder, const char *backend,
                          const char *arch, const char *source) {
  *out = (location){0};
  ga__strbuf_addf(&out->folder, "%s/%s", folder, arch);
  ga__cache_key(&out->key, backend, arch);
  ga__strbuf_add(&out->key, source);
  return !out->folder.failed && !out->key.failed;
}

static void close_location(location *p) {
  ga__strbuf_clear(&p->folder);
  ga__strbuf_clear(&p->key);
}

bool ga__ship(const char *folder, const char *backend, const char *arch,
              const char *source, const void *bytes, size_t size) {
  location p;
  const bool done =
      open_location(&p, folder, backend, arch, source) &&
      ga__cache_write_shared(p.folder.text, p.key.text, p.key.length, bytes, size);
  close_location(&p);
  return done;
}

static void *read_for(size_t *size, const char *folder, const char *backend,
                      const char *arch, const char *source) {
  location p;
  void *bytes = NULL;
  if (!open_location(&p, folder, backend, arch, source) ||
      ga__cache_read_shared(&bytes, size, p.folder.text, p.key.text, p.key.length) !=
          GA_CACHE_HIT)
    bytes = NULL;
  close_location(&p);
  return bytes;
}

void *ga__shipped_program(size_t *size, const char *backend, const char *arch,
                          const char *source) {
  char family[32];
  char *folder = find_folder();
  if (folder == NULL)
    return NULL;
  void *bytes = read_for(size, folder, backend, arch, source);
  const size_t length = strlen(arch);
  if (bytes == NULL && length > 0 && length < sizeof family &&
      arch[length - 1] != '0') {
    snprintf(family, sizeof family, "%.*s0", (int)length - 1, arch);
    bytes = read_for(size, folder, backend, family, source);
  }
  ga__free(folder);
  return bytes;
}
