/* NumPy's order: nan after all numbers, complex numbers by their parts. */
#if SEARCH_IS_COMPLEX
GA_INLINE int SEARCH_LESS(SEARCH_TYPE a, SEARCH_TYPE b) {
  const int by_imag = a.y < b.y || (b.y != b.y && a.y == a.y);
  if (a.x < b.x)
    return a.y == a.y || b.y != b.y;
  if (a.x > b.x)
    return b.y != b.y && a.y == a.y;
  if (a.x == b.x || (a.x != a.x && b.x != b.x))
    return by_imag;
  return b.x != b.x;
}
#else
GA_INLINE int SEARCH_LESS(SEARCH_TYPE a, SEARCH_TYPE b) {
  return a < b || (b != b && a == a);
}
#endif
