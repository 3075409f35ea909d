/* Vectors of local memory to registers: CV_GW elements, which a CV_PACK has. */
#if CV_GW == 4
#define CV_TAKE(r, q)                                                                  \
  {                                                                                    \
    const CV_PACK w_ = *(LOCAL_MEM_ARG const CV_PACK *)(q);                            \
    (r)[0] = w_.x;                                                                     \
    (r)[1] = w_.y;                                                                     \
    (r)[2] = w_.z;                                                                     \
    (r)[3] = w_.w;                                                                     \
  }
#else
#define CV_TAKE(r, q)                                                                  \
  {                                                                                    \
    const CV_PACK w_ = *(LOCAL_MEM_ARG const CV_PACK *)(q);                            \
    (r)[0] = w_.x;                                                                     \
    (r)[1] = w_.y;                                                                     \
  }
#endif
