/* Row programs: which form of the kernel is launched, on what grid. */
#include "null_plan.h"

#include <stdio.h>
#include <string.h>

#include "c/reduce/rows_call.h"

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

static ga_rows_operands of_floats(gpucontext *ctx, unsigned int n_out,
                                  GpuArray *const *outs, unsigned int n_arrays,
                                  const GpuArray *const *arrays) {
  static const int typecodes[] = {GA_FLOAT, GA_FLOAT, GA_FLOAT};
  return (ga_rows_operands){.context = ctx,
                            .outs = outs,
                            .typecodes = typecodes,
                            .arrays = arrays,
                            .n_out = n_out,
                            .n_arrays = n_arrays};
}

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
  const ga_rows_operands operands = of_floats(ctx, 1, (GpuArray *[]){&made}, 1, &a);
  CHECK_OK(ga__rows_run(&operands, &call));
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

/* ---- products ---- */

/* The rows of the result of a product: none where it is left to the BLAS. */
static size_t multiplied(gpucontext *ctx, size_t rows, size_t length, size_t step) {
  const ga_rows_call call = {.arguments = "CV",
                             .outputs = "R",
                             .operation = "",
                             .names = names,
                             .texts = texts,
                             .over = (long long[]){-1},
                             .is_product = true};
  GpuArray a = {0}, v = {0}, made = {0};
  const GpuArray *given[] = {&a, &v};
  CHECK_OK(
      GpuArray_empty(&a, ctx, GA_FLOAT, 2, (size_t[]){1, length * step}, GA_C_ORDER));
  CHECK_OK(GpuArray_empty(&v, ctx, GA_FLOAT, 1, &length, GA_C_ORDER));
  a.dimensions[0] = rows;
  a.dimensions[1] = length;
  a.strides[0] = 0;
  a.strides[1] *= (ssize_t)step;
  GpuArray_fix_flags(&a);
  const ga_rows_operands operands = of_floats(ctx, 1, (GpuArray *[]){&made}, 2, given);
  CHECK_OK(ga__rows_run(&operands, &call));
  const size_t found = made.dimensions[0];
  GpuArray_clear(&a);
  GpuArray_clear(&v);
  GpuArray_clear(&made);
  return found;
}

static void test_how_many_items_multiply_a_row(void) {
  static const struct {
    size_t length, rows, most, lanes, slots;
  } rows[] = {{784, 400, 1024, 128, 2},
              {64, 1437, 1024, 8, 8},
              {64, 100000, 1024, 8, 32},
              {100000, 1, 1024, 256, 1},
              {1, 5, 128, 1, 64}};
  gpucontext *ctx = open_watched();
  ctx->info.processors = 132;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ctx->info.max_threads = rows[i].most;
    CHECK(multiplied(ctx, rows[i].rows, rows[i].length, 1) == rows[i].rows);
    CHECK(grid.block[0] == rows[i].lanes && grid.block[1] == rows[i].slots);
  }
  gpucontext_deref(ctx);
}

static void test_which_products_are_left_to_the_blas(void) {
  gpucontext *ctx = open_watched();
  CHECK(multiplied(ctx, 1 << 20, 2048, 1) == 1 << 20);
  CHECK(multiplied(ctx, 1 << 12, 4096, 1) == 1 << 12);
  CHECK(multiplied(ctx, (1 << 12) + 1, 4096, 1) == 0); /* large, of long rows */
  CHECK(multiplied(ctx, 5, 64, 2) == 0);               /* not of neighbours */
  CHECK(multiplied(ctx, 5, 1, 2) == 5);
  gpucontext_deref(ctx);
}

/* ---- totals ---- */

/* Two totals of rows that are all the same one; whose fold takes so many bytes. */
static const char *totals_for(gpucontext *ctx, size_t rows, size_t length,
                              unsigned int words, size_t fold_bytes, size_t *blocks) {
  const ga_rows_call call = {.arguments = "C",
                             .outputs = "RPP",
                             .operation = "",
                             .names = names,
                             .texts = texts,
                             .words = words,
                             .over = (long long[]){-1, -1, -1},
                             .totals = {.fold_bytes = fold_bytes}};
  GpuArray a = {0}, made[3] = {{0}};
  const GpuArray *given = &a;
  CHECK_OK(GpuArray_empty(&a, ctx, GA_FLOAT, 2, (size_t[]){1, length}, GA_C_ORDER));
  a.dimensions[0] = rows;
  a.strides[0] = 0;
  GpuArray_fix_flags(&a);
  launched[0] = '\0';
  const ga_rows_operands operands =
      of_floats(ctx, 3, (GpuArray *[]){&made[0], &made[1], &made[2]}, 1, &given);
  CHECK_OK(ga__rows_totals(&operands, &call));
  *blocks = made[2].dimensions[0];
  CHECK(made[1].dimensions[0] == *blocks && made[2].dimensions[1] == length);
  CHECK(made[0].dimensions[0] == (*blocks > 0 ? rows : 0));
  CHECK((*blocks > 0) == (launched[0] != '\0'));
  for (int i = 0; i < 3; i++)
    GpuArray_clear(&made[i]);
  GpuArray_clear(&a);
  return launched;
}

static void test_where_totals_are_by_length_and_local_memory(void) {
  static const struct {
    size_t length;
    const char *few, *much; /* with 48 and 227 KiB of local memory */
  } rows[] = {{2048, "", ""},
              {4096, "packsk16x256o0", "packsk16x256o0"},
              {8192, "packsk32x256o12", "packsk32x256o0"},
              {16384, "packsk64x256o44", "packsk64x256o0"},
              {24576, "", "packsk48x512o0"},
              {32768, "", "packsk128x256o16"}};
  gpucontext *ctx = open_watched();
  size_t blocks;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ctx->info.local_memory = 48 << 10;
    CHECK(strcmp(totals_for(ctx, 1 << 14, rows[i].length, 1, 4, &blocks),
                 rows[i].few) == 0);
    ctx->info.local_memory = 227 << 10;
    CHECK(strcmp(totals_for(ctx, 1 << 14, rows[i].length, 1, 4, &blocks),
                 rows[i].much) == 0);
  }
  gpucontext_deref(ctx);
}

