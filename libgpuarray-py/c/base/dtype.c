/* One table of element types: size, alignment, C name, kind. */
#include "c/base/dtype.h"

#include <stdatomic.h>
#include <stdio.h>

typedef struct dtype {
  gpuarray_type type;
  char kind;        /* 0: not a dtype of arrays */
  const char *name; /* NumPy's, for messages */
} dtype;

#define ROW(code, cluda, size, align, kind, name)                                      \
  [code] = {{cluda, size, align, code}, kind, name}

static const dtype base[GA_NBASE] = {
    ROW(GA_BOOL, "ga_bool", 1, 1, 'b', "bool"),
    ROW(GA_BYTE, "ga_byte", 1, 1, 'i', "int8"),
    ROW(GA_UBYTE, "ga_ubyte", 1, 1, 'u', "uint8"),
    ROW(GA_SHORT, "ga_short", 2, 2, 'i', "int16"),
    ROW(GA_USHORT, "ga_ushort", 2, 2, 'u', "uint16"),
    ROW(GA_INT, "ga_int", 4, 4, 'i', "int32"),
    ROW(GA_UINT, "ga_uint", 4, 4, 'u', "uint32"),
    ROW(GA_LONG, "ga_long", 8, 8, 'i', "int64"),
    ROW(GA_ULONG, "ga_ulong", 8, 8, 'u', "uint64"),
    ROW(GA_LONGLONG, "ga_longlong", 16, 16, 0, "int128"),
    ROW(GA_ULONGLONG, "ga_ulonglong", 16, 16, 0, "uint128"),
    ROW(GA_FLOAT, "ga_float", 4, 4, 'f', "float32"),
    ROW(GA_DOUBLE, "ga_double", 8, 8, 'f', "float64"),
    ROW(GA_QUAD, "ga_quad", 16, 16, 0, "float128"),
    ROW(GA_CFLOAT, "ga_cfloat", 8, 8, 'c', "complex64"), /* stored as a vector of two */
    ROW(GA_CDOUBLE, "ga_cdouble", 16, 16, 'c', "complex128"),
    ROW(GA_CQUAD, "ga_cquad", 32, 16, 0, "complex256"),
    ROW(GA_BFLOAT16, "ga_bfloat16", 2, 2, 'f', "bfloat16"),
    ROW(GA_HALF, "ga_half", 2, 2, 'f', "float16"),
    ROW(GA_SIZE, "ga_size", sizeof(size_t), sizeof(size_t), 0, "size"),
    ROW(GA_SSIZE, "ga_ssize", sizeof(ssize_t), sizeof(ssize_t), 0, "ssize"),
};

