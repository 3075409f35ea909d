/* GpuScan: creation, release, kernel variants. */
#include "c/scan/scan.h"

#include <string.h>

/* A compiled variant; append-only. */
typedef struct variant {
  enum ga_scan_kind kind;
  bool is_parts, is_wide, looks_back;
  unsigned int nk;
  gpukernel *kernel; /* the context's */
  struct variant *next;
} variant;

struct _GpuScan {
  gpucontext *context;
  bool borrowed;      /* owned by the context */
  ga_scan_spec spec;  /* owns its strings */
  ga_scan_spec parts; /* for chunks' totals; borrows strings from `spec` */
  _Atomic(variant *) variants;
};

/* ---- creation ---- */

static int check_spec(gpucontext *ctx, const gpuscan_spec *spec) {
  if (ctx == NULL || spec == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "scan: needs a context and a spec; got NULL");
  if (spec->size != sizeof *spec)
    return GA_FAIL(GA_INVALID_ERROR,
                   "scan: the spec's size is %zu, expected %zu; set it to "
                   "sizeof(gpuscan_spec)",
                   spec->size, sizeof *spec);
  if (spec->map == NULL || spec->combine == NULL || spec->identity == NULL ||
      spec->input.name == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "scan: map, combine, identity and the input's "
                                   "name are needed; one is NULL");
  if (spec->input.flags & (GE_SCALAR | GE_WRITE))
    return GA_FAIL(GA_INVALID_ERROR,
                   "scan: the flags of the input `%s` are 0x%x, expected GE_READ",
                   spec->input.name, (unsigned int)spec->input.flags);
  GA_TRY(ga__context_check(ctx));
  GA_TRY(ga__context_supports(ctx, spec->acc_typecode, "scan"));
  GA_TRY(ga__context_supports(ctx, spec->out_typecode, "scan"));
  return ga__context_supports(ctx, spec->input.typecode, "scan");
}

static int copy_spec(GpuScan *gs, const gpuscan_spec *spec) {
  ga_scan_spec *own = &gs->spec;
  const ga_device_info *info = &gs->context->info;
  own->acc = ga__dtype_work(spec->acc_typecode);
  own->out = spec->out_typecode;
  own->input.typecode = spec->input.typecode;
  own->is_cpu = info->is_cpu;
  own->has_warps = info->has_progress;
  own->lanes = info->is_cpu && info->warp > 1 ? 16 : 1;
  GA_TRY(ga__copy_text(&own->input.name, spec->input.name));
  GA_TRY(ga__copy_text(&own->preamble, spec->preamble));
  GA_TRY(ga__copy_text(&own->map, spec->map));
  GA_TRY(ga__copy_text(&own->combine, spec->combine));
  GA_TRY(ga__copy_text(&own->identity, spec->identity));
  gs->parts = *own;
  gs->parts.map = gs->parts.input.name = "part";
  gs->parts.input.typecode = gs->parts.out = own->acc;
  return GA_NO_ERROR;
}

int ga__scan_new(GpuScan **out, gpucontext *ctx, const gpuscan_spec *spec,
                 bool borrowed) {
  GA_TRY(check_spec(ctx, spec));
  GpuScan *gs = ga__alloc(1, sizeof *gs);
  GA_TRY_MEMORY(gs);
  gs->context = ctx;
  gs->borrowed = borrowed;
  if (!borrowed)
    gpucontext_retain(ctx);
  int status = copy_spec(gs, spec);
  if (status != GA_NO_ERROR) {
    GpuScan_free(gs);
    return status;
  }
  *out = gs;
  return GA_NO_ERROR;
}

GpuScan *GpuScan_new(gpucontext *ctx, const gpuscan_spec *spec, int *ret) {
  GpuScan *gs = NULL;
  int status = ga__scan_new(&gs, ctx, spec, false);
  if (status != GA_NO_ERROR && ret != NULL)
    *ret = status;
  return gs;
}

void GpuScan_free(GpuScan *gs) {
  if (gs == NULL)
    return;
  for (variant *v = atomic_load(&gs->variants); v != NULL;) {
    variant *next = v->next;
    ga__free(v);
    v = next;
  }
  ga__free(gs->spec.input.name);
  ga__free(gs->spec.preamble);
  ga__free(gs->spec.map);
  ga__free(gs->spec.combine);
  ga__free(gs->spec.identity);
  if (!gs->borrowed)
    gpucontext_deref(gs->context);
  ga__free(gs);
}

gpucontext *ga__scan_context(const GpuScan *gs) {
  return gs->context;
}

int ga__scan_acc(const GpuScan *gs) {
  return gs->spec.acc;
}

unsigned int ga__scan_tile_items(const GpuScan *gs, enum ga_scan_kind kind) {
  return ga__scan_items(&gs->spec, kind);
}

unsigned int ga__scan_tile_room(const GpuScan *gs) {
  return ga__scan_room(&gs->spec);
}

size_t ga__scan_tile_alignment(const GpuScan *gs, int which) {
  return ga__scan_alignment(&gs->spec, ga__scan_typecode(gs, which));
}

int ga__scan_typecode(const GpuScan *gs, int which) {
  return which == 0 ? gs->spec.input.typecode : gs->spec.out;
}

/* ---- kernel variants ---- */

static int compile(gpukernel **out, const GpuScan *gs, const variant *v) {
  ga_scan_spec spec = v->is_parts ? gs->parts : gs->spec;
  ga_source source = {0};
  spec.is_wide = v->is_wide;
  spec.looks_back = v->looks_back;
  int status = ga__scan_source(&source, &spec, v->kind, v->nk);
  GA_THEN(status, ga__kernel_get(out, gs->context, &source));
  ga__strbuf_clear(&source.body);
  return status;
}

int ga__scan_kernel(gpukernel **out, GpuScan *gs, enum ga_scan_kind kind, bool is_parts,
                    bool is_wide, bool looks_back, unsigned int nk) {
  for (variant *v = atomic_load(&gs->variants); v != NULL; v = v->next)
    if (v->kind == kind && v->is_parts == is_parts && v->is_wide == is_wide &&
        v->looks_back == looks_back && v->nk == nk) {
      *out = v->kernel;
      return GA_NO_ERROR;
    }
  variant wanted = {.kind = kind,
                    .is_parts = is_parts,
                    .is_wide = is_wide,
                    .looks_back = looks_back,
                    .nk = nk};
  GA_TRY(compile(&wanted.kernel, gs, &wanted));
  variant *v = ga__alloc(1, sizeof *v);
  GA_TRY_MEMORY(v);
  wanted.next = atomic_load(&gs->variants);
  *v = wanted;
  while (!atomic_compare_exchange_weak(&gs->variants, &v->next, v))
    ;
  *out = v->kernel;
  return GA_NO_ERROR;
}
