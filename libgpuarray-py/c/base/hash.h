/* A 128-bit content hash, for cache keys. Not cryptographic: entries are verified. */
#ifndef GA_C_HASH_H
#define GA_C_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct ga_hash {
  uint64_t a, b;
} ga_hash;

ga_hash ga__hash(const void *bytes, size_t size, ga_hash seed);
/* 32 hexadecimal digits and a NUL. */
void ga__hash_text(char out[33], ga_hash hash);

#endif
