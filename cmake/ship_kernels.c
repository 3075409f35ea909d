/* Compiles kernels with the library: ship_kernels FOLDER ARCHITECTURE DONE [MAY_FAIL].
 * DONE is a file that is made then. With a fourth argument it is no failure that there
 * is no NVRTC, or none for this architecture. */
#include <gpuarray/blas.h>
#include <gpuarray/error.h>
#include <stdio.h>

int main(int argc, char **argv) {
  unsigned int n;
  if (argc < 4) {
    fprintf(stderr, "usage: %s FOLDER ARCHITECTURE DONE [MAY_FAIL]\n", argv[0]);
    return 2;
  }
  const int status = gpuarray_keep_products("cuda", argv[2], argv[1], &n);
  if (status == GA_NO_ERROR) {
    FILE *done = fopen(argv[3], "w");
    printf("%u kernels for %s\n", n, argv[2]);
    return done == NULL || fclose(done) != 0;
  }
  printf("no kernels for %s: %s\n", argv[2], gpuarray_error_text());
  return !(argc > 4 && (status == GA_LOAD_ERROR || status == GA_DEVSUP_ERROR));
}
