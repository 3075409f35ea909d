/* A convolution's arrays as cuDNN's tensors. */
#include "cuda/library/dnn_tensor.h"

#include <limits.h>
#include <string.h>

/* Order of axes in memory: batch, channels, space (NCHW), or with the channels last
 * (NHWC). */
enum layout { CHANNELS_FIRST, CHANNELS_LAST, N_LAYOUTS };

/* The axis at a place of the layout, the outermost first. */
static unsigned int axis_at(enum layout layout, unsigned int nd, unsigned int place) {
  if (layout == CHANNELS_FIRST || place == 0)
    return place;
  return place == nd + 1 ? 1 : place + 1;
}

/* Strides in that layout, those of axes of length 1 filled in; false if the array has
 * others, or more elements than 32 bits count. */
static bool lay_out(int64_t strides[GA_DNN_AXES], const ga_dnn_operand *o,
                    unsigned int nd, enum layout layout) {
  int64_t extent = 1; /* elements that the axes so far span */
  for (unsigned int place = nd + 2; place-- > 0;) {
    const unsigned int axis = axis_at(layout, nd, place);
    const size_t length = o->shape[axis];
    if (length == 0 || length > INT_MAX)
      return false;
    strides[axis] = length == 1 ? extent : o->strides[axis];
    if (strides[axis] < extent || strides[axis] > INT_MAX / (int64_t)length)
      return false;
    extent = strides[axis] * (int64_t)length;
    if (place == nd + 1 && length > 1 && strides[axis] != 1)
      return false;
  }
  return true;
}

/* Layouts that an array may be said to have, as bits. */
static unsigned int layouts_of(const ga_dnn_operand *o, unsigned int nd) {
  int64_t strides[GA_DNN_AXES];
  unsigned int found = 0;
  for (enum layout layout = 0; layout < N_LAYOUTS; layout++)
    if (lay_out(strides, o, nd, layout))
      found |= 1u << layout;
  return found;
}

static bool is_typed(const ga_dnn_call *call) {
  return call->typecode == GA_HALF || call->typecode == GA_BFLOAT16 ||
         call->typecode == GA_FLOAT || call->typecode == GA_DOUBLE;
}

bool ga__dnn_fits(const ga_dnn_call *call) {
  const ga_dnn_operand *const operands[] = {&call->image, &call->filters, &call->result,
                                            &call->bias, &call->residual};
  if (!is_typed(call) || call->nd < 1 || call->nd > GA_DNN_MAX_AXES)
    return false;
  for (unsigned int i = 0; i < call->nd; i++)
    if (call->stride[i] > INT_MAX || call->dilation[i] > INT_MAX ||
        call->before[i] > INT_MAX || call->after[i] > INT_MAX)
      return false;
  for (int i = 0; i < GA_DNN_TENSORS; i++)
    if ((i <= DNN_RESULT || operands[i]->buffer != NULL) &&
        layouts_of(operands[i], call->nd) == 0)
      return false;
  return call->image.shape[1] == call->filters.shape[1] * call->groups;
}

/* Largest power of two up to 16 that divides the address. A placeholder has none; its
 * memory will be aligned to more. */
static int64_t alignment_of(const ga_dnn_operand *o) {
  const uintptr_t base =
      o->buffer != NULL ? (uintptr_t)ga__buffer_memory(o->buffer) : 0;
  const uintptr_t address = base + o->offset;
  const int64_t lowest = (int64_t)(address & (~address + 1));
  return address % 16 == 0 ? 16 : lowest;
}

static void fill_tensor(ga_dnn_tensor *t, const ga_dnn_operand *o, unsigned int nd,
                        enum layout wanted) {
  const bool has_it = (layouts_of(o, nd) >> wanted & 1u) != 0;
  lay_out(t->strides, o, nd, has_it ? wanted : 1 - wanted);
  for (unsigned int i = 0; i < nd + 2; i++)
    t->shape[i] = (int64_t)o->shape[i];
  t->alignment = alignment_of(o);
}

/* The layout of the arrays that have but one; channels first if none has. */
static enum layout common_layout(const ga_dnn_call *call) {
  const unsigned int both = layouts_of(&call->image, call->nd) &
                            layouts_of(&call->filters, call->nd) &
                            layouts_of(&call->result, call->nd);
  if (both == 0) /* a mixture: the image decides */
    return layouts_of(&call->image, call->nd) & 1u << CHANNELS_FIRST ? CHANNELS_FIRST
                                                                     : CHANNELS_LAST;
  return both & 1u << CHANNELS_FIRST ? CHANNELS_FIRST : CHANNELS_LAST;
}

ga_dnn_question ga__dnn_question_of(const ga_dnn_call *call) {
  const enum layout layout = common_layout(call);
  ga_dnn_question q;
  memset(&q, 0, sizeof q);
  q.role = call->role;
  q.typecode = call->typecode;
  q.nd = call->nd;
  q.is_flipped = call->is_flipped;
  q.is_tf32 = call->is_tf32 && call->typecode == GA_FLOAT;
  q.is_deterministic = call->is_deterministic;
  for (unsigned int i = 0; i < call->nd; i++) {
    q.stride[i] = (int64_t)call->stride[i];
    q.dilation[i] = (int64_t)call->dilation[i];
    q.before[i] = (int64_t)call->before[i];
    q.after[i] = (int64_t)call->after[i];
  }
  fill_tensor(&q.tensors[DNN_IMAGE], &call->image, call->nd, layout);
  fill_tensor(&q.tensors[DNN_FILTERS], &call->filters, call->nd, layout);
  fill_tensor(&q.tensors[DNN_RESULT], &call->result, call->nd, layout);
  if (call->bias.buffer != NULL)
    fill_tensor(&q.tensors[DNN_BIAS], &call->bias, call->nd, layout);
  if (call->residual.buffer != NULL)
    fill_tensor(&q.tensors[DNN_RESIDUAL], &call->residual, call->nd, layout);
  q.is_relu = call->is_relu;
  return q;
}
