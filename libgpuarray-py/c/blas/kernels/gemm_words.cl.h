/* Parameters of GEMM kernels, and the start of a batch entry or split-K part. */
#include "words.cl.h"

#define BL_GEMM_PARAMETERS                                                             \
  GLOBAL_MEM BL_S *c, ga_size c_off, GLOBAL_MEM const BL_S *GA_APART a, ga_size a_off, \
      GLOBAL_MEM const BL_S *GA_APART b, ga_size b_off, ga_ssize m, ga_ssize n,        \
      ga_ssize k, ga_ssize rows, ga_ssize terms, ga_ssize ai, ga_ssize ak,             \
      ga_ssize bk, ga_ssize bj, ga_ssize ci, ga_ssize cj, ga_ssize a_step,             \
      ga_ssize b_step, ga_ssize c_step, BL_R alpha_x, BL_R alpha_y, BL_R beta_x,       \
      BL_R beta_y, BL_R a_sign, BL_R b_sign, ga_int reads_c
#define BL_GEMM_BEGIN                                                                  \
  BL_FACTORS;                                                                          \
  if (terms > 0) {                                                                     \
    k -= (ga_ssize)GID_2 * terms;                                                      \
    k = k < terms ? k : terms;                                                         \
  }                                                                                    \
  c = BL_AT(BL_S, c, c_off) + (ga_ssize)GID_2 * c_step;                                \
  a = BL_AT(const BL_S, a, a_off) + (ga_ssize)GID_2 * a_step;                          \
  b = BL_AT(const BL_S, b, b_off) + (ga_ssize)GID_2 * b_step
