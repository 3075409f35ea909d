/* Indexing, over the words that index_source.c defines: for each position of a walk
 * over rows of nx elements, ny of them, an element of `src` (IX_SRC) to one of `dst`
 * (IX_DST), or a number of it. IX_ROW makes <array>_y, where row y begins in each
 * array; IX_PLACE adds to `place` how far the indices lead from there, those of element
 * xk or, where a row has one index all along (IX_UNIFORM), of the row. */

/* An index `g` of any size becomes one that is in bounds; `ok` goes false for one that
 * is not. IS_HUGE: whether it is unsigned and more than a ga_long has. FROM_END: what
 * makes a negative one count from the end. */
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

/* Of the items that look at the one index of a row, that for which `tells` holds says
 * that it is out of bounds, so that it is said once. */
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
