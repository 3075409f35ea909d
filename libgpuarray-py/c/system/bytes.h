/* Serialization: integers are 8 bytes, little-endian; a text is its length + 1 and its
 * characters, 0 for NULL. */
#ifndef GA_C_BYTES_H
#define GA_C_BYTES_H

#include <stdint.h>

#include "c/base/strbuf.h"

/* Writing; a failure is remembered by the buffer. */
void ga__put_int(ga_strbuf *out, uint64_t value);
void ga__put_double(ga_strbuf *out, double value);
void ga__put_text(ga_strbuf *out, const char *text);
/* Bytes with their length in front. */
void ga__put_bytes(ga_strbuf *out, const void *bytes, size_t size);
void ga__put_uints(ga_strbuf *out, const unsigned int *list, unsigned int n);

/* Reader of the bytes that are left. After a read past the end everything reads as
 * 0. */
typedef struct ga_reader {
  const char *at;
  size_t left;
  bool failed;
} ga_reader;

/* The next `size` bytes, or NULL. */
const char *ga__get(ga_reader *r, size_t size);
uint64_t ga__get_int(ga_reader *r);
/* An integer of at most `most`; a larger one is a failure. */
unsigned int ga__get_uint(ga_reader *r, unsigned int most);
/* An index below `end`, or -1 for none; anything else is a failure. */
int ga__get_place(ga_reader *r, unsigned int end);
double ga__get_double(ga_reader *r);
/* A nested reader for what ga__put_bytes wrote. */
ga_reader ga__get_bytes(ga_reader *r);

/* Owner of texts that were read, until ga__texts_clear. Starts zeroed. */
typedef struct ga_texts {
  char **list;
  unsigned int n;
} ga_texts;
/* NULL for no text, and on failure. */
const char *ga__get_text(ga_reader *r, ga_texts *owned);
void ga__texts_clear(ga_texts *owned);

/* Files; `what` names the operation in messages. A write is atomic: the file appears
 * whole or not at all; of concurrent writers the last one wins. Of a larger file `most`
 * bytes are read; *bytes is made with ga__alloc. GA_SYS_ERROR. */
int ga__file_write(const char *what, const char *path, const ga_strbuf *head,
                   const ga_strbuf *body);
int ga__file_read(const char *what, char **bytes, size_t *size, const char *path,
                  size_t most);

#endif
