/* Pure shape functions: counts, strides, broadcasting, collapsing, reshaping, extents.
 */
#include "check.h"

#include <stdint.h>

#include "c/base/shape.h"

#define DIMS(...) ((size_t[]){__VA_ARGS__})
#define STRIDES(...) ((ssize_t[]){__VA_ARGS__})

static void test_count(void) {
  size_t n = 7;
  CHECK_OK(ga__shape_count(&n, 0, NULL));
  CHECK(n == 1);
  CHECK_OK(ga__shape_count(&n, 3, DIMS(2, 3, 4)));
  CHECK(n == 24);
  CHECK_OK(ga__shape_count(&n, 3, DIMS(SIZE_MAX, SIZE_MAX, 0)));
  CHECK(n == 0);
  n = 5;
  CHECK_STATUS(GA_XLARGE_ERROR,
               ga__shape_count(&n, 2, DIMS((size_t)1 << 32, (size_t)1 << 32)));
  CHECK(n == 5);
  CHECK_TEXT("(4294967296, 4294967296)");
}

static void test_strides(void) {
  ssize_t s[3];
  ga__shape_c_strides(s, 3, DIMS(2, 3, 4), 8);
  CHECK(s[0] == 96 && s[1] == 32 && s[2] == 8);
  ga__shape_f_strides(s, 3, DIMS(2, 3, 4), 8);
  CHECK(s[0] == 8 && s[1] == 16 && s[2] == 48);
}

static void check_broadcast(unsigned int na, const size_t *a, unsigned int nb,
                            const size_t *b, unsigned int n, const size_t *wanted) {
  size_t out[GA_MAX_NDIM];
  unsigned int nd = 0;
  CHECK_OK(ga__shape_broadcast(&nd, out, na, a));
  CHECK_OK(ga__shape_broadcast(&nd, out, nb, b));
  CHECK(nd == n && memcmp(out, wanted, n * sizeof *out) == 0);
}

static void test_broadcast(void) {
  check_broadcast(2, DIMS(3, 4), 2, DIMS(3, 4), 2, DIMS(3, 4));
  check_broadcast(2, DIMS(3, 1), 1, DIMS(4), 2, DIMS(3, 4));
  check_broadcast(1, DIMS(4), 2, DIMS(3, 1), 2, DIMS(3, 4));
  check_broadcast(0, NULL, 2, DIMS(3, 1), 2, DIMS(3, 1));
  check_broadcast(2, DIMS(3, 1), 0, NULL, 2, DIMS(3, 1));
  check_broadcast(2, DIMS(0, 1), 1, DIMS(5), 2, DIMS(0, 5));
  check_broadcast(1, DIMS(1), 1, DIMS(0), 1, DIMS(0));
  check_broadcast(4, DIMS(8, 1, 6, 1), 3, DIMS(7, 1, 5), 4, DIMS(8, 7, 6, 5));

  size_t out[GA_MAX_NDIM] = {3, 4};
  unsigned int nd = 2;
  CHECK_STATUS(GA_VALUE_ERROR, ga__shape_broadcast(&nd, out, 3, DIMS(2, 4, 3)));
  CHECK_TEXT("shapes (3, 4) and (2, 4, 3) do not broadcast: axis -1 is 4 against 3");
  CHECK(nd == 2 && out[0] == 3 && out[1] == 4);
  CHECK_STATUS(GA_VALUE_ERROR, ga__shape_broadcast(&nd, out, 2, DIMS(3, 0)));
  CHECK_STATUS(GA_VALUE_ERROR, ga__shape_broadcast(&nd, out, 33, out));
}

static void test_collapse_cases_of_libgpuarray(void) {
  unsigned int nd = 3;
  size_t d[3] = {50, 1, 20};
  ssize_t a[3] = {80, 80, 4}, b[3] = {80, 80, 4};
  ga__shape_collapse(2, &nd, d, (ssize_t *[]){a, b});
  CHECK(nd == 1 && d[0] == 1000 && a[0] == 4 && b[0] == 4);

  nd = 3;
  memcpy(d, DIMS(50, 1, 20), sizeof d);
  memcpy(a, STRIDES(168, 80, 4), sizeof a);
  memcpy(b, STRIDES(80, 80, 4), sizeof b);
  ga__shape_collapse(2, &nd, d, (ssize_t *[]){a, b});
  CHECK(nd == 2 && d[0] == 50 && d[1] == 20);
  CHECK(a[0] == 168 && a[1] == 4 && b[0] == 80 && b[1] == 4);

  nd = 3;
  memcpy(d, DIMS(20, 1, 50), sizeof d);
  memcpy(a, STRIDES(4, 80, 168), sizeof a);
  memcpy(b, STRIDES(4, 80, 80), sizeof b);
  ga__shape_collapse(2, &nd, d, (ssize_t *[]){a, b});
  CHECK(nd == 2 && d[0] == 20 && d[1] == 50);
  CHECK(a[0] == 4 && a[1] == 168 && b[0] == 4 && b[1] == 80);

  nd = 2;
  memcpy(d, DIMS(1, 1), 2 * sizeof *d);
  memcpy(a, STRIDES(4, 4), 2 * sizeof *a);
  ga__shape_collapse(1, &nd, d, (ssize_t *[]){a});
  CHECK(nd == 1 && d[0] == 1 && a[0] == 4);
}

