/* Macros of all convolution kernels. */

/* Type of indices, where a source has not another one. */
#ifndef CV_INT
#define CV_INT int
#endif
#define CV_AT(type, pointer, bytes)                                                    \
  (GLOBAL_MEM type *)((GLOBAL_MEM const char *)pointer + bytes)
#define CV_EACH(i, n) _Pragma("unroll") for (int i = 0; i < n; i++)
/* The last axis of what is left of an index. */
#define CV_NEXT(name, length)                                                          \
  const CV_INT name = rest % (length);                                                 \
  rest /= (length);
