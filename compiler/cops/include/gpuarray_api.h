/* For C code that asks for this header by name: all of it is in one. */
#include "gpuarray_op.h"
