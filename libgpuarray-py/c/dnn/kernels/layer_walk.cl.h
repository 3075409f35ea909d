/* Walks the elements (rest, channel, n0, n1) of images: `row` are statements on rest,
 * channel and n0, `element` on n1 as well.
 *
 * On a processor (LW_ROWS) `count` is the number of rows: each group takes some, its
 * items side by side along them, so that they become the lanes of a vector, and full
 * steps store without a condition (masked stores are slow). Else it is the number of
 * elements, and items take those. */
#define LW_NEXT(type, name, length)                                                    \
  const type name = rest % (length);                                                   \
  rest /= (length);

#if LW_ROWS
#define LW_WALK(type, count, height, width, channels, row, element)                    \
  for (type line = (type)GID_0; line < count; line += (type)GDIM_0) {                  \
    type rest = line, begun = 0;                                                       \
    LW_NEXT(type, n0, height)                                                          \
    LW_NEXT(type, channel, channels)                                                   \
    row for (; begun + (type)LDIM_0 <= width; begun += (type)LDIM_0) {                 \
      const type n1 = begun + (type)LID_0;                                             \
      element                                                                          \
    }                                                                                  \
    if (begun + (type)LID_0 < width) {                                                 \
      const type n1 = begun + (type)LID_0;                                             \
      element                                                                          \
    }                                                                                  \
  }
#else
#define LW_WALK(type, count, height, width, channels, row, element)                    \
  for (type at = (type)(GID_0 * LDIM_0 + LID_0); at < count;                           \
       at += (type)(GDIM_0 * LDIM_0)) {                                                \
    type rest = at;                                                                    \
    LW_NEXT(type, n1, width)                                                           \
    LW_NEXT(type, n0, height)                                                          \
    LW_NEXT(type, channel, channels)                                                   \
    row element                                                                        \
  }
#endif
