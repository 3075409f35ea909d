/* Values as bytes, and whole files of them. */
#include "c/bytes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

int ga__file_write(const char *what, const char *path, const ga_strbuf *head,
                   const ga_strbuf *body) {
  ga_strbuf other = {0}; /* another name first, so that nobody finds half a file */
  ga__strbuf_addf(&other, "%s.%ld.tmp", path, (long)getpid());
  int status = ga__strbuf_status(&other);
  FILE *file = status == GA_NO_ERROR ? fopen(other.text, "wb") : NULL;
  if (status == GA_NO_ERROR && file == NULL)
    status = system_fail(what, "write", path);
  if (file != NULL) {
    bool written = put(file, head) && put(file, body) && fflush(file) == 0 &&
                   fsync(fileno(file)) == 0;
    written = fclose(file) == 0 && written && rename(other.text, path) == 0;
    if (!written) {
      status = system_fail(what, "write", path);
      unlink(other.text);
    }
  }
  ga__strbuf_clear(&other);
  return status;
}

int ga__file_read(const char *what, char **bytes, size_t *size, const char *path) {
  struct stat is;
  FILE *file = fopen(path, "rb");
  if (file == NULL)
    return system_fail(what, "read", path);
  if (fstat(fileno(file), &is) != 0 || !S_ISREG(is.st_mode)) {
    fclose(file);
    return GA_FAIL(GA_SYS_ERROR, "%s: cannot read %s: it is no file", what, path);
  }
  int status = GA_MEMORY_ERROR;
  size_t length = (size_t)is.st_size;
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
