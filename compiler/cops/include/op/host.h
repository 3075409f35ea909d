/* Arrays of the host, by NumPy's names. */
#ifndef GPUARRAY_OP_HOST_H
#define GPUARRAY_OP_HOST_H

#define NPY_MAXDIMS 32

typedef ssize_t npy_intp;
typedef size_t npy_uintp;
typedef unsigned char npy_bool;
typedef signed char npy_byte;
typedef unsigned char npy_ubyte;
typedef int8_t npy_int8;
typedef int16_t npy_int16;
typedef int32_t npy_int32;
typedef int64_t npy_int64;
typedef uint8_t npy_uint8;
typedef uint16_t npy_uint16;
typedef uint32_t npy_uint32;
typedef uint64_t npy_uint64;
typedef int npy_int;
typedef unsigned int npy_uint;
typedef long npy_long;
typedef float npy_float;
typedef double npy_double;
typedef float npy_float32;
typedef double npy_float64;
typedef uint16_t npy_half;
typedef uint16_t npy_float16;  /* its bits */
typedef uint16_t npy_bfloat16; /* its bits */
typedef struct npy_complex64 {
  float real, imag;
} npy_complex64;
typedef struct npy_complex128 {
  double real, imag;
} npy_complex128;

enum NPY_TYPES {
  NPY_BOOL = GA_BOOL,
  NPY_INT8 = GA_BYTE,
  NPY_UINT8 = GA_UBYTE,
  NPY_INT16 = GA_SHORT,
  NPY_UINT16 = GA_USHORT,
  NPY_INT32 = GA_INT,
  NPY_UINT32 = GA_UINT,
  NPY_INT64 = GA_LONG,
  NPY_UINT64 = GA_ULONG,
  NPY_FLOAT32 = GA_FLOAT,
  NPY_FLOAT64 = GA_DOUBLE,
  NPY_COMPLEX64 = GA_CFLOAT,
  NPY_COMPLEX128 = GA_CDOUBLE,
  NPY_FLOAT16 = GA_HALF,
  NPY_BFLOAT16 = GA_BFLOAT16,
  NPY_BYTE = NPY_INT8,
  NPY_UBYTE = NPY_UINT8,
  NPY_SHORT = NPY_INT16,
  NPY_USHORT = NPY_UINT16,
  NPY_INT = NPY_INT32,
  NPY_UINT = NPY_UINT32,
  NPY_LONG = NPY_INT64,
  NPY_ULONG = NPY_UINT64,
  NPY_INTP = NPY_INT64,
  NPY_FLOAT = NPY_FLOAT32,
  NPY_DOUBLE = NPY_FLOAT64,
  NPY_CFLOAT = NPY_COMPLEX64,
  NPY_CDOUBLE = NPY_COMPLEX128,
  NPY_HALF = NPY_FLOAT16
};

typedef enum NPY_ORDER {
  NPY_ANYORDER = -1,
  NPY_CORDER = 0,
  NPY_FORTRANORDER = 1,
  NPY_KEEPORDER = 2
} NPY_ORDER;

typedef struct PyArray_Descr {
  int type_num, elsize;
} PyArray_Descr;

typedef struct PyArrayObject {
  PyObject base;
  char *data; /* the first element */
  int nd;
  npy_intp dimensions[NPY_MAXDIMS];
  npy_intp strides[NPY_MAXDIMS]; /* bytes */
  PyArray_Descr descr;
  void *owned; /* what is freed with the array */
} PyArrayObject;