static void test_collapse(void) {
  unsigned int nd = 4;
  size_t d[4] = {2, 3, 4, 5};
  ssize_t a[4] = {240, 80, 20, 4}, b[4] = {0, 0, 20, 4};
  ga__shape_collapse(3, &nd, d, (ssize_t *[]){a, NULL, b});
  CHECK(nd == 2 && d[0] == 6 && d[1] == 20);
  CHECK(a[0] == 80 && a[1] == 4 && b[0] == 0 && b[1] == 4);

  nd = 2; /* both reversed */
  memcpy(d, DIMS(3, 4), 2 * sizeof *d);
  memcpy(a, STRIDES(-16, -4), 2 * sizeof *a);
  ga__shape_collapse(1, &nd, d, (ssize_t *[]){a});
  CHECK(nd == 1 && d[0] == 12 && a[0] == -4);

  nd = 3; /* empty */
  memcpy(d, DIMS(3, 0, 4), 3 * sizeof *d);
  memcpy(a, STRIDES(0, 16, 4), 3 * sizeof *a);
  ga__shape_collapse(1, &nd, d, (ssize_t *[]){a});
  size_t left = 0;
  CHECK_OK(ga__shape_count(&left, nd, d));
  CHECK(left == 0 && nd >= 1);

  nd = 3; /* only scalars */
  memcpy(d, DIMS(3, 2, 4), 3 * sizeof *d);
  ga__shape_collapse(1, &nd, d, (ssize_t *[]){NULL});
  CHECK(nd == 1 && d[0] == 24);

  nd = 0;
  ga__shape_collapse(1, &nd, d, (ssize_t *[]){a});
  CHECK(nd == 0);
}

/* The strides of a reshaped view must reach the elements in the same order. */
static void check_same_order(unsigned int nd, const size_t *dims, const ssize_t *s,
                             unsigned int new_nd, const size_t *new_dims,
                             const ssize_t *t, ga_order order) {
  size_t n, n_new;
  CHECK_OK(ga__shape_count(&n, nd, dims));
  CHECK_OK(ga__shape_count(&n_new, new_nd, new_dims));
  CHECK(n == n_new);
  for (size_t k = 0; k < n; k++) {
    ssize_t at = 0, new_at = 0;
    size_t rest = k;
    for (unsigned int i = 0; i < nd; i++) {
      unsigned int axis = order == GA_F_ORDER ? i : nd - 1 - i;
      at += (ssize_t)(rest % dims[axis]) * s[axis];
      rest /= dims[axis];
    }
    rest = k;
    for (unsigned int i = 0; i < new_nd; i++) {
      unsigned int axis = order == GA_F_ORDER ? i : new_nd - 1 - i;
      new_at += (ssize_t)(rest % new_dims[axis]) * t[axis];
      rest /= new_dims[axis];
    }
    CHECK(at == new_at);
  }
}

static void check_reshape(bool possible, unsigned int nd, const size_t *dims,
                          const ssize_t *s, unsigned int new_nd, const size_t *new_dims,
                          ga_order order) {
  ssize_t t[GA_MAX_NDIM];
  CHECK(ga__shape_reshape_strides(t, nd, dims, s, new_nd, new_dims, 4, order) ==
        possible);
  if (possible)
    check_same_order(nd, dims, s, new_nd, new_dims, t, order);
}

