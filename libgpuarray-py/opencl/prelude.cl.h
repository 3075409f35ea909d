/* CLUDA in OpenCL C 1.2. Short, for each program parses it. Math functions are the
 * language's, or math.cl.h's; GA_WARP_SIZE is a build option. */
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#ifdef cl_khr_int64_base_atomics
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#endif
#include "builtins.cl.h"

/* Marks of a source for the library: see gpuarray/kernel.h. */
#define GA_SELF_CONTAINED
#define KERNEL __kernel
#define KERNEL_OF(threads, blocks) __kernel
#define KERNEL_SIZED(threads, blocks)                                                  \
  __kernel __attribute__((reqd_work_group_size(threads, 1, 1)))
/* Before a kernel whose groups are one item: Intel's compiler, told a type as wide as
 * its vectors, adds no code that takes several items at once. */
#define GA_ONE_ITEM __attribute__((vec_type_hint(float16)))
#define KERNEL_BEGIN
#define WITHIN_KERNEL static
#define GA_INLINE static inline __attribute__((overloadable, always_inline))
/* For large functions: one copy for all calls. */
#define GA_NOINLINE static __attribute__((overloadable, noinline))
#define GLOBAL_MEM __global
#define LOCAL_MEM __local
#define LOCAL_MEM_ARG __local
#define GA_RESTRICT restrict
#define GA_APART restrict
#define local_barrier() barrier(CLK_LOCAL_MEM_FENCE)
#define GA_READ_ONCE(place) (place)
#define GA_READ_PACK_STREAM(place) (place)
#define GA_WRITE_ONCE(place, value) ((place) = (value))
#define GA_TILE_TERMS _Pragma("unroll 8")
#define GA_TILE_ROW(lane) ((lane) / 8)
#define GA_TILE_COLUMN(lane) ((lane) % 8)
#ifdef GA_HAS_PTX
#define GA_FORGET(letter, value) asm volatile("" : "+" letter(value))
#else
#define GA_FORGET(letter, value)
#endif

#define LID_0 get_local_id(0)
#define LID_1 get_local_id(1)
#define LID_2 get_local_id(2)
#define LDIM_0 get_local_size(0)
#define LDIM_1 get_local_size(1)
#define LDIM_2 get_local_size(2)
#define GID_0 get_group_id(0)
#define GID_1 get_group_id(1)
#define GID_2 get_group_id(2)
#define GDIM_0 get_num_groups(0)
#define GDIM_1 get_num_groups(1)
#define GDIM_2 get_num_groups(2)

/* Dynamic local memory: the last parameter of a kernel, with its comma. */
#define GA_DECL_SHARED_PARAM(type, name) , __local type *name
#define GA_DECL_SHARED_BODY(type, name)

#ifndef NULL
#define NULL 0
#endif

/* True if the compiler vectorizes straight-line code rather than loops: PoCL's. */
#ifdef POCL_DEVICE_ADDRESS_BITS
#define GA_STRAIGHT_VECTORS 1
#else
#define GA_STRAIGHT_VECTORS 0
#endif

/* True if math.cl.h replaces the runtime's math functions: PoCL's are calls, which
 * prevent vectorization (3.1 takes 25 to 250 times NumPy's time in float). */
#if GA_STRAIGHT_VECTORS && defined(__FMA__) && defined(cl_khr_fp64)
#define GA_OWN_MATH 1
#else
#define GA_OWN_MATH 0
#endif

typedef uchar ga_bool;
typedef char ga_byte;
typedef uchar ga_ubyte;
typedef short ga_short;
typedef ushort ga_ushort;
typedef int ga_int;
typedef uint ga_uint;
typedef long ga_long;
typedef ulong ga_ulong;
typedef float ga_float;
typedef ulong ga_size;
typedef long ga_ssize;
typedef char2 ga_byte2;
typedef char4 ga_byte4;
typedef uchar2 ga_ubyte2;
typedef uchar4 ga_ubyte4;
typedef short2 ga_short2;
typedef short4 ga_short4;
typedef ushort2 ga_ushort2;
typedef ushort4 ga_ushort4;
typedef int2 ga_int2;
typedef int4 ga_int4;
typedef uint2 ga_uint2;
typedef uint4 ga_uint4;
typedef long2 ga_long2;
typedef ulong2 ga_ulong2;
typedef float2 ga_float2;
typedef float4 ga_float4;
/* Complex numbers; a program that uses them gets their functions. */
typedef float2 ga_cfloat;
#ifdef cl_khr_fp64
typedef double ga_double;
typedef double2 ga_double2;
typedef double2 ga_cdouble;
#endif

/* Opaque to the optimizer. */
GA_INLINE ga_uint ga_hidden(ga_uint x) {
  GA_FORGET("r", x);
  return x;
}

