/* Macros of all convolution kernels. */

/* Type of indices, where a source has not another one, and for their division: they are
 * not negative, and without a sign it takes fewer instructions. */
#ifndef CV_INT
#define CV_INT int
#define CV_COUNT ga_uint
#else
#define CV_COUNT CV_INT
#endif
#define CV_AT(type, pointer, bytes)                                                    \
  (GLOBAL_MEM type *)((GLOBAL_MEM const char *)pointer + bytes)
#define CV_EACH(i, n) _Pragma("unroll") for (int i = 0; i < n; i++)
/* The last axis of what is left of an index. */
#define CV_NEXT(name, length)                                                          \
  const CV_INT name = (CV_INT)((CV_COUNT)rest % (CV_COUNT)(length));                   \
  rest = (CV_INT)((CV_COUNT)rest / (CV_COUNT)(length));
