/* Numbers of values by differences of 64 bits, which no compiler makes a saturating
 * subtraction of, as Oclgrind lacks it: from one place to another, 0 if that comes
 * before it, as wrong pointers do. */
#define SP_LENGTH(type, from, to)                                                      \
  ((ga_long)(to) - (ga_long)(from) > 0 ? (type)((ga_long)(to) - (ga_long)(from)) : 0)

/* How many of the first `own` values of a merged row are of `a`, which has a_own of it,
 * and `b` has b_own; A(i) and B(j) are their columns in the row, at equal ones the
 * value of `a` is first. */
#define SP_CUT_ROW(type, of_a, own, a_own, b_own, A, B)                                \
  type of_a = SP_LENGTH(type, b_own, own);                                             \
  for (type high = own < a_own ? own : a_own; of_a < high;) {                          \
    const type middle = of_a + (high - of_a) / 2;                                      \
    if (A(middle) <= B(own - 1 - middle))                                              \
      of_a = middle + 1;                                                               \
    else                                                                               \
      high = middle;                                                                   \
  }