/* Storage types: arithmetic is in float. Conversion is by bit arithmetic: it needs no
 * extension, makes no subnormal float (which a device may flush), and vectorizes on
 * CPUs, where the built-in conversions are ten times slower. */
typedef struct ga_half {
  ga_ushort data;
} ga_half;

GA_INLINE ga_float ga_half2float(ga_half h) {
#ifdef __NV_CL_C_VERSION /* one instruction, at 1.7 times the rate */
  return vload_half(0, (const half *)&h.data);
#else
  uint magnitude = (uint)(h.data & 0x7fff) << 13;
  uint normal = magnitude + (112u << 23);
  uint special = magnitude | 0x7f800000u;
  uint subnormal = as_uint(as_float(magnitude + (113u << 23)) - as_float(113u << 23));
  uint bits = magnitude >= 0x0f800000u  ? special
              : magnitude < 0x00800000u ? subnormal
                                        : normal;
  return as_float(bits | (uint)(h.data & 0x8000) << 16);
#endif
}

/* Rounds to nearest even. */
GA_INLINE ga_half ga_float2half(ga_float f) {
  ga_half h;
#ifdef __NV_CL_C_VERSION
  vstore_half_rte(f, 0, (half *)&h.data);
#else
  uint bits = as_uint(f), magnitude = bits & 0x7fffffffu;
  uint normal = (magnitude - (112u << 23) + 0xfff + ((magnitude >> 13) & 1)) >> 13;
  uint subnormal = as_uint(as_float(magnitude) + 0.5f) - as_uint(0.5f);
  uint special = magnitude > 0x7f800000u ? 0x7e00 : 0x7c00;
  uint out = magnitude >= 0x47800000u  ? special
             : magnitude < 0x38800000u ? subnormal
                                       : normal;
  h.data = (ushort)(out | (bits >> 16 & 0x8000));
#endif
  return h;
}

typedef struct ga_bfloat16 {
  ga_ushort data;
} ga_bfloat16;

GA_INLINE ga_float ga_bfloat162float(ga_bfloat16 b) {
  return as_float((uint)b.data << 16);
}

