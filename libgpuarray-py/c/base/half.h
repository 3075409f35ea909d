/* float16 and bfloat16 to float, on the host. */
#ifndef GA_C_HALF_H
#define GA_C_HALF_H

#include <stdint.h>
#include <string.h>

static inline float ga__half_value(uint16_t bits) {
  uint32_t exponent = bits >> 10 & 31, mantissa = bits & 1023;
  uint32_t sign = (uint32_t)(bits & 0x8000) << 16, word;
  float value;
  if (exponent == 0) { /* zero or subnormal: mantissa * 2^-24 */
    value = (float)mantissa * 0x1p-24f;
    return sign ? -value : value;
  }
  if (exponent == 31)
    word = sign | 0x7f800000 | mantissa << 13;
  else
    word = sign | (exponent + 112) << 23 | mantissa << 13;
  memcpy(&value, &word, sizeof value);
  return value;
}

static inline float ga__bfloat16_value(uint16_t bits) {
  uint32_t word = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &word, sizeof value);
  return value;
}

#endif
