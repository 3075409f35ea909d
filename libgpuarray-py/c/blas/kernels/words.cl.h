/* Common macros of BLAS kernels, over those that blas_kernels.c defines: BL_S stored
 * type, BL_T work type, BL_R its real type; BL_PACK a vector of BL_GW elements. */

/* BL_LOAD(to, element, sign): widens to the work type and scales the imaginary part by
 * `sign` (conjugation). */
#if BL_IS_COMPLEX
#define BL_ZERO(v) ((v).x = 0, (v).y = 0)
#define BL_MAKE(v, re, im) ((v).x = (re), (v).y = (im))
#define BL_ADD(s, v) ((s).x += (v).x, (s).y += (v).y)
#define BL_MAD(s, p, q)                                                                \
  ((s).x += (p).x * (q).x, (s).x -= (p).y * (q).y, (s).y += (p).x * (q).y,             \
   (s).y += (p).y * (q).x)
#define BL_LOAD(r, v, sign)                                                            \
  {                                                                                    \
    r = (v);                                                                           \
    (r).y *= sign;                                                                     \
  }
#define BL_SAVE(to, v) to = (v)
#else
#define BL_ZERO(v) v = 0
#define BL_MAKE(v, re, im) v = (re)
#define BL_ADD(s, v) s += v
#define BL_MAD(s, p, q) s += (p) * (q)
#define BL_LOAD(r, v, sign) r = BL_WIDEN(v);
#define BL_SAVE(to, v) to = BL_NARROW(v)
#endif

/* Vector moves between registers and local memory (BL_TAKE, BL_GIVE) or global
 * memory. */
#if BL_GW == 1
#define BL_TAKE(r, q) (r)[0] = *(q);
#define BL_GIVE_AS(type, q, r) *(q) = (r)[0];
#define BL_LOAD_PACK(r, q, sign) BL_LOAD((r)[0], *(q), sign)
#elif BL_IS_COMPLEX
#define BL_TAKE(r, q)                                                                  \
  {                                                                                    \
    const BL_PACK w_ = *(LOCAL_MEM_ARG const BL_PACK *)(q);                            \
    (r)[0].x = w_.x;                                                                   \
    (r)[0].y = w_.y;                                                                   \
    (r)[1].x = w_.z;                                                                   \
    (r)[1].y = w_.w;                                                                   \
  }
#define BL_GIVE_AS(type, q, r)                                                         \
  {                                                                                    \
    BL_PACK w_;                                                                        \
    w_.x = (r)[0].x;                                                                   \
    w_.y = (r)[0].y;                                                                   \
    w_.z = (r)[1].x;                                                                   \
    w_.w = (r)[1].y;                                                                   \
    *(type *)(q) = w_;                                                                 \
  }
#define BL_LOAD_PACK(r, q, sign)                                                       \
  {                                                                                    \
    const BL_PACK w_ = *(GLOBAL_MEM const BL_PACK *)(q);                               \
    (r)[0].x = w_.x;                                                                   \
    (r)[0].y = w_.y * sign;                                                            \
    (r)[1].x = w_.z;                                                                   \
    (r)[1].y = w_.w * sign;                                                            \
  }
#else
/* Applies MOVE to each element of r and its field of the vector w_. */
#if BL_GW == 2
#define BL_FIELDS(r, MOVE)                                                             \
  MOVE((r)[0], w_.x)                                                                   \
  MOVE((r)[1], w_.y)
#else
#define BL_FIELDS(r, MOVE)                                                             \
  MOVE((r)[0], w_.x)                                                                   \
  MOVE((r)[1], w_.y)                                                                   \
  MOVE((r)[2], w_.z)                                                                   \
  MOVE((r)[3], w_.w)
#endif
#define BL_OF_FIELD(element, field) element = field;
#define BL_TO_FIELD(element, field) field = element;
#define BL_OF_HALF(element, field)                                                     \
  h_.data = field;                                                                     \
  BL_LOAD(element, h_, 1)
