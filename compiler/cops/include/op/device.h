/* Arrays of a device, by the names of pygpu. */
#ifndef GPUARRAY_OP_DEVICE_H
#define GPUARRAY_OP_DEVICE_H

typedef struct PyGpuContextObject {
  PyObject base;
  gpucontext *ctx;
} PyGpuContextObject;

typedef struct PyGpuArrayObject {
  PyObject base;
  GpuArray ga;
  PyGpuContextObject *context;
} PyGpuArrayObject;

#define PyGpuArray_NDIM(a) (((PyGpuArrayObject *)(a))->ga.nd)
#define PyGpuArray_DIMS(a) (((PyGpuArrayObject *)(a))->ga.dimensions)
#define PyGpuArray_DIM(a, i) (PyGpuArray_DIMS(a)[i])
#define PyGpuArray_STRIDES(a) (((PyGpuArrayObject *)(a))->ga.strides)
#define PyGpuArray_STRIDE(a, i) (PyGpuArray_STRIDES(a)[i])
#define PyGpuArray_TYPE(a) (((PyGpuArrayObject *)(a))->ga.typecode)
#define PyGpuArray_ITEMSIZE(a) gpuarray_get_elsize(PyGpuArray_TYPE(a))
#define PyGpuArray_IS_C_CONTIGUOUS(a)                                                  \
  GpuArray_IS_C_CONTIGUOUS(&((PyGpuArrayObject *)(a))->ga)
#define PyGpuArray_IS_F_CONTIGUOUS(a)                                                  \
  GpuArray_IS_F_CONTIGUOUS(&((PyGpuArrayObject *)(a))->ga)

/* The first element by the vendor's own pointer, for CUDA libraries: the first word
 * behind a gpudata is the memory. Of OpenCL that is a cl_mem, which an offset cannot be
 * added to: use *(cl_mem *)a->ga.data and a->ga.offset. */
static inline void *PyGpuArray_DEV_DATA(const PyGpuArrayObject *a) {
  return *(char **)a->ga.data + a->ga.offset;
}

static inline size_t PyGpuArray_SIZE(const PyGpuArrayObject *a) {
  size_t size = 1;
  for (unsigned int i = 0; i < a->ga.nd; i++)
    size *= a->ga.dimensions[i];
  return size;
}

/* What the op runs on. */
static PyGpuContextObject ga_op_context = {{1, NULL}, NULL};

static inline PyGpuContextObject *pygpu_default_context(void) {
  return &ga_op_context;
}

static inline int pygpu_init(PyObject *device, void *properties) {
  (void)device, (void)properties;
  return 0;
}

/* Memory that waits for the results of this run: a new array that fits takes it. */
static GpuArray *const *ga_op_places;
static unsigned int ga_op_n_places;
static uint64_t ga_op_taken; /* a bit for each place */

static void ga_op_device_end(PyObject *o) {
  GpuArray_clear(&((PyGpuArrayObject *)o)->ga);
  free(o);
}

#define pygpu_GpuArray_Check(o) (((PyObject *)(o))->end == ga_op_device_end)

static inline PyGpuArrayObject *ga_op_new_device(PyGpuContextObject *context) {
  PyGpuArrayObject *a = (PyGpuArrayObject *)calloc(1, sizeof *a);
  if (a == NULL)
    return (PyGpuArrayObject *)PyErr_NoMemory();
  a->base.ob_refcnt = 1;
  a->base.end = ga_op_device_end;
  a->context = context ? context : &ga_op_context;
  return a;
}

/* The array if `status` is success; else NULL with an exception. */
static inline PyGpuArrayObject *ga_op_finish(PyGpuArrayObject *a, int status) {
  if (ga_op_passed(status))
    return a;
  free(a); /* a failed call leaves the struct as it was */
  return NULL;
}

/* Whether a place holds arrays of this type, shape and order. */
static inline int ga_op_fits(const GpuArray *place, int typecode, unsigned int nd,
                             const size_t *dims, ga_order order) {
  return place->data != NULL && place->typecode == typecode && place->nd == nd &&
         (order != GA_F_ORDER || nd < 2) && GpuArray_IS_C_CONTIGUOUS(place) &&
         (nd == 0 || memcmp(place->dimensions, dims, nd * sizeof *dims) == 0);
}

static inline PyGpuArrayObject *pygpu_empty(unsigned int nd, const size_t *dims,
                                            int typecode, ga_order order,
                                            PyGpuContextObject *context,
                                            PyObject *cls) {
  (void)cls;
  PyGpuArrayObject *a = ga_op_new_device(context);
  if (a == NULL)
    return NULL;
  for (unsigned int i = 0; i < ga_op_n_places && i < 64; i++)
    if (!(ga_op_taken >> i & 1) && a->context == &ga_op_context &&
        ga_op_fits(ga_op_places[i], typecode, nd, dims, order)) {
      ga_op_taken |= (uint64_t)1 << i;
      return ga_op_finish(a, GpuArray_view(&a->ga, ga_op_places[i]));
    }
  return ga_op_finish(
      a, GpuArray_empty(&a->ga, a->context->ctx, typecode, nd, dims, order));
}

