/* The kernel texts of factorizations: an item of work does a matrix. */
#include "c/kernel_text.h"
#include "c/matrices.h"

/* The least power of 2 for which 1 + it is not 1, as a word of the type's. */
static const char *epsilon(int typecode) {
  return typecode == GA_FLOAT ? "(T)1.1920929e-7f" : "(T)2.220446049250313e-16";
}

/* Brings the greatest of column c to its row: `top`, from row `best`. */
#define PIVOT                                                                          \
  "  ga_ulong best = c;\n"                                                             \
  "  T top = fabs(a[c * n + c]);\n"                                                    \
  "  for (ga_ulong r = c + 1; r < n; r++) {\n"                                         \
  "    const T v = fabs(a[r * n + c]);\n"                                              \
  "    if (v > top) { top = v; best = r; }\n"                                          \
  "  }\n"                                                                              \
  "  if (top == (T)0) { bad = 1; break; }\n"                                           \
  "  for (ga_ulong j = 0; best != c && j < n; j++) {\n"                                \
  "    const T v = a[c * n + j];\n"                                                    \
  "    a[c * n + j] = a[best * n + j];\n"                                              \
  "    a[best * n + j] = v;\n"                                                         \
  "  }\n"

static const char solve_text[] =
    "GLOBAL_MEM T *a = p0 + i * n * n, *x = p1 + i * n * k;\n"
    "for (ga_ulong r = 0; r < n; r++)\n"
    "  for (ga_ulong c = 0; c < n; c++)\n"
    "    if (((flags & 1) && c > r) || ((flags & 2) && c < r)) a[r * n + c] = 0;\n"
    "if (flags & 16)\n"
    "  for (ga_ulong r = 0; r < n; r++)\n"
    "    for (ga_ulong c = 0; c < n; c++) x[r * n + c] = r == c ? 1 : 0;\n"
    "for (ga_ulong c = 0; c < n; c++) {\n" PIVOT
    "  for (ga_ulong j = 0; best != c && j < k; j++) {\n"
    "    const T v = x[c * k + j];\n"
    "    x[c * k + j] = x[best * k + j];\n"
    "    x[best * k + j] = v;\n"
    "  }\n"
    "  for (ga_ulong r = c + 1; r < n; r++) {\n"
    "    const T f = a[r * n + c] / a[c * n + c];\n"
    "    if (f == (T)0) continue;\n"
    "    for (ga_ulong j = c + 1; j < n; j++) a[r * n + j] -= f * a[c * n + j];\n"
    "    for (ga_ulong j = 0; j < k; j++) x[r * k + j] -= f * x[c * k + j];\n"
    "  }\n"
    "}\n"
    "for (ga_ulong r = bad ? 0 : n; r-- > 0;)\n"
    "  for (ga_ulong j = 0; j < k; j++) {\n"
    "    T v = x[r * k + j];\n"
    "    for (ga_ulong c = r + 1; c < n; c++) v -= a[r * n + c] * x[c * k + j];\n"
    "    x[r * k + j] = v / a[r * n + r];\n"
    "  }\n";

static const char det_text[] =
    "GLOBAL_MEM T *a = p0 + i * n * n;\n"
    "T product = 1;\n"
    "for (ga_ulong c = 0; c < n; c++) {\n" PIVOT
    "  product *= best == c ? a[c * n + c] : -a[c * n + c];\n"
    "  for (ga_ulong r = c + 1; r < n; r++) {\n"
    "    const T f = a[r * n + c] / a[c * n + c];\n"
    "    for (ga_ulong j = c + 1; j < n; j++) a[r * n + j] -= f * a[c * n + j];\n"
    "  }\n"
    "}\n"
    "p1[i] = bad ? (T)0 : product;\n"
    "bad = 0;\n";

