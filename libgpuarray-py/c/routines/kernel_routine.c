#include "c/routines/kernel_routine.h"

#include <gpuarray/kernel.h>
#include <string.h>

#include "c/base/dtype.h"
#include "c/program/kernel.h"

/* Fields per argument in `params`. */
enum { TYPE, SOURCE, NUMBER, FIELDS };

/* Arguments of the kernel call. */
typedef struct arguments {
  unsigned int n;
  int types[GA_MAX_ARGS];
  uint64_t words[GA_MAX_ARGS];
  void *pointers[GA_MAX_ARGS];
} arguments;

typedef struct geometry {
  unsigned int nd;
  size_t grid[3], block[3], shared;
} geometry;

static int fail(const ga_kernel_routine *l, unsigned int i, const char *why) {
  return GA_FAIL(GA_VALUE_ERROR, "kernel %s: argument %u %s", l->name, i, why);
}

/* ---- arguments ---- */

/* Stores the low bytes of a bit pattern. */
static bool put_bits(void *place, int typecode, long long number) {
  const uint64_t bits = (uint64_t)number;
  const uint32_t low = (uint32_t)bits;
  const uint16_t lower = (uint16_t)bits;
  const uint8_t lowest = (uint8_t)bits;
  switch (gpuarray_get_elsize(typecode)) {
  case sizeof bits:
    memcpy(place, &bits, sizeof bits);
    return true;
  case sizeof low:
    memcpy(place, &low, sizeof low);
    return true;
  case sizeof lower:
    memcpy(place, &lower, sizeof lower);
    return true;
  case sizeof lowest:
    memcpy(place, &lowest, sizeof lowest);
    return true;
  default:
    return false;
  }
}

/* Stores an integer as a number of the type. */
static bool put_number(void *place, int typecode, long long number) {
  const float single = (float)number;
  const double wide = (double)number;
  const uint8_t truth = number != 0;
  const char kind = typecode < 0 ? 'i' : ga__dtype_kind(typecode);
  const bool is_whole =
      kind == 'i' || kind == 'u' || typecode == GA_SIZE || typecode == GA_SSIZE;
  if (typecode == GA_BOOL)
    memcpy(place, &truth, sizeof truth);
  else if (typecode == GA_FLOAT)
    memcpy(place, &single, sizeof single);
  else if (typecode == GA_DOUBLE)
    memcpy(place, &wide, sizeof wide);
  else
    return is_whole && put_bits(place, typecode, number);
  return true;
}

/* Look-up of an array; NULL if out of range. */
static const GpuArray *array_at(const ga_kernel_routine *l, long long number) {
  return number < 0 || number >= (long long)l->n_arrays ? NULL : l->arrays[number];
}

/* Value of a numeric argument. */
static int get_number(long long *out, const ga_kernel_routine *l, unsigned int i,
                      unsigned int first, const long long *p) {
  const long long number = p[NUMBER];
  const GpuArray *a;
  switch (p[SOURCE]) {
  case GA_OF_INTEGER:
    if (number < 0 || number >= (long long)(l->n_ints - first))
      return fail(l, i, "refers to an integer that the step does not have");
    *out = l->ints[first + (unsigned int)number];
    return GA_NO_ERROR;
  case GA_OF_OFFSET:
    if ((a = array_at(l, number)) == NULL)
      return fail(l, i, "refers to an array that the step does not have");
    *out = (long long)a->offset;
    return GA_NO_ERROR;
  default: /* GA_OF_STRIDE */
    a = number < 0 ? NULL : array_at(l, number / GA_MAX_NDIM);
    if (a == NULL || number % GA_MAX_NDIM >= (long long)a->nd)
      return fail(l, i, "refers to an axis that its array does not have");
    *out = a->strides[number % GA_MAX_NDIM];
    return GA_NO_ERROR;
  }
}

static bool is_pointer(int typecode) {
  return typecode == GA_BUFFER || typecode == GA_INPUT;
}

