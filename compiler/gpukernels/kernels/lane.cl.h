/* Reads the value of a lane of the warp. */
#ifdef GA_HAS_SHUFFLES
GA_INLINE LANE_T LANE_NAME(LANE_T value, ga_int lane) {
  union {
    LANE_T value;
    ga_uint words[LANE_WORDS];
  } u;
  u.words[0] = 0;
  u.value = value;
  for (int w = 0; w < LANE_WORDS; w++)
    u.words[w] = ga_shuffle(u.words[w], lane);
  return u.value;
}
#endif
