/* libgpuarray from C: data up, an expression, a sum, a product, a kernel, an error.
 *
 *   cc example.c scale.c $(pkg-config --cflags --libs libgpuarray) -o example
 *   ./example cuda0        (without a name: the best device found)
 */
#include <stdio.h>

#include <gpuarray/blas.h>
#include <gpuarray/elemwise.h>
#include <gpuarray/reduction.h>

#include "scale.h"

#define ROWS 2
#define COLUMNS 3

/* Says what failed and gives the status on. */
static int said(int status, const char *what) {
  if (status != GA_NO_ERROR)
    fprintf(stderr, "%s: %s\n", what, gpuarray_error_text());
  return status;
}
#define TRY(call)                                                                      \
  do {                                                                                 \
    if (said((call), #call) != GA_NO_ERROR)                                            \
      goto done;                                                                       \
  } while (0)

/* y = 2 x + 1, an array made by the call. */
static int line(GpuArray *y, const GpuArray *x) {
  gpuelemwise_arg args[] = {{"y", GA_FLOAT, GE_WRITE}, {"x", GA_FLOAT, GE_READ}};
  GpuElemwise *ge =
      GpuElemwise_new(GpuArray_context(x), NULL, "y = 2 * x + 1", 2, args, 2, 0);
  int status = ge ? GpuElemwise_apply1(ge, y, x) : GA_INVALID_ERROR;
  GpuElemwise_free(ge);
  return status;
}

static int sum(GpuArray *total, GpuArray *x) {
  const gpuelemwise_arg input = {"x", GA_FLOAT, GE_READ};
  gpureduction_spec spec = {.size = sizeof spec,
                            .map = "x",
                            .combine = "a + b",
                            .identity = "0",
                            .acc_typecode = GA_FLOAT,
                            .out_typecode = GA_FLOAT,
                            .n = 1,
                            .inputs = &input};
  int status = GA_NO_ERROR;
  GpuReduction *gr = GpuReduction_new(GpuArray_context(x), &spec, &status);
  if (gr == NULL)
    return status;
  void *ins[] = {x};
  status = GpuReduction_apply(gr, total, ins, 3, 0); /* axes 0 and 1 */
  GpuReduction_free(gr);
  return status;
}

static int run(gpucontext *ctx) {
  const float host[ROWS][COLUMNS] = {{1, 2, 3}, {4, 5, 6}};
  const size_t shape[2] = {ROWS, COLUMNS}, square[2] = {ROWS, ROWS};
  GpuArray x = {0}, y = {0}, total = {0}, product = {0}, wrong = {0};
  float back[ROWS][ROWS], one = 0;
  int failed = 1;
  TRY(GpuArray_copy_from_host(&x, ctx, host, GA_FLOAT, 2, shape, NULL));
  TRY(line(&y, &x));
  TRY(sum(&total, &y));
  TRY(GpuArray_read(&one, sizeof one, &total));
  printf("sum of 2 x + 1: %g\n", (double)one);
  TRY(GpuArray_empty(&product, ctx, GA_FLOAT, 2, square, GA_C_ORDER));
  TRY(GpuArray_rgemm(cb_no_trans, cb_trans, 1, &x, &x, 0, &product, 0));
  TRY(scale(&product, 0.5f));
  TRY(GpuArray_read(back, sizeof back, &product));
  printf("x x' / 2: %g %g %g %g\n", (double)back[0][0], (double)back[0][1],
         (double)back[1][0], (double)back[1][1]);
  if (GpuArray_reshape(&wrong, &x, 1, (const size_t[]){5}, GA_C_ORDER, 0) ==
      GA_NO_ERROR)
    goto done;
  printf("caught: %s\n", gpuarray_error_text());
  failed = one != 48 || back[0][0] != 7 || back[0][1] != 16 || back[1][1] != 38.5f;
done:
  GpuArray_clear(&x);
  GpuArray_clear(&y);
  GpuArray_clear(&total);
  GpuArray_clear(&product);
  return failed;
}

int main(int argc, char **argv) {
  gpucontext *ctx = NULL;
  if (said(gpucontext_open(&ctx, argc > 1 ? argv[1] : NULL), "open") != GA_NO_ERROR)
    return 1;
  printf("on %s\n", gpucontext_name(ctx));
  int failed = run(ctx);
  gpucontext_deref(ctx);
  return failed;
}
