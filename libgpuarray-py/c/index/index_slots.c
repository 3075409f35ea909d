/* Slot number of each index, to sort by. */
#include "c/index/index_walk.h"
#include "c/sort/sort_task.h"

int ga__index_slots(GpuArray *out, const GpuArray *a, const ga_indices *ix) {
  ga_index_walk w;
  GpuArray result;
  size_t slots;
  GA_TRY(ga__index_begin_table(&w, &slots, a, ix, 1));
  const size_t count = ga__index_count(&w);
  if (count > GA_SORT_LONGEST) /* they will be sorted */
    return GA_FAIL(GA_XLARGE_ERROR,
                   "%s: %zu indices at once, expected at most %zu; split the call",
                   ix->operation, count, GA_SORT_LONGEST);
  const int typecode = slots < UINT32_MAX ? GA_UINT : GA_ULONG;
  GA_TRY(GpuArray_empty(&result, w.context, typecode, 1, &count, GA_C_ORDER));
  w.op = GA_INDEX_SLOT;
  ga__index_block(&w.dst, &w, result.data, gpuarray_get_elsize(typecode));
  int status = ga__index_run(&w);
  return ga__array_return(out, &result, status);
}
