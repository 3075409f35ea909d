/* Epilogues of convolutions: text, kernels and arguments. */
#include "c/convolution/conv_map.h"

#include <stdio.h>

#include "c/base/counts.h"
#include "c/base/dtype.h"
#include "c/elemwise/elemwise_launch.h"
#include "c/elemwise/elemwise_text.h"
#include "c/program/kernel_table.h"
#include "c/program/kernel_text.h"

enum { COORDINATES = 3 + GA_CONV_AXES }; /* group, row, outer column, places */

static void add_text(ga_strbuf *out, const char *text, const ga_elem_spec *map) {
  ga_text_part parts[] = {{.name = "CV_PUT"}};
  ga__strbuf_addf(out, "#define CV_IS_MAPPED %d\n", map != NULL);
  if (map == NULL) {
    ga__strbuf_add(out, "#define CV_MAPPED\n#define CV_STARTS\n");
    ga__strbuf_add(&parts[0].text, "CV_STORED = CV_STORE(CV_SUM);");
  } else {
    ga__elem_add_words(out, map, COORDINATES, "ga_int", 0);
    ga__elem_add_sum(out, "EL_PLACE", COORDINATES);
    ga__strbuf_add(out, "#define CV_MAPPED EL_PARAMETERS\n#define CV_STARTS EL_STARTS\n"
                        "#define CV_ELEMENT(i) ga_i_##i[EL_PLACE(i)]\n");
    ga__strbuf_addf(&parts[0].text,
                    "{ const CV_ACC ga_i_s%u = CV_SUM; EL_VALUES(CV_ELEMENT)\n%s;\n"
                    "EL_RESULTS(CV_ELEMENT) }",
                    *map->made, map->expr);
  }
  ga__text_add_parts(out, text, parts, 1);
}

int ga__conv_finish(ga_source *out, const char *stem, const char *names,
                    ga_strbuf *words, const char *text, const ga_elem_spec *map) {
  add_text(words, text, map);
  out->is_closed = map == NULL;
  if (map != NULL)
    snprintf(out->title, sizeof out->title, "%s", map->expr);
  return ga__text_finish_named(out, stem, map != NULL ? map->preamble : NULL, names,
                               words);
}

int ga__conv_kernel(gpukernel **out, const ga_gather *g, ga_make_mapped write,
                    ga_make_source plain, const void *spec, size_t size,
                    size_t threads) {
  return g->map == NULL ? ga__kernel_kept(out, g->context, plain, spec, size)
                        : ga__mapped_kernel(out, g->map, write, spec, size, threads);
}

/* Stride, in elements, along an axis of the output, of `nd` axes. */
static ssize_t stride_of(const GpuArray *a, unsigned int nd, unsigned int axis) {
  const unsigned int missing = nd - a->nd;
  if (axis < missing || a->dimensions[axis - missing] == 1)
    return 0;
  return a->strides[axis - missing] / (ssize_t)GpuArray_ITEMSIZE(a);
}

ga_conv_array ga__conv_map_array(const ga_mapping *map, unsigned int i) {
  const GpuArray *a = map->values[i];
  const unsigned int nd = ((const GpuArray *)map->values[0])->nd;
  ga_conv_array m = {.data = a->data,
                     .offset = a->offset,
                     .outer = {stride_of(a, nd, 0), stride_of(a, nd, 1)}};
  for (unsigned int axis = 2; axis < nd; axis++)
    m.inner[GA_CONV_AXES - nd + axis] = stride_of(a, nd, axis);
  return m;
}

/* An array's place, and its stride along each coordinate. */
static void add_array(ga_args *args, const ga_gather *g, unsigned int i) {
  const ga_conv_array a = ga__conv_map_array(g->map, i);
  const ga_gather_output *o = &g->out;
  const ssize_t row = a.outer[o->row_axis];
  const size_t itemsize = gpuarray_get_elsize(g->map->ge->args[i].typecode);
  ssize_t strides[COORDINATES] = {(ssize_t)g->rows * row, row,
                                  a.outer[1 - o->row_axis]};
  ssize_t first = 0;
  for (int axis = 0; axis < GA_CONV_AXES; axis++) {
    first += o->first[axis] * a.inner[axis];
    strides[3 + axis] = o->step[axis] * a.inner[axis];
  }
  ga__launch_add_buffer(args, g->map->ge, i, a.data,
                        (size_t)((ssize_t)a.offset + first * (ssize_t)itemsize));
  ga__gather_add(args, COORDINATES, strides);
}

void ga__conv_add_map(ga_args *args, const ga_gather *g) {
  const ga_mapping *map = g->map;
  for (unsigned int i = 0; map != NULL && i < map->ge->n; i++)
    if (ga__elemwise_is_scalar(map->ge, i))
      ga__launch_add_scalar(args, map->ge, i, map->values[i]);
    else if (i != map->made)
      add_array(args, g, i);
}

/* True if an int counts the elements from the first to the last one. */
static bool is_narrow(const GpuArray *a) {
  double reach = 0;
  for (unsigned int k = 0; k < a->nd; k++)
    reach += ((double)a->dimensions[k] - 1) * (double)ga__magnitude(a->strides[k]);
  return reach / (double)GpuArray_ITEMSIZE(a) < INT32_MAX;
}

/* Elements of a residual that are faster read by a pass of its own, in vectors: an item
 * of tiles loads those of two bytes one by one. Half on an H200, joined and apart: 64
 * of 7 x 7 over 32 x 3 x 224 x 224 take 341 and 323 us, depthwise 64 and 61. */
static bool is_slow(const GpuArray *a, size_t n, int typecode) {
  size_t count = 1;
  for (unsigned int k = 0; k < a->nd; k++)
    count *= a->dimensions[k];
  return gpuarray_get_elsize(typecode) == 2 && count == n;
}

bool ga__conv_map_fits(const ga_mapping *map, const ga_conv *c) {
  const GpuElemwise *ge = map->ge;
  const size_t n = ga__conv_count(c);
  if (ge->n_out != 1 || ge->n > GA_MAPPED_ARGS || ga__elemwise_has_index(ge) ||
      (ga__dtype_work(c->typecode) != c->typecode && !ge->spec.convert_half))
    return false;
  for (unsigned int i = 0; i < ge->n; i++) {
    const GpuArray *a = map->values[i];
    if (i == map->made || ga__elemwise_is_scalar(ge, i))
      continue;
    if (!is_narrow(a) || (ga__elemwise_is_input(ge, i) && is_slow(a, n, c->typecode)))
      return false;
  }
  return true;
}
