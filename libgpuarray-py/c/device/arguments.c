/* Arguments of a launch. */
#include "c/device/arguments.h"

#include <assert.h>
#include <string.h>

/* The next slot. Surplus arguments are counted but not stored: the launch refuses
 * them. */
static ga_arg *next_arg(ga_args *args) {
  static _Thread_local ga_arg surplus;
  unsigned int i = args->n++;
  return i < GA_MAX_ARGS ? &args->list[i] : &surplus;
}

void ga__args_buffer(ga_args *args, gpudata *buffer) {
  ga_arg *a = next_arg(args);
  a->kind = GA_ARG_MEMORY;
  a->is_read_only = false;
  a->size = sizeof(void *);
  a->buffer = buffer;
  a->value.u64 = 0;
}

void ga__args_input(ga_args *args, gpudata *buffer) {
  ga__args_buffer(args, buffer);
  if (args->n <= GA_MAX_ARGS)
    args->list[args->n - 1].is_read_only = true;
}

void ga__args_offset(ga_args *args, gpudata *buffer, size_t offset) {
  ga_arg *a = next_arg(args);
  a->kind = GA_ARG_OFFSET;
  a->size = sizeof(uint64_t);
  a->buffer = buffer;
  a->value.u64 = offset;
}

void ga__args_pointer(ga_args *args, gpudata *buffer, size_t offset, bool is_read) {
  if (is_read)
    ga__args_input(args, buffer);
  else
    ga__args_buffer(args, buffer);
  ga__args_offset(args, buffer, offset);
}

void ga__args_value(ga_args *args, const void *value, size_t size) {
  ga_arg *a = next_arg(args);
  assert(size <= sizeof a->value);
  a->kind = GA_ARG_VALUE;
  a->number = 0;
  a->size = (unsigned int)size;
  a->buffer = NULL;
  memcpy(a->value.bytes, value, size);
}

void ga__args_number(ga_args *args, const void *value, size_t size, char number) {
  ga__args_value(args, value, size);
  if (args->n <= GA_MAX_ARGS)
    args->list[args->n - 1].number = number;
}

static void add_integer(ga_args *args, const void *value, size_t size) {
  ga__args_number(args, value, size, 'i');
}

void ga__args_u32(ga_args *args, uint32_t value) {
  add_integer(args, &value, sizeof value);
}

void ga__args_i32(ga_args *args, int32_t value) {
  add_integer(args, &value, sizeof value);
}

void ga__args_u64(ga_args *args, uint64_t value) {
  add_integer(args, &value, sizeof value);
}

void ga__args_i64(ga_args *args, int64_t value) {
  add_integer(args, &value, sizeof value);
}

void ga__args_real(ga_args *args, int typecode, double value) {
  const float narrow = (float)value;
  if (typecode == GA_DOUBLE || typecode == GA_CDOUBLE)
    ga__args_number(args, &value, sizeof value, 'f');
  else
    ga__args_number(args, &narrow, sizeof narrow, 'f');
}

void ga__args_position(ga_args *args, bool is_wide, int64_t value) {
  if (is_wide)
    ga__args_i64(args, value);
  else
    ga__args_i32(args, (int32_t)value);
}

void ga__args_strides(ga_args *args, bool is_wide, unsigned int nd,
                      const ssize_t *strides, size_t size) {
  for (unsigned int axis = 0; axis < nd; axis++)
    ga__args_position(args, is_wide, strides[axis] / (ssize_t)size);
}
