/* GPUARRAY_DUMP_KERNELS: kernel sources written to a folder, to be read. */
#define _POSIX_C_SOURCE 200809L
#include "c/system/dump.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "c/base/hash.h"
#include "c/base/strbuf.h"

/* Writes a file made by mkstemp and closes it. False with errno set. */
static bool write_temporary(char *name, const char *text) {
  int number = mkstemp(name);
  if (number < 0)
    return false;
  FILE *file = fdopen(number, "w");
  if (file == NULL) {
    close(number);
    return false;
  }
  bool written = fputs(text, file) >= 0;
  return fclose(file) == 0 && written;
}

/* Atomic write: temporary file and rename. */
static int write_whole(const char *path, const char *text) {
  ga_strbuf temporary = {0};
  ga__strbuf_addf(&temporary, "%s.XXXXXX", path);
  GA_TRY(ga__strbuf_status(&temporary));
  int status = GA_NO_ERROR;
  if (!write_temporary(temporary.text, text) || rename(temporary.text, path) != 0) {
    status = GA_FAIL(GA_SYS_ERROR, "GPUARRAY_DUMP_KERNELS: %s cannot be written: %s",
                     path, strerror(errno));
    unlink(temporary.text);
  }
  ga__strbuf_clear(&temporary);
  return status;
}

int ga__dump_source(const char *body) {
  const char *folder = getenv("GPUARRAY_DUMP_KERNELS");
  if (folder == NULL || *folder == '\0')
    return GA_NO_ERROR;
  char digits[33];
  ga_strbuf path = {0};
  ga__hash_text(digits, ga__hash(body, strlen(body), (ga_hash){0, 0}));
  ga__strbuf_addf(&path, "%s/%s.cluda", folder, digits);
  int status = ga__strbuf_status(&path);
  if (status == GA_NO_ERROR && access(path.text, F_OK) != 0) {
    mkdir(folder, S_IRWXU | S_IRWXG | S_IRWXO);
    status = write_whole(path.text, body);
  }
  ga__strbuf_clear(&path);
  return status;
}
