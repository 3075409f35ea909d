/* Points at which affine maps look: an item computes both numbers of a point. n, i and
 * j are strides of the matrices, o of the points. */
/* From -1 to 1 over an axis; 0 where there is one place. */
#define AG_ALONG(place, length)                                                        \
  ((length) > 1 ? (AG_ACC)(2 * (place) - ((length) - 1)) / (AG_ACC)((length) - 1)      \
                : (AG_ACC)0)

KERNEL void AG_NAME(GLOBAL_MEM AG_TYPE *out, ga_size out_off,
                    GLOBAL_MEM const AG_TYPE *GA_APART theta, ga_size theta_off,
                    AG_INT count, AG_INT rows, AG_INT columns, AG_INT n, AG_INT i,
                    AG_INT j, AG_INT o0, AG_INT o1, AG_INT o2, AG_INT o3) {
  KERNEL_BEGIN;
  out = (GLOBAL_MEM AG_TYPE *)((GLOBAL_MEM char *)out + out_off);
  theta = (GLOBAL_MEM const AG_TYPE *)((GLOBAL_MEM const char *)theta + theta_off);
  for (AG_INT at = (AG_INT)(GID_0 * LDIM_0 + LID_0); at < count;
       at += (AG_INT)(GDIM_0 * LDIM_0)) {
    const AG_INT column = at % columns, above = at / columns;
    const AG_INT row = above % rows, map = above / rows;
    const AG_ACC x = AG_ALONG(column, columns), y = AG_ALONG(row, rows);
    for (AG_INT k = 0; k < 2; k++) {
      GLOBAL_MEM const AG_TYPE *line = theta + map * n + k * i;
      out[map * o0 + row * o1 + column * o2 + k * o3] =
          AG_STORE(AG_LOAD(line[0]) * x + AG_LOAD(line[j]) * y + AG_LOAD(line[2 * j]));
    }
  }
}