static const char cholesky_text[] =
    "GLOBAL_MEM T *a = p0 + i * n * n;\n"
    "for (ga_ulong c = 0; c < n; c++) {\n"
    "  T s = a[c * n + c];\n"
    "  for (ga_ulong j = 0; j < c; j++) s -= a[c * n + j] * a[c * n + j];\n"
    "  if (!(s > (T)0)) { bad = 1; break; }\n"
    "  const T d = sqrt(s);\n"
    "  a[c * n + c] = d;\n"
    "  for (ga_ulong r = c + 1; r < n; r++) {\n"
    "    T v = a[r * n + c];\n"
    "    for (ga_ulong j = 0; j < c; j++) v -= a[r * n + j] * a[c * n + j];\n"
    "    a[r * n + c] = v / d;\n"
    "    a[c * n + r] = 0;\n"
    "  }\n"
    "}\n"
    "if (bad && (flags & 4)) {\n"
    "  const T zero = 0;\n"
    "  for (ga_ulong j = 0; j < n * n; j++) a[j] = zero / zero;\n"
    "  bad = 0;\n"
    "}\n";

/* H = 1 - tau v v', v of column j from row j on, where it is 1; on a column of `x`. */
#define REFLECT(x, w)                                                                  \
  "    T d = " x "[j * " w " + c];\n"                                                  \
  "    for (ga_ulong r = j + 1; r < m; r++) d += a[r * n + j] * " x "[r * " w          \
  " + c];\n"                                                                           \
  "    d *= tau[j];\n"                                                                 \
  "    " x "[j * " w " + c] -= d;\n"                                                   \
  "    for (ga_ulong r = j + 1; r < m; r++) " x "[r * " w                              \
  " + c] -= d * a[r * n + j];\n"

static const char qr_text[] =
    "const ga_ulong least = m < n ? m : n;\n" /* k: columns of q, rows of r */
    "GLOBAL_MEM T *a = p0 + i * m * n, *q = p1 + i * m * k, *o = p2 + i * k * n;\n"
    "GLOBAL_MEM T *tau = p3 + i * least;\n"
    "for (ga_ulong j = 0; j < least; j++) {\n"
    "  const T first = a[j * n + j];\n"
    "  T top = 0, s = 0;\n"
    "  for (ga_ulong r = j + 1; r < m; r++) top = fmax(top, fabs(a[r * n + j]));\n"
    "  for (ga_ulong r = j + 1; r < m; r++)\n"
    "    s += a[r * n + j] != a[r * n + j] ? a[r * n + j]\n"
    "         : top > (T)0 ? (a[r * n + j] / top) * (a[r * n + j] / top) : (T)0;\n"
    "  tau[j] = 0;\n"
    "  if (s != (T)0) {\n"
    "    const T size = hypot(first, top * sqrt(s));\n"
    "    const T beta = first < (T)0 ? size : -size;\n"
    "    tau[j] = (beta - first) / beta;\n"
    "    for (ga_ulong r = j + 1; r < m; r++) a[r * n + j] /= first - beta;\n"
    "    a[j * n + j] = beta;\n"
    "  }\n"
    "  for (ga_ulong c = j + 1; c < n; c++) {\n" REFLECT(
        "a", "n") "  }\n"
                  "}\n"
                  "for (ga_ulong r = 0; r < m; r++)\n"
                  "  for (ga_ulong c = 0; c < k; c++) q[r * k + c] = r == c ? 1 : 0;\n"
                  "for (ga_ulong j = least; j-- > 0;)\n"
                  "  for (ga_ulong c = 0; c < k; c++) {\n" REFLECT(
                      "q", "k") "  }\n"
                                "for (ga_ulong r = 0; r < k; r++)\n"
                                "  for (ga_ulong c = 0; c < n; c++) o[r * n + c] = c < "
                                "r ? (T)0 : a[r * n + c];\n";

/* t, s and u of the rotation for tangents of twice the angle of 1 / z. */
#define ROTATION                                                                       \
  "    const T t = (z < (T)0 ? (T)-1 : (T)1) / (fabs(z) + hypot(z, (T)1));\n"          \
  "    const T u = (T)1 / hypot(t, (T)1), s = t * u;\n"

