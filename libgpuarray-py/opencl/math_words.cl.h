/* Maps the language's names to math.cl.h and math_angles.cl.h. */
#if GA_OWN_MATH

#define GA_NARROWED(name)                                                              \
  GA_INLINE ga_float ga_##name(ga_float x) {                                           \
    return (ga_float)ga_##name((ga_double)x);                                          \
  }
GA_NARROWED(exp2)
GA_NARROWED(expm1)
GA_NARROWED(sinh)
GA_NARROWED(cosh)
GA_NARROWED(tanh)
GA_NARROWED(log)
GA_NARROWED(log2)
GA_NARROWED(log10)
GA_NARROWED(log1p)
GA_NARROWED(asinh)
GA_NARROWED(acosh)
GA_NARROWED(atanh)
GA_NARROWED(asin)
GA_NARROWED(acos)
GA_NARROWED(atan)

/* Vectors, and some functions of double, are the language's own. */
#define GA_GIVEN(type, name)                                                           \
  GA_INLINE type ga_##name(type x) {                                                   \
    return (name)(x);                                                                  \
  }
#define GA_GIVEN_2(type, name)                                                         \
  GA_INLINE type ga_##name(type x, type y) {                                           \
    return (name)(x, y);                                                               \
  }
#define GA_VECTORS(given, name)                                                        \
  given(float2, name) given(float3, name) given(float4, name) given(float8, name)      \
      given(float16, name) given(double2, name) given(double3, name)                   \
          given(double4, name) given(double8, name) given(double16, name)
#ifndef GA_DECLARES_BUILTINS
GA_VECTORS(GA_GIVEN, exp)
GA_VECTORS(GA_GIVEN, exp2)
GA_VECTORS(GA_GIVEN, expm1)
GA_VECTORS(GA_GIVEN, sinh)
GA_VECTORS(GA_GIVEN, cosh)
GA_VECTORS(GA_GIVEN, tanh)
GA_VECTORS(GA_GIVEN, log)
GA_VECTORS(GA_GIVEN, log2)
GA_VECTORS(GA_GIVEN, log10)
GA_VECTORS(GA_GIVEN, log1p)
GA_VECTORS(GA_GIVEN, asinh)
GA_VECTORS(GA_GIVEN, acosh)
GA_VECTORS(GA_GIVEN, atanh)
GA_VECTORS(GA_GIVEN, cbrt)
GA_VECTORS(GA_GIVEN, asin)
GA_VECTORS(GA_GIVEN, acos)
GA_VECTORS(GA_GIVEN, atan)
GA_VECTORS(GA_GIVEN, sin)
GA_VECTORS(GA_GIVEN, cos)
GA_VECTORS(GA_GIVEN, tan)
GA_VECTORS(GA_GIVEN_2, atan2)
GA_VECTORS(GA_GIVEN_2, pow)
GA_VECTORS(GA_GIVEN_2, hypot)
#endif
GA_GIVEN(double, sin)
GA_GIVEN(double, cos)
GA_GIVEN(double, tan)
GA_GIVEN_2(double, pow)
#undef exp
#undef exp2
#undef expm1
#undef sinh
#undef cosh
#undef tanh
#undef log
#undef log2
#undef log10
#undef log1p
#undef asinh
#undef acosh
#undef atanh
#undef cbrt
#undef asin
#undef acos
#undef atan
#undef sin
#undef cos
#undef tan
#undef atan2
#undef pow
#undef hypot
#define exp(x) ga_exp(x)
#define exp2(x) ga_exp2(x)
#define expm1(x) ga_expm1(x)
#define sinh(x) ga_sinh(x)
#define cosh(x) ga_cosh(x)
#define tanh(x) ga_tanh(x)
#define log(x) ga_log(x)
#define log2(x) ga_log2(x)
#define log10(x) ga_log10(x)
#define log1p(x) ga_log1p(x)
#define asinh(x) ga_asinh(x)
#define acosh(x) ga_acosh(x)
#define atanh(x) ga_atanh(x)
#define cbrt(x) ga_cbrt(x)
#define asin(x) ga_asin(x)
#define acos(x) ga_acos(x)
#define atan(x) ga_atan(x)
#define sin(x) ga_sin(x)
#define cos(x) ga_cos(x)
#define tan(x) ga_tan(x)
#define atan2(y, x) ga_atan2(y, x)
#define pow(x, y) ga_pow(x, y)
#define hypot(x, y) ga_hypot(x, y)
#endif
