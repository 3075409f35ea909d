/* Helpers for generated kernel source. Pure. */
#ifndef GA_C_KERNEL_TEXT_H
#define GA_C_KERNEL_TEXT_H

#include "c/program/kernel.h"

/* Adds an array's parameters (pointer and byte offset) to `text`, and to `starts` the
 * statement that adds the offset: on one line, to fit into a macro. */
void ga__text_array(ga_strbuf *text, ga_strbuf *starts, bool is_read, const char *type,
                    const char *name);

/* Index type of a kernel. */
static inline const char *ga__text_position(bool is_wide) {
  return is_wide ? "ga_long" : "ga_int";
}

/* A placeholder `name` in a template and the text that replaces it. */
typedef struct ga_text_part {
  const char *name;
  ga_strbuf text;
} ga_text_part;

/* Expands the template `text` with the parts; clears them. */
void ga__text_add_parts(ga_strbuf *sb, const char *text, ga_text_part parts[],
                        unsigned int n);

/* Assembles out->body from `preamble` (or NULL), `words` and `text`, then #undefs the
 * macros of the latter two. The kernel's name hashes preamble and text, so these must
 * determine the kernel. In `words`, macro definitions, each "%" becomes the name.
 * Always clears `text`. */
int ga__text_finish_named(ga_source *out, const char *stem, const char *preamble,
                          const char *words, ga_strbuf *text);

/* Counts a source appended to *n others; on failure clears all. */
int ga__sources_count(ga_source *sources, unsigned int *n, int status);

#endif
