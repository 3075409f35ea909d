/* Loads 16 bools from element `own` on as four words. */
#define MK_READ_PACKED                                                                 \
  if (own + 16 <= n) {                                                                 \
    const ga_uint4 all = *(GLOBAL_MEM const ga_uint4 *)(x + own);                      \
    w[0] = all.x;                                                                      \
    w[1] = all.y;                                                                      \
    w[2] = all.z;                                                                      \
    w[3] = all.w;                                                                      \
  } else {                                                                             \
    for (ga_uint k = 0; k < 16; k++)                                                   \
      if (own + k < n)                                                                 \
        w[k / 4] |= (ga_uint)x[own + k] << k % 4 * 8;                                  \
  }

/* Bytes that are not 0, as ones. */
#define MK_ONES(word) (((word & 0x7f7f7f7fu) + 0x7f7f7f7fu | word) >> 7 & 0x01010101u)
