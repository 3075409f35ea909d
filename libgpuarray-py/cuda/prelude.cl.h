/* CLUDA in CUDA C++. Without includes, and short: each program parses it. Math
 * functions are the compiler's. */
/* Marks of a source for the library: see gpuarray/kernel.h. */
#define GA_SELF_CONTAINED
#define KERNEL extern "C" __global__
/* Launch bounds: at most so many threads a block, at least so many blocks an SM. */
#define KERNEL_OF(threads, blocks) KERNEL __launch_bounds__(threads, blocks)
/* The same, with exactly so many threads by 1 a block. */
#define KERNEL_SIZED(threads, blocks) KERNEL_OF(threads, blocks)
/* First statement of a kernel: waits for the launches that it depends on, for it may
 * start beside the last blocks of one (docs/adr/0035). GA_APART, of a parameter that no
 * other aliases: there the compiler could read through it before it has waited. */
#if __CUDA_ARCH__ >= 900
#define KERNEL_BEGIN asm volatile("griddepcontrol.wait;" ::: "memory")
#define GA_APART
#else
#define KERNEL_BEGIN
#define GA_APART __restrict__
#endif
#define WITHIN_KERNEL static __device__
#define GA_INLINE static __device__ __forceinline__
/* For large functions: one copy for all calls. */
#define GA_NOINLINE static __device__ __noinline__
#define GLOBAL_MEM
#define LOCAL_MEM __shared__
#define LOCAL_MEM_ARG
#define GA_RESTRICT __restrict__
#define local_barrier() __syncthreads()
#define GA_WARP_SIZE 32
/* Streaming access to elements used once: bypasses L1, or is evicted first, to spare
 * lines that are used again. */
#define GA_READ_ONCE(place) __ldcg(&(place))
#define GA_WRITE_ONCE(place, value) __stcs(&(place), value)
/* The same for ga_uint, ga_uint2 or ga_uint4. */
#define GA_READ_PACK_ONCE(place) GA_READ_ONCE(place)
/* A ga_uint4 used once, evicted first from both caches. */
#define GA_READ_PACK_STREAM(place) __ldcs(&(place))
#define GA_WRITE_PACK_ONCE(place, value) GA_WRITE_ONCE(place, value)
/* GEMM micro-kernel: unrolling of the loop over k, and the layout of a warp's lanes in
 * 4 x 8, as tuned for NVRTC's code. */
#define GA_TILE_TERMS _Pragma("unroll")
#define GA_TILE_ROW(lane) ((lane) % 2 + (lane) / 16 * 2)
#define GA_TILE_COLUMN(lane) ((lane) / 2 % 8)
/* Optimization barrier on a register of class `letter`: the compiler recomputes what
 * depends on it in place of keeping it in registers. */
#define GA_FORGET(letter, value) asm volatile("" : "+" letter(value))

typedef unsigned char ga_bool;
typedef signed char ga_byte;
typedef unsigned char ga_ubyte;
typedef short ga_short;
typedef unsigned short ga_ushort;
typedef int ga_int;
typedef unsigned int ga_uint;
typedef long ga_long;
typedef unsigned long ga_ulong;
typedef float ga_float;
typedef double ga_double;
typedef unsigned long ga_size;
typedef long ga_ssize;

/* 64-bit, as in OpenCL, so that GID_0 * LDIM_0 + LID_0 does not overflow. */
#define LID_0 ((ga_size)threadIdx.x)
#define LID_1 ((ga_size)threadIdx.y)
#define LID_2 ((ga_size)threadIdx.z)
#define LDIM_0 ((ga_size)blockDim.x)
#define LDIM_1 ((ga_size)blockDim.y)
#define LDIM_2 ((ga_size)blockDim.z)
#define GID_0 ((ga_size)blockIdx.x)
#define GID_1 ((ga_size)blockIdx.y)
#define GID_2 ((ga_size)blockIdx.z)
#define GDIM_0 ((ga_size)gridDim.x)
#define GDIM_1 ((ga_size)gridDim.y)
#define GDIM_2 ((ga_size)gridDim.z)

/* Dynamic shared memory: one array for all kernels of a program, so of one type. */
#define GA_DECL_SHARED_PARAM(type, name)
#define GA_DECL_SHARED_BODY(type, name)                                                \
  extern __shared__ __align__(16) unsigned char ga_shared_memory[];                    \
  type *name = (type *)ga_shared_memory;

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
typedef double2 ga_double2;
/* Complex numbers; a program that uses them gets their functions. */
typedef float2 ga_cfloat;
typedef double2 ga_cdouble;