/* Reads argument `i`; `first`: index of the first integer behind the geometry. */
static int read_argument(arguments *a, const ga_kernel_routine *l, unsigned int i,
                         unsigned int first) {
  const long long *p = l->params + 1 + (size_t)FIELDS * i;
  long long number = p[NUMBER];
  if (p[TYPE] < GA_INPUT || p[TYPE] >= GA_NBASE || p[SOURCE] < 0 ||
      p[SOURCE] >= GA_ARGUMENT_SOURCES ||
      is_pointer((int)p[TYPE]) != (p[SOURCE] == GA_OF_ARRAY))
    return fail(l, i, "has an unknown type or source");
  a->types[i] = (int)p[TYPE];
  if (p[SOURCE] == GA_OF_ARRAY) {
    const GpuArray *array = array_at(l, number);
    if (array == NULL)
      return fail(l, i, "refers to an array that the step does not have");
    a->pointers[i] = array->data;
    return GA_NO_ERROR;
  }
  a->pointers[i] = &a->words[i];
  const bool is_bits = p[SOURCE] == GA_OF_BITS;
  if (!is_bits)
    GA_TRY(get_number(&number, l, i, first, p));
  if (!(is_bits ? put_bits : put_number)(a->pointers[i], a->types[i], number))
    return fail(l, i, "has a type that a number cannot be passed as");
  return GA_NO_ERROR;
}

/* ---- launch ---- */

/* Number of integers of the geometry. */
static unsigned int geometry_ints(long long nd) {
  return (nd == 0 ? 3 : 2 * (unsigned int)nd) + 1;
}

static int check_launch(const ga_kernel_routine *l) {
  const long long nd = l->n_params > 0 ? l->params[0] : -1;
  if (nd < 0 || nd > 3 || (l->n_params - 1) % FIELDS != 0 ||
      (l->n_params - 1) / FIELDS > GA_MAX_ARGS || l->n_ints < geometry_ints(nd))
    return GA_FAIL(GA_VALUE_ERROR,
                   "kernel %s: %u parameters and %u integers do not describe a launch",
                   l->name, l->n_params, l->n_ints);
  for (unsigned int i = 0; i < geometry_ints(nd); i++)
    if (l->ints[i] < 0)
      return GA_FAIL(
          GA_VALUE_ERROR,
          "kernel %s: number %u of the grid and block is %lld, expected 0 or more",
          l->name, i, l->ints[i]);
  return GA_NO_ERROR;
}

static int choose_geometry(geometry *g, GpuKernel *k, const ga_kernel_routine *l) {
  const unsigned int nd = (unsigned int)l->params[0];
  *g = (geometry){.nd = nd > 0 ? nd : 1,
                  .shared = (size_t)l->ints[geometry_ints(nd) - 1]};
  if (nd == 0) {
    g->grid[0] = (size_t)l->ints[1];
    g->block[0] = (size_t)l->ints[2];
    return GpuKernel_sched(k, (size_t)l->ints[0], g->grid, g->block);
  }
  for (unsigned int i = 0; i < nd; i++) {
    g->grid[i] = (size_t)l->ints[i];
    g->block[i] = (size_t)l->ints[nd + i];
  }
  return GA_NO_ERROR;
}

int ga__kernel_routine(const ga_kernel_routine *l) {
  arguments a;
  GpuKernel k;
  geometry g;
  const char *source = l->source;
  GA_TRY(check_launch(l));
  a.n = (l->n_params - 1) / FIELDS;
  for (unsigned int i = 0; i < a.n; i++)
    GA_TRY(read_argument(&a, l, i, geometry_ints(l->params[0])));
  GA_TRY(
      GpuKernel_init(&k, l->context, 1, &source, NULL, l->name, a.n, a.types, 0, NULL));
  int status = choose_geometry(&g, &k, l);
  GA_THEN(status, GpuKernel_call(&k, g.nd, g.grid, g.block, g.shared, a.pointers));
  GpuKernel_clear(&k);
  return status;
}
