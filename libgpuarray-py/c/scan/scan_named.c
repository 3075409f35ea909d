/* cumsum, cumprod, cummax, cummin: scans cached per context. */
#include "c/program/kept_objects.h"
#include "c/scan/scan.h"

enum operation { SUM, PRODUCT, MAXIMUM, MINIMUM };
static const char *const names[] = {"cumsum", "cumprod", "cummax", "cummin"};

static void free_scan(void *scan) {
  GpuScan_free(scan);
}

static void free_scans(gpucontext *ctx, void *scans) {
  (void)ctx;
  ga__objects_free(scans, free_scan);
}

static const char *combine_text(enum operation operation, int acc) {
  const bool is_complex = ga__dtype_kind(acc) == 'c';
  switch (operation) {
  case SUM:
    return is_complex ? "ga_cadd(a, b)" : acc == GA_BOOL ? "a | b" : "a + b";
  case PRODUCT:
    return is_complex ? "ga_cmul(a, b)" : acc == GA_BOOL ? "a & b" : "a * b";
  case MAXIMUM:
    return ga__dtype_kind(acc) == 'f' ? "a >= b || a != a ? a : b" : "a >= b ? a : b";
  default:
    return ga__dtype_kind(acc) == 'f' ? "a <= b || a != a ? a : b" : "a <= b ? a : b";
  }
}

static const char *identity_text(enum operation operation, int acc) {
  if (acc == GA_CFLOAT)
    return operation == SUM ? "ga_complex(0.0f, 0.0f)" : "ga_complex(1.0f, 0.0f)";
  if (acc == GA_CDOUBLE)
    return operation == SUM ? "ga_complex((ga_double)0, (ga_double)0)"
                            : "ga_complex((ga_double)1, (ga_double)0)";
  switch (operation) {
  case SUM:
    return "0";
  case PRODUCT:
    return "1";
  case MAXIMUM:
    return ga__dtype_extreme(acc, false);
  default:
    return ga__dtype_extreme(acc, true);
  }
}

static int make(GpuScan **out, gpucontext *ctx, enum operation operation, int in,
                int to) {
  const int acc = ga__dtype_work(to);
  ga_strbuf map = {0};
  ga__dtype_convert(&map, "x", in, to);
  int status = ga__strbuf_status(&map);
  if (status == GA_NO_ERROR) {
    const gpuscan_spec spec = {.size = sizeof spec,
                               .map = map.text,
                               .combine = combine_text(operation, acc),
                               .identity = identity_text(operation, acc),
                               .acc_typecode = acc,
                               .out_typecode = to,
                               .input = {"x", in, GE_READ}};
    status = ga__scan_new(out, ctx, &spec, true);
  }
  ga__strbuf_clear(&map);
  return status;
}

static int get(GpuScan **out, gpucontext *ctx, enum operation operation, int in,
               int to) {
  const int key[GA_OBJECT_KEY] = {(int)operation, in, to};
  void *scans;
  GA_TRY(ga__context_attach(&scans, ctx, GA_ATTACHED_USERS, sizeof(ga_kept_objects),
                            free_scans));
  *out = ga__object_find(scans, key);
  if (*out != NULL)
    return GA_NO_ERROR;
  GA_TRY(make(out, ctx, operation, in, to));
  return ga__object_add(scans, key, *out, free_scan);
}

static int scan(enum operation operation, GpuArray *out, const GpuArray *a, int axis,
                int flags) {
  const char *name = names[operation];
  GpuScan *gs;
  GA_TRY(ga__array_check(a, name));
  GA_TRY(ga__array_check(out, name));
  gpucontext *ctx = GpuArray_context(a);
  GA_TRY(ga__context_check(ctx));
  if (operation >= MAXIMUM &&
      (ga__dtype_kind(out->typecode) == 'c' || ga__dtype_kind(a->typecode) == 'c'))
    return GA_FAIL(
        GA_UNSUPPORTED_ERROR,
        "%s: complex numbers are not offered; scan the real and the imaginary part",
        name);
  int status = get(&gs, ctx, operation, a->typecode, out->typecode);
  GA_THEN(status, GpuScan_call(gs, out, a, axis, flags));
  return status == GA_NO_ERROR ? status : ga__fail_within(status, "%s", name);
}

int GpuArray_cumsum(GpuArray *out, const GpuArray *a, int axis, int flags) {
  return scan(SUM, out, a, axis, flags);
}

int GpuArray_cumprod(GpuArray *out, const GpuArray *a, int axis, int flags) {
  return scan(PRODUCT, out, a, axis, flags);
}

int GpuArray_cummax(GpuArray *out, const GpuArray *a, int axis, int flags) {
  return scan(MAXIMUM, out, a, axis, flags);
}

int GpuArray_cummin(GpuArray *out, const GpuArray *a, int axis, int flags) {
  return scan(MINIMUM, out, a, axis, flags);
}