#ifndef NULL
#define NULL 0
#endif
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fc00000)
#define HUGE_VALF INFINITY
#define HUGE_VAL __longlong_as_double(0x7ff0000000000000LL)
#define MAXFLOAT FLT_MAX
#define FLT_MAX 3.40282347e38f
#define FLT_MIN 1.17549435e-38f
#define FLT_EPSILON 1.19209290e-7f
#define DBL_MAX 1.7976931348623157e308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
#define M_E 2.71828182845904523536
#define M_LOG2E 1.44269504088896340736
#define M_LOG10E 0.434294481903251827651
#define M_LN2 0.693147180559945309417
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.785398163397448309616
#define M_1_PI 0.318309886183790671538
#define M_2_PI 0.636619772367581343076
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.707106781186547524401

/* Opaque to the optimizer. */
GA_INLINE ga_uint ga_hidden(ga_uint x) {
  GA_FORGET("r", x);
  return x;
}

/* Storage types: arithmetic is in float. */
typedef struct ga_half {
  ga_ushort data;
} ga_half;
GA_INLINE ga_float ga_half2float(ga_half h) {
  ga_float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h.data));
  return f;
}
GA_INLINE ga_half ga_float2half(ga_float f) {
  ga_half h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h.data) : "f"(f));
  return h;
}

typedef struct ga_bfloat16 {
  ga_ushort data;
} ga_bfloat16;
GA_INLINE ga_float ga_bfloat162float(ga_bfloat16 b) {
  return __uint_as_float((ga_uint)b.data << 16);
}
GA_INLINE ga_bfloat16 ga_float2bfloat16(ga_float f) {
  const ga_uint bits = __float_as_uint(f);
  ga_bfloat16 b;
  b.data =
      (ga_ushort)((f != f ? bits | 0x400000u : bits + 0x7fffu + (bits >> 16 & 1)) >>
                  16);
  return b;
}

/* Atomics: atom_<op>_<type><space>(pointer, value) return the old value. Types: i int,
 * I uint, l long, L ulong, f float, d double, e half; spaces: g global, l local. */
typedef unsigned long long ga_word64;
#define atom_add_ig(p, v) atomicAdd((ga_int *)(p), (ga_int)(v))
#define atom_add_Ig(p, v) atomicAdd((ga_uint *)(p), (ga_uint)(v))
#define atom_add_lg(p, v)                                                              \
  ((ga_long)atomicAdd((ga_word64 *)(p), (ga_word64)(ga_long)(v)))
#define atom_add_Lg(p, v) ((ga_ulong)atomicAdd((ga_word64 *)(p), (ga_word64)(v)))
#define atom_add_fg(p, v) atomicAdd((ga_float *)(p), (ga_float)(v))
#define atom_add_dg(p, v) ga_atomic_add_double((ga_double *)(p), v)
#define atom_add_eg(p, v) ga_atomic_half((ga_half *)(p), v, 1)
#define atom_xchg_ig(p, v) atomicExch((ga_int *)(p), (ga_int)(v))
#define atom_xchg_Ig(p, v) atomicExch((ga_uint *)(p), (ga_uint)(v))
#define atom_xchg_lg(p, v)                                                             \
  ((ga_long)atomicExch((ga_word64 *)(p), (ga_word64)(ga_long)(v)))
#define atom_xchg_Lg(p, v) ((ga_ulong)atomicExch((ga_word64 *)(p), (ga_word64)(v)))
#define atom_xchg_fg(p, v) atomicExch((ga_float *)(p), (ga_float)(v))
#define atom_xchg_dg(p, v)                                                             \
  __longlong_as_double(                                                                \
      (long long)atomicExch((ga_word64 *)(p), (ga_word64)__double_as_longlong(v)))
#define atom_xchg_eg(p, v) ga_atomic_half((ga_half *)(p), v, 0)
/* 32-bit types also: max, min, or, and, compare-and-swap. */
#define atom_max_ig(p, v) atomicMax((ga_int *)(p), (ga_int)(v))
#define atom_max_Ig(p, v) atomicMax((ga_uint *)(p), (ga_uint)(v))
#define atom_min_ig(p, v) atomicMin((ga_int *)(p), (ga_int)(v))
#define atom_min_Ig(p, v) atomicMin((ga_uint *)(p), (ga_uint)(v))
#define atom_or_Ig(p, v) atomicOr((ga_uint *)(p), (ga_uint)(v))
#define atom_and_Ig(p, v) atomicAnd((ga_uint *)(p), (ga_uint)(v))
#define atom_cas_Ig(p, seen, v) atomicCAS((ga_uint *)(p), (ga_uint)(seen), (ga_uint)(v))
#define atom_max_il atom_max_ig
#define atom_max_Il atom_max_Ig
#define atom_min_il atom_min_ig
#define atom_min_Il atom_min_Ig
#define atom_or_Il atom_or_Ig
#define atom_and_Il atom_and_Ig
#define atom_cas_Il atom_cas_Ig
#define atom_add_il atom_add_ig
#define atom_add_Il atom_add_Ig
#define atom_add_ll atom_add_lg
#define atom_add_Ll atom_add_Lg
#define atom_add_fl atom_add_fg
#define atom_add_dl atom_add_dg
#define atom_add_el atom_add_eg
#define atom_xchg_il atom_xchg_ig
#define atom_xchg_Il atom_xchg_Ig
#define atom_xchg_ll atom_xchg_lg
#define atom_xchg_Ll atom_xchg_Lg
#define atom_xchg_fl atom_xchg_fg
#define atom_xchg_dl atom_xchg_dg
#define atom_xchg_el atom_xchg_eg

