/* Arguments of a launch. */
#ifndef GA_C_ARGUMENTS_H
#define GA_C_ARGUMENTS_H

#include "c/device/buffer.h"

/* Argument list, filled in order. */
typedef struct ga_args {
  unsigned int n;
  ga_arg list[GA_MAX_ARGS];
} ga_args;
void ga__args_buffer(ga_args *args, gpudata *buffer); /* a pointer */
void ga__args_input(ga_args *args, gpudata *buffer);  /* a read-only pointer */
void ga__args_offset(ga_args *args, gpudata *buffer, size_t offset); /* a ga_size */
/* A pointer and its byte offset. */
void ga__args_pointer(ga_args *args, gpudata *buffer, size_t offset, bool is_read);
void ga__args_u32(ga_args *args, uint32_t value);
void ga__args_i32(ga_args *args, int32_t value);
void ga__args_u64(ga_args *args, uint64_t value);
void ga__args_i64(ga_args *args, int64_t value);
/* An int64, or an int32 for a kernel that counts in 32 bits. */
void ga__args_position(ga_args *args, bool is_wide, int64_t value);
/* Such positions: strides of bytes, in elements of `size` bytes. */
void ga__args_strides(ga_args *args, bool is_wide, unsigned int nd,
                      const ssize_t *strides, size_t size);
/* A double if the typecode is a double's or complex128's, else a float. */
void ga__args_real(ga_args *args, int typecode, double value);
/* A value that is the `number` of ga_arg. */
void ga__args_number(ga_args *args, const void *value, size_t size, char number);
void ga__args_value(ga_args *args, const void *value, size_t size);

#endif
