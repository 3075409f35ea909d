/* Internal functions of scans. */
#ifndef GA_C_SCAN_H
#define GA_C_SCAN_H

#include "c/array/array.h"
#include "c/scan/scan_source.h"

/* GpuScan_new with a status. `borrowed`: the context owns the object, which holds no
 * reference to it. */
int ga__scan_new(GpuScan **out, gpucontext *ctx, const gpuscan_spec *spec,
                 bool borrowed);

gpucontext *ga__scan_context(const GpuScan *gs);
/* Typecode of the input (0) or the output (1). */
int ga__scan_typecode(const GpuScan *gs, int which);
/* Typecode of the accumulator. */
int ga__scan_acc(const GpuScan *gs);
/* GPU: elements per item in a tile. */
unsigned int ga__scan_tile_items(const GpuScan *gs, enum ga_scan_kind kind);
/* Elements that fit a work group's local memory (short rows). */
unsigned int ga__scan_tile_room(const GpuScan *gs);
/* Alignment of vectors, in bytes, of the input (0) or the output (1). */
size_t ga__scan_tile_alignment(const GpuScan *gs, int which);
/* A kernel variant, compiled at first use. `is_parts`: for chunks' totals, of the
 * accumulator's type. */
int ga__scan_kernel(gpukernel **out, GpuScan *gs, enum ga_scan_kind kind, bool is_parts,
                    bool is_wide, bool looks_back, unsigned int nk);

/* Scans checked, non-empty arguments, which are disjoint or the same memory. */
int ga__scan_run(GpuScan *gs, const GpuArray *out, const GpuArray *a, unsigned int axis,
                 int flags);

/* Normalizes a possibly negative axis; GA_VALUE_ERROR if out of range. */
int ga__axis_check(unsigned int *out, const GpuArray *a, int axis,
                   const char *operation);

#endif
