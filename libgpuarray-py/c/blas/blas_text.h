/* The texts that blas_kernels.c makes kernels of products from, which also writes the
 * words they use: BL_S is the stored type, BL_T the type of the work, BL_R a real
 * number of it; BL_LOAD(to, element, sign) widens an element and multiplies its
 * imaginary part by `sign`; BL_GW elements are a pack. */
#ifndef GA_C_BLAS_TEXT_H
#define GA_C_BLAS_TEXT_H

extern const char ga__blas_common[], ga__blas_gemm_head[], ga__blas_gemv_head[];
extern const char ga__blas_dot_parts[], ga__blas_dot_sum[];
extern const char ga__blas_gemm_gpu_words[], ga__blas_gemm_gpu[];
extern const char ga__blas_gemm_gpu_end[];
extern const char ga__blas_rows_gpu[], ga__blas_columns_gpu[], ga__blas_columns_wide[];
extern const char ga__blas_narrow[], ga__blas_narrow_fold[];
extern const char ga__blas_alone[];
extern const char ga__blas_outer_head[], ga__blas_outer_begin[], ga__blas_outer_end[];
extern const char ga__blas_parts_head[], ga__blas_parts_begin[], ga__blas_parts_end[];
extern const char ga__blas_gemm_cpu_pack[], ga__blas_gemm_cpu[];
extern const char ga__blas_rows_loops[], ga__blas_rows_lanes[], ga__blas_columns_cpu[];

#endif