static inline PyGpuArrayObject *pygpu_zeros(unsigned int nd, const size_t *dims,
                                            int typecode, ga_order order,
                                            PyGpuContextObject *context,
                                            PyObject *cls) {
  PyGpuArrayObject *a = pygpu_empty(nd, dims, typecode, order, context, cls);
  if (a != NULL && !ga_op_passed(GpuArray_memset(&a->ga, 0)))
    Py_CLEAR(a);
  return a;
}

/* typecode -1: that of `a`. */
static inline PyGpuArrayObject *pygpu_empty_like(PyGpuArrayObject *a, ga_order order,
                                                 int typecode) {
  int fortran = GpuArray_IS_F_CONTIGUOUS(&a->ga) && !GpuArray_IS_C_CONTIGUOUS(&a->ga);
  if (order == GA_ANY_ORDER)
    order = fortran ? GA_F_ORDER : GA_C_ORDER;
  return pygpu_empty(a->ga.nd, a->ga.dimensions,
                     typecode == -1 ? a->ga.typecode : typecode, order, a->context,
                     Py_None);
}

static inline PyGpuArrayObject *
pygpu_fromgpudata(gpudata *data, size_t offset, int typecode, unsigned int nd,
                  const size_t *dims, const ssize_t *strides,
                  PyGpuContextObject *context, int writable, PyObject *base,
                  PyObject *cls) {
  (void)base, (void)cls; /* the array holds the buffer itself */
  PyGpuArrayObject *a = ga_op_new_device(context);
  return a ? ga_op_finish(a, GpuArray_fromdata(&a->ga, data, offset, typecode, nd, dims,
                                               strides, writable))
           : NULL;
}

static inline PyGpuArrayObject *pygpu_copy(PyGpuArrayObject *a, ga_order order) {
  PyGpuArrayObject *made = pygpu_empty_like(a, order, -1);
  if (made != NULL && !ga_op_passed(GpuArray_setarray(&made->ga, &a->ga)))
    Py_CLEAR(made);
  return made;
}

static inline PyGpuArrayObject *pygpu_view(PyGpuArrayObject *a, PyObject *cls) {
  (void)cls;
  PyGpuArrayObject *made = ga_op_new_device(a->context);
  return made ? ga_op_finish(made, GpuArray_view(&made->ga, &a->ga)) : NULL;
}

static inline PyGpuArrayObject *pygpu_index(PyGpuArrayObject *a, const ssize_t *starts,
                                            const ssize_t *stops,
                                            const ssize_t *steps) {
  PyGpuArrayObject *made = ga_op_new_device(a->context);
  return made ? ga_op_finish(made,
                             GpuArray_index(&made->ga, &a->ga, starts, stops, steps))
              : NULL;
}

/* compute_axis: an axis whose length is worked out from the others, or -1. */
static inline PyGpuArrayObject *pygpu_reshape(PyGpuArrayObject *a, unsigned int nd,
                                              const size_t *newdims, ga_order order,
                                              int nocopy, int compute_axis) {
  size_t dims[32], rest = 1;
  if (nd > 32)
    return (PyGpuArrayObject *)PyErr_Format(PyExc_ValueError,
                                            "pygpu_reshape: given %u axes", nd);
  for (unsigned int i = 0; i < nd; i++) {
    dims[i] = newdims[i];
    rest *= (int)i == compute_axis ? 1 : newdims[i];
  }
  if (compute_axis >= 0 && compute_axis < (int)nd)
    dims[compute_axis] = rest ? PyGpuArray_SIZE(a) / rest : 0;
  PyGpuArrayObject *made = ga_op_new_device(a->context);
  return made ? ga_op_finish(
                    made, GpuArray_reshape(&made->ga, &a->ga, nd, dims, order, nocopy))
              : NULL;
}

static inline PyGpuArrayObject *pygpu_transpose(PyGpuArrayObject *a,
                                                const unsigned int *newaxes) {
  PyGpuArrayObject *made = ga_op_new_device(a->context);
  return made ? ga_op_finish(made, GpuArray_transpose(&made->ga, &a->ga, newaxes))
              : NULL;
}

static inline PyGpuArrayObject *pygpu_concatenate(const GpuArray **a, size_t n,
                                                  unsigned int axis, int restype,
                                                  PyObject *cls,
                                                  PyGpuContextObject *context) {
  (void)cls;
  PyGpuArrayObject *made = ga_op_new_device(context);
  return made ? ga_op_finish(made, GpuArray_concatenate(&made->ga, a, n, axis, restype))
              : NULL;
}

/* These give 0, or -1 with an exception. */

static inline int pygpu_move(PyGpuArrayObject *to, PyGpuArrayObject *from) {
  return ga_op_passed(GpuArray_move(&to->ga, &from->ga)) ? 0 : -1;
}

static inline int pygpu_transfer(PyGpuArrayObject *to, PyGpuArrayObject *from) {
  return ga_op_passed(GpuArray_transfer(&to->ga, &from->ga)) ? 0 : -1;
}

