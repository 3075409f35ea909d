/* Growing strings, for kernel sources and reports. A failed addition is remembered; ask
 * once, with ga__strbuf_status. */
#ifndef GA_C_STRBUF_H
#define GA_C_STRBUF_H

#include "c/base/status.h"

/* Starts zeroed: `ga_strbuf text = {0};`. */
typedef struct ga_strbuf {
  char *text; /* NUL-terminated, or NULL while empty */
  size_t length, capacity;
  bool failed;
} ga_strbuf;

void ga__strbuf_add(ga_strbuf *sb, const char *text);
void ga__strbuf_addn(ga_strbuf *sb, const char *text, size_t length);
void ga__strbuf_addf(ga_strbuf *sb, const char *format, ...) GA_PRINTF(2, 3);
/* Adds `form` with `text` for each '%'. */
void ga__strbuf_fill(ga_strbuf *sb, const char *form, const char *text);
/* Moves the text of another to the end, and its failure. */
void ga__strbuf_move(ga_strbuf *sb, ga_strbuf *other);
/* A source with line numbers. */
void ga__strbuf_add_lines(ga_strbuf *sb, const char *source);
/* GA_MEMORY_ERROR if any addition failed. */
int ga__strbuf_status(const ga_strbuf *sb);
void ga__strbuf_clear(ga_strbuf *sb);

#endif
