/* What the C code of ops is compiled with: arrays of the host, arrays of a device, and
 * exceptions, without Python. On the null backend. */
#include "../../compiler/cops/include/gpuarray_op.h"

#include "null_context.h"

static const npy_intp shape[2] = {2, 3};

/* The elements 0, 1, 2 ... in C order, whatever the strides are. */
static PyArrayObject *counted(int fortran) {
  PyArrayObject *a = (PyArrayObject *)PyArray_EMPTY(2, shape, NPY_INT32, fortran);
  CHECK(a != NULL);
  for (npy_intp i = 0; i < 2; i++)
    for (npy_intp k = 0; k < 3; k++)
      *(npy_int32 *)PyArray_GETPTR2(a, i, k) = (npy_int32)(3 * i + k);
  return a;
}

static void test_host_arrays(void) {
  PyArrayObject *c = counted(0), *f = counted(1);
  CHECK(PyArray_NDIM(c) == 2 && PyArray_DIM(c, 1) == 3 && PyArray_SIZE(c) == 6);
  CHECK(PyArray_NBYTES(c) == 24 && PyArray_TYPE(c) == NPY_INT32);
  CHECK(PyArray_DESCR(c)->elsize == 4 && PyArray_ITEMSIZE(c) == 4);
  CHECK(PyArray_STRIDE(c, 0) == 12 && PyArray_STRIDE(f, 0) == 4);
  CHECK(PyArray_IS_C_CONTIGUOUS(c) && !PyArray_IS_F_CONTIGUOUS(c));
  CHECK(PyArray_ISFORTRAN(f) && !PyArray_ISCONTIGUOUS(f) && PyArray_Check(f));
  CHECK(((npy_int32 *)PyArray_DATA(f))[1] == 3);
  PyArrayObject *dense = PyArray_GETCONTIGUOUS(f);
  CHECK(dense != f && memcmp(PyArray_DATA(dense), PyArray_DATA(c), 24) == 0);
  PyArrayObject *same = PyArray_GETCONTIGUOUS(c);
  CHECK(same == c);
  PyArrayObject *kept = (PyArrayObject *)PyArray_NewCopy(f, NPY_KEEPORDER);
  CHECK(PyArray_ISFORTRAN(kept) && PyArray_SAMESHAPE(kept, f));
  Py_DECREF(same);
  Py_CLEAR(kept);
  Py_XDECREF(kept);
  CHECK(kept == NULL);
  Py_DECREF(dense);
  Py_DECREF(f);
  Py_DECREF(c);
}

static void test_host_failures(void) {
  const npy_intp negative[1] = {-1}, huge[2] = {(npy_intp)1 << 40, (npy_intp)1 << 40};
  PyArrayObject *c = counted(0);
  PyArrayObject *none = (PyArrayObject *)PyArray_SimpleNew(0, NULL, NPY_INT32);
  CHECK(PyArray_SIZE(none) == 1 && PyArray_ISCONTIGUOUS(none));
  CHECK(PyArray_CopyInto(none, c) == -1 && PyErr_Occurred() == PyExc_ValueError);
  PyErr_Clear();
  CHECK(PyErr_Occurred() == NULL);
  CHECK(PyArray_ZEROS(1, negative, NPY_INT8, 0) == NULL && PyErr_Occurred());
  CHECK(strstr(ga_op_text, "axis 0 has length -1") != NULL);
  CHECK(PyArray_ZEROS(2, huge, NPY_INT8, 0) == NULL);
  CHECK(PyArray_ZEROS(33, huge, NPY_INT8, 0) == NULL);
  CHECK(PyArray_ZEROS(0, huge, -5, 0) == NULL);
  CHECK(ga_op_status() == GA_VALUE_ERROR);
  PyErr_NoMemory();
  CHECK(ga_op_status() == GA_MEMORY_ERROR);
  PyErr_SetNone(PyExc_KeyError);
  CHECK(ga_op_status() == GA_MISC_ERROR);
  PyErr_Clear();
  CHECK(ga_op_status() == GA_MISC_ERROR && PyErr_Occurred() == PyExc_RuntimeError);
  PyErr_Clear();
  Py_DECREF(none);
  Py_DECREF(c);
}

/* The counted elements on the device. */
static PyGpuArrayObject *on_device(void) {
  PyArrayObject *c = counted(0);
  const size_t dims[2] = {2, 3};
  PyGpuArrayObject *a = pygpu_empty(2, dims, GA_INT, GA_C_ORDER, NULL, Py_None);
  CHECK(a != NULL && pygpu_GpuArray_Check(a));
  CHECK_OK(GpuArray_write(&a->ga, PyArray_DATA(c), 24));
  Py_DECREF(c);
  return a;
}