#define BL_TAKE(r, q)                                                                  \
  {                                                                                    \
    const BL_PACK w_ = *(LOCAL_MEM_ARG const BL_PACK *)(q);                            \
    BL_FIELDS(r, BL_OF_FIELD)                                                          \
  }
#define BL_GIVE_AS(type, q, r)                                                         \
  {                                                                                    \
    BL_PACK w_;                                                                        \
    BL_FIELDS(r, BL_TO_FIELD)                                                          \
    *(type *)(q) = w_;                                                                 \
  }
#if BL_IS_NARROW
#define BL_LOAD_PACK(r, q, sign)                                                       \
  {                                                                                    \
    const ga_ushort4 w_ = *(GLOBAL_MEM const ga_ushort4 *)(q);                         \
    BL_S h_;                                                                           \
    BL_FIELDS(r, BL_OF_HALF)                                                           \
  }
#define BL_SAVE_PACK(q, r)                                                             \
  for (int w_ = 0; w_ < BL_GW; w_++)                                                   \
    BL_SAVE((q)[w_], (r)[w_]);
#else
#define BL_LOAD_PACK(r, q, sign)                                                       \
  {                                                                                    \
    const BL_PACK w_ = *(GLOBAL_MEM const BL_PACK *)(q);                               \
    BL_FIELDS(r, BL_OF_FIELD)                                                          \
  }
#endif
#endif
#define BL_GIVE(q, r) BL_GIVE_AS(LOCAL_MEM_ARG BL_PACK, q, r)
#ifndef BL_SAVE_PACK
#define BL_SAVE_PACK(q, r) BL_GIVE_AS(GLOBAL_MEM BL_PACK, q, r)
#endif

/* A single item needs no barrier, and some compilers fail on barriers in branches; the
 * same ones vectorize a loop once the enclosing one is unrolled. */
#if BL_IS_CPU && BL_LANES > 1
#define BL_WAIT local_barrier()
#define BL_UNROLL
#else
#define BL_WAIT
#define BL_UNROLL _Pragma("unroll")
#endif
#define BL_EACH(i, n) BL_UNROLL for (int i = 0; i < n; i++)
#define BL_STEPS(i, n, step) BL_UNROLL for (int i = 0; i < n; i += step)

#define BL_AT(type, pointer, bytes)                                                    \
  (GLOBAL_MEM type *)((GLOBAL_MEM const char *)pointer + bytes)
#define BL_MEET(sum, left, right)                                                      \
  {                                                                                    \
    BL_T bl_a, bl_x;                                                                   \
    BL_LOAD(bl_a, left, a_sign)                                                        \
    BL_LOAD(bl_x, right, x_sign)                                                       \
    BL_MAD(sum, bl_a, bl_x);                                                           \
  }

/* The scale, and the end of every kernel: *to = alpha sum + beta *to. */
#define BL_FACTORS                                                                     \
  BL_T alpha, beta;                                                                    \
  BL_MAKE(alpha, alpha_x, alpha_y);                                                    \
  BL_MAKE(beta, beta_x, beta_y)
#define BL_FINISH(to, sum)                                                             \
  {                                                                                    \
    BL_T bl_out, bl_old;                                                               \
    BL_ZERO(bl_out);                                                                   \
    BL_MAD(bl_out, alpha, sum);                                                        \
    if (reads_c) {                                                                     \
      BL_LOAD(bl_old, to, 1)                                                           \
      BL_MAD(bl_out, beta, bl_old);                                                    \
    }                                                                                  \
    BL_SAVE(to, bl_out);                                                               \
  }
/* Sums over `n` items, a power of 2, which are `step` apart in local memory: `own` of
 * item `i` at `at`; all of them at the first item's. */
#define BL_SUM_SHARED(at, own, i, n, step)                                             \
  shared[at] = own;                                                                    \
  local_barrier();                                                                     \
  for (ga_ssize s = n / 2; s > 0; s /= 2) {                                            \
    if (i < s)                                                                         \
      BL_ADD(shared[at], shared[at + s * step]);                                       \
    local_barrier();                                                                   \
  }