/* Rounds to nearest even; keeps nan. */
GA_INLINE ga_bfloat16 ga_float2bfloat16(ga_float f) {
  uint bits = as_uint(f), rounded = bits + 0x7fffu + (bits >> 16 & 1);
  uint nan = bits | 0x400000u;
  ga_bfloat16 b;
  b.data = (ushort)(((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded) >> 16);
  return b;
}

/* Atomics: atom_<op>_<type><space>(pointer, value) return the old value. Types: i int,
 * I uint, l long, L ulong, f float, d double, e half; spaces: g global, l local. */
#define atom_add_ig(p, v) atomic_add((volatile __global ga_int *)(p), (ga_int)(v))
#define atom_add_il(p, v) atomic_add((volatile __local ga_int *)(p), (ga_int)(v))
#define atom_add_Ig(p, v) atomic_add((volatile __global ga_uint *)(p), (ga_uint)(v))
#define atom_add_Il(p, v) atomic_add((volatile __local ga_uint *)(p), (ga_uint)(v))
#define atom_add_fg(p, v) ga_atomic_add_float((volatile __global ga_float *)(p), v)
#define atom_add_fl(p, v) ga_atomic_add_float((volatile __local ga_float *)(p), v)
#define atom_add_eg(p, v) ga_atomic_half((volatile __global ga_half *)(p), v, 1)
#define atom_add_el(p, v) ga_atomic_half((volatile __local ga_half *)(p), v, 1)
#define atom_xchg_ig(p, v) atomic_xchg((volatile __global ga_int *)(p), (ga_int)(v))
#define atom_xchg_il(p, v) atomic_xchg((volatile __local ga_int *)(p), (ga_int)(v))
#define atom_xchg_Ig(p, v) atomic_xchg((volatile __global ga_uint *)(p), (ga_uint)(v))
#define atom_xchg_Il(p, v) atomic_xchg((volatile __local ga_uint *)(p), (ga_uint)(v))
#define atom_xchg_fg(p, v) atomic_xchg((volatile __global ga_float *)(p), (ga_float)(v))
#define atom_xchg_fl(p, v) atomic_xchg((volatile __local ga_float *)(p), (ga_float)(v))
#define atom_xchg_eg(p, v) ga_atomic_half((volatile __global ga_half *)(p), v, 0)
#define atom_xchg_el(p, v) ga_atomic_half((volatile __local ga_half *)(p), v, 0)

/* 32-bit types also: max, min, or, and, compare-and-swap. */
#define atom_max_ig(p, v) atomic_max((volatile __global ga_int *)(p), (ga_int)(v))
#define atom_max_il(p, v) atomic_max((volatile __local ga_int *)(p), (ga_int)(v))
#define atom_max_Ig(p, v) atomic_max((volatile __global ga_uint *)(p), (ga_uint)(v))
#define atom_max_Il(p, v) atomic_max((volatile __local ga_uint *)(p), (ga_uint)(v))
#define atom_min_ig(p, v) atomic_min((volatile __global ga_int *)(p), (ga_int)(v))
#define atom_min_il(p, v) atomic_min((volatile __local ga_int *)(p), (ga_int)(v))
#define atom_min_Ig(p, v) atomic_min((volatile __global ga_uint *)(p), (ga_uint)(v))
#define atom_min_Il(p, v) atomic_min((volatile __local ga_uint *)(p), (ga_uint)(v))
#define atom_or_Ig(p, v) atomic_or((volatile __global ga_uint *)(p), (ga_uint)(v))
#define atom_or_Il(p, v) atomic_or((volatile __local ga_uint *)(p), (ga_uint)(v))
#define atom_and_Ig(p, v) atomic_and((volatile __global ga_uint *)(p), (ga_uint)(v))
#define atom_and_Il(p, v) atomic_and((volatile __local ga_uint *)(p), (ga_uint)(v))
#define atom_cas_Ig(p, seen, v)                                                        \
  atomic_cmpxchg((volatile __global ga_uint *)(p), (ga_uint)(seen), (ga_uint)(v))
#define atom_cas_Il(p, seen, v)                                                        \
  atomic_cmpxchg((volatile __local ga_uint *)(p), (ga_uint)(seen), (ga_uint)(v))

/* By compare-and-swap; of a half, on the word that holds it. */
#define GA_DEFINE_ATOMICS(SPACE)                                                       \
  GA_INLINE ga_float ga_atomic_add_float(volatile SPACE ga_float *p, ga_float v) {     \
    volatile SPACE ga_uint *word = (volatile SPACE ga_uint *)p;                        \
    ga_uint seen = *word, old;                                                         \
    do {                                                                               \
      old = seen;                                                                      \
      seen = atomic_cmpxchg(word, old, as_uint(as_float(old) + v));                    \
    } while (seen != old);                                                             \
    return as_float(old);                                                              \
  }                                                                                    \
  GA_INLINE ga_half ga_atomic_half(volatile SPACE ga_half *p, ga_half v, int add) {    \
    const uint place = (uint)(((size_t)p >> 1) & 1), shift = 16 * place;               \
    volatile SPACE ga_uint *word = (volatile SPACE ga_uint *)(p - place);              \
    ga_uint seen = *word, old;                                                         \
    ga_half was, next = v;                                                             \
    do {                                                                               \
      old = seen;                                                                      \
      was.data = (ga_ushort)(old >> shift);                                            \
      if (add)                                                                         \
        next = ga_float2half(ga_half2float(was) + ga_half2float(v));                   \
      seen = atomic_cmpxchg(word, old,                                                 \
                            (old & ~(0xffffu << shift)) | (uint)next.data << shift);   \
    } while (seen != old);                                                             \
    return was;                                                                        \
  }
GA_DEFINE_ATOMICS(__global)
GA_DEFINE_ATOMICS(__local)

#ifdef cl_khr_int64_base_atomics
#define atom_add_lg(p, v) atom_add((volatile __global ga_long *)(p), (ga_long)(v))
#define atom_add_ll(p, v) atom_add((volatile __local ga_long *)(p), (ga_long)(v))
#define atom_add_Lg(p, v) atom_add((volatile __global ga_ulong *)(p), (ga_ulong)(v))
#define atom_add_Ll(p, v) atom_add((volatile __local ga_ulong *)(p), (ga_ulong)(v))
#define atom_xchg_lg(p, v) atom_xchg((volatile __global ga_long *)(p), (ga_long)(v))
#define atom_xchg_ll(p, v) atom_xchg((volatile __local ga_long *)(p), (ga_long)(v))
#define atom_xchg_Lg(p, v) atom_xchg((volatile __global ga_ulong *)(p), (ga_ulong)(v))
#define atom_xchg_Ll(p, v) atom_xchg((volatile __local ga_ulong *)(p), (ga_ulong)(v))
#ifdef cl_khr_fp64
#define atom_add_dg(p, v) ga_atomic_add_double((volatile __global ga_double *)(p), v)
#define atom_add_dl(p, v) ga_atomic_add_double((volatile __local ga_double *)(p), v)
#define atom_xchg_dg(p, v)                                                             \
  as_double(atom_xchg((volatile __global ga_ulong *)(p), as_ulong((ga_double)(v))))
#define atom_xchg_dl(p, v)                                                             \
  as_double(atom_xchg((volatile __local ga_ulong *)(p), as_ulong((ga_double)(v))))
#define GA_DEFINE_ATOMICS_64(SPACE)                                                    \
  GA_INLINE ga_double ga_atomic_add_double(volatile SPACE ga_double *p, ga_double v) { \
    volatile SPACE ga_ulong *word = (volatile SPACE ga_ulong *)p;                      \
    ga_ulong seen = *word, old;                                                        \
    do {                                                                               \
      old = seen;                                                                      \
      seen = atom_cmpxchg(word, old, as_ulong(as_double(old) + v));                    \
    } while (seen != old);                                                             \
    return as_double(old);                                                             \
  }
GA_DEFINE_ATOMICS_64(__global)
GA_DEFINE_ATOMICS_64(__local)
#endif
#endif

/* Reports an index out of bounds; the first of a launch wins. */
GA_INLINE void ga_report_index(GLOBAL_MEM ga_uint *word, ga_size word_off, ga_uint site,
                               ga_long index, ga_long length) {
  word = (GLOBAL_MEM ga_uint *)((GLOBAL_MEM char *)word + word_off);
  if (atom_add_Ig(word, 1) == 0) {
    word[1] = site;
    word[2] = (ga_uint)index;
    word[3] = (ga_uint)(index >> 32);
    word[4] = (ga_uint)length;
    word[5] = (ga_uint)(length >> 32);
  }
}

/* Warp primitives on NVIDIA's devices: ballot; a barrier that orders local memory;
 * population count; shuffles of a ga_uint. */
#ifdef GA_HAS_PTX
GA_INLINE ga_uint ga_ballot(int yes) {
  ga_uint lanes;
  asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0;"
               " vote.sync.ballot.b32 %0, p, 0xffffffff; }"
               : "=r"(lanes)
               : "r"(yes));
  return lanes;
}
#define ga_warp_barrier() asm volatile("bar.warp.sync 0xffffffff;" ::: "memory")
#define ga_popcount(bits) ((int)popcount(bits))
GA_INLINE ga_uint ga_shuffle_up(ga_uint value, int by) {
  ga_uint other;
  asm volatile("shfl.sync.up.b32 %0, %1, %2, 0, 0xffffffff;"
               : "=r"(other)
               : "r"(value), "r"(by));
  return other;
}
GA_INLINE ga_uint ga_shuffle(ga_uint value, int lane) {
  ga_uint other;
  asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, 0xffffffff;"
               : "=r"(other)
               : "r"(value), "r"(lane));
  return other;
}
#define GA_HAS_SHUFFLES 1
#endif

