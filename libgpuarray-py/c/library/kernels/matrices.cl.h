/* Arithmetic of factorization kernels on elements of T (real or complex) and reals of
 * R, over the macros that matrices_text.c defines. mx_signed(a) * mx_phase(a) is a;
 * real elements have phase 1. */

#define MX_PARAMETERS                                                                  \
  GLOBAL_MEM MX_TYPE *p0, ga_size p0_off, GLOBAL_MEM MX_TYPE *p1, ga_size p1_off,      \
      GLOBAL_MEM MX_TYPE *p2, ga_size p2_off, GLOBAL_MEM MX_TYPE *p3, ga_size p3_off,  \
      GLOBAL_MEM MX_TYPE *p4, ga_size p4_off, ga_ulong batch, ga_ulong m, ga_ulong n,  \
      ga_ulong k, ga_uint flags, MX_REAL cutoff, GLOBAL_MEM ga_uint *word,             \
      ga_size word_off, ga_uint site
#define MX_ARRAY(p, offset) p = (GLOBAL_MEM MX_TYPE *)((GLOBAL_MEM char *)p + offset)
#define MX_BEGIN                                                                       \
  typedef MX_TYPE T;                                                                   \
  typedef MX_REAL R;                                                                   \
  MX_ARRAY(p0, p0_off);                                                                \
  MX_ARRAY(p1, p1_off);                                                                \
  MX_ARRAY(p2, p2_off);                                                                \
  MX_ARRAY(p3, p3_off);                                                                \
  MX_ARRAY(p4, p4_off);                                                                \
  const R eps = MX_EPSILON;                                                            \
  (void)eps;                                                                           \
  (void)m;                                                                             \
  (void)k;                                                                             \
  (void)flags;                                                                         \
  (void)cutoff

#if MX_IS_COMPLEX
#define mx_add(a, b) ga_cadd(a, b)
#define mx_sub(a, b) ga_csub(a, b)
#define mx_mul(a, b) ga_cmul(a, b)
#define mx_div(a, b) ga_cdiv(a, b)
#define mx_neg(a) ga_cneg(a)
#define mx_conj(a) ga_conj(a)
#define mx_abs(a) ga_cabs(a)
#define mx_re(a) (a).x
#define mx_im(a) (a).y
#define mx_of(r) ga_complex((R)(r), (R)0)
#define mx_scale(a, r) ga_cscale(a, r)
#define mx_over(a, r) ga_complex((a).x / (r), (a).y / (r))
#define mx_square(a) ((a).x * (a).x + (a).y * (a).y)
#define mx_signed(a) ga_cabs(a)
#define mx_phase(a) mx_over(a, ga_cabs(a))
#else
#define mx_add(a, b) ((a) + (b))
#define mx_sub(a, b) ((a) - (b))
#define mx_mul(a, b) ((a) * (b))
#define mx_div(a, b) ((a) / (b))
#define mx_neg(a) (-(a))
#define mx_conj(a) (a)
#define mx_abs(a) fabs(a)
#define mx_re(a) (a)
#define mx_im(a) ((R)0)
#define mx_of(r) ((T)(r))
#define mx_scale(a, r) ((r) * (a))
#define mx_over(a, r) ((a) / (r))
#define mx_square(a) ((a) * (a))
#define mx_signed(a) (a)
#define mx_phase(a) ((T)1)
#endif

#define MX_IDENTITY(x)                                                                 \
  for (ga_ulong r = 0; r < n; r++)                                                     \
    for (ga_ulong c = 0; c < n; c++)                                                   \
      x[r * n + c] = mx_of(r == c ? 1 : 0);

#define MX_SWAP(type, x, y)                                                            \
  {                                                                                    \
    const type z = x;                                                                  \
    x = y;                                                                             \
    y = z;                                                                             \
  }
