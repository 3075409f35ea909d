/* Values as bytes, for files: integers are 8 bytes, the lowest first; a text is its
 * length with a NUL that is not stored, 0 for NULL. */
#ifndef GA_C_BYTES_H
#define GA_C_BYTES_H

#include <stdint.h>

#include "c/base/strbuf.h"

/* Writing; a failure is kept in the buffer. */
void ga__put_int(ga_strbuf *out, uint64_t value);
void ga__put_double(ga_strbuf *out, double value);
void ga__put_text(ga_strbuf *out, const char *text);
/* Bytes with their number in front. */
void ga__put_bytes(ga_strbuf *out, const void *bytes, size_t size);
void ga__put_uints(ga_strbuf *out, const unsigned int *list, unsigned int n);

/* Reading: what is left. Once something does not fit, everything reads as 0. */
typedef struct ga_reader {
  const char *at;
  size_t left;
  bool failed;
} ga_reader;

/* The next `size` bytes, or NULL. */
const char *ga__get(ga_reader *r, size_t size);
uint64_t ga__get_int(ga_reader *r);
/* An integer that must be at most `most`. */
unsigned int ga__get_uint(ga_reader *r, unsigned int most);
/* An integer that must be from -1 to below `end`. */
int ga__get_place(ga_reader *r, unsigned int end);
double ga__get_double(ga_reader *r);
/* What ga__put_bytes wrote, as a reader of its own. */
ga_reader ga__get_bytes(ga_reader *r);

/* Texts that were read; they end with a NUL, and live until ga__texts_clear. Starts
 * zeroed. */
typedef struct ga_texts {
  char **list;
  unsigned int n;
} ga_texts;
/* NULL for no text, and where it fails. */
const char *ga__get_text(ga_reader *r, ga_texts *owned);
void ga__texts_clear(ga_texts *owned);

/* Whole files. `what` names the operation in messages. GA_SYS_ERROR; a file appears
 * under its name whole or not at all, whoever else writes it at the same time: the last
 * one stays. *bytes is made with ga__alloc. */
int ga__file_write(const char *what, const char *path, const ga_strbuf *head,
                   const ga_strbuf *body);
int ga__file_read(const char *what, char **bytes, size_t *size, const char *path);

#endif
