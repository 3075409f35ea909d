/* The kernel texts of factorizations: an item of work does a matrix. */
#include <string.h>

#include "c/library/matrices.h"
#include "c/program/kernel_text.h"

/* The least power of 2 for which 1 + it is not 1, as a word of the real type's. */
static const char *epsilon(bool is_double) {
  return is_double ? "(R)2.220446049250313e-16" : "(R)1.1920929e-7f";
}

/* What the texts say of elements of T, real or complex, and of real numbers r of R.
 * mx_signed and mx_phase are factors of an element; of a real one the second is 1. */
static const char *const words[][3] = {
    {"mx_add(a, b)", "((a) + (b))", "ga_cadd(a, b)"},
    {"mx_sub(a, b)", "((a) - (b))", "ga_csub(a, b)"},
    {"mx_mul(a, b)", "((a) * (b))", "ga_cmul(a, b)"},
    {"mx_div(a, b)", "((a) / (b))", "ga_cdiv(a, b)"},
    {"mx_neg(a)", "(-(a))", "ga_cneg(a)"},
    {"mx_conj(a)", "(a)", "ga_conj(a)"},
    {"mx_abs(a)", "fabs(a)", "ga_cabs(a)"},
    {"mx_re(a)", "(a)", "(a).x"},
    {"mx_im(a)", "((R)0)", "(a).y"},
    {"mx_of(r)", "((T)(r))", "ga_complex((R)(r), (R)0)"},
    {"mx_scale(a, r)", "((r) * (a))", "ga_cscale(a, r)"},
    {"mx_over(a, r)", "((a) / (r))", "ga_complex((a).x / (r), (a).y / (r))"},
    {"mx_square(a)", "((a) * (a))", "((a).x * (a).x + (a).y * (a).y)"},
    {"mx_signed(a)", "(a)", "ga_cabs(a)"},
    {"mx_phase(a)", "((T)1)", "mx_over(a, ga_cabs(a))"},
};
enum { WORDS = sizeof words / sizeof *words };

/* clang-format off: a macro in a text stands on its own line. */

/* Brings the greatest of column c to its row: `top`, from row `best`. */
#define PIVOT                                                                          \
  "  ga_ulong best = c;\n"                                                             \
  "  R top = mx_abs(a[c * n + c]);\n"                                                  \
  "  for (ga_ulong r = c + 1; r < n; r++) {\n"                                         \
  "    const R v = mx_abs(a[r * n + c]);\n"                                            \
  "    if (v > top) { top = v; best = r; }\n"                                          \
  "  }\n"                                                                              \
  "  if (top == (R)0) { bad = 1; break; }\n"                                           \
  "  for (ga_ulong j = 0; best != c && j < n; j++) {\n"                                \
  "    const T v = a[c * n + j];\n"                                                    \
  "    a[c * n + j] = a[best * n + j];\n"                                              \
  "    a[best * n + j] = v;\n"                                                         \
  "  }\n"

#define IDENTITY(x)                                                                    \
  "for (ga_ulong r = 0; r < n; r++)\n"                                                 \
  "  for (ga_ulong c = 0; c < n; c++) " x "[r * n + c] = mx_of(r == c ? 1 : 0);\n"

static const char solve_text[] =
    "GLOBAL_MEM T *a = p0 + i * n * n, *x = p1 + i * n * k;\n"
    "for (ga_ulong r = 0; r < n; r++)\n"
    "  for (ga_ulong c = 0; c < n; c++)\n"
    "    if (((flags & 1) && c > r) || ((flags & 2) && c < r))\n"
    "      a[r * n + c] = mx_of(0);\n"
    "if (flags & 16)\n" IDENTITY(
        "x") "for (ga_ulong c = 0; c < n; c++) {\n" PIVOT
             "  for (ga_ulong j = 0; best != c && j < k; j++) {\n"
             "    const T v = x[c * k + j];\n"
             "    x[c * k + j] = x[best * k + j];\n"
             "    x[best * k + j] = v;\n"
             "  }\n"
             "  for (ga_ulong r = c + 1; r < n; r++) {\n"
             "    const T f = mx_div(a[r * n + c], a[c * n + c]);\n"
             "    if (mx_abs(f) == (R)0) continue;\n"
             "    for (ga_ulong j = c + 1; j < n; j++)\n"
             "      a[r * n + j] = mx_sub(a[r * n + j], mx_mul(f, a[c * n + j]));\n"
             "    for (ga_ulong j = 0; j < k; j++)\n"
             "      x[r * k + j] = mx_sub(x[r * k + j], mx_mul(f, x[c * k + j]));\n"
             "  }\n"
             "}\n"
             "for (ga_ulong r = bad ? 0 : n; r-- > 0;)\n"
             "  for (ga_ulong j = 0; j < k; j++) {\n"
             "    T v = x[r * k + j];\n"
             "    for (ga_ulong c = r + 1; c < n; c++)\n"
             "      v = mx_sub(v, mx_mul(a[r * n + c], x[c * k + j]));\n"
             "    x[r * k + j] = mx_div(v, a[r * n + r]);\n"
             "  }\n";