/* Streaming access to a ga_uint, ga_uint2 or ga_uint4 used once. */
#ifdef GA_HAS_PTX
GA_INLINE ga_uint ga_read_once(GLOBAL_MEM const ga_uint *place) {
  ga_uint a;
  asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(a) : "l"(place) : "memory");
  return a;
}
GA_INLINE ga_uint2 ga_read_once(GLOBAL_MEM const ga_uint2 *place) {
  ga_uint a, b;
  asm volatile("ld.global.cg.v2.u32 {%0, %1}, [%2];"
               : "=r"(a), "=r"(b)
               : "l"(place)
               : "memory");
  return (ga_uint2)(a, b);
}
GA_INLINE ga_uint4 ga_read_once(GLOBAL_MEM const ga_uint4 *place) {
  ga_uint a, b, c, d;
  asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
               : "l"(place)
               : "memory");
  return (ga_uint4)(a, b, c, d);
}
GA_INLINE void ga_write_once(GLOBAL_MEM ga_uint *place, ga_uint v) {
  asm volatile("st.global.cs.u32 [%0], %1;" ::"l"(place), "r"(v) : "memory");
}
GA_INLINE void ga_write_once(GLOBAL_MEM ga_uint2 *place, ga_uint2 v) {
  const ga_uint a = v.x, b = v.y;
  asm volatile("st.global.cs.v2.u32 [%0], {%1, %2};" ::"l"(place), "r"(a), "r"(b)
               : "memory");
}
GA_INLINE void ga_write_once(GLOBAL_MEM ga_uint4 *place, ga_uint4 v) {
  const ga_uint a = v.x, b = v.y, c = v.z, d = v.w;
  asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(place), "r"(a),
               "r"(b), "r"(c), "r"(d)
               : "memory");
}
#define GA_READ_PACK_ONCE(place) ga_read_once(&(place))
#define GA_WRITE_PACK_ONCE(place, value) ga_write_once(&(place), value)
#else
#define GA_READ_PACK_ONCE(place) (place)
#define GA_WRITE_PACK_ONCE(place, value) ((place) = (value))
#endif

/* 1 / s for s from 1/2 to 2^64, or 0; x / s for s from 1 to 2 and x from 0 to 1. */
#define ga_inverse(s) (1 / (s))
#define ga_part(x, s) ((x) / (s))

/* Repeated division by s. */
typedef ga_float ga_divisor;
#define ga_divide_by(s) (s)
#define ga_ratio(x, divisor) ((x) / (divisor))