static inline int pygpu_sync(PyGpuArrayObject *a) {
  return ga_op_passed(GpuArray_sync(&a->ga)) ? 0 : -1;
}

static inline int pygpu_blas_rdot(PyGpuArrayObject *x, PyGpuArrayObject *y,
                                  PyGpuArrayObject *z, int nocopy) {
  return ga_op_passed(GpuArray_rdot(&x->ga, &y->ga, &z->ga, nocopy)) ? 0 : -1;
}

static inline int pygpu_blas_rgemv(cb_transpose trans_a, double alpha,
                                   PyGpuArrayObject *a, PyGpuArrayObject *x,
                                   double beta, PyGpuArrayObject *y, int nocopy) {
  int status = GpuArray_rgemv(trans_a, alpha, &a->ga, &x->ga, beta, &y->ga, nocopy);
  return ga_op_passed(status) ? 0 : -1;
}

static inline int pygpu_blas_rgemm(cb_transpose trans_a, cb_transpose trans_b,
                                   double alpha, PyGpuArrayObject *a,
                                   PyGpuArrayObject *b, double beta,
                                   PyGpuArrayObject *c, int nocopy) {
  int status =
      GpuArray_rgemm(trans_a, trans_b, alpha, &a->ga, &b->ga, beta, &c->ga, nocopy);
  return ga_op_passed(status) ? 0 : -1;
}

static inline int pygpu_blas_rger(double alpha, PyGpuArrayObject *x,
                                  PyGpuArrayObject *y, PyGpuArrayObject *a,
                                  int nocopy) {
  return ga_op_passed(GpuArray_rger(alpha, &x->ga, &y->ga, &a->ga, nocopy)) ? 0 : -1;
}

static inline int pygpu_blas_rgemmBatch_3d(cb_transpose trans_a, cb_transpose trans_b,
                                           double alpha, PyGpuArrayObject *a,
                                           PyGpuArrayObject *b, double beta,
                                           PyGpuArrayObject *c, int nocopy) {
  int status = GpuArray_rgemmBatch_3d(trans_a, trans_b, alpha, &a->ga, &b->ga, beta,
                                      &c->ga, nocopy);
  return ga_op_passed(status) ? 0 : -1;
}

/* A new array of the host with the elements; waits. */
static inline PyArrayObject *pygpu_as_ndarray(PyGpuArrayObject *a) {
  const GpuArray *source = &a->ga;
  GpuArray dense = {0};
  npy_intp dims[NPY_MAXDIMS];
  for (unsigned int i = 0; i < source->nd; i++)
    dims[i] = (npy_intp)source->dimensions[i];
  PyArrayObject *made =
      (PyArrayObject *)ga_op_new_host((int)source->nd, dims, source->typecode, 0);
  if (made == NULL)
    return NULL;
  int status = GA_NO_ERROR;
  if (!GpuArray_IS_C_CONTIGUOUS(source)) {
    status = GpuArray_copy(&dense, source, GA_C_ORDER);
    source = &dense;
  }
  if (status == GA_NO_ERROR)
    status = GpuArray_read(made->data, (size_t)PyArray_NBYTES(made), source);
  GpuArray_clear(&dense);
  if (!ga_op_passed(status))
    Py_CLEAR(made);
  return made;
}

/* Whether the array has this shape. */
static inline int theano_size_check(PyGpuArrayObject *a, unsigned int nd,
                                    const size_t *dims, int typecode) {
  return a->ga.nd == nd && a->ga.typecode == typecode &&
         (nd == 0 || memcmp(a->ga.dimensions, dims, nd * sizeof *dims) == 0);
}

/* Makes *out an array of this type and shape in this order, with any elements. 0, or 1
 * with an exception. */
static inline int theano_prep_output(PyGpuArrayObject **out, unsigned int nd,
                                     const size_t *dims, int typecode, ga_order order,
                                     PyGpuContextObject *context) {
  if (*out != NULL && theano_size_check(*out, nd, dims, typecode) &&
      (order == GA_F_ORDER ? GpuArray_IS_F_CONTIGUOUS(&(*out)->ga)
                           : GpuArray_IS_C_CONTIGUOUS(&(*out)->ga)))
    return 0;
  Py_CLEAR(*out);
  *out = pygpu_empty(nd, dims, typecode, order, context, Py_None);
  return *out == NULL;
}

/* The elements of `from` in `out`, whose reference is taken, where that is C-contiguous
 * and of the same type and shape; else in a new array. NULL with an exception. */
static inline PyGpuArrayObject *theano_try_copy(PyGpuArrayObject *out,
                                                PyGpuArrayObject *from) {
  if (out == NULL || !GpuArray_CHKFLAGS(&out->ga, GA_CARRAY) ||
      !theano_size_check(out, PyGpuArray_NDIM(from), PyGpuArray_DIMS(from),
                         PyGpuArray_TYPE(from))) {
    Py_XDECREF(out);
    return pygpu_copy(from, GA_C_ORDER);
  }
  if (pygpu_move(out, from) != 0)
    Py_CLEAR(out);
  return out;
}

#endif