static const char det_text[] =
    "GLOBAL_MEM T *a = p0 + i * n * n;\n"
    "T product = mx_of(1);\n"
    "for (ga_ulong c = 0; c < n; c++) {\n" PIVOT
    "  product = mx_mul(product, a[c * n + c]);\n"
    "  if (best != c) product = mx_neg(product);\n"
    "  for (ga_ulong r = c + 1; r < n; r++) {\n"
    "    const T f = mx_div(a[r * n + c], a[c * n + c]);\n"
    "    for (ga_ulong j = c + 1; j < n; j++)\n"
    "      a[r * n + j] = mx_sub(a[r * n + j], mx_mul(f, a[c * n + j]));\n"
    "  }\n"
    "}\n"
    "p1[i] = bad ? mx_of(0) : product;\n"
    "bad = 0;\n";

static const char cholesky_text[] =
    "GLOBAL_MEM T *a = p0 + i * n * n;\n"
    "for (ga_ulong c = 0; c < n; c++) {\n"
    "  R s = mx_re(a[c * n + c]);\n"
    "  for (ga_ulong j = 0; j < c; j++) s -= mx_square(a[c * n + j]);\n"
    "  if (!(s > (R)0)) { bad = 1; break; }\n"
    "  const R d = sqrt(s);\n"
    "  a[c * n + c] = mx_of(d);\n"
    "  for (ga_ulong r = c + 1; r < n; r++) {\n"
    "    T v = a[r * n + c];\n"
    "    for (ga_ulong j = 0; j < c; j++)\n"
    "      v = mx_sub(v, mx_mul(a[r * n + j], mx_conj(a[c * n + j])));\n"
    "    a[r * n + c] = mx_over(v, d);\n"
    "    a[c * n + r] = mx_of(0);\n"
    "  }\n"
    "}\n"
    "if (bad && (flags & 4)) {\n"
    "  const R zero = 0;\n"
    "  for (ga_ulong j = 0; j < n * n; j++) a[j] = mx_of(zero / zero);\n"
    "  bad = 0;\n"
    "}\n";

/* H = 1 - t v v', v of column j from row j on, where it is 1; on a column of `x`. */
#define REFLECT(x, w, t)                                                               \
  "    T d = " x "[j * " w " + c];\n"                                                  \
  "    for (ga_ulong r = j + 1; r < m; r++)\n"                                         \
  "      d = mx_add(d, mx_mul(mx_conj(a[r * n + j]), " x "[r * " w " + c]));\n"        \
  "    d = mx_mul(" t ", d);\n"                                                        \
  "    " x "[j * " w " + c] = mx_sub(" x "[j * " w " + c], d);\n"                      \
  "    for (ga_ulong r = j + 1; r < m; r++)\n"                                         \
  "      " x "[r * " w " + c] = mx_sub(" x "[r * " w                                   \
  " + c], mx_mul(d, a[r * n + j]));\n"

