/* Four adjacent elements in `count` loads of 16 bytes. */
#define SP_FOUR(type, count)                                                           \
  union {                                                                              \
    ga_uint4 packs[count];                                                             \
    type own[4];                                                                       \
  }
#define SP_LOAD_FOUR(read, four, place, count)                                         \
  for (ga_int pack = 0; pack < count; pack++)                                          \
    four.packs[pack] = read(((GLOBAL_MEM const ga_uint4 *)(place))[pack]);
