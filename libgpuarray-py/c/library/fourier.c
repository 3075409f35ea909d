/* FFTs by our own kernel: passes, and twiddle tables.
 *
 * Stockham's algorithm, out of place. Lengths with a large prime factor become a
 * convolution of power-of-two length (Bluestein's algorithm). An inverse transform
 * swaps real and imaginary parts at both ends. Tables are computed on the host in
 * double precision when a transform is recorded; the recording retains them. */
#include "c/library/fourier_spec.h"

#include <math.h>
#include <string.h>

#include "c/program/kernel_table.h"
#include "c/tape/record_replay.h"

enum {
  LARGEST = 61, /* largest prime factor without Bluestein */
  MOST = 64,    /* passes at most */
  SMALL = 8     /* elements per work item on a CPU, at least */
};

/* An FFT of `length`, from shape (outer, given, inner) to (outer, made, inner); the
 * signal has n elements. */
typedef struct transform {
  gpucontext *context;
  int typecode;
  size_t outer, inner, n, given, made, length;
  unsigned int flags;
  double scale;
  const GpuArray *pre, *post; /* tables, or NULL */
} transform;

/* ---- tables ---- */

/* Twiddle factor exp(-2 pi i k / n), by an angle below a quarter turn. */
static void set_root(double *out, size_t k, size_t n) {
  const double whole = 2 * 3.14159265358979323846;
  const size_t quarter = 4 * k / n;
  const double angle = whole * ((double)(4 * k - quarter * n) / (4 * (double)n));
  const double c = cos(angle), s = sin(angle);
  const double turned[4][2] = {{c, -s}, {-s, -c}, {-c, s}, {s, c}};
  memcpy(out, turned[quarter], sizeof turned[quarter]);
}

static void set_roots(double *out, size_t n) {
  for (size_t k = 0; k < n; k++)
    set_root(out + 2 * k, k, n);
}

/* Chirp exp(-pi i k^2 / n); squares are reduced exactly, as integers. */
static void set_chirp(double *out, size_t n) {
  size_t square = 0; /* modulo 2 n */
  for (size_t k = 0; k < n; k++) {
    set_root(out + 2 * k, square, 2 * n);
    square = (square + 2 * k + 1) % (2 * n);
  }
}

/* Bluestein's filter: the conjugate chirp, cyclic in a table of `length`. */
static void set_response(double *out, size_t length, size_t n) {
  set_chirp(out, n);
  memset(out + 2 * n, 0, 2 * (length - n) * sizeof *out);
  for (size_t k = 0; k < n; k++) {
    out[2 * k + 1] = -out[2 * k + 1];
    if (k > 0)
      memcpy(out + 2 * (length - k), out + 2 * k, 2 * sizeof *out);
  }
}

/* Uploads a complex table, now, not recorded; overwrites `list`. */
static int upload(GpuArray *out, const transform *t, double *list, size_t n) {
  const size_t dims[] = {n, 2};
  float *narrow = (float *)(void *)list;
  for (size_t i = 0; t->typecode == GA_FLOAT && i < 2 * n; i++)
    narrow[i] = (float)list[i];
  ga_recording *recording = ga__recording_suspend();
  int status =
      GpuArray_copy_from_host(out, t->context, list, t->typecode, 2, dims, NULL);
  ga__recording_resume(recording);
  return status;
}

typedef void (*set_table)(double *out, size_t n);

static int make_table(GpuArray *out, const transform *t, set_table set, size_t n) {
  double *list = ga__alloc(2 * n, sizeof *list);
  GA_TRY_MEMORY(list);
  set(list, n);
  int status = upload(out, t, list, n);
  ga__free(list);
  return status;
}

/* ---- passes ---- */

/* Radices of the passes; 0 if a prime factor is too large. */
static unsigned int find_radices(size_t *list, size_t n) {
  unsigned int count = 0;
  for (size_t radix = 4; radix <= LARGEST; radix = radix == 4   ? 2
                                                   : radix == 2 ? 3
                                                                : radix + 2)
    for (; n % radix == 0; n /= radix)
      list[count++] = radix;
  if (n == 1 && count == 0)
    list[count++] = 1;
  return n == 1 ? count : 0;
}