/* Jacobi's method, cyclic. */
static const char eigh_text[] =
    "GLOBAL_MEM T *a = p0 + i * n * n, *w = p1 + i * n, *v = p2 + i * n * n;\n"
    "T size = 0;\n"
    "for (ga_ulong r = 0; r < n; r++)\n"
    "  for (ga_ulong c = 0; c <= r; c++) {\n"
    "    const T x = flags & 2 ? a[c * n + r] : a[r * n + c];\n"
    "    a[c * n + r] = a[r * n + c] = x;\n"
    "    size = size < fabs(x) || x != x ? fabs(x) : size;\n"
    "  }\n"
    "for (ga_ulong r = 0; r < n; r++)\n"
    "  for (ga_ulong c = 0; c < n; c++) v[r * n + c] = r == c ? 1 : 0;\n"
    "bad = size - size != (T)0;\n"
    "ga_int more = !bad;\n"
    "for (ga_int sweep = 0; more && sweep < 60; sweep++) {\n"
    "  more = 0;\n"
    "  for (ga_ulong p = 0; p < n; p++) for (ga_ulong q = p + 1; q < n; q++) {\n"
    "    const T x = a[p * n + q];\n"
    "    if (!(fabs(x) > size * eps * (T)0.125)) continue;\n"
    "    more = 1;\n"
    "    const T z = (a[q * n + q] - a[p * n + p]) / ((T)2 * x);\n" ROTATION
    "    for (ga_ulong r = 0; r < n; r++) {\n"
    "      const T f = a[r * n + p], g = a[r * n + q];\n"
    "      a[r * n + p] = u * f - s * g;\n"
    "      a[r * n + q] = s * f + u * g;\n"
    "    }\n"
    "    for (ga_ulong r = 0; r < n; r++) {\n"
    "      const T f = a[p * n + r], g = a[q * n + r];\n"
    "      a[p * n + r] = u * f - s * g;\n"
    "      a[q * n + r] = s * f + u * g;\n"
    "      const T b = v[r * n + p], d = v[r * n + q];\n"
    "      v[r * n + p] = u * b - s * d;\n"
    "      v[r * n + q] = s * b + u * d;\n"
    "    }\n"
    "    a[p * n + q] = a[q * n + p] = 0;\n"
    "  }\n"
    "}\n"
    "bad |= more;\n"
    "for (ga_ulong c = 0; c < n; c++) w[c] = a[c * n + c];\n"
    "for (ga_ulong c = 0; c < n; c++) {\n"
    "  ga_ulong least = c;\n"
    "  for (ga_ulong j = c + 1; j < n; j++) if (w[j] < w[least]) least = j;\n"
    "  const T x = w[c];\n"
    "  w[c] = w[least];\n"
    "  w[least] = x;\n"
    "  for (ga_ulong r = 0; least != c && r < n; r++) {\n"
    "    const T y = v[r * n + c];\n"
    "    v[r * n + c] = v[r * n + least];\n"
    "    v[r * n + least] = y;\n"
    "  }\n"
    "}\n";

/* Jacobi's method on columns of an (m, n) matrix, m >= n; the rows of vh turn along.
 * Columns of u that have no direction of their own, for they are 0 or beyond n, are
 * made orthogonal to those before them, from the unit vector that is farthest off. */
