/* Digits on images, by a network that Python has trained; no Python runs here.
 *
 *   python convnet.py --save digits.plan
 *   cc classify_digits.c $(pkg-config --cflags --libs libgpuarray) -o classify_digits
 *   ./classify_digits digits.plan cuda0 three.pgm seven.pgm
 *
 * Images are PGM files of text (P2), 8 by 8. "" is the best device found. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gpuarray/function.h>

enum { SIDE = 8, PIXELS = SIDE * SIDE };

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

/* The pixels of a file, from 0 to 1; 0 if it is none. */
static int read_image(float pixels[PIXELS], const char *path) {
  FILE *file = fopen(path, "r");
  int columns, rows, white, pixel, n = 0;
  if (file == NULL) {
    perror(path);
    return 0;
  }
  if (fscanf(file, "P2 %d %d %d", &columns, &rows, &white) == 3 && columns == SIDE &&
      rows == SIDE && white > 0)
    for (; n < PIXELS && fscanf(file, "%d", &pixel) == 1; n++)
      pixels[n] = (float)pixel / (float)white;
  fclose(file);
  if (n < PIXELS)
    fprintf(stderr, "%s: expected a PGM file of text, %d by %d\n", path, SIDE, SIDE);
  return n == PIXELS;
}

static int read_images(float *pixels, size_t n, char **paths) {
  for (size_t i = 0; i < n; i++)
    if (!read_image(pixels + i * PIXELS, paths[i]))
      return 0;
  return 1;
}

/* The images are one batch, and so are their digits. */
static int classify(long long *digits, gpucontext *ctx, const char *network,
                    const float *pixels, size_t n) {
  const size_t shape[4] = {n, 1, SIDE, SIDE};
  GpuFunction *predict = NULL;
  GpuArray images = {0}, found = {0}, *outs[1] = {&found};
  const GpuArray *ins[1] = {&images};
  int failed = 1;
  TRY(GpuFunction_load(&predict, ctx, network));
  TRY(GpuArray_copy_from_host(&images, ctx, pixels, GA_FLOAT, 4, shape, NULL));
  TRY(GpuFunction_call(predict, outs, ins, NULL));
  TRY(GpuArray_read(digits, n * sizeof *digits, &found));
  failed = 0;
done:
  GpuArray_clear(&images);
  GpuArray_clear(&found);
  GpuFunction_free(predict);
  return failed;
}

static int run(const char *network, const char *device, size_t n, char **paths) {
  float *pixels = malloc(n * PIXELS * sizeof *pixels);
  long long *digits = malloc(n * sizeof *digits);
  gpucontext *ctx = NULL;
  int failed = 1;
  if (pixels == NULL || digits == NULL || !read_images(pixels, n, paths))
    goto done;
  TRY(gpucontext_open(&ctx, device));
  failed = classify(digits, ctx, network, pixels, n);
  gpucontext_deref(ctx);
  for (size_t i = 0; !failed && i < n; i++)
    printf("%s: %lld\n", paths[i], digits[i]);
done:
  free(pixels);
  free(digits);
  return failed;
}

int main(int argc, char **argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: classify_digits <network> <device> <image>...\n");
    return 2;
  }
  return run(argv[1], argv[2], (size_t)(argc - 3), argv + 3);
}
