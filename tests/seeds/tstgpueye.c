#section kernels

#kernel eye : *, size, size, size, ssize :
#include <cluda.h>

KERNEL void eye(GLOBAL_MEM DTYPE_OUTPUT_0 *a, ga_size a_off, ga_size n, ga_size m,
                ga_ssize k) {
  a = (GLOBAL_MEM DTYPE_OUTPUT_0 *)(((GLOBAL_MEM char *)a) + a_off);
  ga_ssize coff = max(k, (ga_ssize)0);
  ga_ssize roff = -min(k, (ga_ssize)0);
  ga_size nb = (ga_size)min(n - roff, m - coff);
  for (ga_size i = LID_0; i < nb; i += LDIM_0)
    a[(i + roff) * m + i + coff] = 1;
}

#section support_code_struct

/* Zeros, with ones on the diagonal k. 0, or 1 with an exception. */
int APPLY_SPECIFIC(tstgpueye)(PyArrayObject *n, PyArrayObject *m, PyArrayObject *k,
                              PyGpuArrayObject **z, PARAMS_TYPE *params) {
  size_t dims[2] = {((DTYPE_INPUT_0 *)PyArray_DATA(n))[0],
                    ((DTYPE_INPUT_1 *)PyArray_DATA(m))[0]};
  ssize_t diagonal = ((DTYPE_INPUT_2 *)PyArray_DATA(k))[0];
  size_t right = diagonal > 0 ? diagonal : 0, down = diagonal < 0 ? -diagonal : 0;
  size_t gs = 1, ls = 256;
  Py_XDECREF(*z);
  *z = pygpu_zeros(2, dims, params->typecode, GA_C_ORDER, params->context, Py_None);
  if (*z == NULL)
    return 1;
  if (down >= dims[0] || right >= dims[1])
    return 0;
  int err = eye_call(1, &gs, &ls, 0, (*z)->ga.data, (*z)->ga.offset, dims[0], dims[1],
                     diagonal);
  if (err != GA_NO_ERROR) {
    PyErr_Format(PyExc_RuntimeError, "gpuarray error: eye: %s",
                 GpuKernel_error(&k_eye, err));
    return 1;
  }
  return 0;
}
