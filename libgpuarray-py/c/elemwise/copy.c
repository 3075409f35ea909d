/* Copies, casts, fills and transfers between any two layouts.
 *
 * Same bytes in both arrays: one block copy if contiguous, else an elementwise copy of
 * words. Cast kernels are made at first use, one per pair of types, and belong to the
 * context. */
#include <string.h>

#include "c/elemwise/elemwise_private.h"
#include "c/elemwise/kernels/round_to_odd.inc"
#include "c/program/kernel_text.h"

typedef struct casts {
  _Atomic(GpuElemwise *) cast[GA_NBASE][GA_NBASE]; /* [to][from] */
  _Atomic(GpuElemwise *) fill[GA_NBASE];
} casts;

/* ---- cast kernels ---- */

static void free_casts(gpucontext *ctx, void *object) {
  casts *c = object;
  (void)ctx;
  for (unsigned int i = 0; i < GA_NBASE; i++) {
    GpuElemwise_free(atomic_load(&c->fill[i]));
    for (unsigned int k = 0; k < GA_NBASE; k++)
      GpuElemwise_free(atomic_load(&c->cast[i][k]));
  }
  ga__free(c);
}

static int get_casts(casts **out, gpucontext *ctx) {
  void *object;
  GA_TRY(
      ga__context_attach(&object, ctx, GA_ATTACHED_USERS, sizeof(casts), free_casts));
  *out = object;
  return GA_NO_ERROR;
}

/* Float `s` to integer: small types go through a larger one, so that out-of-range
 * values wrap on every device. */
static void add_to_integer(ga_strbuf *out, int to, const char *s) {
  if (to == GA_ULONG)
    ga__strbuf_addf(out, "d = %s < 0 ? (ga_ulong)(ga_long)%s : (ga_ulong)%s", s, s, s);
  else
    ga__strbuf_addf(out, "d = (%s)%s",
                    to == GA_LONG   ? "ga_long"
                    : to == GA_UINT ? "ga_uint)(ga_long"
                                    : "ga_int",
                    s);
}

/* C statements that cast `s` to `d` as NumPy does. */
static void add_cast(ga_strbuf *out, int to, int from) {
  char to_kind = ga__dtype_kind(to), from_kind = ga__dtype_kind(from);
  const char *s = from_kind == 'c' ? "s.x" : "s";
  bool from_double = from == GA_DOUBLE || from == GA_CDOUBLE;
  if ((to == GA_HALF || to == GA_BFLOAT16) && from_double) {
    ga_text_part parts[] = {{.name = "CAST_SOURCE"}};
    ga__strbuf_add(&parts[0].text, s);
    ga__text_add_parts(out, round_to_odd_text, parts, 1);
  } else if ((from_kind == 'f' || from_kind == 'c') &&
             (to_kind == 'i' || to_kind == 'u')) {
    add_to_integer(out, to, s);
  } else {
    ga__strbuf_add(out, "d = ");
    ga__dtype_convert(out, "s", from, to);
  }
}

/* The cached kernel object at `place`, made at first use. */
static int get_elemwise(GpuElemwise **out, _Atomic(GpuElemwise *) *place,
                        gpucontext *ctx, const char *text, int to, int from,
                        int from_flags) {
  *out = atomic_load_explicit(place, memory_order_acquire);
  if (*out != NULL)
    return GA_NO_ERROR;
  const gpuelemwise_arg args[] = {{"d", to, GE_WRITE}, {"s", from, from_flags}};
  GpuElemwise *made, *none = NULL;
  GA_TRY(ga__elemwise_new(&made, ctx, NULL, text, 2, args, GE_CONVERT_F16, true));
  if (atomic_compare_exchange_strong(place, &none, made)) {
    *out = made;
  } else {
    GpuElemwise_free(made);
    *out = none;
  }
  return GA_NO_ERROR;
}

static int get_cast(GpuElemwise **out, _Atomic(GpuElemwise *) *place, gpucontext *ctx,
                    int to, int from) {
  *out = atomic_load_explicit(place, memory_order_acquire);
  if (*out != NULL)
    return GA_NO_ERROR;
  ga_strbuf text = {0};
  add_cast(&text, to, from);
  int status = ga__strbuf_status(&text);
  GA_THEN(status, get_elemwise(out, place, ctx, text.text, to, from, GE_READ));
  ga__strbuf_clear(&text);
  return status;
}

/* If the two overlap, casts from a copy. */
static int run_cast(GpuArray *dst, GpuArray *src) {
  if (ga__elemwise_endangers(dst, src)) {
    GpuArray copy;
    GA_TRY(GpuArray_copy(&copy, src, GA_C_ORDER));
    int status = run_cast(dst, &copy);
    GpuArray_clear(&copy);
    return status;
  }
  gpucontext *ctx = dst->data->context;
  int to = dst->typecode, from = src->typecode;
  casts *c;
  GpuElemwise *ge;
  GA_TRY(get_casts(&c, ctx));
  GA_TRY(get_cast(&ge, &c->cast[to][from], ctx, to, from));
  void *args[] = {dst, src};
  return ga__elemwise_run(ge, args, dst->nd, dst->dimensions);
}

