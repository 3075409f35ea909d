/* The parts that a scan's kernels are put together from, in the kernel language. */
#ifndef GA_C_SCAN_TEXT_H
#define GA_C_SCAN_TEXT_H

/* scan_text.c says at each what it does; scan_source.c defines their words. */
extern const char ga__scan_head[], ga__scan_line[], ga__scan_tile_words_rows[],
    ga__scan_tile_words_columns[], ga__scan_tile_begin[], ga__scan_tile_loop[],
    ga__scan_load_rows[], ga__scan_load_columns[], ga__scan_scan_words[],
    ga__scan_scan_items[], ga__scan_scan_items_warps[], ga__scan_shuffles[],
    ga__scan_publishing[], ga__scan_look_begin[], ga__scan_look_rows[],
    ga__scan_look_columns[], ga__scan_look_end[], ga__scan_tile_results[],
    ga__scan_store_rows[], ga__scan_store_columns[], ga__scan_tile_end[],
    ga__scan_cpu_rows_begin[], ga__scan_cpu_rows_first[], ga__scan_cpu_rows_loop[],
    ga__scan_cpu_rows_end[], ga__scan_cpu_columns_begin[], ga__scan_cpu_columns_first[],
    ga__scan_cpu_columns_loop[], ga__scan_cpu_columns_end[], ga__scan_tail[];
/* scan_text_packs.c. */
extern const char ga__scan_packs_begin[], ga__scan_packs_place[], ga__scan_packs_load[],
    ga__scan_packs_scan[], ga__scan_packs_store[];
/* scan_text_short.c. */
extern const char ga__scan_short_begin[], ga__scan_short_body[];

#endif