static const char svd_text[] =
    "GLOBAL_MEM T *a = p0 + i * m * n, *o = p1 + i * m * k, *w = p2 + i * n;\n"
    "GLOBAL_MEM T *v = p3 + i * n * n;\n"
    "T size = 0;\n"
    "for (ga_ulong j = 0; j < m * n; j++)\n"
    "  size = size < fabs(a[j]) || a[j] != a[j] ? fabs(a[j]) : size;\n"
    "bad = size - size != (T)0;\n"
    "const T unit = size > (T)0 && !bad ? size : (T)1;\n"
    "for (ga_ulong j = 0; j < m * n; j++) a[j] /= unit;\n"
    "for (ga_ulong r = 0; r < n; r++)\n"
    "  for (ga_ulong c = 0; c < n; c++) v[r * n + c] = r == c ? 1 : 0;\n"
    "ga_int more = !bad;\n"
    "for (ga_int sweep = 0; more && sweep < 60; sweep++) {\n"
    "  more = 0;\n"
    "  for (ga_ulong p = 0; p < n; p++) for (ga_ulong q = p + 1; q < n; q++) {\n"
    "    T f = 0, g = 0, x = 0;\n"
    "    for (ga_ulong r = 0; r < m; r++) {\n"
    "      f += a[r * n + p] * a[r * n + p];\n"
    "      g += a[r * n + q] * a[r * n + q];\n"
    "      x += a[r * n + p] * a[r * n + q];\n"
    "    }\n"
    "    if (!(fabs(x) > (T)4 * eps * sqrt(f) * sqrt(g)) || !(fabs(x) > eps * eps))\n"
    "      continue;\n"
    "    more = 1;\n"
    "    const T z = (g - f) / ((T)2 * x);\n" ROTATION
    "    for (ga_ulong r = 0; r < m; r++) {\n"
    "      const T b = a[r * n + p], d = a[r * n + q];\n"
    "      a[r * n + p] = u * b - s * d;\n"
    "      a[r * n + q] = s * b + u * d;\n"
    "    }\n"
    "    for (ga_ulong r = 0; r < n; r++) {\n"
    "      const T b = v[p * n + r], d = v[q * n + r];\n"
    "      v[p * n + r] = u * b - s * d;\n"
    "      v[q * n + r] = s * b + u * d;\n"
    "    }\n"
    "  }\n"
    "}\n"
    "bad |= more;\n"
    "for (ga_ulong c = 0; c < n; c++) {\n"
    "  T s = 0;\n"
    "  for (ga_ulong r = 0; r < m; r++) s += a[r * n + c] * a[r * n + c];\n"
    "  w[c] = sqrt(s);\n"
    "}\n"
    "for (ga_ulong c = 0; c < n; c++) {\n"
    "  ga_ulong most = c;\n"
    "  for (ga_ulong j = c + 1; j < n; j++) if (w[j] > w[most]) most = j;\n"
    "  const T x = w[c];\n"
    "  w[c] = w[most];\n"
    "  w[most] = x;\n"
    "  for (ga_ulong r = 0; most != c && r < m; r++) {\n"
    "    const T y = a[r * n + c];\n"
    "    a[r * n + c] = a[r * n + most];\n"
    "    a[r * n + most] = y;\n"
    "  }\n"
    "  for (ga_ulong r = 0; most != c && r < n; r++) {\n"
    "    const T y = v[c * n + r];\n"
    "    v[c * n + r] = v[most * n + r];\n"
    "    v[most * n + r] = y;\n"
    "  }\n"
    "}\n"
    "for (ga_ulong c = 0; c < k; c++) {\n"
    "  if (c < n && w[c] > (T)m * eps * w[0]) {\n"
    "    for (ga_ulong r = 0; r < m; r++) o[r * k + c] = a[r * n + c] / w[c];\n"
    "    continue;\n"
    "  }\n"
    "  ga_ulong far = 0;\n"
    "  T least = 2;\n"
    "  for (ga_ulong r = 0; r < m; r++) {\n"
    "    T s = 0;\n"
    "    for (ga_ulong j = 0; j < c; j++) s += o[r * k + j] * o[r * k + j];\n"
    "    if (s < least) { least = s; far = r; }\n"
    "  }\n"
    "  for (ga_ulong r = 0; r < m; r++) o[r * k + c] = r == far ? 1 : 0;\n"
    "  for (ga_int again = 0; again < 2; again++) {\n"
    "    T s = 0;\n"
    "    for (ga_ulong j = 0; j < c; j++) {\n"
    "      T d = 0;\n"
    "      for (ga_ulong r = 0; r < m; r++) d += o[r * k + j] * o[r * k + c];\n"
    "      for (ga_ulong r = 0; r < m; r++) o[r * k + c] -= d * o[r * k + j];\n"
    "    }\n"
    "    for (ga_ulong r = 0; r < m; r++) s += o[r * k + c] * o[r * k + c];\n"
    "    for (ga_ulong r = 0; r < m; r++) o[r * k + c] /= sqrt(s);\n"
    "  }\n"
    "}\n"
    "for (ga_ulong c = 0; c < n; c++) w[c] *= unit;\n";

static const char pinv_text[] =
    "GLOBAL_MEM T *e = p4 + i * n * m;\n"
    "const T rate = cutoff < (T)0 ? eps * (T)(m > n ? m : n) : cutoff;\n"
    "for (ga_ulong r = 0; r < n; r++)\n"
    "  for (ga_ulong c = 0; c < m; c++) {\n"
    "    T s = 0;\n"
    "    for (ga_ulong j = 0; j < n; j++)\n"
    "      if (w[j] > rate * w[0]) s += v[j * n + r] / w[j] * o[c * k + j];\n"
    "    e[r * m + c] = s;\n"
    "  }\n";