static void test_reshape(void) {
  size_t d[] = {2, 3, 4};
  ssize_t c[] = {48, 16, 4}, f[] = {4, 8, 24};
  check_reshape(true, 3, d, c, 1, DIMS(24), GA_C_ORDER);
  check_reshape(true, 3, d, c, 2, DIMS(6, 4), GA_C_ORDER);
  check_reshape(true, 3, d, c, 4, DIMS(4, 1, 3, 2), GA_C_ORDER);
  check_reshape(true, 3, d, c, 5, DIMS(1, 24, 1, 1, 1), GA_C_ORDER);
  check_reshape(true, 3, d, f, 2, DIMS(6, 4), GA_F_ORDER);
  check_reshape(true, 3, d, f, 4, DIMS(1, 4, 3, 2), GA_F_ORDER);
  check_reshape(false, 3, d, f, 2, DIMS(6, 4), GA_C_ORDER);
  check_reshape(false, 3, d, c, 2, DIMS(6, 4), GA_F_ORDER);
  /* Every second row: the inner axes still merge, the outer splits. */
  check_reshape(true, 3, DIMS(4, 3, 4), STRIDES(96, 16, 4), 2, DIMS(4, 12), GA_C_ORDER);
  check_reshape(true, 3, DIMS(4, 3, 4), STRIDES(96, 16, 4), 4, DIMS(2, 2, 6, 2),
                GA_C_ORDER);
  check_reshape(false, 3, DIMS(4, 3, 4), STRIDES(96, 16, 4), 1, DIMS(48), GA_C_ORDER);
  check_reshape(false, 3, DIMS(4, 3, 4), STRIDES(96, 16, 4), 2, DIMS(8, 6), GA_C_ORDER);
  /* Negative and zero strides; axes of length 1 with any stride. */
  check_reshape(true, 1, DIMS(12), STRIDES(-4), 2, DIMS(3, 4), GA_C_ORDER);
  check_reshape(true, 2, DIMS(3, 4), STRIDES(0, 0), 1, DIMS(12), GA_C_ORDER);
  check_reshape(false, 2, DIMS(3, 4), STRIDES(0, 4), 1, DIMS(12), GA_C_ORDER);
  check_reshape(true, 3, DIMS(3, 1, 4), STRIDES(16, 999, 4), 1, DIMS(12), GA_C_ORDER);
  check_reshape(true, 2, DIMS(1, 1), STRIDES(7, 9), 0, NULL, GA_C_ORDER);
  check_reshape(true, 0, NULL, NULL, 3, DIMS(1, 1, 1), GA_C_ORDER);
  check_reshape(true, 1, DIMS(3), STRIDES(8), 3, DIMS(1, 3, 1), GA_C_ORDER);
  check_reshape(true, 1, DIMS(3), STRIDES(8), 3, DIMS(1, 3, 1), GA_F_ORDER);
  /* No elements: every reshape is a view. */
  check_reshape(true, 3, DIMS(24, 0, 33), STRIDES(4, 4, 4), 3, DIMS(0, 24, 33),
                GA_C_ORDER);
}

static void check_extent(unsigned int nd, const size_t *dims, const ssize_t *s,
                         ptrdiff_t low, ptrdiff_t high) {
  ptrdiff_t got_low, got_high;
  ga__shape_extent(&got_low, &got_high, nd, dims, s, 4);
  CHECK(got_low == low && got_high == high);
}

static void test_extent(void) {
  check_extent(0, NULL, NULL, 0, 4);
  check_extent(2, DIMS(3, 4), STRIDES(16, 4), 0, 48);
  check_extent(2, DIMS(3, 4), STRIDES(-16, 4), -32, 16);
  check_extent(2, DIMS(3, 4), STRIDES(-16, -4), -44, 4);
  check_extent(2, DIMS(3, 4), STRIDES(0, 0), 0, 4);
  check_extent(2, DIMS(3, 0), STRIDES(16, 4), 0, 0);
  check_extent(2, DIMS(1, 4), STRIDES(-1000, 4), 0, 16);
  check_extent(1, DIMS(3), STRIDES(PTRDIFF_MAX), 0, PTRDIFF_MAX);
  check_extent(1, DIMS(SIZE_MAX), STRIDES(-1), PTRDIFF_MIN, 4);
  check_extent(2, DIMS(2, 2), STRIDES(PTRDIFF_MIN, PTRDIFF_MIN), PTRDIFF_MIN, 4);
}

static void test_text(void) {
  char text[GA_SHAPE_TEXT];
  size_t many[GA_MAX_NDIM];
  CHECK(strcmp(ga__shape_text(text, 0, NULL), "()") == 0);
  CHECK(strcmp(ga__shape_text(text, 1, DIMS(3)), "(3,)") == 0);
  CHECK(strcmp(ga__shape_text(text, 2, DIMS(3, 4)), "(3, 4)") == 0);
  for (int i = 0; i < GA_MAX_NDIM; i++)
    many[i] = SIZE_MAX;
  for (unsigned int nd = 1; nd <= GA_MAX_NDIM; nd++) {
    ga__shape_text(text, nd, many);
    CHECK(strlen(text) < GA_SHAPE_TEXT);
  }
  CHECK(strstr(text, ", ...)") != NULL);
}

int main(void) {
  test_count();
  test_strides();
  test_broadcast();
  test_collapse_cases_of_libgpuarray();
  test_collapse();
  test_reshape();
  test_extent();
  test_text();
  return check_result("shape");
}