static void test_totals_without_room_are_in_registers(void) {
  const size_t length = 2100, fold_bytes = 16;
  const size_t room = 8 * length + 1024 + 256 * fold_bytes;
  const size_t per_pack = 4 * 256 * 8; /* of an item's elements */
  const struct {
    size_t memory;
    const char *kernel;
    size_t shared;
  } rows[] = {{room, "packsk12x256o0", 8 * length},
              {room - 1, "packsk12x256o4", 8 * length - per_pack},
              {room - per_pack, "packsk12x256o4", 8 * length - per_pack},
              {room - per_pack - 1, "packsk12x256o8", 8 * length - 2 * per_pack},
              {room - 2 * per_pack, "packsk12x256o8", 8 * length - 2 * per_pack},
              {room - 2 * per_pack - 1, "packsk12x256o12", 0},
              {1024, "packsk12x256o12", 0}};
  gpucontext *ctx = open_watched();
  size_t blocks;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ctx->info.local_memory = rows[i].memory;
    CHECK(strcmp(totals_for(ctx, 1 << 14, length, 2, fold_bytes, &blocks),
                 rows[i].kernel) == 0);
    CHECK(grid.shared == rows[i].shared && grid.block[0] == 256);
  }
  gpucontext_deref(ctx);
}

static void test_how_many_blocks_fold_totals(void) {
  gpucontext *ctx = open_watched();
  size_t blocks;
  ctx->info.local_memory = 227 << 10;
  ctx->info.processors = 4;
  totals_for(ctx, 1 << 14, 2100, 2, 16, &blocks);
  CHECK(blocks == 16); /* 1024 rows each, though 8 would run at once */
  totals_for(ctx, 1 << 12, 2100, 2, 16, &blocks);
  CHECK(blocks == 8 && grid.grid[0] == 8);
  totals_for(ctx, 32, 2100, 2, 16, &blocks);
  CHECK(blocks == 8);
  totals_for(ctx, 31, 2100, 2, 16, &blocks);
  CHECK(blocks == 0); /* too few rows a block */
  totals_for(ctx, 0, 2100, 2, 16, &blocks);
  CHECK(blocks == 0);
  gpucontext_deref(ctx);
  ctx = open_watched();
  most_threads = 128; /* the kernel has too many registers */
  totals_for(ctx, 1 << 14, 2100, 2, 16, &blocks);
  CHECK(blocks == 0);
  gpucontext_deref(ctx);
}

static int trial(gpucontext *ctx) {
  const ga_rows_call call = {.arguments = "C",
                             .outputs = "CP",
                             .operation = "",
                             .names = names,
                             .texts = texts,
                             .words = 1,
                             .over = (long long[]){-1, -1},
                             .totals = {.fold_bytes = 4}};
  GpuArray a = {0}, made[2] = {{0}};
  const GpuArray *given = &a;
  int status = GpuArray_empty(&a, ctx, GA_FLOAT, 2, (size_t[]){256, 2100}, GA_C_ORDER);
  const ga_rows_operands operands =
      of_floats(ctx, 2, (GpuArray *[]){&made[0], &made[1]}, 1, &given);
  STEP(ga__rows_totals(&operands, &call));
  CHECK(status != GA_NO_ERROR || made[1].dimensions[0] > 0);
  GpuArray_clear(&made[0]);
  GpuArray_clear(&made[1]);
  GpuArray_clear(&a);
  return status;
}

static void test_letters_that_fit_nothing(void) {
  static const struct {
    const char *arguments, *outputs;
  } wrong[] = {{"C", "C"}, {"C", "PC"}, {"V", "CP"}, {"X", "CP"}};
  gpucontext *ctx = open_watched();
  GpuArray a = {0}, made[2] = {{0}};
  const GpuArray *given = &a;
  CHECK_OK(GpuArray_empty(&a, ctx, GA_FLOAT, 2, (size_t[]){3, 5}, GA_C_ORDER));
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    const ga_rows_call call = {.arguments = wrong[i].arguments,
                               .outputs = wrong[i].outputs,
                               .operation = "",
                               .names = names,
                               .texts = texts,
                               .words = 1,
                               .over = (long long[]){-1, -1}};
    const ga_rows_operands operands =
        of_floats(ctx, (unsigned int)strlen(wrong[i].outputs),
                  (GpuArray *[]){&made[0], &made[1]}, 1, &given);
    CHECK_STATUS(GA_VALUE_ERROR, ga__rows_totals(&operands, &call));
    CHECK_TEXT("rows: ");
  }
  GpuArray_clear(&a);
  gpucontext_deref(ctx);
}

int main(void) {
  setenv("GPUARRAY_CACHE_DIR", "", 1);
  test_how_many_elements_are_kept_by_how_many_items();
  test_few_kernels_serve_all_lengths();
  test_a_block_that_a_kernel_does_not_take_reads_again();
  test_how_many_items_multiply_a_row();
  test_which_products_are_left_to_the_blas();
  test_where_totals_are_by_length_and_local_memory();
  test_totals_without_room_are_in_registers();
  test_how_many_blocks_fold_totals();
  test_letters_that_fit_nothing();
  gpucontext *ctx = open_watched();
  ctx->info.processors = 4;
  fail_each_allocation(trial, ctx);
  gpucontext_deref(ctx);
  return check_result("rows");
}