/* Fills `dst` with the number at `value`. */
static int run_fill(GpuArray *dst, void *value) {
  gpucontext *ctx = dst->data->context;
  int type = dst->typecode;
  casts *c;
  GpuElemwise *ge;
  GA_TRY(get_casts(&c, ctx));
  GA_TRY(get_elemwise(&ge, &c->fill[type], ctx, "d = s", type, type, GE_SCALAR));
  void *args[] = {dst, value};
  return ga__elemwise_run(ge, args, dst->nd, dst->dimensions);
}

/* ---- copies ---- */

/* True if a cast changes no byte: the same type, or integers of one size. */
static bool is_same_bytes(int to, int from) {
  if (to == from)
    return true;
  char to_kind = ga__dtype_kind(to), from_kind = ga__dtype_kind(from);
  return gpuarray_get_elsize(to) == gpuarray_get_elsize(from) &&
         (to_kind == 'i' || to_kind == 'u') &&
         (from_kind == 'i' || from_kind == 'u' || from_kind == 'b');
}

/* Reinterprets `a` as words of its element size. */
static void as_words(GpuArray *a) {
  size_t itemsize = gpuarray_get_elsize(a->typecode);
  a->typecode = itemsize == 1   ? GA_UBYTE
                : itemsize == 2 ? GA_USHORT
                : itemsize == 4 ? GA_UINT
                : itemsize == 8 ? GA_ULONG
                                : GA_CDOUBLE;
}

/* Reinterprets `a` as bytes, with one more axis. */
static void as_bytes(GpuArray *a) {
  a->dimensions[a->nd] = gpuarray_get_elsize(a->typecode);
  a->strides[a->nd] = 1;
  a->nd++;
  a->typecode = GA_UBYTE;
  GpuArray_fix_flags(a);
}

static int refuse_unaligned(const GpuArray *a, const char *operation) {
  char text[GA_ARRAY_TEXT];
  return GA_FAIL(GA_UNALIGNED_ERROR,
                 "%s: %s is not aligned to its type; copy it first (GpuArray_copy)",
                 operation, ga__array_text(text, a));
}

/* Copies or casts `src`, which broadcasts to the shape of `dst`. */
static int copy_elements(const GpuArray *dst, const GpuArray *src,
                         const char *operation) {
  if (ga__array_count(dst) == 0)
    return GA_NO_ERROR;
  bool same_bytes = is_same_bytes(dst->typecode, src->typecode);
  if (same_bytes && (dst->flags & src->flags & (GA_C_CONTIGUOUS | GA_F_CONTIGUOUS)) &&
      ga__array_same_shape(dst, src))
    return gpudata_move(dst->data, dst->offset, src->data, src->offset,
                        ga__array_count(dst) * gpuarray_get_elsize(dst->typecode));
  GpuArray to = *dst, from = *src;
  bool aligned = GpuArray_ISALIGNED(dst) && GpuArray_ISALIGNED(src);
  if (!aligned && (!same_bytes || dst->nd == GA_MAX_NDIM))
    return refuse_unaligned(GpuArray_ISALIGNED(dst) ? src : dst, operation);
  if (same_bytes && aligned) {
    as_words(&to);
    as_words(&from);
  } else if (same_bytes) {
    as_bytes(&to);
    as_bytes(&from);
  }
  return run_cast(&to, &from);
}

static int check_target(const GpuArray *dst, const GpuArray *src,
                        const char *operation) {
  GA_TRY(ga__array_check(dst, operation));
  GA_TRY(ga__array_check(src, operation));
  GA_TRY(ga__array_same_context(dst, src, operation));
  return ga__array_writeable(dst, operation);
}

static int check_same_shape(const GpuArray *dst, const GpuArray *src,
                            const char *operation) {
  if (ga__array_same_shape(dst, src))
    return GA_NO_ERROR;
  char to[GA_SHAPE_TEXT], from[GA_SHAPE_TEXT];
  return GA_FAIL(GA_VALUE_ERROR, "%s: the source has shape %s, expected %s", operation,
                 ga__shape_text(from, src->nd, src->dimensions),
                 ga__shape_text(to, dst->nd, dst->dimensions));
}

int GpuArray_move(GpuArray *dst, const GpuArray *src) {
  GA_TRY(check_target(dst, src, "move"));
  GA_TRY(check_same_shape(dst, src, "move"));
  return copy_elements(dst, src, "move");
}

int GpuArray_setarray(GpuArray *a, const GpuArray *v) {
  GA_TRY(check_target(a, v, "setarray"));
  GpuArray from = *v, stretched;
  /* Drop surplus leading axes of length 1, as NumPy does. */
  unsigned int extra = 0;
  while (from.nd - extra > a->nd && from.dimensions[extra] == 1)
    extra++;
  from.nd -= extra;
  memmove(from.dimensions, from.dimensions + extra, from.nd * sizeof *from.dimensions);
  memmove(from.strides, from.strides + extra, from.nd * sizeof *from.strides);
  int status = GpuArray_broadcast_to(&stretched, &from, a->nd, a->dimensions);
  if (status != GA_NO_ERROR)
    return ga__fail_within(status, "setarray");
  status = copy_elements(a, &stretched, "setarray");
  GpuArray_clear(&stretched);
  return status;
}