static const char qr_text[] =
    "const ga_ulong least = m < n ? m : n;\n" /* k: columns of q, rows of r */
    "GLOBAL_MEM T *a = p0 + i * m * n, *q = p1 + i * m * k, *o = p2 + i * k * n;\n"
    "GLOBAL_MEM T *tau = p3 + i * least;\n"
    "for (ga_ulong j = 0; j < least; j++) {\n"
    "  const T first = a[j * n + j];\n"
    "  R top = 0, s = 0;\n"
    "  for (ga_ulong r = j + 1; r < m; r++) top = fmax(top, mx_abs(a[r * n + j]));\n"
    "  for (ga_ulong r = j + 1; r < m; r++) {\n"
    "    const R v = mx_abs(a[r * n + j]);\n"
    "    s += v != v ? v : top > (R)0 ? (v / top) * (v / top) : (R)0;\n"
    "  }\n"
    "  tau[j] = mx_of(0);\n"
    "  if (s != (R)0 || mx_im(first) != (R)0) {\n"
    "    const R size = hypot(mx_abs(first), top * sqrt(s));\n"
    "    const R beta = mx_re(first) < (R)0 ? size : -size;\n"
    "    const T gap = mx_sub(first, mx_of(beta));\n"
    "    tau[j] = mx_over(mx_neg(gap), beta);\n"
    "    for (ga_ulong r = j + 1; r < m; r++) a[r * n + j] = mx_div(a[r * n + j], "
    "gap);\n"
    "    a[j * n + j] = mx_of(beta);\n"
    "  }\n"
    "  for (ga_ulong c = j + 1; c < n; c++) {\n" REFLECT(
        "a", "n",
        "mx_conj(tau[j])") "  }\n"
                           "}\n"
                           "for (ga_ulong r = 0; r < m; r++)\n"
                           "  for (ga_ulong c = 0; c < k; c++) q[r * k + c] = mx_of(r "
                           "== c ? 1 : 0);\n"
                           "for (ga_ulong j = least; j-- > 0;)\n"
                           "  for (ga_ulong c = 0; c < k; c++) {\n" REFLECT(
                               "q", "k",
                               "tau[j]") "  }\n"
                                         "for (ga_ulong r = 0; r < k; r++)\n"
                                         "  for (ga_ulong c = 0; c < n; c++)\n"
                                         "    o[r * n + c] = c < r ? mx_of(0) : a[r * "
                                         "n + c];\n";

/* t, s and u of the rotation for tangents of twice the angle of 1 / z. */
#define ROTATION                                                                       \
  "    const R t = (z < (R)0 ? (R)-1 : (R)1) / (fabs(z) + hypot(z, (R)1));\n"          \
  "    const R u = (R)1 / hypot(t, (R)1), s = t * u;\n"

/* Two elements x, y rotated, the second one turned by a phase first. */
#define ROTATE(x, y, phase)                                                            \
  "      {\n"                                                                          \
  "        const T b = " x ", d = mx_mul(" y ", " phase ");\n"                         \
  "        " x " = mx_sub(mx_scale(b, u), mx_scale(d, s));\n"                          \
  "        " y " = mx_add(mx_scale(b, s), mx_scale(d, u));\n"                          \
  "      }\n"

/* Jacobi's method, cyclic. */
static const char eigh_text[] =
    "GLOBAL_MEM T *a = p0 + i * n * n, *v = p2 + i * n * n;\n"
    "GLOBAL_MEM R *w = (GLOBAL_MEM R *)p1 + i * n;\n"
    "R size = 0;\n"
    "for (ga_ulong r = 0; r < n; r++)\n"
    "  for (ga_ulong c = 0; c <= r; c++) {\n"
    "    T x = flags & 2 ? mx_conj(a[c * n + r]) : a[r * n + c];\n"
    "    if (r == c) x = mx_of(mx_re(x));\n"
    "    a[r * n + c] = x;\n"
    "    a[c * n + r] = mx_conj(x);\n"
    "    const R y = mx_abs(x);\n"
    "    size = size < y || y != y ? y : size;\n"
    "  }\n" IDENTITY(
        "v") "bad = size - size != (R)0;\n"
             "ga_int more = !bad;\n"
             "for (ga_int sweep = 0; more && sweep < 60; sweep++) {\n"
             "  more = 0;\n"
             "  for (ga_ulong p = 0; p < n; p++) for (ga_ulong q = p + 1; q < n; "
             "q++) {\n"
             "    const T y = a[p * n + q];\n"
             "    const R x = mx_signed(y);\n"
             "    if (!(fabs(x) > size * eps * (R)0.125)) continue;\n"
             "    more = 1;\n"
             "    const T phase = mx_phase(y);\n"
             "    const R z = (mx_re(a[q * n + q]) - mx_re(a[p * n + p])) / ((R)2 "
             "* x);\n" ROTATION "    for (ga_ulong r = 0; r < n; r++)\n" ROTATE(
                 "a[r * n + p]", "a[r * n + q]",
                 "mx_conj(phase)") "    for (ga_ulong r = 0; r < n; r++) "
                                   "{\n" ROTATE("a[p * n + r]", "a[q * n + r]", "phase")
                                       ROTATE("v[r * n + p]", "v[r * n + q]",
                                              "mx_conj(phase)") "    }\n"
                                                                "    a[p * n + q] = "
                                                                "a[q * n + p] = "
                                                                "mx_of(0);\n"
                                                                "  }\n"
                                                                "}\n"
                                                                "bad |= more;\n"
                                                                "for (ga_ulong c = 0; "
                                                                "c < n; c++) w[c] = "
                                                                "mx_re(a[c * n + "
                                                                "c]);\n"
                                                                "for (ga_ulong c = 0; "
                                                                "c < n; c++) {\n"
                                                                "  ga_ulong least = "
                                                                "c;\n"
                                                                "  for (ga_ulong j = "
                                                                "c + 1; j < n; j++) "
                                                                "if (w[j] < w[least]) "
                                                                "least = j;\n"
                                                                "  const R x = w[c];\n"
                                                                "  w[c] = w[least];\n"
                                                                "  w[least] = x;\n"
                                                                "  for (ga_ulong r = "
                                                                "0; least != c && r < "
                                                                "n; r++) {\n"
                                                                "    const T y = v[r "
                                                                "* n + c];\n"
                                                                "    v[r * n + c] = "
                                                                "v[r * n + least];\n"
                                                                "    v[r * n + least] "
                                                                "= y;\n"
                                                                "  }\n"
                                                                "}\n";

