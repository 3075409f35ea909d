/* Calls in which each pointer in turn is NULL, or an array that is damaged, everything
 * else being valid. */
#ifndef NULL_ARGUMENTS_H
#define NULL_ARGUMENTS_H

#include "null_context.h"

#include <gpuarray/array.h>
#include <limits.h>

static gpucontext *ctx;
static GpuArray out, other_out; /* what functions would make; never changed */
static GpuArray untouched;      /* what they look like */

/* ---- arrays that were changed by hand ---- */

typedef enum damage {
  NO_DAMAGE, /* NULL instead */
  BEHIND,    /* begins behind its buffer */
  BEFORE,    /* begins before it, where sums wrap around */
  FALLING,   /* goes down from its first element */
  LONG,      /* has more elements than its buffer */
  ENDLESS,   /* has more than can be counted */
  FAR_UP,    /* has strides that cannot be added up */
  FAR_DOWN,
  DEEP, /* has more axes than fit */
  DEEPEST,
  NO_TYPE,
  NEGATIVE_TYPE,
  WIDE,      /* has larger elements */
  STALE,     /* has flags of before its strides were changed */
  UNALIGNED, /* and of before its offset was */
  N_DAMAGES
} damage;

static int damaged; /* which of them is tried */

static inline GpuArray *hurt(const GpuArray *a) {
  static GpuArray list[4];
  static int next;
  GpuArray *h = &list[next++ % 4];
  *h = *a;
  bool walks = a->nd > 0 && a->dimensions[0] > 1;
  bool is_wide = gpuarray_get_elsize(a->typecode) > 1;
  int kind = damaged;
  if ((!walks && ((kind >= FALLING && kind <= FAR_DOWN) || kind >= STALE)) ||
      (!is_wide && kind == UNALIGNED))
    kind = BEHIND;
  switch (kind) {
  case BEHIND:
    gpudata_property(a->data, GA_BUFFER_PROP_SIZE, &h->offset);
    h->offset += 64;
    break;
  case BEFORE:
    h->offset = SIZE_MAX - 63;
    break;
  case FALLING:
    h->strides[0] = -a->strides[0];
    break;
  case LONG:
    h->dimensions[0] = 1000;
    break;
  case ENDLESS:
    h->dimensions[0] = SIZE_MAX / 2;
    break;
  case FAR_UP:
    h->strides[0] = PTRDIFF_MAX - 63;
    break;
  case FAR_DOWN:
    h->strides[0] = PTRDIFF_MIN;
    break;
  case DEEP:
  case DEEPEST:
    h->nd = kind == DEEP ? 50 : UINT_MAX;
    break;
  case NO_TYPE:
  case NEGATIVE_TYPE:
    h->typecode = kind == NO_TYPE ? 18 : -5;
    break;
  case WIDE:
    h->typecode = GA_CDOUBLE;
    h->dimensions[0] = 1000;
    break;
  case STALE:
    memset(h->strides, 0, sizeof h->strides);
    break;
  case UNALIGNED:
    h->dimensions[0]--;
    h->offset++;
    break;
  }
  return h;
}

/* ---- one argument after the other ---- */

static int chosen, position; /* the pointer that is bad; the pointers met so far */
static int n_arrays;         /* among them, but for those to be filled in */

static inline bool is_chosen(void) {
  return position++ == chosen;
}

/* A pointer that must not be NULL, or something bad in its place. */
#define EITHER(bad, pointer) (damaged == NO_DAMAGE && is_chosen() ? (bad) : (pointer))

/* NULL or a damaged array in place of one that is there. */
static inline GpuArray *bad_array(const GpuArray *a) {
  GpuArray *same = (GpuArray *)(uintptr_t)a;
  bool is_filled = a != &out && a != &other_out;
  if (damaged == NO_DAMAGE) {
    n_arrays += is_filled;
    return is_chosen() ? NULL : same;
  }
  return is_filled && is_chosen() ? hurt(a) : same;
}

static inline void *bad_pointer(const void *pointer) {
  return EITHER(NULL, (void *)(uintptr_t)pointer);
}

#define P(pointer)                                                                     \
  _Generic((pointer),                                                                  \
      GpuArray *: bad_array,                                                           \
      const GpuArray *: bad_array,                                                     \
      default: bad_pointer)(pointer)

static inline void check_refusal(int status, const char *call) {
  bool said = strcmp(gpuarray_error_text(), "unsaid") != 0;
  bool same = memcmp(&out, &untouched, sizeof out) == 0 &&
              memcmp(&other_out, &untouched, sizeof out) == 0;
  bool refused = damaged ? status != GA_NO_ERROR : status == GA_VALUE_ERROR;
  if (refused && said && same)
    return;
  fprintf(stderr, "%s with pointer %d bad (%d) gave %d%s%s\n", call, chosen, damaged,
          status, said ? "" : " and no text", same ? "" : " and changed an output");
  check_failures++;
  out = other_out = untouched;
}

/* A call, once for each P in it, gives GA_VALUE_ERROR; and some error for each damage
 * to each array. */
#define REFUSES(call)                                                                  \
  do {                                                                                 \
    int check_pointers = 1;                                                            \
    for (damaged = NO_DAMAGE; damaged < N_DAMAGES; damaged++) {                        \
      for (chosen = 0; chosen < check_pointers; chosen++) {                            \
        position = n_arrays = 0;                                                       \
        ga__fail(GA_MISC_ERROR, "unsaid");                                             \
        int check_got = (call);                                                        \
        check_pointers = damaged ? check_pointers : position;                          \
        check_refusal(check_got, #call);                                               \
      }                                                                                \
      check_pointers = damaged ? check_pointers : n_arrays;                            \
    }                                                                                  \
    damaged = NO_DAMAGE;                                                               \
  } while (0)

/* A call that is given an array in a list gives some error for each damage to it. */
#define REFUSES_DAMAGED(array, call)                                                   \
  do {                                                                                 \
    const GpuArray check_kept = *(array);                                              \
    for (damaged = NO_DAMAGE + 1; damaged < N_DAMAGES; damaged++) {                    \
      *(array) = *hurt(&check_kept);                                                   \
      ga__fail(GA_MISC_ERROR, "unsaid");                                               \
      int check_got = (call);                                                          \
      check_refusal(check_got, #call);                                                 \
    }                                                                                  \
    *(array) = check_kept;                                                             \
    damaged = NO_DAMAGE;                                                               \
  } while (0)

static inline void open_untouched(void) {
  setenv("GPUARRAY_CACHE_DIR", "", 1);
  ctx = open_null();
  memset(&untouched, 0x77, sizeof untouched);
  out = other_out = untouched;
}

#endif
