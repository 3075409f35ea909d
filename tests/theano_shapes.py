"""Lengths by Theano's formulas, as its sources have them."""


def conv_length(image, filters, padding, stride, dilation):
    """Of a convolution: theano.tensor.nnet.abstract_conv.get_conv_shape_1axis."""
    extent = (filters - 1) * dilation + 1
    if padding == "half":
        before = after = extent // 2
    elif padding == "full":
        before = after = extent - 1
    else:
        before, after = padding
    return (image + before + after - extent) // stride + 1


def pool_length(n, window, stride, padding, ignore_border):
    """Of pooling: theano.tensor.signal.pool.Pool.out_shape."""
    v = n + 2 * padding
    if ignore_border:
        return v // stride if window == stride else max((v - window) // stride + 1, 0)
    if stride >= window:
        return (v - 1) // stride + 1
    return max(0, (v - 1 - window + stride) // stride) + 1
