/* Printing of arrays: metadata and elements. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "c/array/array.h"
#include "c/base/half.h"

/* ---- metadata ---- */

static void print_strides(FILE *fd, const GpuArray *a) {
  fprintf(fd, "(");
  for (unsigned int i = 0; i < a->nd; i++)
    fprintf(fd, i ? ", %zd" : "%zd", a->strides[i]);
  fprintf(fd, a->nd == 1 ? ",)" : ")");
}

static void print_flags(FILE *fd, const GpuArray *a) {
  static const struct {
    int flag;
    const char *name;
  } names[] = {{GA_C_CONTIGUOUS, "C_CONTIGUOUS"},
               {GA_F_CONTIGUOUS, "F_CONTIGUOUS"},
               {GA_ALIGNED, "ALIGNED"},
               {GA_WRITEABLE, "WRITEABLE"}};
  const char *between = "";
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (!(a->flags & names[i].flag))
      continue;
    fprintf(fd, "%s%s", between, names[i].name);
    between = " | ";
  }
}

void GpuArray_fprintf(FILE *fd, const GpuArray *a) {
  if (fd == NULL)
    return;
  if (a == NULL || a->data == NULL || a->nd > GA_MAX_NDIM) {
    fprintf(fd, "GpuArray <%s>\n",
            a == NULL         ? "NULL"
            : a->data == NULL ? "cleared"
                              : "damaged");
    return;
  }
  char text[GA_ARRAY_TEXT];
  fprintf(fd, "GpuArray %s on %s\n  strides: ", ga__array_text(text, a),
          gpucontext_name(a->data->context));
  print_strides(fd, a);
  fprintf(fd, ", offset: %zu\n  flags: ", a->offset);
  print_flags(fd, a);
  fprintf(fd, "\n  buffer: %p of %zu bytes\n", (void *)a->data, a->data->size);
}

/* ---- elements ---- */

#define CASE(typecode, format, type)                                                   \
  case typecode: {                                                                     \
    type value_;                                                                       \
    memcpy(&value_, at, sizeof value_);                                                \
    fprintf(fd, format, value_);                                                       \
    break;                                                                             \
  }

static void print_pair(FILE *fd, double x, double y, int digits) {
  fprintf(fd, "%.*g%+.*gj", digits, x, digits, y);
}

/* Prints one element with the digits of an exact round trip. */
static void print_value(FILE *fd, const char *at, int typecode) {
  uint16_t bits;
  float f[2];
  double d[2];
  switch (typecode) {
  case GA_BOOL:
    fprintf(fd, *at ? "True" : "False");
    break;
    CASE(GA_BYTE, "%" PRId8, int8_t)
    CASE(GA_UBYTE, "%" PRIu8, uint8_t)
    CASE(GA_SHORT, "%" PRId16, int16_t)
    CASE(GA_USHORT, "%" PRIu16, uint16_t)
    CASE(GA_INT, "%" PRId32, int32_t)
    CASE(GA_UINT, "%" PRIu32, uint32_t)
    CASE(GA_LONG, "%" PRId64, int64_t)
    CASE(GA_ULONG, "%" PRIu64, uint64_t)
    CASE(GA_DOUBLE, "%.17g", double)
  case GA_FLOAT:
    memcpy(f, at, sizeof *f);
    fprintf(fd, "%.9g", (double)f[0]);
    break;
  case GA_HALF:
    memcpy(&bits, at, sizeof bits);
    fprintf(fd, "%.5g", (double)ga__half_value(bits));
    break;
  case GA_BFLOAT16:
    memcpy(&bits, at, sizeof bits);
    fprintf(fd, "%.4g", (double)ga__bfloat16_value(bits));
    break;
  case GA_CFLOAT:
    memcpy(f, at, sizeof f);
    print_pair(fd, (double)f[0], (double)f[1], 9);
    break;
  default:
    memcpy(d, at, sizeof d);
    print_pair(fd, d[0], d[1], 17);
    break;
  }
}

/* Prints the elements of a C-contiguous block. */
static void print_elements(FILE *fd, const GpuArray *a, const char *at) {
  size_t count = ga__array_count(a), itemsize = gpuarray_get_elsize(a->typecode);
  size_t index[GA_MAX_NDIM] = {0};
  for (size_t i = 0; i < count; i++, at += itemsize) {
    fprintf(fd, "[");
    for (unsigned int k = 0; k < a->nd; k++)
      fprintf(fd, k ? ", %zu" : "%zu", index[k]);
    fprintf(fd, "] = ");
    print_value(fd, at, a->typecode);
    fprintf(fd, "\n");
    for (unsigned int k = a->nd; k-- > 0;) {
      if (++index[k] < a->dimensions[k])
        break;
      index[k] = 0;
    }
  }
}

/* Elements as a C-contiguous host block; the caller frees it. */
static int read_elements(char **out, const GpuArray *a) {
  size_t bytes = ga__array_count(a) * gpuarray_get_elsize(a->typecode);
  GpuArray packed;
  if (GpuArray_IS_C_CONTIGUOUS(a))
    GA_TRY(GpuArray_view(&packed, a));
  else
    GA_TRY(GpuArray_copy(&packed, a, GA_C_ORDER));
  char *block = ga__alloc(bytes + 1, 1);
  int status = block == NULL ? GA_MEMORY_ERROR : GpuArray_read(block, bytes, &packed);
  GpuArray_clear(&packed);
  if (status != GA_NO_ERROR)
    ga__free(block);
  else
    *out = block;
  return status;
}

int GpuArray_fdump(FILE *fd, const GpuArray *a) {
  GA_TRY(ga__array_check(a, "fdump"));
  if (fd == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "fdump: got no file");
  char *block;
  int status = read_elements(&block, a);
  if (status != GA_NO_ERROR)
    return ga__fail_within(status, "fdump");
  errno = 0;
  print_elements(fd, a, block);
  ga__free(block);
  if (ferror(fd))
    return GA_FAIL(GA_SYS_ERROR, "fdump: cannot write the file: %s", strerror(errno));
  return GA_NO_ERROR;
}
