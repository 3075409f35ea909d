/* argmax and argmin: the accumulator is a key and its position. RD_PASSES: b's key
 * wins. */
#define RD_ACC_KEY(acc) (acc).v0

GA_INLINE int RD_PASSES(RD_KEY a, RD_KEY b) {
  RD_ACC one, two;
  one.v0 = a;
  one.v1 = 0;
  two.v0 = b;
  two.v1 = 1;
  return RD_COMBINE(one, two).v1 != 0;
}

GA_INLINE RD_ACC RD_JOIN(RD_ACC a, RD_ACC b, int fresh) {
  const int take = fresh | RD_PASSES(a.v0, b.v0);
  RD_ACC r_;
  r_.v0 = take ? b.v0 : a.v0;
  r_.v1 = take ? b.v1 : a.v1;
  return r_;
}
