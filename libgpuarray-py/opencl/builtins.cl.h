/* Builtin functions that kernels use, declared for a build that skips the header of
 * PoCL, 18,000 lines that take ten times as long as a kernel. All scalar overloads of a
 * name are here, so that a call means what it does with the header; what uses another
 * name or vectors does not compile and is built with the header. Names may be macros. */
#ifdef GA_DECLARES_BUILTINS
#define GA_OVER __attribute__((overloadable))
#define GA_CONST __attribute__((overloadable, const))

#define GA_ITEM(name) size_t GA_CONST name(uint);
GA_ITEM(get_global_id)
GA_ITEM(get_global_size)
GA_ITEM(get_global_offset)
GA_ITEM(get_local_id)
GA_ITEM(get_local_size)
GA_ITEM(get_group_id)
GA_ITEM(get_num_groups)
uint GA_CONST get_work_dim(void);
void __attribute__((overloadable, convergent)) barrier(cl_mem_fence_flags);
void GA_OVER mem_fence(cl_mem_fence_flags);

#define GA_MATH_OF(T)                                                                  \
  GA_MATH_1(T, acos) GA_MATH_1(T, acosh) GA_MATH_1(T, asin) GA_MATH_1(T, asinh)        \
  GA_MATH_1(T, atan) GA_MATH_1(T, atanh) GA_MATH_1(T, cbrt) GA_MATH_1(T, ceil)         \
  GA_MATH_1(T, cos) GA_MATH_1(T, cosh) GA_MATH_1(T, erf) GA_MATH_1(T, erfc)            \
  GA_MATH_1(T, exp) GA_MATH_1(T, exp2) GA_MATH_1(T, expm1) GA_MATH_1(T, fabs)          \
  GA_MATH_1(T, floor) GA_MATH_1(T, lgamma) GA_MATH_1(T, log) GA_MATH_1(T, log10)       \
  GA_MATH_1(T, log1p) GA_MATH_1(T, log2) GA_MATH_1(T, rint) GA_MATH_1(T, round)        \
  GA_MATH_1(T, rsqrt) GA_MATH_1(T, sin) GA_MATH_1(T, sinh) GA_MATH_1(T, sqrt)          \
  GA_MATH_1(T, tan) GA_MATH_1(T, tanh) GA_MATH_1(T, tgamma) GA_MATH_1(T, trunc)        \
  GA_MATH_2(T, atan2) GA_MATH_2(T, copysign) GA_MATH_2(T, fmax) GA_MATH_2(T, fmin)     \
  GA_MATH_2(T, fmod) GA_MATH_2(T, hypot) GA_MATH_2(T, nextafter) GA_MATH_2(T, pow)     \
  T GA_CONST fma(T, T, T);                                                             \
  T GA_CONST ldexp(T, int);                                                            \
  int GA_CONST signbit(T);                                                             \
  int GA_CONST isnan(T);                                                               \
  int GA_CONST isinf(T);                                                               \
  int GA_CONST isfinite(T);                                                            \
  T GA_OVER frexp(T, __global int *);                                                  \
  T GA_OVER frexp(T, __local int *);                                                   \
  T GA_OVER frexp(T, __private int *);
#define GA_MATH_1(T, name) T GA_CONST name(T);
#define GA_MATH_2(T, name) T GA_CONST name(T, T);
GA_MATH_OF(float)

#define GA_ORDER_OF(T)                                                                 \
  T GA_CONST min(T, T);                                                                \
  T GA_CONST max(T, T);
#define GA_INTEGER(T, U)                                                               \
  GA_ORDER_OF(T) GA_ORDER_OF(U)                                                        \
  T GA_CONST clz(T);                                                                   \
  U GA_CONST clz(U);                                                                   \
  T GA_CONST popcount(T);                                                              \
  U GA_CONST popcount(U);                                                              \
  U GA_CONST abs(T);                                                                   \
  U GA_CONST abs(U);
GA_ORDER_OF(float)
GA_INTEGER(char, uchar)
GA_INTEGER(short, ushort)
GA_INTEGER(int, uint)
GA_INTEGER(long, ulong)

