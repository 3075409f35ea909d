/* The parts that the kernels of sorts are put together from, in the kernel language. */
#ifndef GA_C_SORT_TEXT_H
#define GA_C_SORT_TEXT_H

/* sort_text.c says at each what it does; sort_source.c defines their words. */
extern const char ga__sort_keys_scalar[], ga__sort_keys_complex[], ga__sort_head[],
    ga__sort_begin[], ga__sort_block[], ga__sort_slot_packed[], ga__sort_slot_coded[],
    ga__sort_slot_struct[], ga__sort_run_ranked[], ga__sort_run_inserted[],
    ga__sort_merging[], ga__sort_chunks_head[], ga__sort_count_body[],
    ga__sort_scatter_body[], ga__sort_selection[], ga__sort_tail[];
/* onesweep.c; the four of a sweep stand one after the other. */
extern const char ga__sort_histogram[], ga__sort_sweep_begin[], ga__sort_sweep_count[],
    ga__sort_sweep_rank[], ga__sort_sweep_store[];
/* sort_text_hold.c; the three stand one after the other. */
extern const char ga__sort_hold_begin[], ga__sort_hold_cut[], ga__sort_hold_end[];
/* radix_select.c; the three stand one after the other. */
extern const char ga__sort_pick_begin[], ga__sort_pick_place[], ga__sort_pick_end[];

#endif
