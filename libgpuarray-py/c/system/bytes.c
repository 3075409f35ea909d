/* Serialization of values, and reading and writing of whole files. */
#include "c/system/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define OPEN_TRIES 100 /* names to try for a temporary file */

/* ---- writing ---- */

void ga__put_int(ga_strbuf *out, uint64_t value) {
  char bytes[8];
  for (int i = 0; i < 8; i++)
    bytes[i] = (char)(value >> 8 * i & 0xff);
  ga__strbuf_addn(out, bytes, sizeof bytes);
}

void ga__put_double(ga_strbuf *out, double value) {
  uint64_t word;
  memcpy(&word, &value, sizeof word);
  ga__put_int(out, word);
}

void ga__put_text(ga_strbuf *out, const char *text) {
  ga__put_int(out, text ? strlen(text) + 1 : 0);
  if (text)
    ga__strbuf_add(out, text);
}

void ga__put_bytes(ga_strbuf *out, const void *bytes, size_t size) {
  ga__put_int(out, size);
  if (size > 0)
    ga__strbuf_addn(out, bytes, size);
}

void ga__put_uints(ga_strbuf *out, const unsigned int *list, unsigned int n) {
  for (unsigned int i = 0; i < n; i++)
    ga__put_int(out, list[i]);
}

/* ---- reading ---- */

const char *ga__get(ga_reader *r, size_t size) {
  if (size > r->left) {
    r->failed = true;
    r->left = 0;
    return NULL;
  }
  const char *bytes = r->at;
  r->at += size;
  r->left -= size;
  return bytes;
}

uint64_t ga__get_int(ga_reader *r) {
  uint64_t value = 0;
  const char *bytes = ga__get(r, 8);
  for (int i = 0; bytes && i < 8; i++)
    value |= (uint64_t)(unsigned char)bytes[i] << 8 * i;
  return value;
}

unsigned int ga__get_uint(ga_reader *r, unsigned int most) {
  uint64_t value = ga__get_int(r);
  if (value > most)
    r->failed = true;
  return r->failed ? 0 : (unsigned int)value;
}

int ga__get_place(ga_reader *r, unsigned int end) {
  int64_t place = (int64_t)ga__get_int(r);
  if (place < -1 || place >= (int64_t)end)
    r->failed = true;
  return r->failed ? -1 : (int)place;
}

double ga__get_double(ga_reader *r) {
  uint64_t word = ga__get_int(r);
  double value;
  memcpy(&value, &word, sizeof value);
  return value;
}

ga_reader ga__get_bytes(ga_reader *r) {
  uint64_t size = ga__get_int(r);
  if (size > r->left)
    r->failed = true;
  const char *bytes = r->failed ? NULL : ga__get(r, size);
  return (ga_reader){bytes, bytes ? size : 0, bytes == NULL};
}

const char *ga__get_text(ga_reader *r, ga_texts *owned) {
  uint64_t size = ga__get_int(r);
  if (size == 0)
    return NULL;
  const char *bytes = ga__get(r, size - 1);
  char *copy = bytes ? ga__alloc(size, 1) : NULL;
  char **list =
      copy ? ga__realloc(owned->list, owned->n + 1, sizeof *owned->list) : NULL;
  if (list == NULL) {
    r->failed = true;
    ga__free(copy);
    return NULL;
  }
  memcpy(copy, bytes, size - 1);
  owned->list = list;
  owned->list[owned->n++] = copy;
  return copy;
}

void ga__texts_clear(ga_texts *owned) {
  for (unsigned int i = 0; i < owned->n; i++)
    ga__free(owned->list[i]);
  ga__free(owned->list);
  *owned = (ga_texts){0};
}

/* ---- files ---- */

static int system_fail(const char *what, const char *verb, const char *path) {
  return GA_FAIL(GA_SYS_ERROR, "%s: cannot %s %s: %s", what, verb, path,
                 strerror(errno));
}

static bool put(FILE *file, const ga_strbuf *part) {
  return part->length == 0 || fwrite(part->text, 1, part->length, file) == part->length;
}

