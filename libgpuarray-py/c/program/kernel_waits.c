/* Kernels that wait, found by their text. */
#include "c/program/kernel_waits.h"

#include <ctype.h>
#include <string.h>

static bool is_letter(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

/* The next place of `word` at or behind `text`, not as a part of another word; NULL if
 * there is none. */
static const char *find_word(const char *text, const char *word) {
  const size_t size = strlen(word);
  const char *at = strstr(text, word);
  while (at != NULL && (is_letter(at[size]) || (at > text && is_letter(at[-1]))))
    at = strstr(at + size, word);
  return at;
}

static unsigned int count_words(const char *text, const char *word) {
  unsigned int n = 0;
  for (const char *at = text; (at = find_word(at, word)) != NULL; at += strlen(word))
    n++;
  return n;
}

/* What stands before `at`, but for spaces; 0 at the start. */
static char before(const char *text, const char **at) {
  while (*at > text && isspace((unsigned char)(*at)[-1]))
    --*at;
  return *at > text ? *--*at : '\0';
}

bool ga__kernel_waits(const char *text) {
  static const char *const kernels[] = {"KERNEL", "KERNEL_OF", "KERNEL_SIZED",
                                        "__global__"};
  static const char *const early[] = {"restrict", "RESTRICT", "__ldg"};
  unsigned int n = 0;
  for (size_t i = 0; i < sizeof early / sizeof *early; i++)
    if (strstr(text, early[i]) != NULL)
      return false;
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
    n += count_words(text, kernels[i]);
  const char *at = find_word(text, "KERNEL_BEGIN");
  return n == 1 && at != NULL && before(text, &at) == '{' && before(text, &at) == ')';
}
