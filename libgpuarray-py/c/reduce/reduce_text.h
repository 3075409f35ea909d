/* The parts of the reduction kernels, over words (RD_...) that reduce_source.c defines.
 */
#ifndef GA_C_REDUCE_TEXT_H
#define GA_C_REDUCE_TEXT_H

/* What all kernels begin with. */
extern const char ga__reduce_head[];

/* Along rows: the block, the loop over elements one by one, before it on a CPU vectors,
 * and there also those of a pick, the end. */
extern const char ga__rows_begin[], ga__rows_vectors[], ga__rows_loop[],
    ga__rows_loop_end[], ga__rows_pick_vectors[], ga__rows_pick_loop[], ga__rows_end[];
/* The packets of a GPU before the loop: `runs`, or `picks` with GA_REDUCTION_FIRST,
 * between the others. */
extern const char ga__rows_packets[], ga__rows_runs[], ga__rows_picks[],
    ga__rows_rest[];

/* Across columns. A GPU has the packets or else the loop; a CPU a loop of its own. */
extern const char ga__columns_begin[], ga__columns_loop[], ga__columns_loop_end[];
extern const char ga__columns_gpu[], ga__columns_packets[], ga__columns_gpu_loop[],
    ga__columns_gpu_end[];
extern const char ga__columns_cpu[], ga__columns_cpu_loop[], ga__columns_cpu_end[];

#endif