/* Jacobi's method on columns of an (m, n) matrix, m >= n; the rows of vh turn along.
 * Columns of u that have no direction of their own, for they are 0 or beyond n, are
 * made orthogonal to those before them, from the unit vector that is farthest off. */
static const char svd_text[] =
    "GLOBAL_MEM T *a = p0 + i * m * n, *o = p1 + i * m * k, *v = p3 + i * n * "
    "n;\n"
    "GLOBAL_MEM R *w = (GLOBAL_MEM R *)p2 + i * n;\n"
    "R size = 0;\n"
    "for (ga_ulong j = 0; j < m * n; j++) {\n"
    "  const R y = mx_abs(a[j]);\n"
    "  size = size < y || y != y ? y : size;\n"
    "}\n"
    "bad = size - size != (R)0;\n"
    "const R unit = size > (R)0 && !bad ? size : (R)1;\n"
    "for (ga_ulong j = 0; j < m * n; j++) a[j] = mx_over(a[j], "
    "unit);\n" IDENTITY(
        "v") "ga_int more = !bad;\n"
             "for (ga_int sweep = 0; more && sweep < 60; sweep++) {\n"
             "  more = 0;\n"
             "  for (ga_ulong p = 0; p < n; p++) for (ga_ulong q = p + 1; q < "
             "n; q++) {\n"
             "    R f = 0, g = 0;\n"
             "    T y = mx_of(0);\n"
             "    for (ga_ulong r = 0; r < m; r++) {\n"
             "      f += mx_square(a[r * n + p]);\n"
             "      g += mx_square(a[r * n + q]);\n"
             "      y = mx_add(y, mx_mul(mx_conj(a[r * n + p]), a[r * n + "
             "q]));\n"
             "    }\n"
             "    const R x = mx_signed(y);\n"
             "    if (!(fabs(x) > (R)4 * eps * sqrt(f) * sqrt(g)) || !(fabs(x) "
             "> eps * eps))\n"
             "      continue;\n"
             "    more = 1;\n"
             "    const T phase = mx_phase(y);\n"
             "    const R z = (g - f) / ((R)2 * x);\n" ROTATION
             "    for (ga_ulong r = 0; r < m; r++)\n" ROTATE(
                 "a[r * n + p]", "a[r * n + q]",
                 "mx_conj(phase)") "    for (ga_ulong r = 0; r < n; "
                                   "r++)\n" ROTATE("v[p * n + r]", "v[q * n + r]",
                                                   "phase") "  }\n"
                                                            "}\n"
                                                            "bad |= more;\n"
                                                            "for (ga_ulong c = "
                                                            "0; c < n; c++) {\n"
                                                            "  R s = 0;\n"
                                                            "  for (ga_ulong r "
                                                            "= 0; r < m; r++) "
                                                            "s += "
                                                            "mx_square(a[r * n "
                                                            "+ c]);\n"
                                                            "  w[c] = "
                                                            "sqrt(s);\n"
                                                            "}\n"
                                                            "for (ga_ulong c = "
                                                            "0; c < n; c++) {\n"
                                                            "  ga_ulong most = "
                                                            "c;\n"
                                                            "  for (ga_ulong j "
                                                            "= c + 1; j < n; "
                                                            "j++) if (w[j] > "
                                                            "w[most]) most = "
                                                            "j;\n"
                                                            "  const R x = "
                                                            "w[c];\n"
                                                            "  w[c] = "
                                                            "w[most];\n"
                                                            "  w[most] = x;\n"
                                                            "  for (ga_ulong r "
                                                            "= 0; most != c && "
                                                            "r < m; r++) {\n"
                                                            "    const T y = "
                                                            "a[r * n + c];\n"
                                                            "    a[r * n + c] "
                                                            "= a[r * n + "
                                                            "most];\n"
                                                            "    a[r * n + "
                                                            "most] = y;\n"
                                                            "  }\n"
                                                            "  for (ga_ulong r "
                                                            "= 0; most != c && "
                                                            "r < n; r++) {\n"
                                                            "    const T y = "
                                                            "v[c * n + r];\n"
                                                            "    v[c * n + r] "
                                                            "= v[most * n + "
                                                            "r];\n"
                                                            "    v[most * n + "
                                                            "r] = y;\n"
                                                            "  }\n"
                                                            "}\n"
                                                            "for (ga_ulong c = "
                                                            "0; c < k; c++) {\n"
                                                            "  if (c < n && "
                                                            "w[c] > (R)m * eps "
                                                            "* w[0]) {\n"
                                                            "    for (ga_ulong "
                                                            "r = 0; r < m; "
                                                            "r++)\n"
                                                            "      o[r * k + "
                                                            "c] = mx_over(a[r "
                                                            "* n + c], w[c]);\n"
                                                            "    continue;\n"
                                                            "  }\n"
                                                            "  ga_ulong far = "
                                                            "0;\n"
                                                            "  R least = 2;\n"
                                                            "  for (ga_ulong r "
                                                            "= 0; r < m; r++) "
                                                            "{\n"
                                                            "    R s = 0;\n"
                                                            "    for (ga_ulong "
                                                            "j = 0; j < c; "
                                                            "j++) s += "
                                                            "mx_square(o[r * k "
                                                            "+ j]);\n"
                                                            "    if (s < "
                                                            "least) { least = "
                                                            "s; far = r; }\n"
                                                            "  }\n"
                                                            "  for (ga_ulong r "
                                                            "= 0; r < m; r++) "
                                                            "o[r * k + c] = "
                                                            "mx_of(r == far ? "
                                                            "1 : 0);\n"
                                                            "  for (ga_int "
                                                            "again = 0; again "
                                                            "< 2; again++) {\n"
                                                            "    R s = 0;\n"
                                                            "    for (ga_ulong "
                                                            "j = 0; j < c; "
                                                            "j++) {\n"
                                                            "      T d = "
                                                            "mx_of(0);\n"
                                                            "      for "
                                                            "(ga_ulong r = 0; "
                                                            "r < m; r++)\n"
                                                            "        d = "
                                                            "mx_add(d, "
                                                            "mx_mul(mx_conj(o["
                                                            "r * k + j]), o[r "
                                                            "* k + c]));\n"
                                                            "      for "
                                                            "(ga_ulong r = 0; "
                                                            "r < m; r++)\n"
                                                            "        o[r * k + "
                                                            "c] = mx_sub(o[r * "
                                                            "k + c], mx_mul(d, "
                                                            "o[r * k + j]));\n"
                                                            "    }\n"
                                                            "    for (ga_ulong "
                                                            "r = 0; r < m; "
                                                            "r++) s += "
                                                            "mx_square(o[r * k "
                                                            "+ c]);\n"
                                                            "    for (ga_ulong "
                                                            "r = 0; r < m; "
                                                            "r++)\n"
                                                            "      o[r * k + "
                                                            "c] = mx_over(o[r "
                                                            "* k + c], "
                                                            "sqrt(s));\n"
                                                            "  }\n"
                                                            "}\n"
                                                            "for (ga_ulong c = "
                                                            "0; c < n; c++) "
                                                            "w[c] *= unit;\n";

