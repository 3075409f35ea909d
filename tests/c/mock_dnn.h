/* Convolutions of the mock's cuDNN. */
#ifndef MOCK_DNN_H
#define MOCK_DNN_H

#include <stdbool.h>
#include <stdint.h>

enum { MOST_AXES = 5 };
enum { FORWARD = 10, BY_FILTERS = 11, BY_IMAGE = 12 }; /* kinds of descriptors */

typedef struct tensor {
  int64_t shape[MOST_AXES], strides[MOST_AXES];
  int type;
  void *address;
} tensor;

/* Spatial axes are the last of three; those that are missing have length 1. */
typedef struct convolution {
  int kind;
  bool is_flipped, loses_nan;
  int64_t groups, stride[3], dilation[3], before[3];
  tensor image, filters, result;
  int n_applied;
  struct {
    bool is_relu; /* else b is added */
    tensor b;
  } applied[3];
} convolution;

/* Computes it, and what is applied to its result; 16-bit types are left. */
void mock_convolve(const convolution *c);

#endif
