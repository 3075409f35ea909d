/* Ahead-of-time compilation of GEMM kernels, without a device. */
#include <gpuarray/blas.h>

#include "c/blas/blas_kernels.h"
#include "c/program/program.h"
#include "c/program/shipped.h"

static int keep(const gpucontext *any, enum ga_blas_kind kind, const char *arch,
                const char *folder) {
  ga_source source = {0};
  ga_key key = {0};
  ga_strbuf log = {0};
  void *bytes = NULL;
  size_t size = 0;
  const char *text = NULL;
  int status = ga__blas_source(&source, any, kind, GA_FLOAT);
  GA_THEN(status, ga__key_of(&key, any, source.body.text));
  if (status == GA_NO_ERROR) {
    text = key.text.text + key.source_at;
    status = any->backend->compile_for(text, arch, &bytes, &size, &log);
  }
  if (status == GA_NO_ERROR &&
      !ga__ship(folder, any->backend->name, arch, text, bytes, size))
    status = GA_FAIL(GA_SYS_ERROR,
                     "gpuarray_keep_products: the folder %s cannot be written to, or "
                     "others may write to it",
                     folder);
  ga__free(bytes);
  ga__strbuf_clear(&log);
  ga__key_clear(&key);
  ga__strbuf_clear(&source.body);
  return status;
}

int gpuarray_keep_products(const char *backend, const char *arch, const char *folder,
                           unsigned int *n) {
  if (backend == NULL || arch == NULL || folder == NULL || n == NULL)
    return ga__fail_null("gpuarray_keep_products", backend == NULL  ? "backend"
                                                   : arch == NULL   ? "arch"
                                                   : folder == NULL ? "folder"
                                                                    : "n");
  const ga_backend *found = ga__backend_find(backend);
  if (found == NULL)
    return GA_FAIL(
        GA_VALUE_ERROR,
        "gpuarray_keep_products: given the backend \"%s\", expected one of %s", backend,
        ga__backend_names());
  if (found->compile_for == NULL)
    return GA_FAIL(
        GA_UNSUPPORTED_ERROR,
        "gpuarray_keep_products: %s compiles only for devices that are present",
        backend);
  gpucontext *any = ga__alloc(1, sizeof *any);
  GA_TRY_MEMORY(any);
  /* All that the kernels depend on: the GPUs of a backend are alike. */
  any->backend = found;
  any->info.local_memory = 48 << 10;
  any->info.is_gpu = true;
  *n = 0;
  int status = GA_NO_ERROR;
  for (int kind = 0; kind < GA_BLAS_KIND_COUNT && status == GA_NO_ERROR; kind++) {
    status = keep(any, (enum ga_blas_kind)kind, arch, folder);
    *n += status == GA_NO_ERROR;
  }
  ga__free(any);
  return status;
}
