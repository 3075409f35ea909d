/* How the values of a step become what the C code sees, and back. */
#ifndef GPUARRAY_OP_VALUES_H
#define GPUARRAY_OP_VALUES_H

/* An input of a device. */
static inline PyGpuArrayObject *ga_op_take_device(const GpuArray *source) {
  PyGpuArrayObject *a = ga_op_new_device(&ga_op_context);
  return a ? ga_op_finish(a, GpuArray_view(&a->ga, source)) : NULL;
}

/* An input of a device that the code overwrites: a copy. */
static inline PyGpuArrayObject *ga_op_take_copy(const GpuArray *source) {
  PyGpuArrayObject *a = ga_op_new_device(&ga_op_context);
  return a ? ga_op_finish(a, GpuArray_copy(&a->ga, source, GA_C_ORDER)) : NULL;
}

/* An input of the host, which the step has on the device; waits. */
static inline PyArrayObject *ga_op_take_host(const GpuArray *source) {
  PyGpuArrayObject *a = ga_op_take_device(source);
  PyArrayObject *made = a ? pygpu_as_ndarray(a) : NULL;
  Py_XDECREF(a);
  return made;
}

/* A place for one number of the host. */
static inline PyArrayObject *ga_op_take_number(int type) {
  return (PyArrayObject *)ga_op_new_host(0, NULL, type, 0);
}

/* A param that is an array: its axes' lengths, then its elements. */
static inline PyArrayObject *ga_op_param(const void *given, int type, int nd) {
  npy_intp dims[NPY_MAXDIMS];
  memcpy(dims, given, (size_t)nd * sizeof *dims);
  PyArrayObject *made = (PyArrayObject *)ga_op_new_host(nd, dims, type, 0);
  if (made != NULL)
    memcpy(made->data, (const char *)given + (size_t)nd * sizeof *dims,
           (size_t)PyArray_NBYTES(made));
  return made;
}

/* A type as kernels spell it. */
static inline const char *ga_op_type_name(int type) {
  const gpuarray_type *known = gpuarray_get_type(type);
  return known ? known->cluda_name : "an unknown type";
}

/* Whether result `i` is there and of the type that its node announces. */
static inline int ga_op_is_right(unsigned int i, const void *made, int type,
                                 unsigned int nd, int want_type, unsigned int want_nd) {
  if (made == NULL)
    PyErr_Format(PyExc_RuntimeError, "the C code left output %u NULL", i);
  else if (type != want_type || nd != want_nd)
    PyErr_Format(PyExc_TypeError,
                 "output %u has %u axes of %s, its node announces %u of %s", i, nd,
                 ga_op_type_name(type), want_nd, ga_op_type_name(want_type));
  else
    return 1;
  return 0;
}

/* Whether a result has the shape that infer_shape gave for the place it goes to. */
static inline int ga_op_has_shape(unsigned int i, const GpuArray *place,
                                  const GpuArray *made) {
  for (unsigned int k = 0; k < place->nd; k++)
    if (place->dimensions[k] != made->dimensions[k]) {
      PyErr_Format(PyExc_ValueError,
                   "output %u has length %zu on axis %u, infer_shape gave %zu", i,
                   made->dimensions[k], k, place->dimensions[k]);
      return 0;
    }
  return 1;
}

static inline int ga_op_give_device(unsigned int i, PyGpuArrayObject *made,
                                    int typecode, unsigned int nd) {
  if (!ga_op_is_right(i, made, made ? made->ga.typecode : 0, made ? made->ga.nd : 0,
                      typecode, nd))
    return 0;
  GpuArray *place = ga_op_places[i];
  if (place->data == NULL)
    return ga_op_passed(GpuArray_view(place, &made->ga));
  if (!ga_op_has_shape(i, place, &made->ga))
    return 0;
  if (made->ga.data == place->data && made->ga.offset == place->offset)
    return 1;
  return ga_op_passed(GpuArray_setarray(place, &made->ga));
}

static inline int ga_op_give_host(unsigned int i, PyArrayObject *made, int typecode,
                                  unsigned int nd) {
  GpuArray moved = {0};
  size_t dims[NPY_MAXDIMS];
  if (!ga_op_is_right(i, made, made ? made->descr.type_num : 0,
                      made ? (unsigned int)made->nd : 0, typecode, nd))
    return 0;
  for (unsigned int k = 0; k < nd; k++)
    dims[k] = (size_t)made->dimensions[k];
  GpuArray *place = ga_op_places[i];
  int waits = place->data != NULL;
  GpuArray *to = waits ? &moved : place;
  int done = ga_op_passed(GpuArray_copy_from_host(to, ga_op_context.ctx, made->data,
                                                  typecode, nd, dims, made->strides));
  if (done && waits)
    done = ga_op_has_shape(i, place, &moved) &&
           ga_op_passed(GpuArray_setarray(place, &moved));
  GpuArray_clear(&moved);
  return done;
}

/* A result that lies in the place of another is copied first, so that neither is
 * overwritten before it is read. */
static inline int ga_op_untangle(unsigned int i, PyGpuArrayObject **made) {
  for (unsigned int k = 0; *made != NULL && k < ga_op_n_places; k++)
    if (k != i && ga_op_places[k]->data != NULL &&
        (*made)->ga.data == ga_op_places[k]->data) {
      PyGpuArrayObject *copy = pygpu_copy(*made, GA_C_ORDER);
      Py_CLEAR(*made);
      *made = copy;
      return copy != NULL;
    }
  return 1;
}

#endif
