/* Row programs: which form of the kernel is launched, on what grid. */
#include "null_context.h"

#include <stdio.h>
#include <string.h>

#include "c/reduce/rows.h"

static char
    launched[128]; /* the latest kernel, which on the null backend is its name */
static ga_launch grid;
static size_t most_threads; /* that a kernel takes */

static int watched_launch(void *device, void *kernel, const ga_launch *launch) {
  (void)device;
  snprintf(launched, sizeof launched, "%s", (const char *)kernel);
  grid = *launch;
  return GA_NO_ERROR;
}

static int watched_threads(size_t *out, void *device, void *kernel) {
  (void)device, (void)kernel;
  *out = most_threads;
  return GA_NO_ERROR;
}

static gpucontext *open_watched(void) {
  gpucontext *ctx = open_null();
  hooked.launch = watched_launch;
  hooked.kernel_threads = watched_threads;
  most_threads = 1024;
  return ctx;
}

static const char *const names[GA_ROWS_TEXTS] = {"any", "unit", "kept", "kept_unit",
                                                 "packs"};
static const char *const texts[GA_ROWS_TEXTS] = {
    "KERNEL $name", "KERNEL $name", "KERNEL $name", "KERNEL $name", "KERNEL $name"};

/* A result as long as the rows of a matrix, of which so many words are kept. */
static void run_rows(gpucontext *ctx, const GpuArray *a, unsigned int words) {
  const ga_rows_call call = {.arguments = "C",
                             .outputs = "C",
                             .operation = "",
                             .names = names,
                             .texts = texts,
                             .words = words,
                             .over = (long long[]){-1}};
  GpuArray made = {0};
  launched[0] = '\0';
  CHECK_OK(ga__rows_run((GpuArray *[]){&made}, (int[]){GA_FLOAT}, 1, &a, 1, NULL, 0,
                        ctx, &call));
  CHECK(made.nd == 2);
  GpuArray_clear(&made);
}

/* The kernel that is launched for rows of a length, whose neighbours are `step` apart.
 */
static const char *kernel_for(gpucontext *ctx, size_t length, size_t step,
                              unsigned int words) {
  GpuArray a = {0};
  CHECK_OK(
      GpuArray_empty(&a, ctx, GA_FLOAT, 2, (size_t[]){3, length * step}, GA_C_ORDER));
  a.dimensions[1] = length;
  a.strides[1] *= (ssize_t)step;
  GpuArray_fix_flags(&a);
  run_rows(ctx, &a, words);
  GpuArray_clear(&a);
  return launched;
}

static void test_how_many_elements_are_kept_by_how_many_items(void) {
  static const struct {
    unsigned int words;
    size_t length;
    const char *kernel;
  } rows[] = {
      {1, 2048, "unit"},           {1, 2049, "kept_unitk9x256"},
      {1, 4096, "packsk16x256"},   {1, 4097, "kept_unitk18x256"},
      {1, 8192, "packsk32x256"},   {1, 8193, "kept_unitk18x512"},
      {1, 16384, "packsk32x512"},  {1, 32768, "packsk32x1024"},
      {1, 32769, "unit"},          {2, 4096, "packsk16x256"},
      {2, 16384, "packsk16x1024"}, {2, 16385, "unit"},
      {0, 4096, "unit"},
  };
  gpucontext *ctx = open_watched();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *found = kernel_for(ctx, rows[i].length, 1, rows[i].words);
    CHECK(strcmp(found, rows[i].kernel) == 0);
  }
  CHECK(strcmp(kernel_for(ctx, 100, 2, 1), "any") == 0);
  CHECK(strcmp(kernel_for(ctx, 4096, 2, 1), "keptk16x256") == 0);
  gpucontext_deref(ctx);
}

/* As many forms as few kernels serve: a kernel is compiled for each. */
static void test_few_kernels_serve_all_lengths(void) {
  gpucontext *ctx = open_watched();
  char known[64][32];
  unsigned int n = 0;
  for (size_t length = 2049; length < 32769; length += 2) { /* of no packs */
    const char *found = kernel_for(ctx, length, 1, 1);
    unsigned int i = 0;
    while (i < n && strcmp(known[i], found) != 0)
      i++;
    if (i == n && n < 64)
      snprintf(known[n++], sizeof known[0], "%s", found);
  }
  CHECK(n <= 32);
  gpucontext_deref(ctx);
}

static void test_a_block_that_a_kernel_does_not_take_reads_again(void) {
  gpucontext *ctx = open_watched();
  most_threads = 128; /* a kernel with too many registers */
  CHECK(strcmp(kernel_for(ctx, 6000, 1, 1), "unit") == 0);
  CHECK(grid.block[0] * grid.block[1] == 128);
  gpucontext_deref(ctx);
}

int main(void) {
  setenv("GPUARRAY_CACHE_DIR", "", 1);
  test_how_many_elements_are_kept_by_how_many_items();
  test_few_kernels_serve_all_lengths();
  test_a_block_that_a_kernel_does_not_take_reads_again();
  return check_result("rows");
}