#define VECTOR(code, cluda, n, size)                                                   \
  [(code) - FIRST_VECTOR] = {cluda #n, (size_t)(n) * (size), 0, code}
#define PAIR(code, cluda, ucluda, n, size)                                             \
  VECTOR(code, cluda, n, size), VECTOR((code) + 1, ucluda, n, size)
#define INTEGERS(code, cluda, ucluda, size)                                            \
  PAIR(code, cluda, ucluda, 2, size), PAIR((code) + 2, cluda, ucluda, 3, size),        \
      PAIR((code) + 4, cluda, ucluda, 4, size),                                        \
      PAIR((code) + 6, cluda, ucluda, 8, size),                                        \
      PAIR((code) + 8, cluda, ucluda, 16, size)
#define FLOATS(code, cluda, size)                                                      \
  VECTOR(code, cluda, 2, size), VECTOR((code) + 1, cluda, 4, size),                    \
      VECTOR((code) + 2, cluda, 8, size), VECTOR((code) + 3, cluda, 16, size)

#define FIRST_VECTOR 256

/* Short vectors of libgpuarray 0.7; no array has them. */
static const gpuarray_type vectors[GA_NVEC - FIRST_VECTOR] = {
    INTEGERS(256, "ga_byte", "ga_ubyte", 1),
    INTEGERS(266, "ga_short", "ga_ushort", 2),
    INTEGERS(276, "ga_int", "ga_uint", 4),
    INTEGERS(286, "ga_long", "ga_ulong", 8),
    FLOATS(296, "ga_float", 4),
    FLOATS(300, "ga_double", 8),
    FLOATS(304, "ga_half", 2),
};

static const gpuarray_type pointer = {NULL, sizeof(void *), sizeof(void *), GA_BUFFER};
static const gpuarray_type input = {NULL, sizeof(void *), sizeof(void *), GA_INPUT};
static const gpuarray_type offset = {"ga_size", sizeof(size_t), sizeof(size_t),
                                     GA_OFFSET};
static const gpuarray_type unknown = {NULL, 0, 0, -1};

/* The row of a typecode, or NULL. */
static const dtype *find(int typecode) {
  if (typecode < 0 || typecode >= GA_NBASE || base[typecode].name == NULL)
    return NULL;
  return &base[typecode];
}

/* ---- types that users register ---- */

#define MAX_REGISTERED 4096

/* Lock-free reads: a slot is filled once, after its type is complete. */
static _Atomic(const gpuarray_type *) registered[MAX_REGISTERED];
static atomic_int n_registered;

static int refuse_type(int *ret, int status) {
  if (ret)
    *ret = status;
  return -1;
}

int gpuarray_register_type(gpuarray_type *t, int *ret) {
  if (t == NULL)
    return refuse_type(ret,
                       GA_FAIL(GA_VALUE_ERROR, "gpuarray_register_type: got no type"));
  int slot = atomic_load(&n_registered);
  do {
    if (slot == MAX_REGISTERED)
      return refuse_type(ret, GA_FAIL(GA_XLARGE_ERROR,
                                      "gpuarray_register_type: %d types are registered "
                                      "already; register each type once",
                                      MAX_REGISTERED));
  } while (!atomic_compare_exchange_weak(&n_registered, &slot, slot + 1));
  t->typecode = GA_ENDVEC + slot;
  atomic_store(&registered[slot], t);
  return t->typecode;
}

static const gpuarray_type *find_registered(int typecode) {
  if (typecode < GA_ENDVEC || typecode - GA_ENDVEC >= MAX_REGISTERED)
    return NULL;
  return atomic_load(&registered[typecode - GA_ENDVEC]);
}

/* ---- questions ---- */

const gpuarray_type *gpuarray_get_type(int typecode) {
  if (typecode == GA_BUFFER)
    return &pointer;
  if (typecode == GA_INPUT)
    return &input;
  if (typecode == GA_OFFSET)
    return &offset;
  if (typecode >= FIRST_VECTOR && typecode < GA_NVEC)
    return &vectors[typecode - FIRST_VECTOR];
  const dtype *row = find(typecode);
  const gpuarray_type *own = row ? &row->type : find_registered(typecode);
  return own ? own : &unknown;
}

size_t gpuarray_get_elsize(int typecode) {
  return gpuarray_get_type(typecode)->size;
}

const char *ga__dtype_word(size_t bytes) {
  return bytes == 1   ? "ga_ubyte"
         : bytes == 2 ? "ga_ushort"
         : bytes == 4 ? "ga_uint"
         : bytes == 8 ? "ga_ulong"
                      : "ga_ulong2";
}

bool ga__dtype_layout(size_t *size, size_t *alignment, int typecode) {
  const dtype *row = find(typecode);
  if (row == NULL || row->kind == 0)
    return false;
  *size = row->type.size;
  *alignment = row->kind == 'c' ? row->type.size : row->type.align;
  return true;
}

char ga__dtype_kind(int typecode) {
  const dtype *row = find(typecode);
  return row ? row->kind : 0;
}

const char *ga__dtype_name(int typecode) {
  static _Thread_local char other[32];
  const dtype *row = find(typecode);
  if (row)
    return row->name;
  const char *name = gpuarray_get_type(typecode)->cluda_name;
  if (name)
    return name;
  snprintf(other, sizeof other, "type %d", typecode);
  return other;
}

int ga__dtype_work(int typecode) {
  return typecode == GA_HALF || typecode == GA_BFLOAT16 ? GA_FLOAT : typecode;
}

const char *ga__dtype_ctype(int typecode) {
  return gpuarray_get_type(typecode)->cluda_name;
}

const char *ga__dtype_work_ctype(int typecode) {
  return ga__dtype_ctype(ga__dtype_work(typecode));
}

const char *ga__dtype_load(int typecode) {
  return typecode == GA_HALF       ? "ga_half2float(%)"
         : typecode == GA_BFLOAT16 ? "ga_bfloat162float(%)"
                                   : "%";
}

const char *ga__dtype_store(int typecode) {
  return typecode == GA_HALF       ? "ga_float2half(%)"
         : typecode == GA_BFLOAT16 ? "ga_float2bfloat16(%)"
         : typecode == GA_BOOL     ? "(%) != 0"
                                   : "%";
}

const char *ga__dtype_extreme(int typecode, bool greatest) {
  switch (typecode) {
  case GA_BOOL:
    return greatest ? "1" : "0";
  case GA_BYTE:
    return greatest ? "127" : "-128";
  case GA_SHORT:
    return greatest ? "32767" : "-32768";
  case GA_INT:
    return greatest ? "2147483647" : "-2147483647 - 1";
  case GA_LONG:
    return greatest ? "9223372036854775807L" : "-9223372036854775807L - 1";
  case GA_CFLOAT:
    return greatest ? "ga_complex((ga_float)INFINITY, (ga_float)INFINITY)"
                    : "ga_complex(-(ga_float)INFINITY, -(ga_float)INFINITY)";
  case GA_CDOUBLE:
    return greatest ? "ga_complex((ga_double)INFINITY, (ga_double)INFINITY)"
                    : "ga_complex(-(ga_double)INFINITY, -(ga_double)INFINITY)";
  default:
    if (ga__dtype_kind(typecode) == 'u')
      return greatest ? "~(ga_ulong)0" : "0";
    return greatest ? "INFINITY" : "-INFINITY";
  }
}

void ga__dtype_convert(ga_strbuf *out, const char *text, int from, int to) {
  from = ga__dtype_work(from);
  to = ga__dtype_work(to);
  const char *real = to == GA_CFLOAT    ? "ga_float"
                     : to == GA_CDOUBLE ? "ga_double"
                                        : gpuarray_get_type(to)->cluda_name;
  bool is_complex = ga__dtype_kind(from) == 'c';
  if (from == to)
    ga__strbuf_add(out, text);
  else if (ga__dtype_kind(to) == 'c' && is_complex)
    ga__strbuf_addf(out, "ga_complex((%s)(%s).x, (%s)(%s).y)", real, text, real, text);
  else if (ga__dtype_kind(to) == 'c')
    ga__strbuf_addf(out, "ga_complex((%s)(%s), (%s)0)", real, text, real);
  else if (to == GA_BOOL && is_complex)
    ga__strbuf_addf(out, "(ga_bool)((%s).x != 0 || (%s).y != 0)", text, text);
  else if (to == GA_BOOL)
    ga__strbuf_addf(out, "(ga_bool)((%s) != 0)", text);
  else
    ga__strbuf_addf(out, is_complex ? "(%s)(%s).x" : "(%s)(%s)", real, text);
}

int ga__dtype_check(int typecode, const char *operation) {
  if (ga__dtype_kind(typecode) != 0)
    return GA_NO_ERROR;
  return GA_FAIL(GA_VALUE_ERROR,
                 "%s: %s is not the type of an array; offered are bool, int8 to int64, "
                 "uint8 to uint64, float16, bfloat16, float32, float64, complex64 and "
                 "complex128",
                 operation, ga__dtype_name(typecode));
}