#define GA_PACKED(T) GA_PACK_OF(T, 4) GA_PACK_OF(T, 8) GA_PACK_OF(T, 16)
#define GA_PACK_OF(T, n)                                                               \
  T##n GA_OVER vload##n(size_t, const __global T *);                                   \
  T##n GA_OVER vload##n(size_t, const __local T *);                                    \
  T##n GA_OVER vload##n(size_t, const __private T *);                                  \
  void GA_OVER vstore##n(T##n, size_t, __global T *);                                  \
  void GA_OVER vstore##n(T##n, size_t, __local T *);                                   \
  void GA_OVER vstore##n(T##n, size_t, __private T *);
GA_PACKED(char)
GA_PACKED(uchar)
GA_PACKED(short)
GA_PACKED(ushort)
GA_PACKED(int)
GA_PACKED(uint)
GA_PACKED(long)
GA_PACKED(ulong)
GA_PACKED(float)

#define GA_TRUTH(T)                                                                    \
  int GA_CONST any(T);                                                                 \
  int GA_CONST all(T);
GA_TRUTH(char8) GA_TRUTH(char16) GA_TRUTH(short8) GA_TRUTH(short16)
GA_TRUTH(int8) GA_TRUTH(int16) GA_TRUTH(long8) GA_TRUTH(long16)

#define GA_CONVERSIONS_TO(T)                                                           \
  GA_CONVERSION(T, char) GA_CONVERSION(T, uchar) GA_CONVERSION(T, short)               \
  GA_CONVERSION(T, ushort) GA_CONVERSION(T, int) GA_CONVERSION(T, uint)                \
  GA_CONVERSION(T, long) GA_CONVERSION(T, ulong) GA_CONVERSION(T, float)
#define GA_CONVERSION(T, From) T##16 GA_CONST convert_##T##16(From##16);
GA_CONVERSIONS_TO(char)
GA_CONVERSIONS_TO(uchar)
GA_CONVERSIONS_TO(short)
GA_CONVERSIONS_TO(ushort)
GA_CONVERSIONS_TO(int)
GA_CONVERSIONS_TO(uint)
GA_CONVERSIONS_TO(long)
GA_CONVERSIONS_TO(ulong)
GA_CONVERSIONS_TO(float)

#define GA_ATOMIC_1(T, name)                                                           \
  T GA_OVER name(volatile __global T *, T);                                            \
  T GA_OVER name(volatile __local T *, T);
#define GA_ATOMIC_2(T, name)                                                           \
  T GA_OVER name(volatile __global T *, T, T);                                         \
  T GA_OVER name(volatile __local T *, T, T);
#define GA_ATOMICS_OF(T)                                                               \
  GA_ATOMIC_1(T, atomic_add) GA_ATOMIC_1(T, atomic_and) GA_ATOMIC_1(T, atomic_max)     \
  GA_ATOMIC_1(T, atomic_min) GA_ATOMIC_1(T, atomic_or) GA_ATOMIC_1(T, atomic_xchg)     \
  GA_ATOMIC_1(T, atomic_sub) GA_ATOMIC_1(T, atomic_xor) GA_ATOMIC_2(T, atomic_cmpxchg) \
  GA_ATOMIC_1(T, atom_add) GA_ATOMIC_1(T, atom_xchg) GA_ATOMIC_2(T, atom_cmpxchg)
GA_ATOMICS_OF(int)
GA_ATOMICS_OF(uint)
GA_ATOMIC_1(float, atomic_xchg)
#ifdef cl_khr_int64_base_atomics
GA_ATOMIC_1(long, atom_add)
GA_ATOMIC_1(ulong, atom_add)
GA_ATOMIC_1(long, atom_xchg)
GA_ATOMIC_1(ulong, atom_xchg)
GA_ATOMIC_2(long, atom_cmpxchg)
GA_ATOMIC_2(ulong, atom_cmpxchg)
#endif

#ifdef cl_khr_fp64
GA_MATH_OF(double)
GA_ORDER_OF(double)
GA_PACKED(double)
GA_CONVERSIONS_TO(double)
GA_CONVERSION(char, double)
GA_CONVERSION(uchar, double)
GA_CONVERSION(short, double)
GA_CONVERSION(ushort, double)
GA_CONVERSION(int, double)
GA_CONVERSION(uint, double)
GA_CONVERSION(long, double)
GA_CONVERSION(ulong, double)
GA_CONVERSION(float, double)
GA_CONVERSION(double, double)
#endif
#endif
