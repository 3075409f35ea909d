/* A Stockham pass. A work item computes one element, a sum of `radix` terms; after the
 * pass transforms have radix * done elements. Arrays are (outer, elements, inner), with
 * `given` elements stored in the input and `made` in the output. The first pass (done
 * == 1) reads n <= length elements, the others length. */

/* Flags, see fourier.h. */
#define GA_FOURIER_REAL 4
#define GA_FOURIER_HALF 8
#define GA_FOURIER_TO_REAL 16
#define GA_FOURIER_PRE 64
#define GA_FOURIER_POST 128
#define GA_FOURIER_SWAP 256
#define GA_FOURIER_TURN 512
#define GA_FOURIER_BACK 1024

KERNEL void FOURIER_NAME(GLOBAL_MEM FOURIER_TYPE *out, ga_size out_off,
                         GLOBAL_MEM const FOURIER_TYPE *in, ga_size in_off,
                         GLOBAL_MEM const FOURIER_TYPE *w, ga_size w_off,
                         GLOBAL_MEM const FOURIER_TYPE *pre, ga_size pre_off,
                         GLOBAL_MEM const FOURIER_TYPE *post, ga_size post_off,
                         ga_ulong total_, ga_ulong length_, ga_ulong inner_,
                         ga_ulong given_, ga_ulong made_, ga_ulong n_, ga_ulong radix_,
                         ga_ulong done_, ga_uint flags, FOURIER_TYPE scale) {
  KERNEL_BEGIN;
  typedef FOURIER_INDEX X;
  typedef FOURIER_TYPE T;
  out = (GLOBAL_MEM FOURIER_TYPE *)((GLOBAL_MEM char *)out + out_off);
  in = (GLOBAL_MEM const FOURIER_TYPE *)((GLOBAL_MEM const char *)in + in_off);
  w = (GLOBAL_MEM const FOURIER_TYPE *)((GLOBAL_MEM const char *)w + w_off);
  pre = (GLOBAL_MEM const FOURIER_TYPE *)((GLOBAL_MEM const char *)pre + pre_off);
  post = (GLOBAL_MEM const FOURIER_TYPE *)((GLOBAL_MEM const char *)post + post_off);
  const X total = (X)total_, length = (X)length_, inner = (X)inner_;
  const X given = (X)given_, made = (X)made_, n = (X)n_, radix = (X)radix_;
  const X done = (X)done_, m = length / radix, step = m / done;
  for (X at = (X)(GID_0 * LDIM_0 + LID_0); at < total; at += (X)(GDIM_0 * LDIM_0)) {
    const X t = at / inner, i = at - t * inner, o = t / made, p = t - o * made;
    const X pair = p / done, k = p - pair * done, j = pair / radix * done + k;
    const X turn = k * step + pair % radix * m;
    X e = 0;
    T x = 0, y = 0;
    for (X r = 0; r < radix; r++) {
      const X s = j + r * m;
      const ga_int is_far = (flags & GA_FOURIER_HALF) && s > n - s;
      const X from = is_far ? n - s : s;
      if (s < n && from < given) {
        const X place = (o * given + from) * inner + i;
        T a = flags & GA_FOURIER_REAL ? in[place] : in[2 * place];
        T b = flags & GA_FOURIER_REAL ? (T)0 : in[2 * place + 1];
        if (flags & GA_FOURIER_HALF)
          b = from == 0 || from == n - from ? (T)0 : is_far ? -b : b;
        if (flags & GA_FOURIER_SWAP) {
          const T c = a;
          a = b;
          b = c;
        }
        if (flags & GA_FOURIER_PRE) {
          const T c = a;
          a = c * pre[2 * s] - b * pre[2 * s + 1];
          b = c * pre[2 * s + 1] + b * pre[2 * s];
        }
        x += a * w[2 * e] - b * w[2 * e + 1];
        y += a * w[2 * e + 1] + b * w[2 * e];
      }
      e += turn;
      if (e >= length)
        e -= length;
    }
    if (flags & GA_FOURIER_TURN) {
      const T c = x;
      x = y;
      y = c;
    }
    if (flags & GA_FOURIER_POST) {
      const T c = x;
      x = c * post[2 * p] - y * post[2 * p + 1];
      y = c * post[2 * p + 1] + y * post[2 * p];
    }
    if (flags & GA_FOURIER_BACK) {
      const T c = x;
      x = y;
      y = c;
    }
    if (flags & GA_FOURIER_TO_REAL) {
      out[at] = x * scale;
    } else {
      out[2 * at] = x * scale;
      out[2 * at + 1] = y * scale;
    }
  }
}