/* A new array of `typecode` with the elements of `a`. */
static int copy_as(GpuArray *res, const GpuArray *a, int typecode, ga_order order,
                   const char *operation) {
  GA_TRY(ga__array_check(a, operation));
  if (res == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "%s: got no output array", operation);
  GpuArray made;
  int status =
      GpuArray_empty(&made, a->data->context, typecode, a->nd, a->dimensions, order);
  if (status != GA_NO_ERROR)
    return ga__fail_within(status, "%s", operation);
  status = copy_elements(&made, a, operation);
  return ga__array_return(res, &made, status);
}

int GpuArray_copy(GpuArray *res, const GpuArray *a, ga_order order) {
  return copy_as(res, a, a == NULL ? GA_BOOL : a->typecode, order, "copy");
}

int GpuArray_astype(GpuArray *res, const GpuArray *a, int typecode, ga_order order) {
  return copy_as(res, a, typecode, order, "astype");
}

int GpuArray_memset(GpuArray *a, int data) {
  GA_TRY(ga__array_check(a, "memset"));
  GA_TRY(ga__array_writeable(a, "memset"));
  size_t itemsize = gpuarray_get_elsize(a->typecode), count = ga__array_count(a);
  if (count == 0)
    return GA_NO_ERROR;
  if (GpuArray_ISONESEGMENT(a))
    return ga__buffer_fill(a->data, a->offset, (unsigned char)data, count * itemsize);
  GpuArray to = *a;
  if (GpuArray_ISALIGNED(a))
    as_words(&to);
  else if (a->nd < GA_MAX_NDIM)
    as_bytes(&to);
  else
    return refuse_unaligned(a, "memset");
  uint64_t value[2];
  memset(value, data, sizeof value);
  return run_fill(&to, value);
}

/* ---- transfers between contexts ---- */

/* Block transfer; both are contiguous in the same order. */
static int transfer_block(const GpuArray *dst, const GpuArray *src) {
  return gpudata_transfer(dst->data, dst->offset, src->data, src->offset,
                          ga__array_count(dst) * gpuarray_get_elsize(dst->typecode));
}

/* Uploads `src`, packed by the host, to a temporary on `dst`'s context: the source
 * device may not be able to compute. */
static int transfer_from_host(GpuArray *dst, const GpuArray *src, const char *host) {
  GpuArray received;
  GA_TRY(gpudata_sync(src->data));
  GA_TRY(GpuArray_copy_from_host(&received, dst->data->context, host + src->offset,
                                 src->typecode, src->nd, src->dimensions,
                                 src->strides));
  int status = GpuArray_move(dst, &received);
  GpuArray_clear(&received);
  return status;
}

/* Packs `src` in the order of `dst`, transfers, and, if `dst` is strided, unpacks. */
static int transfer_repacked(GpuArray *dst, const GpuArray *src) {
  ga_order order = GpuArray_ISFORTRAN(dst) && !GpuArray_IS_C_CONTIGUOUS(dst)
                       ? GA_F_ORDER
                       : GA_C_ORDER;
  GpuArray packed, received = {0};
  GA_TRY(GpuArray_copy(&packed, src, order));
  int status = GA_NO_ERROR;
  if (GpuArray_ISONESEGMENT(dst)) {
    status = transfer_block(dst, &packed);
  } else {
    status = GpuArray_empty(&received, dst->data->context, dst->typecode, dst->nd,
                            dst->dimensions, order);
    GA_THEN(status, transfer_block(&received, &packed));
    GA_THEN(status, GpuArray_move(dst, &received));
  }
  GpuArray_clear(&received);
  GpuArray_clear(&packed);
  return status;
}

int GpuArray_transfer(GpuArray *res, const GpuArray *a) {
  GA_TRY(ga__array_check(res, "transfer"));
  GA_TRY(ga__array_check(a, "transfer"));
  GA_TRY(ga__array_writeable(res, "transfer"));
  GA_TRY(check_same_shape(res, a, "transfer"));
  if (res->typecode != a->typecode)
    return GA_FAIL(GA_UNSUPPORTED_ERROR,
                   "transfer: got %s for an array of %s; convert it first "
                   "(GpuArray_astype)",
                   ga__dtype_name(a->typecode), ga__dtype_name(res->typecode));
  if (GpuArray_context(res) == GpuArray_context(a))
    return GpuArray_move(res, a);
  if (ga__array_count(a) == 0)
    return GA_NO_ERROR;
  if (res->flags & a->flags & (GA_C_CONTIGUOUS | GA_F_CONTIGUOUS))
    return transfer_block(res, a);
  const char *host = ga__buffer_on_host(a->data);
  return host ? transfer_from_host(res, a, host) : transfer_repacked(res, a);
}