/* Taylor's series of the matrix made small, squared as often. */
static const char expm_text[] =
    "GLOBAL_MEM T *a = p0 + i * n * n, *e = p1 + i * n * n, *f = p2 + i * n * n;\n"
    "T size = 0, scale = 1;\n"
    "ga_int count = 0;\n"
    "for (ga_ulong c = 0; c < n; c++) {\n"
    "  T s = 0;\n"
    "  for (ga_ulong r = 0; r < n; r++) s += fabs(a[r * n + c]);\n"
    "  size = s > size ? s : size;\n"
    "}\n"
    "if (size - size == (T)0)\n"
    "  for (; size > (T)0.5; count++) { size *= (T)0.5; scale *= (T)0.5; }\n"
    "for (ga_ulong j = 0; j < n * n; j++) a[j] *= scale;\n"
    "for (ga_ulong r = 0; r < n; r++)\n"
    "  for (ga_ulong c = 0; c < n; c++) e[r * n + c] = r == c ? 1 : 0;\n"
    "for (ga_int degree = 18; degree > -count; degree--) {\n"
    "  const ga_int is_series = degree > 0;\n"
    "  for (ga_ulong r = 0; r < n; r++)\n"
    "    for (ga_ulong c = 0; c < n; c++) {\n"
    "      T s = 0;\n"
    "      for (ga_ulong j = 0; j < n; j++)\n"
    "        s += (is_series ? a[r * n + j] : e[r * n + j]) * e[j * n + c];\n"
    "      f[r * n + c] = is_series ? s / (T)degree + (r == c ? (T)1 : (T)0) : s;\n"
    "    }\n"
    "  for (ga_ulong j = 0; j < n * n; j++) e[j] = f[j];\n"
    "}\n";

static void add_parameters(ga_strbuf *t, const char *type) {
  ga_strbuf starts = {0};
  ga__strbuf_add(t, "(");
  for (unsigned int i = 0; i < GA_MATRICES_ARRAYS; i++) {
    const char name[] = {'p', (char)('0' + i), 0};
    ga__text_array(t, &starts, false, type, name);
  }
  ga__strbuf_addf(t,
                  "ga_ulong batch, ga_ulong m, ga_ulong n, ga_ulong k, ga_uint flags, "
                  "%s cutoff, GLOBAL_MEM ga_uint *word, ga_size word_off, ga_uint "
                  "site) {\n  typedef %s T;\n",
                  type, type);
  ga__strbuf_add(t, starts.text ? starts.text : "");
  ga__strbuf_clear(&starts);
}

int ga__matrices_source(ga_source *out, const gpucontext *ctx, const void *spec) {
  static const char *const texts[] = {
      [GA_MATRICES_SOLVE] = solve_text,       [GA_MATRICES_DET] = det_text,
      [GA_MATRICES_CHOLESKY] = cholesky_text, [GA_MATRICES_QR] = qr_text,
      [GA_MATRICES_EIGH] = eigh_text,         [GA_MATRICES_SVD] = svd_text,
      [GA_MATRICES_PINV] = svd_text,          [GA_MATRICES_EXPM] = expm_text};
  const ga_matrices_spec *s = spec;
  ga_strbuf text = {0};
  (void)ctx;
  add_parameters(&text, gpuarray_get_type(s->typecode)->cluda_name);
  ga__strbuf_addf(&text,
                  "  const T eps = %s;\n"
                  "  (void)eps; (void)m; (void)k; (void)flags; (void)cutoff;\n"
                  "  for (ga_ulong i = GID_0 * LDIM_0 + LID_0; i < batch;"
                  " i += GDIM_0 * LDIM_0) {\n"
                  "  ga_int bad = 0;\n",
                  epsilon(s->typecode));
  ga__strbuf_add(&text, texts[s->kind]);
  if (s->kind == GA_MATRICES_PINV)
    ga__strbuf_add(&text, pinv_text);
  ga__strbuf_add(&text, "  if (bad)\n"
                        "    ga_report_index(word, word_off, site, (ga_long)i, "
                        "(ga_long)-1);\n"
                        "  }\n"
                        "}\n");
  return ga__text_finish(out, "matrices", NULL, &text);
}
