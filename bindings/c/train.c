/* Training from C: the step was compiled in Python and saved; no Python runs here.
 *
 *   python ../train.py train.plan cuda0
 *   cc train.c $(pkg-config --cflags --libs libgpuarray) -o train
 *   ./train train.plan cuda0
 */
#include <stdio.h>

#include <gpuarray/function.h>

#define ROWS 64
#define COLUMNS 6
#define STEPS 40

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

/* Rows of numbers from -1 to 1, labelled by which half of the row has more. */
static void make_data(float x[ROWS][COLUMNS], float y[ROWS]) {
  int state = 1;
  for (int i = 0; i < ROWS; i++) {
    int balance = 0;
    for (int j = 0; j < COLUMNS; j++) {
      state = (75 * state + 74) % 65537;
      int number = state % 256;
      balance += j < COLUMNS / 2 ? number : -number;
      x[i][j] = (float)(number - 128) / 128;
    }
    y[i] = balance > 0 ? 1 : 0;
  }
}

/* One step; the cost before it. */
static int step(float *cost, GpuFunction *train, const GpuArray *x, const GpuArray *y) {
  GpuArray out = {0}, *outs[1] = {&out};
  const GpuArray *ins[2] = {x, y};
  int status = GpuFunction_call(train, outs, ins, NULL);
  if (status == GA_NO_ERROR)
    status = GpuArray_read(cost, sizeof *cost, &out);
  GpuArray_clear(&out);
  return status;
}

static int run(gpucontext *ctx, const char *path) {
  static float rows[ROWS][COLUMNS], labels[ROWS];
  const size_t shape[2] = {ROWS, COLUMNS};
  float cost = 0, weights[COLUMNS];
  GpuFunction *train = NULL;
  GpuArray x = {0}, y = {0}, w = {0};
  int failed = 1;
  TRY(GpuFunction_load(&train, ctx, path));
  make_data(rows, labels);
  TRY(GpuArray_copy_from_host(&x, ctx, rows, GA_FLOAT, 2, shape, NULL));
  TRY(GpuArray_copy_from_host(&y, ctx, labels, GA_FLOAT, 1, shape, NULL));
  for (int i = 0; i < STEPS; i++) {
    TRY(step(&cost, train, &x, &y));
    if (i % 10 == 0 || i == STEPS - 1)
      printf("step %d: %.9g\n", i, (double)cost);
  }
  TRY(GpuFunction_get(train, "w", &w));
  TRY(GpuArray_read(weights, sizeof weights, &w));
  printf("w:");
  for (int j = 0; j < COLUMNS; j++)
    printf(" %.9g", (double)weights[j]);
  printf("\n");
  failed = 0;
done:
  GpuArray_clear(&x);
  GpuArray_clear(&y);
  GpuArray_clear(&w);
  GpuFunction_free(train);
  return failed;
}

int main(int argc, char **argv) {
  gpucontext *ctx = NULL;
  if (argc < 2) {
    fprintf(stderr, "usage: train <file> [device]\n");
    return 2;
  }
  if (said(gpucontext_open(&ctx, argc > 2 ? argv[2] : NULL), "open") != GA_NO_ERROR)
    return 1;
  int failed = run(ctx, argv[1]);
  gpucontext_deref(ctx);
  return failed;
}