/* Whether the elements, in C order, are these. */
static void check_elements(PyGpuArrayObject *a, const npy_int32 *wanted) {
  CHECK(a != NULL);
  PyArrayObject *read = a ? pygpu_as_ndarray(a) : NULL;
  CHECK(read != NULL);
  if (read != NULL)
    CHECK(memcmp(PyArray_DATA(read), wanted, (size_t)PyArray_NBYTES(read)) == 0);
  Py_XDECREF(read);
  Py_XDECREF(a);
}

static void test_device_arrays(void) {
  PyGpuArrayObject *a = on_device(), *view;
  const size_t line[1] = {6}, open[2] = {3, 0};
  const unsigned int axes[2] = {1, 0};
  const ssize_t starts[2] = {1, 0}, stops[2] = {2, 3}, steps[2] = {1, 1};
  view = pygpu_transpose(a, axes);
  CHECK(PyGpuArray_DIM(view, 0) == 3 && PyGpuArray_STRIDE(view, 0) == 4);
  Py_CLEAR(view);
  check_elements(pygpu_index(a, starts, stops, steps), (npy_int32[]){3, 4, 5});
  check_elements(pygpu_reshape(a, 1, line, GA_C_ORDER, 0, -1),
                 (npy_int32[]){0, 1, 2, 3, 4, 5});
  view = pygpu_reshape(a, 2, open, GA_C_ORDER, 0, 1);
  CHECK(PyGpuArray_DIM(view, 1) == 2 && PyGpuArray_NDIM(view) == 2);
  Py_CLEAR(view);
  check_elements(pygpu_copy(a, GA_C_ORDER), (npy_int32[]){0, 1, 2, 3, 4, 5});
  view = pygpu_empty_like(a, GA_F_ORDER, GA_FLOAT);
  CHECK(PyGpuArray_IS_F_CONTIGUOUS(view) && PyGpuArray_TYPE(view) == GA_FLOAT);
  Py_CLEAR(view);
  view = pygpu_fromgpudata(a->ga.data, 4, GA_INT, 1, line, NULL, NULL, 1, NULL, NULL);
  CHECK(view == NULL && PyErr_Occurred() == PyExc_ValueError); /* one too many */
  PyErr_Clear();
  view = pygpu_view(a, Py_None);
  CHECK(pygpu_sync(view) == 0 && pygpu_move(view, a) == 0);
  CHECK(theano_prep_output(&view, 2, PyGpuArray_DIMS(a), GA_INT, GA_C_ORDER, NULL) ==
        0);
  CHECK(view->ga.data == a->ga.data); /* it fits */
  CHECK(theano_prep_output(&view, 1, line, GA_FLOAT, GA_C_ORDER, NULL) == 0);
  CHECK(view->ga.data != a->ga.data && PyGpuArray_SIZE(view) == 6);
  CHECK(pygpu_move(view, a) == -1 && PyErr_Occurred());
  PyErr_Clear();
  Py_DECREF(view);
  Py_DECREF(a);
}

static void test_copies(void) {
  const npy_int32 counts[6] = {0, 1, 2, 3, 4, 5};
  const unsigned int axes[2] = {1, 0};
  const size_t other[2] = {3, 2};
  PyGpuArrayObject *a = on_device(), *view = pygpu_transpose(a, axes), *made;
  made = theano_try_copy(NULL, a);
  CHECK(made != NULL && made->ga.data != a->ga.data);
  const gpudata *kept = made->ga.data;
  CHECK_OK(GpuArray_memset(&made->ga, 0));
  made = theano_try_copy(made, a); /* its memory is used again */
  CHECK(made->ga.data == kept);
  check_elements(pygpu_view(made, Py_None), counts);
  made = theano_try_copy(made, view); /* another shape */
  CHECK(PyGpuArray_DIM(made, 0) == 3 && PyGpuArray_IS_C_CONTIGUOUS(made));
  Py_CLEAR(made);
  made = pygpu_empty(2, other, GA_INT, GA_F_ORDER, NULL, Py_None);
  made = theano_try_copy(made, view); /* another order */
  CHECK(PyGpuArray_IS_C_CONTIGUOUS(made));
  Py_CLEAR(made);
  made = pygpu_empty(2, other, GA_FLOAT, GA_C_ORDER, NULL, Py_None);
  made = theano_try_copy(made, view); /* another type */
  CHECK(PyGpuArray_TYPE(made) == GA_INT);
  Py_CLEAR(made);

  const ssize_t starts[2] = {1, 0}, stops[2] = {2, 3}, steps[2] = {0, 1};
  PyGpuArrayObject *row = pygpu_index(a, starts, stops, steps);
  CHECK((char *)PyGpuArray_DEV_DATA(row) == (char *)PyGpuArray_DEV_DATA(a) + 12);
  CHECK(*(npy_int32 *)PyGpuArray_DEV_DATA(row) == 3); /* the host's memory */
  Py_DECREF(row);
  Py_DECREF(view);
  Py_DECREF(a);
}