static const char pinv_text[] =
    "GLOBAL_MEM T *e = p4 + i * n * m;\n"
    "const R rate = cutoff < (R)0 ? eps * (R)(m > n ? m : n) : cutoff;\n"
    "for (ga_ulong r = 0; r < n; r++)\n"
    "  for (ga_ulong c = 0; c < m; c++) {\n"
    "    T s = mx_of(0);\n"
    "    for (ga_ulong j = 0; j < n; j++)\n"
    "      if (w[j] > rate * w[0])\n"
    "        s = mx_add(s, mx_mul(mx_over(mx_conj(v[j * n + r]), w[j]),\n"
    "                             mx_conj(o[c * k + j])));\n"
    "    e[r * m + c] = s;\n"
    "  }\n";

/* Taylor's series of the matrix made small, squared as often. */
static const char expm_text[] =
    "GLOBAL_MEM T *a = p0 + i * n * n, *e = p1 + i * n * n, *f = p2 + i * n * n;\n"
    "R size = 0, scale = 1;\n"
    "ga_int count = 0;\n"
    "for (ga_ulong c = 0; c < n; c++) {\n"
    "  R s = 0;\n"
    "  for (ga_ulong r = 0; r < n; r++) s += mx_abs(a[r * n + c]);\n"
    "  size = s > size ? s : size;\n"
    "}\n"
    "if (size - size == (R)0)\n"
    "  for (; size > (R)0.5; count++) { size *= (R)0.5; scale *= (R)0.5; }\n"
    "for (ga_ulong j = 0; j < n * n; j++) a[j] = mx_scale(a[j], scale);\n" IDENTITY(
        "e") "for (ga_int degree = 18; degree > -count; degree--) {\n"
             "  const ga_int is_series = degree > 0;\n"
             "  for (ga_ulong r = 0; r < n; r++)\n"
             "    for (ga_ulong c = 0; c < n; c++) {\n"
             "      T s = mx_of(0);\n"
             "      for (ga_ulong j = 0; j < n; j++)\n"
             "        s = mx_add(s, mx_mul(is_series ? a[r * n + j] : e[r * n + j],\n"
             "                             e[j * n + c]));\n"
             "      if (is_series) s = mx_over(s, (R)degree);\n"
             "      if (is_series && r == c) s = mx_add(s, mx_of(1));\n"
             "      f[r * n + c] = s;\n"
             "    }\n"
             "  for (ga_ulong j = 0; j < n * n; j++) e[j] = f[j];\n"
             "}\n";