/* Creates a temporary file beside `path`, O_EXCL: no other process, on this host or on
 * one that shares the folder, writes to the same. */
static int open_beside(ga_strbuf *name, const char *path) {
  static atomic_uint opened;
  const char *slash = strrchr(path, '/');
  const int folder = slash ? (int)(slash - path) + 1 : 0;
  int file = -1;
  for (unsigned int tries = 0; file < 0 && tries < OPEN_TRIES; tries++) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    ga__strbuf_clear(name);
    ga__strbuf_addf(name, "%.*s.gpuarray-%ld-%u-%ld.tmp", folder, path, (long)getpid(),
                    atomic_fetch_add(&opened, 1), now.tv_nsec);
    if (ga__strbuf_status(name) != GA_NO_ERROR)
      return -1;
    file = open(name->text, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH);
    if (file < 0 && errno != EEXIST)
      return -1;
  }
  return file;
}

/* Writes both parts, fsync included if `syncs`, and closes the file. False with errno
 * set. */
static bool put_and_close(int number, const ga_strbuf *head, const ga_strbuf *body,
                          bool syncs) {
  FILE *file = fdopen(number, "wb");
  if (file == NULL) {
    close(number);
    return false;
  }
  bool written = put(file, head) && put(file, body) && fflush(file) == 0 &&
                 (!syncs || fsync(fileno(file)) == 0);
  return fclose(file) == 0 && written;
}

/* Atomic replace: writes a temporary file, fsync, rename. The permissions of the old
 * file are kept. */
static int replace_file(const char *what, const char *path, const struct stat *old,
                        const ga_strbuf *head, const ga_strbuf *body) {
  ga_strbuf other = {0};
  int status = GA_NO_ERROR, number = open_beside(&other, path);
  if (number < 0) {
    status = ga__strbuf_status(&other);
    GA_THEN(status, system_fail(what, "write", path));
  } else {
    bool allowed = old == NULL || fchmod(number, old->st_mode & 07777) == 0;
    bool written = put_and_close(number, head, body, true) && allowed;
    if (!written || rename(other.text, path) != 0) {
      status = system_fail(what, "write", path);
      unlink(other.text);
    }
  }
  ga__strbuf_clear(&other);
  return status;
}

/* Writes into a terminal, pipe or device, which cannot be replaced. */
static int write_into(const char *what, const char *path, const ga_strbuf *head,
                      const ga_strbuf *body) {
  int number = open(path, O_WRONLY | O_CLOEXEC);
  if (number < 0 || !put_and_close(number, head, body, false))
    return system_fail(what, "write", path);
  return GA_NO_ERROR;
}

int ga__file_write(const char *what, const char *path, const ga_strbuf *head,
                   const ga_strbuf *body) {
  struct stat info;
  char *linked =
      realpath(path, NULL); /* a symbolic link stays: its target is replaced */
  const bool exists = linked != NULL && stat(linked, &info) == 0;
  int status = exists && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)
                   ? write_into(what, linked, head, body)
                   : replace_file(what, linked ? linked : path, exists ? &info : NULL,
                                  head, body);
  free(linked);
  return status;
}

int ga__file_read(const char *what, char **bytes, size_t *size, const char *path,
                  size_t most) {
  struct stat info;
  FILE *file = fopen(path, "rb");
  if (file == NULL)
    return system_fail(what, "read", path);
  if (fstat(fileno(file), &info) != 0 || !S_ISREG(info.st_mode)) {
    fclose(file);
    return GA_FAIL(GA_SYS_ERROR, "%s: cannot read %s: it is not a file", what, path);
  }
  int status = GA_MEMORY_ERROR;
  const size_t length = (size_t)info.st_size < most ? (size_t)info.st_size : most;
  char *content = ga__alloc(length + 1, 1);
  if (content != NULL)
    status = fread(content, 1, length, file) == length
                 ? GA_NO_ERROR
                 : system_fail(what, "read", path);
  fclose(file);
  if (status == GA_NO_ERROR) {
    *bytes = content;
    *size = length;
  } else {
    ga__free(content);
  }
  return status;
}
