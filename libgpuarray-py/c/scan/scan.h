/* What files of c/ share about scans beyond the public functions. */
#ifndef GA_C_SCAN_H
#define GA_C_SCAN_H

#include "c/array/array.h"
#include "c/scan/scan_source.h"

/* As GpuScan_new, with a status. `borrowed`: the context owns the object, which does
 * not keep it alive. */
int ga__scan_new(GpuScan **out, gpucontext *ctx, const gpuscan_spec *spec,
                 bool borrowed);

gpucontext *ga__scan_context(const GpuScan *gs);
/* The type of the array's elements, or for 1 of the result's. */
int ga__scan_typecode(const GpuScan *gs, int which);
/* The type that is combined. */
int ga__scan_acc(const GpuScan *gs);
/* Elements of an item in a GPU's tile. */
unsigned int ga__scan_tile_items(const GpuScan *gs, enum ga_scan_kind kind);
/* Elements that a group of short rows has room for. */
unsigned int ga__scan_tile_room(const GpuScan *gs);
/* Bytes that a pack's place in the array, or for 1 in the result, is a multiple of. */
size_t ga__scan_tile_alignment(const GpuScan *gs, int which);
/* A kernel, made when it is first asked for. `is_parts`: of chunks' totals, which are
 * of the type that is combined. */
int ga__scan_kernel(gpukernel **out, GpuScan *gs, enum ga_scan_kind kind, bool is_parts,
                    bool is_wide, bool looks_back, unsigned int nk);

/* Scans; the arguments are checked, have elements, and overlap only if they are one. */
int ga__scan_run(GpuScan *gs, const GpuArray *out, const GpuArray *a, unsigned int axis,
                 int flags);

/* The number of a possibly negative axis; GA_VALUE_ERROR if there is none such. */
int ga__axis_check(unsigned int *out, const GpuArray *a, int axis,
                   const char *operation);

#endif