/* One pass; `done` is the transform size so far. */
static int launch(const GpuArray *out, const GpuArray *in, const transform *t,
                  const GpuArray *roots, size_t radix, size_t done) {
  const size_t total = t->outer * t->made * t->inner;
  const size_t most = t->length > t->given ? t->length : t->given;
  const ga_fourier_spec spec = {(unsigned char)t->typecode,
                                t->outer * most * t->inner >= (size_t)1 << 29};
  gpukernel *kernel;
  ga_args args = {0};
  GA_TRY(ga__kernel_kept(&kernel, t->context, ga__fourier_source, &spec, sizeof spec));
  const GpuArray *list[] = {out, in, roots, t->pre ? t->pre : roots,
                            t->post ? t->post : roots};
  for (unsigned int i = 0; i < sizeof list / sizeof *list; i++)
    ga__args_pointer(&args, list[i]->data, list[i]->offset, i > 0);
  const size_t sizes[] = {total,   t->length, t->inner, t->given,
                          t->made, t->n,      radix,    done};
  for (unsigned int i = 0; i < sizeof sizes / sizeof *sizes; i++)
    ga__args_u64(&args, sizes[i]);
  ga__args_u32(&args, t->flags);
  ga__args_real(&args, t->typecode, t->scale);
  const ga_device_info *info = &t->context->info;
  return ga__kernel_launch_items(kernel, &args, total, info->is_cpu ? SMALL : 256,
                                 128 * (size_t)info->processors);
}

/* Pass i of n: only the first handles the input's form, only the last the output's. */
static transform pass_of(const transform *t, unsigned int i, unsigned int n) {
  const unsigned int first =
      GA_FOURIER_REAL | GA_FOURIER_HALF | GA_FOURIER_SWAP | GA_FOURIER_PRE;
  transform p = *t;
  if (i > 0) {
    p.flags &= ~first;
    p.n = p.given = t->length;
  }
  if (i + 1 < n) {
    p.flags &= first;
    p.made = t->length;
    p.scale = 1;
  }
  return p;
}

/* Allocates a pass's output. */
static int alloc_output(GpuArray *out, const transform *t) {
  const size_t dims[] = {t->outer, t->made, t->inner, 2};
  return GpuArray_empty(out, t->context, t->typecode,
                        t->flags & GA_FOURIER_TO_REAL ? 3 : 4, dims, GA_C_ORDER);
}

/* All passes of a length without large prime factors, into a new array. */
static int run_passes(GpuArray *out, const GpuArray *in, const transform *t) {
  size_t radices[MOST], done = 1;
  const unsigned int n = find_radices(radices, t->length);
  GpuArray roots, before = {0};
  GA_TRY(make_table(&roots, t, set_roots, t->length));
  int status = GA_NO_ERROR;
  for (unsigned int i = 0; status == GA_NO_ERROR && i < n; i++) {
    const transform p = pass_of(t, i, n);
    GpuArray made = {0};
    status = alloc_output(&made, &p);
    GA_THEN(status, launch(&made, i > 0 ? &before : in, &p, &roots, radices[i], done));
    GpuArray_clear(&before);
    before = made;
    done *= radices[i];
  }
  GpuArray_clear(&roots);
  return ga__array_return(out, &before, status);
}

/* ---- Bluestein's algorithm ---- */

/* Spectrum of the filter, of `length` elements. */
static int make_response(GpuArray *out, const transform *t, size_t length) {
  double *list = ga__alloc(2 * length, sizeof *list);
  GpuArray given = {0};
  GA_TRY_MEMORY(list);
  set_response(list, length, t->n);
  int status = upload(&given, t, list, length);
  ga__free(list);
  const transform whole = {.context = t->context,
                           .typecode = t->typecode,
                           .outer = 1,
                           .inner = 1,
                           .n = length,
                           .given = length,
                           .made = length,
                           .length = length,
                           .scale = 1};
  ga_recording *recording = ga__recording_suspend(); /* now, not recorded */
  GA_THEN(status, run_passes(out, &given, &whole));
  ga__recording_resume(recording);
  GpuArray_clear(&given);
  return status;
}

/* Convolution: forward FFT times the spectrum, then the inverse. */
static int convolve(GpuArray *out, const GpuArray *in, const transform *t,
                    const GpuArray *chirp, const GpuArray *response) {
  const unsigned int ends = GA_FOURIER_TO_REAL | GA_FOURIER_BACK;
  transform there = *t, back = *t;
  GpuArray middle = {0};
  there.made = there.length;
  there.flags = (t->flags & ~ends) | GA_FOURIER_PRE | GA_FOURIER_POST | GA_FOURIER_BACK;
  there.pre = chirp;
  there.post = response;
  there.scale = 1;
  back.n = back.given = back.length;
  back.flags = (t->flags & ends) | GA_FOURIER_TURN | GA_FOURIER_POST;
  back.post = chirp;
  back.scale = t->scale / (double)t->length;
  GA_TRY(run_passes(&middle, in, &there));
  int status = run_passes(out, &middle, &back);
  GpuArray_clear(&middle);
  return status;
}