#define ga_op_host(a) ((PyArrayObject *)(a))
#define PyArray_DATA(a) ((void *)ga_op_host(a)->data)
#define PyArray_BYTES(a) (ga_op_host(a)->data)
#define PyArray_NDIM(a) (ga_op_host(a)->nd)
#define PyArray_DIMS(a) (ga_op_host(a)->dimensions)
#define PyArray_SHAPE(a) PyArray_DIMS(a)
#define PyArray_DIM(a, i) (ga_op_host(a)->dimensions[i])
#define PyArray_STRIDES(a) (ga_op_host(a)->strides)
#define PyArray_STRIDE(a, i) (ga_op_host(a)->strides[i])
#define PyArray_DESCR(a) (&ga_op_host(a)->descr)
#define PyArray_TYPE(a) (ga_op_host(a)->descr.type_num)
#define PyArray_ITEMSIZE(a) (ga_op_host(a)->descr.elsize)
#define PyArray_SIZE(a) ga_op_size(ga_op_host(a))
#define PyArray_NBYTES(a) (PyArray_SIZE(a) * PyArray_ITEMSIZE(a))
#define PyArray_GETPTR1(a, i)                                                          \
  ((void *)(PyArray_BYTES(a) + (npy_intp)(i) * PyArray_STRIDE(a, 0)))
#define PyArray_GETPTR2(a, i, j)                                                       \
  ((void *)((char *)PyArray_GETPTR1(a, i) + (npy_intp)(j) * PyArray_STRIDE(a, 1)))
#define PyArray_GETPTR3(a, i, j, k)                                                    \
  ((void *)((char *)PyArray_GETPTR2(a, i, j) + (npy_intp)(k) * PyArray_STRIDE(a, 2)))
#define PyArray_GETPTR4(a, i, j, k, l)                                                 \
  ((void *)((char *)PyArray_GETPTR3(a, i, j, k) + (npy_intp)(l) * PyArray_STRIDE(a, 3)))
#define PyArray_IS_C_CONTIGUOUS(a) ga_op_is_dense(ga_op_host(a), 0)
#define PyArray_ISCONTIGUOUS(a) PyArray_IS_C_CONTIGUOUS(a)
#define PyArray_IS_F_CONTIGUOUS(a) ga_op_is_dense(ga_op_host(a), 1)
#define PyArray_ISFORTRAN(a) (PyArray_IS_F_CONTIGUOUS(a) && PyArray_NDIM(a) > 1)
#define PyArray_ISONESEGMENT(a) (PyArray_ISCONTIGUOUS(a) || PyArray_IS_F_CONTIGUOUS(a))
#define PyArray_ISALIGNED(a) 1
#define PyArray_ISWRITEABLE(a) 1
#define PyArray_Check(o) (((PyObject *)(o))->end == ga_op_host_end)
#define PyArray_CheckExact(o) PyArray_Check(o)

static inline npy_intp ga_op_size(const PyArrayObject *a) {
  npy_intp size = 1;
  for (int i = 0; i < a->nd; i++)
    size *= a->dimensions[i];
  return size;
}

/* Whether elements follow each other with the last axis fastest, or else the first. */
static inline int ga_op_is_dense(const PyArrayObject *a, int fortran) {
  npy_intp step = a->descr.elsize;
  if (ga_op_size(a) == 0)
    return 1;
  for (int i = 0; i < a->nd; i++) {
    int axis = fortran ? i : a->nd - 1 - i;
    if (a->dimensions[axis] != 1 && a->strides[axis] != step)
      return 0;
    step *= a->dimensions[axis];
  }
  return 1;
}

static void ga_op_host_end(PyObject *o) {
  free(((PyArrayObject *)o)->owned);
  free(o);
}