/* cs and sn of the rotation of rows that leaves nothing of g under f. */
#define GIVENS                                                                         \
  "    const R fa = mx_abs(f), ga = mx_abs(g), h = hypot(fa, ga);\n"                   \
  "    const R cs = h > (R)0 ? fa / h : (R)1;\n"                                       \
  "    const T sn = h > (R)0 ? mx_over(mx_mul(fa > (R)0 ? mx_over(f, fa) : "           \
  "mx_of(1),\n"                                                                        \
  "                                           mx_conj(g)), h) : mx_of(0);\n"

/* Rows p and q of a, from column `first` on. */
#define TURN_ROWS(p, q, first)                                                         \
  "    for (ga_ulong c = " first "; c < n; c++) {\n"                                   \
  "      const T b = a[(" p ") * n + c], d = a[(" q ") * n + c];\n"                    \
  "      a[(" p ") * n + c] = mx_add(mx_scale(b, cs), mx_mul(sn, d));\n"               \
  "      a[(" q ") * n + c] = mx_sub(mx_scale(d, cs), mx_mul(mx_conj(sn), b));\n"      \
  "    }\n"

/* Columns p and q of x, of the rows up to `end`, turned against them. */
#define TURN_COLUMNS(x, p, q, end)                                                     \
  "    for (ga_ulong r = 0; r < " end "; r++) {\n"                                     \
  "      const T b = " x "[r * n + " p "], d = " x "[r * n + " q "];\n"                \
  "      " x "[r * n + " p "] = mx_add(mx_scale(b, cs), mx_mul(mx_conj(sn), d));\n"    \
  "      " x "[r * n + " q "] = mx_sub(mx_scale(d, cs), mx_mul(sn, b));\n"             \
  "    }\n"

/* Complex matrices: a triangle by the shifted QR method, and what its columns give.
 * Each vector has length 1, and its greatest element is real. */
