/* Indexing over rows of nx elements, ny of them: moves an element of `src` (IX_SRC) to
 * `dst` (IX_DST), or stores a number derived from its index. Macros from
 * index_source.c: IX_ROW computes <array>_y, row y's offset in each array; IX_PLACE
 * adds the indices' offset to `place`, of element xk, or of the row if its index is
 * uniform (IX_UNIFORM). */

/* Bounds: brings index `g` into range; clears `ok` where it was not. IS_HUGE: unsigned
 * and above the ga_long range. FROM_END: wraps negative indices. */
#if IX_WRAPS
#define IX_BOUND(length, IS_HUGE, FROM_END)                                            \
  if (g < 0 || g >= length) {                                                          \
    g %= length;                                                                       \
    if (g < 0)                                                                         \
      g += length;                                                                     \
  }
#elif IX_CLIPS
#define IX_BOUND(length, IS_HUGE, FROM_END)                                            \
  g = IS_HUGE ? length - 1 : g < 0 ? 0 : g >= length ? length - 1 : g;
#elif IX_CHECKS
#define IX_BOUND(length, IS_HUGE, FROM_END)                                            \
  FROM_END if (g < 0 || g >= length) {                                                 \
    g = 0;                                                                             \
    ok = 0;                                                                            \
    IX_TELL(length)                                                                    \
  }
#else
#define IX_BOUND(length, IS_HUGE, FROM_END)
#endif
#define IX_FROM_END(length)                                                            \
  if (g < 0)                                                                           \
    g += length;

/* Of the items that share a row's index only the one with `tells` reports it. */
#if IX_RAISES && IX_UNIFORM
#define IX_TELL(length)                                                                \
  if (tells)                                                                           \
    ga_report_index(word, word_off, site, raw, length);
#elif IX_RAISES
#define IX_TELL(length) ga_report_index(word, word_off, site, raw, length);
#else
#define IX_TELL(length)
#endif

#define IX_INDEX(element, length, step, IS_HUGE, FROM_END)                             \
  {                                                                                    \
    const ga_long raw = (ga_long)element;                                              \
    ga_long g = raw;                                                                   \
    IX_BOUND(length, IS_HUGE, FROM_END)                                                \
    place += (IX_INT)g * step;                                                         \
  }
#if IX_UNIFORM
#define IX_FIND_PLACE(is_first)                                                        \
  IX_INT place = 0;                                                                    \
  ga_int ok = 1;                                                                       \
  (void)ok;                                                                            \
  const ga_int tells = is_first;                                                       \
  (void)tells;                                                                         \
  IX_PLACE
#else
#define IX_FIND_PLACE(is_first)                                                        \
  IX_INT place = 0;                                                                    \
  ga_int ok = 1;                                                                       \
  (void)ok;                                                                            \
  IX_PLACE
#endif
