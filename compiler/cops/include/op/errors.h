/* The exception that is set, if one is: a class of Python's, by name, and a text. */
#ifndef GPUARRAY_OP_ERRORS_H
#define GPUARRAY_OP_ERRORS_H

typedef struct ga_op_class {
  PyObject base;
  const char *name;
} ga_op_class;

#define GA_OP_CLASS(name) static ga_op_class ga_op_##name = {{1, NULL}, #name};
GA_OP_CLASS(ArithmeticError)
GA_OP_CLASS(AssertionError)
GA_OP_CLASS(AttributeError)
GA_OP_CLASS(BufferError)
GA_OP_CLASS(Exception)
GA_OP_CLASS(FloatingPointError)
GA_OP_CLASS(IndexError)
GA_OP_CLASS(KeyError)
GA_OP_CLASS(LookupError)
GA_OP_CLASS(MemoryError)
GA_OP_CLASS(NotImplementedError)
GA_OP_CLASS(OSError)
GA_OP_CLASS(OverflowError)
GA_OP_CLASS(RuntimeError)
GA_OP_CLASS(SystemError)
GA_OP_CLASS(TypeError)
GA_OP_CLASS(ValueError)
GA_OP_CLASS(ZeroDivisionError)
#undef GA_OP_CLASS

#define PyExc_ArithmeticError (&ga_op_ArithmeticError.base)
#define PyExc_AssertionError (&ga_op_AssertionError.base)
#define PyExc_AttributeError (&ga_op_AttributeError.base)
#define PyExc_BufferError (&ga_op_BufferError.base)
#define PyExc_Exception (&ga_op_Exception.base)
#define PyExc_FloatingPointError (&ga_op_FloatingPointError.base)
#define PyExc_IOError (&ga_op_OSError.base)
#define PyExc_IndexError (&ga_op_IndexError.base)
#define PyExc_KeyError (&ga_op_KeyError.base)
#define PyExc_LookupError (&ga_op_LookupError.base)
#define PyExc_MemoryError (&ga_op_MemoryError.base)
#define PyExc_NotImplementedError (&ga_op_NotImplementedError.base)
#define PyExc_OSError (&ga_op_OSError.base)
#define PyExc_OverflowError (&ga_op_OverflowError.base)
#define PyExc_RuntimeError (&ga_op_RuntimeError.base)
#define PyExc_SystemError (&ga_op_SystemError.base)
#define PyExc_TypeError (&ga_op_TypeError.base)
#define PyExc_ValueError (&ga_op_ValueError.base)
#define PyExc_ZeroDivisionError (&ga_op_ZeroDivisionError.base)

/* Each thread has its own, for its caller asks after other threads had their turn. */
static __thread PyObject *ga_op_raised; /* its class, or NULL */
static __thread char *ga_op_text;

static inline PyObject *PyErr_Occurred(void) {
  return ga_op_raised;
}

static inline void PyErr_Clear(void) {
  ga_op_raised = NULL;
  free(ga_op_text);
  ga_op_text = NULL;
}

/* As Python's, but for %R, %S and the like: there are no objects to print. */
static inline PyObject *PyErr_Format(PyObject *kind, const char *format, ...) {
  va_list list, again;
  PyErr_Clear();
  ga_op_raised = kind;
  va_start(list, format);
  va_copy(again, list);
  int size = vsnprintf(NULL, 0, format, list);
  va_end(list);
  ga_op_text = size < 0 ? NULL : (char *)malloc((size_t)size + 1);
  if (ga_op_text != NULL)
    vsnprintf(ga_op_text, (size_t)size + 1, format, again);
  va_end(again);
  return NULL;
}

static inline void PyErr_SetString(PyObject *kind, const char *text) {
  PyErr_Format(kind, "%s", text);
}

static inline void PyErr_SetNone(PyObject *kind) {
  PyErr_Format(kind, "%s", "");
}

static inline PyObject *PyErr_NoMemory(void) {
  return PyErr_Format(PyExc_MemoryError, "the host has no memory left");
}

/* Sets what a status of libgpuarray means, with the library's text. True for success.
 */
static inline int ga_op_passed(int status) {
  PyObject *kind = PyExc_RuntimeError;
  if (status == GA_NO_ERROR)
    return 1;
  if (status == GA_MEMORY_ERROR)
    kind = PyExc_MemoryError;
  if (status == GA_VALUE_ERROR)
    kind = PyExc_ValueError;
  const char *said = gpuarray_error_text();
  PyErr_SetString(kind, *said ? said : gpuarray_error_str(status));
  return 0;
}

/* The status that an exception of this kind ends a step with. */
static inline int ga_op_status(void) {
  if (ga_op_raised == NULL) {
    const char *said = gpuarray_error_text();
    PyErr_Format(PyExc_RuntimeError,
                 "the C code failed and set no exception; call PyErr_Format before it "
                 "jumps to fail%s%s",
                 *said ? "; the library's latest error here: " : "", said);
  }
  return ga_op_raised == PyExc_MemoryError  ? GA_MEMORY_ERROR
         : ga_op_raised == PyExc_ValueError ? GA_VALUE_ERROR
                                            : GA_MISC_ERROR;
}

/* The class and the text of the exception that ended a call; "" for none. */
GPUARRAY_PUBLIC const char *gpuarray_op_error(const char **kind) {
  *kind = ga_op_raised ? ((ga_op_class *)ga_op_raised)->name : "";
  ga_op_raised = NULL; /* told once */
  return ga_op_text ? ga_op_text : "";
}

#endif
