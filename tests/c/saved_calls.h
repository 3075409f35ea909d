/* Saved functions in a folder that tests/family_files.py wrote, each with the inputs of
 * its last call. */
#ifndef SAVED_CALLS_H
#define SAVED_CALLS_H

#include <gpuarray/array.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "c/base/dtype.h"

#define MOST 64 /* inputs or outputs of a function */

typedef struct saved_input {
  int typecode; /* or -1: left out */
  unsigned int nd;
  size_t dims[8], offset; /* into the elements, which are float64 */
} saved_input;

typedef struct saved_call {
  char path[512];
  unsigned int n_in, n_int;
  saved_input ins[MOST];
  long long ints[MOST];
} saved_call;

typedef struct saved_calls {
  saved_call *list;
  size_t n;
  double *elements;
} saved_calls;

static inline int typecode_of(const char *name) {
  for (int t = 0; t < GA_NBASE; t++)
    if (gpuarray_get_elsize(t) > 0 && strcmp(ga__dtype_name(t), name) == 0)
      return t;
  return -1;
}

static inline void add_saved_input(saved_call *c, FILE *file) {
  char type[32];
  if (fscanf(file, "%31s", type) != 1)
    return;
  if (strcmp(type, "int") == 0) {
    CHECK(fscanf(file, "%lld", &c->ints[c->n_int++]) == 1);
    return;
  }
  saved_input *in = &c->ins[c->n_in++];
  *in = (saved_input){.typecode = typecode_of(type)};
  if (in->typecode < 0)
    return;
  CHECK(fscanf(file, "%zu %u", &in->offset, &in->nd) == 2 && in->nd <= 8);
  for (unsigned int i = 0; i < in->nd; i++)
    CHECK(fscanf(file, "%zu", &in->dims[i]) == 1);
}

static inline double *read_elements(const char *folder) {
  char path[600];
  snprintf(path, sizeof path, "%s/data", folder);
  FILE *file = fopen(path, "rb");
  CHECK(file != NULL && fseek(file, 0, SEEK_END) == 0);
  const long size = ftell(file);
  double *elements = malloc((size_t)size + 8);
  rewind(file);
  CHECK(fread(elements, 1, (size_t)size, file) == (size_t)size);
  fclose(file);
  return elements;
}

static inline saved_calls read_calls(const char *folder) {
  saved_calls found = {.elements = read_elements(folder)};
  char path[600], word[32], name[32];
  snprintf(path, sizeof path, "%s/calls", folder);
  FILE *file = fopen(path, "r");
  CHECK(file != NULL);
  while (fscanf(file, "%31s", word) == 1) {
    saved_call *last = found.n ? &found.list[found.n - 1] : NULL;
    if (strcmp(word, "function") == 0) {
      found.list = realloc(found.list, (found.n + 1) * sizeof *found.list);
      last = &found.list[found.n++];
      memset(last, 0, sizeof *last);
      CHECK(fscanf(file, "%31s", name) == 1);
      snprintf(last->path, sizeof last->path, "%s/%s", folder, name);
    } else if (strcmp(word, "call") == 0) {
      last->n_in = last->n_int = 0;
    } else if (strcmp(word, "given") == 0) {
      add_saved_input(last, file);
    }
    CHECK(fscanf(file, "%*[^\n]") >= 0 || feof(file) || true);
  }
  fclose(file);
  return found;
}

static inline int make_saved_input(GpuArray *a, gpucontext *ctx, const saved_input *in,
                                   const double *elements) {
  const bool pairs = in->typecode == GA_CFLOAT || in->typecode == GA_CDOUBLE;
  GpuArray up;
  int status =
      GpuArray_copy_from_host(&up, ctx, elements + in->offset,
                              pairs ? GA_CDOUBLE : GA_DOUBLE, in->nd, in->dims, NULL);
  if (status != GA_NO_ERROR)
    return status;
  status = GpuArray_astype(a, &up, in->typecode, GA_C_ORDER);
  GpuArray_clear(&up);
  return status;
}

#endif