static const char eig_text[] =
    "GLOBAL_MEM T *a = p0 + i * n * n, *w = p1 + i * n, *v = p2 + i * n * n;\n"
    "R size = 0;\n"
    "for (ga_ulong j = 0; j < n * n; j++) {\n"
    "  const R y = mx_abs(a[j]);\n"
    "  size = size < y || y != y ? y : size;\n"
    "}\n" IDENTITY("v") "bad = size - size != (R)0;\n"
                        "for (ga_ulong j = 0; !bad && j + 2 < n; j++)\n"
                        "  for (ga_ulong l = j + 2; l < n; l++) {\n"
                        "    const T f = a[(j + 1) * n + j], g = a[l * n + j];\n"
                        "    if (mx_abs(g) == (R)0) continue;\n" GIVENS TURN_ROWS(
                            "j + 1", "l",
                            "j") "    a[l * n + j] = mx_of(0);\n" TURN_COLUMNS("a",
                                                                               "j + 1",
                                                                               "l", "n")
                            TURN_COLUMNS("v", "j + 1", "l", "n") "  }\n";

/* Each turn takes the last block nearer to a triangle. */
static const char eig_turns_text[] =
    "ga_ulong last = n;\n" /* of the block that is not a triangle yet, and one */
    "ga_int turns = 0;\n"
    "while (!bad && last > 1) {\n"
    "  const ga_ulong e = last - 1;\n"
    "  ga_ulong first = e;\n"
    "  for (; first > 0; first--) {\n"
    "    const R near = mx_abs(a[first * n + first]) +\n"
    "                   mx_abs(a[(first - 1) * n + first - 1]);\n"
    "    if (mx_abs(a[first * n + first - 1]) <=\n"
    "        eps * (near > (R)0 ? near : size)) break;\n"
    "  }\n"
    "  if (first > 0) a[first * n + first - 1] = mx_of(0);\n"
    "  if (first == e) { last--; turns = 0; continue; }\n"
    "  if (++turns > 300) { bad = 1; break; }\n"
    "  const T aa = a[(e - 1) * n + e - 1], bb = a[(e - 1) * n + e];\n"
    "  const T cc = a[e * n + e - 1], dd = a[e * n + e];\n"
    "  T shift;\n"
    "  if (turns % 10 == 0) {\n"
    "    shift = mx_add(dd, mx_of(mx_abs(cc)));\n"
    "  } else {\n" /* the root of the last two rows that is nearer to dd */
    "    const T mean = mx_scale(mx_sub(aa, dd), (R)0.5);\n"
    "    const T root = ga_csqrt(mx_add(mx_mul(mean, mean), mx_mul(bb, cc)));\n"
    "    const T plus = mx_add(mean, root), minus = mx_sub(mean, root);\n"
    "    const T far = mx_abs(plus) > mx_abs(minus) ? plus : minus;\n"
    "    shift = mx_abs(far) > (R)0 ? mx_sub(dd, mx_div(mx_mul(bb, cc), far)) : dd;\n"
    "  }\n"
    "  for (ga_ulong j = first; j < e; j++) {\n"
    "    const T f = j == first ? mx_sub(a[j * n + j], shift) : a[j * n + j - 1];\n"
    "    const T g = j == first ? a[(j + 1) * n + j] : a[(j + 1) * n + j - 1];\n" GIVENS
    "    const ga_ulong from = j == first ? j : j - 1;\n" TURN_ROWS(
        "j", "j + 1",
        "from") "    if (j > first) a[(j + 1) * n + j - 1] = mx_of(0);\n"
                "    const ga_ulong end = j + 3 < last ? j + 3 : last;\n" TURN_COLUMNS(
                    "a", "j", "j + 1", "end")
                    TURN_COLUMNS("v", "j", "j + 1", "n") "  }\n"
                                                         "}\n";

static const char eig_vectors_text[] =
    "for (ga_ulong c = bad ? 0 : n; c-- > 0;) {\n"
    "  w[c] = a[c * n + c];\n"
    "  for (ga_ulong r = c; r-- > 0;) {\n"
    "    T s = a[r * n + c];\n"
    "    for (ga_ulong j = r + 1; j < c; j++)\n"
    "      s = mx_add(s, mx_mul(a[r * n + j], a[j * n + c]));\n"
    "    T gap = mx_sub(w[c], a[r * n + r]);\n"
    "    if (mx_abs(gap) <= eps * size) gap = mx_of(size > (R)0 ? eps * size : eps);\n"
    "    a[r * n + c] = mx_div(s, gap);\n"
    "  }\n"
    "  R total = 0, top = -1;\n"
    "  T most = mx_of(1);\n"
    "  for (ga_ulong r = 0; r < n; r++) {\n"
    "    T s = v[r * n + c];\n"
    "    for (ga_ulong j = 0; j < c; j++)\n"
    "      s = mx_add(s, mx_mul(v[r * n + j], a[j * n + c]));\n"
    "    v[r * n + c] = s;\n"
    "    const R y = mx_abs(s);\n"
    "    if (y > top * ((R)1 + (R)8 * eps)) { top = y; most = s; }\n"
    "    total = hypot(total, y);\n"
    "  }\n"
    "  const T turn = mx_over(mx_conj(mx_over(most, top)), total);\n"
    "  for (ga_ulong r = 0; r < n; r++) v[r * n + c] = mx_mul(v[r * n + c], turn);\n"
    "}\n";