/* A new array of zeros, or NULL with an exception. */
static inline PyObject *ga_op_new_host(int nd, const npy_intp *dims, int type,
                                       int fortran) {
  size_t item = gpuarray_get_elsize(type), bytes = item;
  if (nd < 0 || nd > NPY_MAXDIMS || item == 0)
    return PyErr_Format(PyExc_ValueError, "a new array: given %d axes of type %d", nd,
                        type);
  PyArrayObject *a = (PyArrayObject *)calloc(1, sizeof *a);
  for (int i = 0; a != NULL && i < nd; i++) {
    int axis = fortran ? i : nd - 1 - i;
    if (dims[axis] < 0 ||
        (dims[axis] > 0 && bytes > SIZE_MAX / 2 / (size_t)dims[axis])) {
      free(a);
      return PyErr_Format(PyExc_ValueError, "a new array: axis %d has length %zd", axis,
                          dims[axis]);
    }
    a->dimensions[axis] = dims[axis];
    a->strides[axis] = (npy_intp)bytes;
    bytes *= (size_t)dims[axis];
  }
  if (a != NULL)
    a->owned = calloc(bytes ? bytes : 1, 1);
  if (a == NULL || a->owned == NULL) {
    free(a);
    return PyErr_NoMemory();
  }
  a->base.ob_refcnt = 1;
  a->base.end = ga_op_host_end;
  a->data = (char *)a->owned;
  a->nd = nd;
  a->descr.type_num = type;
  a->descr.elsize = (int)item;
  return &a->base;
}

#define PyArray_ZEROS(nd, dims, type, fortran) ga_op_new_host(nd, dims, type, fortran)
#define PyArray_EMPTY(nd, dims, type, fortran) ga_op_new_host(nd, dims, type, fortran)
#define PyArray_SimpleNew(nd, dims, type) ga_op_new_host(nd, dims, type, 0)

/* Copies the elements of an array of the same type and shape. 0, or -1 with an
 * exception. */
static inline int PyArray_CopyInto(PyArrayObject *to, const PyArrayObject *from) {
  npy_intp at[NPY_MAXDIMS] = {0}, left = ga_op_size(to);
  char *put = to->data, *get = from->data;
  int fits = to->nd == from->nd && to->descr.type_num == from->descr.type_num;
  for (int i = 0; fits && i < to->nd; i++)
    fits = to->dimensions[i] == from->dimensions[i];
  if (!fits) {
    PyErr_SetString(PyExc_ValueError,
                    "PyArray_CopyInto: the arrays have different types or shapes");
    return -1;
  }
  for (; left > 0; left--) {
    memcpy(put, get, (size_t)to->descr.elsize);
    for (int i = to->nd - 1; i >= 0; i--) {
      put += to->strides[i];
      get += from->strides[i];
      if (++at[i] < to->dimensions[i])
        break;
      put -= at[i] * to->strides[i];
      get -= at[i] * from->strides[i];
      at[i] = 0;
    }
  }
  return 0;
}

/* A new copy; NPY_KEEPORDER and NPY_ANYORDER are Fortran order for what has it. */
static inline PyObject *PyArray_NewCopy(PyArrayObject *a, NPY_ORDER order) {
  int keeps = order == NPY_KEEPORDER || order == NPY_ANYORDER;
  int fortran = order == NPY_FORTRANORDER ||
                (keeps && PyArray_ISFORTRAN(a) && !PyArray_ISCONTIGUOUS(a));
  PyObject *made = ga_op_new_host(a->nd, a->dimensions, a->descr.type_num, fortran);
  if (made != NULL)
    PyArray_CopyInto((PyArrayObject *)made, a);
  return made;
}

static inline PyObject *PyArray_Copy(PyArrayObject *a) {
  return PyArray_NewCopy(a, NPY_CORDER);
}

/* A reference to the array if it is C-contiguous, else a copy that is. */
static inline PyArrayObject *PyArray_GETCONTIGUOUS(PyArrayObject *a) {
  if (!PyArray_ISCONTIGUOUS(a))
    return (PyArrayObject *)PyArray_NewCopy(a, NPY_CORDER);
  Py_INCREF(a);
  return a;
}

static inline int PyArray_SAMESHAPE(const PyArrayObject *a, const PyArrayObject *b) {
  return a->nd == b->nd &&
         memcmp(a->dimensions, b->dimensions, (size_t)a->nd * sizeof(npy_intp)) == 0;
}

#define PyArray_FILLWBYTE(a, byte)                                                     \
  memset(PyArray_DATA(a), byte, (size_t)PyArray_NBYTES(a))

#endif