static int run_convolution(GpuArray *out, const GpuArray *in, const transform *t) {
  transform wide = *t;
  GpuArray chirp = {0}, response = {0};
  for (wide.length = 1; wide.length < 2 * t->n - 1;)
    wide.length *= 2;
  int status = make_table(&chirp, t, set_chirp, t->n);
  GA_THEN(status, make_response(&response, t, wide.length));
  GA_THEN(status, convolve(out, in, &wide, &chirp, &response));
  GpuArray_clear(&chirp);
  GpuArray_clear(&response);
  return status;
}

/* ---- arguments ---- */

static int check_arguments(const GpuArray *a, long long axis, long long n,
                           unsigned int flags) {
  char text[GA_ARRAY_TEXT];
  const bool is_real = flags & GA_FOURIER_REAL;
  const long long nd = (long long)a->nd - (is_real ? 0 : 1);
  if (a->typecode != GA_FLOAT && a->typecode != GA_DOUBLE)
    return GA_FAIL(GA_INVALID_ERROR, "fft: got %s, expected float32 or float64",
                   ga__array_text(text, a));
  if (axis < 0 || axis >= nd || (!is_real && a->dimensions[a->nd - 1] != 2) ||
      flags >= GA_FOURIER_FLAGS)
    return GA_FAIL(GA_VALUE_ERROR,
                   "fft: axis %lld does not fit %s, an array of %s numbers", axis,
                   ga__array_text(text, a), is_real ? "real" : "complex");
  if (a->nd + 1 > GA_MAX_NDIM)
    return GA_FAIL(GA_VALUE_ERROR, "fft: got %u axes, expected at most %d", a->nd,
                   GA_MAX_NDIM - 1);
  if (n < 1 || n > INT32_MAX)
    return GA_FAIL(GA_VALUE_ERROR,
                   "fft: got a signal of %lld elements, expected 1 to %d", n,
                   INT32_MAX);
  return ga__context_supports(a->data->context, a->typecode, "fft");
}

static transform describe(const GpuArray *a, unsigned int axis, size_t n,
                          unsigned int flags) {
  const unsigned int nd = a->nd - (flags & GA_FOURIER_REAL ? 0 : 1);
  const unsigned int inverse = GA_FOURIER_SWAP | GA_FOURIER_BACK;
  transform t = {.context = a->data->context,
                 .typecode = a->typecode,
                 .outer = 1,
                 .inner = 1,
                 .n = n,
                 .length = n,
                 .given = a->dimensions[axis],
                 .made = flags & GA_FOURIER_TO_HALF ? n / 2 + 1 : n,
                 .flags = flags | (flags & GA_FOURIER_INVERSE ? inverse : 0),
                 .scale = flags & GA_FOURIER_SCALED ? 1 / (double)n : 1};
  for (unsigned int i = 0; i < nd; i++)
    *(i < axis ? &t.outer : &t.inner) *= i == axis ? 1 : a->dimensions[i];
  return t;
}

/* Reshapes the result like `a`, with the new axis length. */
static int shape_result(GpuArray *out, const GpuArray *made, const GpuArray *a,
                        unsigned int axis, const transform *t) {
  const unsigned int nd = a->nd - (t->flags & GA_FOURIER_REAL ? 0 : 1);
  const bool is_real = t->flags & GA_FOURIER_TO_REAL;
  size_t dims[GA_MAX_NDIM];
  memcpy(dims, a->dimensions, nd * sizeof *dims);
  dims[axis] = t->made;
  dims[nd] = 2;
  return GpuArray_reshape(out, made, nd + (is_real ? 0 : 1), dims, GA_C_ORDER, 1);
}

int ga__fourier(GpuArray *out, const GpuArray *a, long long axis, long long n,
                unsigned int flags) {
  size_t radices[MOST];
  GpuArray in = {0}, made = {0};
  GA_TRY(check_arguments(a, axis, n, flags));
  const transform t = describe(a, (unsigned int)axis, (size_t)n, flags);
  int status = GpuArray_IS_C_CONTIGUOUS(a) ? GpuArray_view(&in, a)
                                           : GpuArray_copy(&in, a, GA_C_ORDER);
  if (status == GA_NO_ERROR && t.outer * t.inner == 0)
    status = alloc_output(&made, &t);
  else if (status == GA_NO_ERROR)
    status = find_radices(radices, t.length) > 0 ? run_passes(&made, &in, &t)
                                                 : run_convolution(&made, &in, &t);
  GA_THEN(status, shape_result(out, &made, a, (unsigned int)axis, &t));
  GpuArray_clear(&in);
  GpuArray_clear(&made);
  return status;
}