GA_INLINE ga_double ga_atomic_add_double(ga_double *p, ga_double v) {
#if __CUDA_ARCH__ >= 600
  return atomicAdd(p, v);
#else
  ga_word64 seen = *(volatile ga_word64 *)p, old;
  do {
    old = seen;
    seen = atomicCAS(
        (ga_word64 *)p, old,
        (ga_word64)__double_as_longlong(__longlong_as_double((long long)old) + v));
  } while (seen != old);
  return __longlong_as_double((long long)old);
#endif
}

/* By compare-and-swap on the word that holds the half. */
GA_INLINE ga_half ga_atomic_half(ga_half *p, ga_half v, int add) {
  ga_uint *word = (ga_uint *)((ga_size)p & ~(ga_size)3);
  const int shift = ((ga_size)p & 2) ? 16 : 0;
  ga_uint seen = *(volatile ga_uint *)word, old;
  ga_half half, next = v;
  do {
    old = seen;
    half.data = (ga_ushort)(old >> shift);
    if (add)
      next = ga_float2half(ga_half2float(half) + ga_half2float(v));
    seen = atomicCAS(word, old,
                     (old & ~(0xffffu << shift)) | ((ga_uint)next.data << shift));
  } while (seen != old);
  return half;
}

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

/* Warp primitives: ballot; a barrier that orders local memory; population count;
 * shuffles of a ga_uint. */
#define ga_ballot(yes) __ballot_sync(0xffffffffu, yes)
#define ga_warp_barrier() __syncwarp()
#define ga_popcount(bits) __popc(bits)
#define ga_shuffle_up(value, by) __shfl_up_sync(0xffffffffu, (ga_uint)(value), by)
#define ga_shuffle(value, lane) __shfl_sync(0xffffffffu, (ga_uint)(value), lane)
#define GA_HAS_SHUFFLES 1

/* Fast 1 / s for s from 1/2 to 2^64, or 0, and x / s for s from 1 to 2 and x from 0 to
 * 1: IEEE division's sequence without its slow path for subnormal numbers. */
GA_INLINE ga_float ga_inverse(ga_float s) {
  ga_float near;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(near) : "f"(s));
  const ga_float rest = fmaf(-near, s, 1.0f);
  return fabsf(rest) < 1.0f ? fmaf(near, rest, near) : near;
}
GA_INLINE ga_float ga_part(ga_float x, ga_float s) {
  const ga_float inverse = ga_inverse(s), near = x * inverse;
  const ga_float q = fmaf(fmaf(-near, s, x), inverse, near);
  return fmaf(fmaf(-q, s, x), inverse, q);
}
GA_INLINE ga_double ga_part(ga_double x, ga_double s) {
  return x / s;
}

/* Repeated division by s: correctly rounded where |x / s| > 1e-30, else to one digit
 * less. With r the float nearest to 1 / s it takes three operations (Markstein;
 * Brisebarre, Muller and Raina 2004), for s scaled to [1/2, 1). Gives x r where the
 * correction is meaningless, as for x = 0, s = 0, inf or nan. */
typedef struct ga_divisor {
  ga_float by, inverse, scale; /* by = s scale; scale is a power of 2 */
} ga_divisor;
GA_INLINE ga_divisor ga_divide_by(ga_float s) {
  ga_divisor d;
  int exponent = (__float_as_int(s) >> 23 & 255) - 126;
  exponent = exponent < -126 ? -126 : exponent > 126 ? 126 : exponent;
  d.scale = __int_as_float((127 - exponent) << 23);
  d.by = s * d.scale;
  d.inverse = ga_inverse(d.by);
  return d;
}
GA_INLINE ga_float ga_ratio(ga_float x, ga_divisor d) {
  const ga_float y = x * d.scale, q = y * d.inverse, rest = fmaf(-q, d.by, y);
  return fabsf(rest) < fabsf(y) ? fmaf(rest, d.inverse, q) : q;
}