/* clang-format on */

/* The word of the real type. */
static const char *real_of(int typecode) {
  return gpuarray_get_type(ga__matrices_real(typecode))->cluda_name;
}

static void add_parameters(ga_strbuf *t, int typecode) {
  const char *type = gpuarray_get_type(typecode)->cluda_name;
  ga_strbuf starts = {0};
  ga__strbuf_add(t, "(");
  for (unsigned int i = 0; i < GA_MATRICES_ARRAYS; i++) {
    const char name[] = {'p', (char)('0' + i), 0};
    ga__text_array(t, &starts, false, type, name);
  }
  ga__strbuf_addf(t,
                  "ga_ulong batch, ga_ulong m, ga_ulong n, ga_ulong k, ga_uint flags, "
                  "%s cutoff, GLOBAL_MEM ga_uint *word, ga_size word_off, ga_uint "
                  "site) {\n  typedef %s T;\n  typedef %s R;\n",
                  real_of(typecode), type, real_of(typecode));
  ga__strbuf_add(t, starts.text ? starts.text : "");
  ga__strbuf_clear(&starts);
}

/* The words' meaning before a text, and that they end behind it: other kernels of a
 * program may have their own. */
static void add_words(ga_strbuf *t, bool is_complex) {
  for (unsigned int i = 0; i < WORDS; i++)
    ga__strbuf_addf(t, "#define %s %s\n", words[i][0], words[i][is_complex ? 2 : 1]);
}

static void end_words(ga_strbuf *t) {
  for (unsigned int i = 0; i < WORDS; i++)
    ga__strbuf_addf(t, "#undef %.*s\n", (int)strcspn(words[i][0], "("), words[i][0]);
}

int ga__matrices_source(ga_source *out, const gpucontext *ctx, const void *spec) {
  static const char *const texts[] = {[GA_MATRICES_SOLVE] = solve_text,
                                      [GA_MATRICES_DET] = det_text,
                                      [GA_MATRICES_CHOLESKY] = cholesky_text,
                                      [GA_MATRICES_QR] = qr_text,
                                      [GA_MATRICES_EIGH] = eigh_text,
                                      [GA_MATRICES_SVD] = svd_text,
                                      [GA_MATRICES_PINV] = svd_text,
                                      [GA_MATRICES_EXPM] = expm_text,
                                      [GA_MATRICES_EIG] = eig_text};
  const ga_matrices_spec *s = spec;
  const bool is_complex = ga__dtype_kind(s->typecode) == 'c';
  ga_strbuf text = {0};
  (void)ctx;
  add_parameters(&text, s->typecode);
  ga__strbuf_add(&text, "\n");
  add_words(&text, is_complex);
  ga__strbuf_addf(&text,
                  "  const R eps = %s;\n"
                  "  (void)eps; (void)m; (void)k; (void)flags; (void)cutoff;\n"
                  "  for (ga_ulong i = GID_0 * LDIM_0 + LID_0; i < batch;"
                  " i += GDIM_0 * LDIM_0) {\n"
                  "  ga_int bad = 0;\n",
                  epsilon(ga__matrices_real(s->typecode) == GA_DOUBLE));
  ga__strbuf_add(&text, texts[s->kind]);
  if (s->kind == GA_MATRICES_PINV)
    ga__strbuf_add(&text, pinv_text);
  if (s->kind == GA_MATRICES_EIG) {
    ga__strbuf_add(&text, eig_turns_text);
    ga__strbuf_add(&text, eig_vectors_text);
  }
  ga__strbuf_add(&text, "  if (bad)\n"
                        "    ga_report_index(word, word_off, site, (ga_long)i, "
                        "(ga_long)-1);\n"
                        "  }\n"
                        "}\n");
  end_words(&text);
  return ga__text_finish(out, "matrices", NULL, &text);
}
