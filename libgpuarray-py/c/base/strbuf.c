/* Growing strings, for kernel sources and reports. */
#include "c/base/strbuf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Reserves room for `more` characters and a NUL. */
static bool reserve(ga_strbuf *sb, size_t more) {
  if (sb->failed)
    return false;
  if (more < sb->capacity - sb->length)
    return true;
  size_t capacity = sb->capacity < 128 ? 256 : sb->capacity * 2;
  if (more >= SIZE_MAX / 4) {
    sb->failed = true;
    return false;
  }
  if (capacity < sb->length + more + 1)
    capacity = sb->length + more + 1;
  char *text = ga__realloc(sb->text, capacity, 1);
  if (text == NULL) {
    sb->failed = true;
    return false;
  }
  sb->text = text;
  sb->capacity = capacity;
  return true;
}

void ga__strbuf_addn(ga_strbuf *sb, const char *text, size_t length) {
  if (!reserve(sb, length))
    return;
  memcpy(sb->text + sb->length, text, length);
  sb->length += length;
  sb->text[sb->length] = '\0';
}

void ga__strbuf_add(ga_strbuf *sb, const char *text) {
  ga__strbuf_addn(sb, text, strlen(text));
}

void ga__strbuf_addf(ga_strbuf *sb, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  if (length < 0)
    sb->failed = true;
  else if (reserve(sb, (size_t)length)) {
    vsnprintf(sb->text + sb->length, (size_t)length + 1, format, again);
    sb->length += (size_t)length;
  }
  va_end(again);
}

void ga__strbuf_fill(ga_strbuf *sb, const char *form, const char *text) {
  for (const char *at; (at = strchr(form, '%')) != NULL; form = at + 1) {
    ga__strbuf_addn(sb, form, (size_t)(at - form));
    ga__strbuf_add(sb, text);
  }
  ga__strbuf_add(sb, form);
}

void ga__strbuf_move(ga_strbuf *sb, ga_strbuf *other) {
  sb->failed |= other->failed;
  if (other->length > 0)
    ga__strbuf_addn(sb, other->text, other->length);
  ga__strbuf_clear(other);
}

void ga__strbuf_add_lines(ga_strbuf *sb, const char *source) {
  for (unsigned int line = 1; *source; line++) {
    size_t length = strcspn(source, "\n");
    ga__strbuf_addf(sb, "%4u  %.*s\n", line, (int)length, source);
    source += length + (source[length] == '\n');
  }
}

int ga__strbuf_status(const ga_strbuf *sb) {
  if (sb->failed)
    return GA_FAIL(GA_MEMORY_ERROR, "the host has no memory for a text of %zu bytes",
                   sb->capacity * 2);
  return GA_NO_ERROR;
}

void ga__strbuf_clear(ga_strbuf *sb) {
  ga__free(sb->text);
  *sb = (ga_strbuf){0};
}
