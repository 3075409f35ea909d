/* Parameters of GEMV kernels, and the rows of a group: i to `end`. */
#include "words.cl.h"

#define BL_GEMV_PARAMETERS                                                             \
  GLOBAL_MEM BL_S *y, ga_size y_off, GLOBAL_MEM const BL_S *GA_APART a, ga_size a_off, \
      GLOBAL_MEM const BL_S *GA_APART x, ga_size x_off, ga_ssize m, ga_ssize n,        \
      ga_ssize rows, ga_ssize ai, ga_ssize aj, ga_ssize xj, ga_ssize yi, BL_R alpha_x, \
      BL_R alpha_y, BL_R beta_x, BL_R beta_y, BL_R a_sign, BL_R x_sign, ga_int reads_c
#define BL_GEMV_BEGIN                                                                  \
  ga_ssize i = (ga_ssize)GID_0 * rows;                                                 \
  const ga_ssize end = i + rows < m ? i + rows : m;                                    \
  BL_FACTORS;                                                                          \
  y = BL_AT(BL_S, y, y_off);                                                           \
  a = BL_AT(const BL_S, a, a_off);                                                     \
  x = BL_AT(const BL_S, x, x_off)
#define BL_SUM_FOUR(acc)                                                               \
  BL_ADD(acc[0], acc[1]);                                                              \
  BL_ADD(acc[2], acc[3]);                                                              \
  BL_ADD(acc[0], acc[2])
