/* Words of the pooling kernels. Places along an axis: o of results, i of data; a window
 * begins at o * stride - before. Lengths, strides and windows are arguments, or numbers
 * that let loops unroll. a is the data, m the maxima, v what is gathered; b, c and 0 to
 * 2 name the strides of two outer and three spatial axes. */
#define PL_AT(type, pointer, bytes)                                                    \
  (GLOBAL_MEM type *)((GLOBAL_MEM const char *)pointer + bytes)
/* The last axis of what is left of an index. */
#define PL_NEXT(name, length)                                                          \
  const PL_INT name = rest % (length);                                                 \
  rest /= (length);
/* The nearest place within an axis. */
#define PL_WITHIN(i, length) ((i) < 0 ? 0 : (i) < (length) ? (i) : (length) - 1)
#define PL_IS_WITHIN(i, length) ((i) >= 0 && (i) < (length))
#define PL_LEAST(a, b) ((a) < (b) ? (a) : (b))
#define PL_MOST(a, b) ((a) > (b) ? (a) : (b))

/* The stride along the last axis. */
#if PL_IS_UNIT
#define PL_STEP(name) 1
#else
#define PL_STEP(name) name##2
#endif

/* Elements of a window along an axis, with padding or without. */
#if PL_MODE == PL_AVERAGE_PADDED
#define PL_EXTENT(o, axis)                                                             \
  PL_LEAST(PL_W##axis, before##axis + length##axis + after##axis - (o) * PL_S##axis)
#else
#define PL_EXTENT(o, axis)                                                             \
  (PL_LEAST((o) * PL_S##axis + PL_W##axis, before##axis + length##axis) -              \
   PL_MOST((o) * PL_S##axis, before##axis))
#endif
#define PL_IS_AVERAGE (PL_MODE == PL_AVERAGE || PL_MODE == PL_AVERAGE_PADDED)
#define PL_COUNT(o0, o1, columns)                                                      \
  (PL_ACC)(PL_EXTENT(o0, 0) * PL_EXTENT(o1, 1) * (columns))

/* An element, `step` from its neighbours, and its place in memory. */
#define PL_GET_ONE(pointer, i, r, stride, step) PL_LOAD((pointer)[(i) * (step)])
#define PL_PUT_ONE(pointer, i, step, value) (pointer)[(i) * (step)] = PL_STORE(value)
#if PL_LANES > 1
/* As many as a vector has, `stride` apart. With 2 apart both of a pair are read: at an
 * odd place r of the window the one before each, else the one behind. */
#define PL_VECTOR PL_WORD(PL_SCALAR, PL_LANES)
#define PL_WORD(a, b) PL_JOINED(a, b)
#define PL_JOINED(a, b) a##b
#define PL_LOAD_SOME(pointer) PL_WORD(vload, PL_LANES)(0, pointer)
#define PL_STORE_SOME(value, pointer) PL_WORD(vstore, PL_LANES)(value, 0, pointer)
#define PL_GET_SOME(pointer, i, r, stride, step)                                       \
  ((stride) == 1                   ? PL_LOAD_SOME((pointer) + (i))                     \
   : (stride) == 2 && (r) % 2 == 1 ? PL_PAIRS((pointer) + (i) - 1, odd)                \
   : (stride) == 2                 ? PL_PAIRS((pointer) + (i), even)                   \
                                   : PL_GATHER((pointer) + (i), stride))
#define PL_PAIRS(p, which)                                                             \
  (PL_VECTOR)(PL_LOAD_SOME(p).which, PL_LOAD_SOME((p) + PL_LANES).which)
#define PL_PUT_SOME(pointer, i, step, value) PL_STORE_SOME(value, (pointer) + (i))
#if PL_LANES == 8
#define PL_GATHER(p, n)                                                                \
  (PL_VECTOR)((p)[0], (p)[n], (p)[2 * (n)], (p)[3 * (n)], (p)[4 * (n)], (p)[5 * (n)],  \
              (p)[6 * (n)], (p)[7 * (n)])
#else
#define PL_GATHER(p, n) (PL_VECTOR)((p)[0], (p)[n], (p)[2 * (n)], (p)[3 * (n)])
#endif
#endif
#define PL_HAS_PAIRS (PL_LANES > 1 && PL_S2 == 2)

#define PL_STRIDES(p) PL_INT p##b, PL_INT p##c, PL_INT p##0, PL_INT p##1, PL_INT p##2
#define PL_AXIS(axis)                                                                  \
  PL_INT length##axis, PL_INT result##axis, PL_INT window##axis, PL_INT stride##axis,  \
      PL_INT before##axis, PL_INT after##axis
#define PL_INPUT(name)                                                                 \
  , GLOBAL_MEM const PL_TYPE *GA_APART name##_all, ga_size name##_off
#define PL_START(name) name##_all = PL_AT(const PL_TYPE, name##_all, name##_off);
/* An input from the outer place of an item on. */
#define PL_OF_ITEM(name)                                                               \
  GLOBAL_MEM const PL_TYPE *name = name##_all + rest * name##b + c * name##c;
#define PL_PARAMETERS                                                                  \
  GLOBAL_MEM PL_TYPE *GA_APART out, ga_size out_off PL_INPUTS(PL_INPUT), PL_INT count, \
      PL_INT outer1, PL_AXIS(0), PL_AXIS(1), PL_AXIS(2), PL_STRIDES(y), PL_STRIDES(a), \
      PL_STRIDES(m), PL_STRIDES(v)