/* Two places of one shape, as a plan has them for results. */
static void test_places(gpucontext *ctx) {
  const size_t dims[2] = {2, 3};
  GpuArray first = {0}, second = {0}, *places[2] = {&first, &second};
  CHECK_OK(GpuArray_empty(&first, ctx, GA_INT, 2, dims, GA_C_ORDER));
  CHECK_OK(GpuArray_empty(&second, ctx, GA_INT, 2, dims, GA_C_ORDER));
  ga_op_places = places;
  ga_op_n_places = 2;
  ga_op_taken = 0;
  PyGpuArrayObject *y = on_device(), *x = on_device(), *more = on_device();
  CHECK(y->ga.data == first.data && x->ga.data == second.data);
  CHECK(more->ga.data != first.data && more->ga.data != second.data);
  CHECK_OK(GpuArray_memset(&y->ga, 0));
  /* Each lies where the other belongs. */
  CHECK(ga_op_untangle(0, &x) && ga_op_untangle(1, &y));
  CHECK(ga_op_give_device(0, x, GA_INT, 2) && ga_op_give_device(1, y, GA_INT, 2));
  npy_int32 got[6];
  CHECK_OK(GpuArray_read(got, sizeof got, &first));
  CHECK(got[0] == 0 && got[5] == 5);
  CHECK_OK(GpuArray_read(got, sizeof got, &second));
  CHECK(got[0] == 0 && got[5] == 0);
  CHECK(!ga_op_give_device(0, NULL, GA_INT, 2) &&
        strstr(ga_op_text, "output 0 NULL") != NULL);
  CHECK(!ga_op_give_device(1, x, GA_FLOAT, 2) && PyErr_Occurred() == PyExc_TypeError);
  const npy_intp wrong[2] = {2, 4};
  PyArrayObject *host = (PyArrayObject *)PyArray_ZEROS(2, wrong, NPY_INT32, 0);
  CHECK(!ga_op_give_host(1, host, GA_INT, 2));
  CHECK(strstr(ga_op_text, "length 4 on axis 1, infer_shape gave 3") != NULL);
  Py_DECREF(host);
  host = counted(1);
  CHECK(ga_op_give_host(1, host, GA_INT, 2));
  CHECK_OK(GpuArray_read(got, sizeof got, &second));
  CHECK(got[1] == 1 && got[5] == 5);
  PyErr_Clear();
  ga_op_n_places = 0;
  Py_DECREF(host);
  Py_DECREF(more);
  Py_DECREF(x);
  Py_DECREF(y);
  GpuArray_clear(&first);
  GpuArray_clear(&second);
}

static void test_inputs(gpucontext *ctx) {
  GpuArray *none = NULL;
  PyGpuArrayObject *a = on_device(), *copy = ga_op_take_copy(&a->ga);
  PyArrayObject *host = ga_op_take_host(&a->ga), *number = ga_op_take_number(NPY_INT8);
  CHECK(copy->ga.data != a->ga.data && PyArray_SIZE(host) == 6);
  CHECK(PyArray_NDIM(number) == 0);
  CHECK(ga_op_take_device(none) == NULL && PyErr_Occurred());
  PyErr_Clear();
  const npy_int64 given[3] = {2, 7, 9};
  PyArrayObject *param = ga_op_param(given, NPY_INT64, 1);
  CHECK(PyArray_DIM(param, 0) == 2 && *(npy_int64 *)PyArray_GETPTR1(param, 1) == 9);
  CHECK(pygpu_default_context()->ctx == ctx);
  Py_DECREF(param);
  Py_DECREF(number);
  Py_DECREF(host);
  Py_DECREF(copy);
  Py_DECREF(a);
}

int main(void) {
  gpucontext *ctx = open_null();
  ga_op_context.ctx = ctx;
  test_host_arrays();
  test_host_failures();
  test_device_arrays();
  test_copies();
  test_places(ctx);
  test_inputs(ctx);
  gpucontext_deref(ctx);
  return check_result("op_header");
}
