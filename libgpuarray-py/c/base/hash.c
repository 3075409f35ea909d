/* A 128-bit content hash, for cache keys.
 *
 * Two 64-bit lanes read the same words; each lane mixes with its own odd constant, and
 * the end mixes them into one another. */
#include "c/base/hash.h"

#include <string.h>

#define ODD_A UINT64_C(0x9e3779b97f4a7c15) /* 2^64 over the golden ratio */
#define ODD_B UINT64_C(0xc2b2ae3d27d4eb4f)

static uint64_t rotate(uint64_t x, int by) {
  return (x << by) | (x >> (64 - by));
}

/* Avalanche: every bit of the result depends on every bit of x. */
static uint64_t finish(uint64_t x) {
  x = (x ^ (x >> 32)) * ODD_A;
  x = (x ^ (x >> 29)) * ODD_B;
  return x ^ (x >> 32);
}

static void mix(ga_hash *hash, uint64_t word) {
  hash->a = rotate((hash->a ^ word) * ODD_A, 29) + hash->b;
  hash->b = rotate((hash->b + word) * ODD_B, 37) ^ hash->a;
}

ga_hash ga__hash(const void *bytes, size_t size, ga_hash seed) {
  const unsigned char *next = bytes;
  ga_hash hash = {seed.a + ODD_A, seed.b ^ ODD_B};
  uint64_t word;
  size_t left = size;
  for (; left >= sizeof word; left -= sizeof word, next += sizeof word) {
    memcpy(&word, next, sizeof word);
    mix(&hash, word);
  }
  word = 0;
  if (left > 0)
    memcpy(&word, next, left);
  mix(&hash, word);
  mix(&hash, (uint64_t)size);
  hash.a = finish(hash.a ^ rotate(hash.b, 17));
  hash.b = finish(hash.b + hash.a);
  return hash;
}

void ga__hash_text(char out[33], ga_hash hash) {
  static const char digits[] = "0123456789abcdef";
  for (int i = 0; i < 16; i++) {
    out[i] = digits[(hash.a >> (60 - 4 * i)) & 15];
    out[16 + i] = digits[(hash.b >> (60 - 4 * i)) & 15];
  }
  out[32] = '\0';
}
