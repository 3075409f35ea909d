/* What the texts of generated kernels have in common. Pure. */
#ifndef GA_C_KERNEL_TEXT_H
#define GA_C_KERNEL_TEXT_H

#include "c/program/kernel.h"

/* Adds an array's parameters, a pointer and a byte offset, to `text`, and to `starts`
 * the statement that moves the pointer to where the array begins: on one line, as words
 * of a text are. */
void ga__text_array(ga_strbuf *text, ga_strbuf *starts, bool is_read, const char *type,
                    const char *name);

/* What C writes of a kernel's text, in place of the word `name`. */
typedef struct ga_text_part {
  const char *name;
  ga_strbuf text;
} ga_text_part;

/* Adds `text` with each part where its name stands. Clears the parts. */
void ga__text_add_parts(ga_strbuf *sb, const char *text, ga_text_part parts[],
                        unsigned int n);

/* Writes `preamble` (or NULL), `words` and `text` to out->body, and that what words and
 * text define ends there. The kernel is named by preamble and text: equal names must
 * mean equal kernels. Of `words`, which are definitions, each "%" becomes the name.
 * Clears `text` in every case. */
int ga__text_finish_named(ga_source *out, const char *stem, const char *preamble,
                          const char *words, ga_strbuf *text);

/* Counts the source that was made behind *n others; where that failed, clears all. */
int ga__sources_count(ga_source *sources, unsigned int *n, int status);

#endif
