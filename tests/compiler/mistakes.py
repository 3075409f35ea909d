"""Mistakes as text: an expression, the class of its error, a fact of its message."""

from written import rows

BUILT = rows("""
T.moveaxis(c, [0, 0], [1, 2]) !! GraphValueError !! moveaxis: an axis stands twice in
    [0, 0]
T.moveaxis(c, [0, 1], [1, 1]) !! GraphValueError !! moveaxis: an axis stands twice in
    [1, 1]
T.moveaxis(c, [0, 1], [1]) !! GraphValueError !! 2 axes for 1 places
T.moveaxis(c, 3, 0) !! GraphIndexError !! moveaxis: axis 3 is not among 3 axes
T.moveaxis(c, 0, -4) !! GraphIndexError !! moveaxis: axis -4 is not among 3 axes
T.rollaxis(c, 3) !! GraphIndexError !! rollaxis: axis 3 is not among 3 axes
T.rollaxis(c, 0, 4) !! GraphIndexError !! rollaxis: axis 4 is not among 4 axes
T.rollaxis(c, 0, -4) !! GraphIndexError !! rollaxis: axis -4 is not among 3 axes
T.expand_dims(a, (0, 0)) !! GraphValueError !! expand_dims: an axis stands twice
T.expand_dims(a, 3) !! GraphIndexError !! expand_dims: axis 3 is not among 3 axes
T.squeeze(a, (0, -2)) !! GraphValueError !! squeeze: an axis stands twice
T.broadcast_like(c, a) !! GraphArgumentError !! broadcast_like: given
    TensorType(float64, 3D), expected at most the axes of
T.get_vector_length(a) !! GraphArgumentError !! expected a vector
T.get_vector_length(v) !! GraphValueError !! known only when the program runs
T.specify_shape(a, (3,)) !! GraphValueError !! given 1 lengths, expected one for each
    axis
T.specify_shape(a, (3, 4, 5)) !! GraphValueError !! given 3 lengths
T.as_tensor_variable(a, ndim=1) !! GraphValueError !! more than ndim=1 axes
T.as_tensor_variable(l, ndim=1) !! GraphValueError !! more than ndim=1 axes
T.constant([1, 2], ndim=0) !! GraphValueError !! given 1 axes, expected at most ndim=0
T.sum(a, n) !! GraphTypeError !! axis is n, known only when the program runs
T.sum(a, 0.5) !! GraphTypeError !! axis is 0.5, a float; expected an integer
T.sum(a, True) !! GraphTypeError !! axis is True, a bool; expected an integer
T.sum(a, 2) !! GraphIndexError !! sum: axis 2 is not among 2 axes
T.sum(a, -3) !! GraphIndexError !! sum: axis -3 is not among 2 axes
T.sum(a, (0, -2)) !! GraphValueError !! sum: an axis stands twice
T.MakeVector()(v, 1) !! GraphTypeError !! expected scalars; use stack for arrays
T.broadcast_to(c, (3, 4)) !! GraphArgumentError !! and 2 lengths, expected ndim=2
    lengths and no more axes
T.broadcast_to(a, (3, 4), 3) !! GraphArgumentError !! and 2 lengths, expected ndim=3
T.broadcast_to(a, p) !! GraphValueError !! the number of lengths in p is not known; give
    ndim
Rebroadcast([True])(a) !! GraphArgumentError !! expected 1 axes
T.addbroadcast(a, 2) !! GraphIndexError !! addbroadcast: axis 2 is not among 2 axes
T.unbroadcast(a, 2) !! GraphIndexError !! unbroadcast: axis 2 is not among 2 axes
T.get_scalar_constant_value(s) !! NotScalarConstantError !! is no number
T.get_scalar_constant_value(T.as_tensor_variable([s, 1.0])[2]) !! GraphIndexError !!
    index 2 is out of bounds for axis 0 with size 2
T.scalar_from_tensor(v) !! GraphArgumentError !! scalar_from_tensor: given v
T.tensor_from_scalar(v) !! GraphArgumentError !! tensor_from_scalar: given v
T.load('f', 'float64', (False,), 'r+') !! GraphTypeError !! mmap_mode is 'r+', expected
    None, 'c' or 'r'
T.alloc(s, -1, 2) !! GraphValueError !! alloc: negative lengths in [-1, 2]
T.alloc(a, 3) !! GraphArgumentError !! and 1 lengths, expected a length for each axis
T.alloc(s, p) !! GraphValueError !! broadcast_to: the number of lengths
T.alloc(s, 1.5) !! GraphArgumentError !! alloc: the shape is
T.alloc(s, (1.5, 2)) !! GraphTypeError !! alloc: the shape holds
T.alloc(s, (p, 2)) !! GraphTypeError !! alloc: the shape holds p
T.alloc(s, i2) !! GraphArgumentError !! alloc: the shape is TensorType(int64, matrix)
T.AllocEmpty('int8')(p) !! GraphValueError !! the number of lengths in p is not known
T.arange(v) !! GraphArgumentError !! arange: given v
T.arange(0, v) !! GraphArgumentError !! arange: given v
T.arange(1, 2, v) !! GraphArgumentError !! arange: given v
T.arange(1, 2, 0) !! GraphStepError !! the step is 0
T.linspace(v, 1) !! GraphArgumentError !! linspace: given TensorType(float64, vector),
    expected a scalar
T.linspace(0, v) !! GraphArgumentError !! linspace: given
T.linspace(0, 1, -1) !! GraphValueError !! linspace: given the length -1, below 0
T.linspace(0, 1, 2.5) !! GraphTypeError !! linspace: a length is
T.eye(-1) !! GraphValueError !! eye: given the length -1
T.eye(1, -2) !! GraphValueError !! eye: given the length -2
T.eye(2, k=v) !! GraphTypeError !! eye: k is v
T.identity_like(v) !! GraphArgumentError !! identity_like: given v
T.mgrid[2] !! GraphTypeError !! mgrid: given 2, expected slices with an end
T.ogrid[1:] !! GraphTypeError !! ogrid: given slice(1, None, None)
T.mgrid[0:1:3j] !! GraphValueError !! a step of 3j counts points; use linspace
T.to_one_hot(v, 3) !! GraphTypeError !! to_one_hot: given v
T.to_one_hot(p, 3.0) !! GraphTypeError !! to_one_hot: a length is
Print(attrs='shape')(v) !! GraphTypeError !! attrs='shape' is a text
Assert()(v, v) !! GraphArgumentError !! the condition v is TensorType(float64, vector),
    expected a number
Assert()(v, s, v) !! GraphArgumentError !! the condition v is
T.diagonal(v) !! GraphArgumentError !! diagonal: given 1 axes, expected 2 or more
T.diagonal(a, 0, 1, 1) !! GraphValueError !! axis1 and axis2 are both axis 1
T.diagonal(a, 0, 1, -1) !! GraphValueError !! are both axis 1
T.diagonal(a, 0, 2, 1) !! GraphIndexError !! diagonal: axis 2
T.diagonal(a, n) !! GraphTypeError !! diagonal: offset is n, known only when
T.AllocDiag()(s) !! GraphArgumentError !! AllocDiag: given s
T.diag(s) !! GraphArgumentError !! diag: given s of
T.fill_diagonal(v, 1) !! GraphArgumentError !! fill_diagonal: given v
T.fill_diagonal(a, v) !! GraphArgumentError !! the value is TensorType(float64, vector),
    expected a scalar
T.fill_diagonal(j, s) !! GraphTypeError !! a value of float64 does not fit int32
T.fill_diagonal(x32, s) !! GraphTypeError !! a value of float64 does not fit float32
T.fill_diagonal_offset(c, 1, 0) !! GraphArgumentError !! fill_diagonal_offset: given c
T.fill_diagonal_offset(a, 1, 1.5) !! GraphTypeError !! fill_diagonal_offset: offset is
T.tril(v) !! GraphArgumentError !! tril: given v
T.triu(s) !! GraphArgumentError !! triu: given s
T.tril(a, 0.5) !! GraphTypeError !! tril: k is
T.add(v) !! GraphArgumentError !! given 1 operands, expected 2
T.exp(v, v) !! GraphArgumentError !! given 2 operands, expected 1
T.bitwise_and(v, v) !! GraphTypeError !! bitwise_and: not offered for float64 and
    float64
T.searchsorted(a, v) !! GraphArgumentError !! searchsorted: given a
T.searchsorted(v, v, 'middle') !! GraphValueError !! side is 'middle', expected 'left'
    or 'right'
T.searchsorted(v, v, sorter=a) !! GraphArgumentError !! the sorter is
    TensorType(float64, matrix)
T.searchsorted(v, v, sorter=i2) !! GraphArgumentError !! the sorter is TensorType(int64,
    matrix)
T.searchsorted(v, v, sorter=v) !! GraphArgumentError !! the sorter is
    TensorType(float64, vector)
T.bincount(v) !! GraphArgumentError !! bincount: given v
T.bincount(i2) !! GraphArgumentError !! bincount: given i2
T.bincount(p, a) !! GraphArgumentError !! weights are TensorType(float64, matrix)
T.bincount(p, minlength=-1) !! GraphValueError !! bincount: minlength: given the length
    -1
T.unique(a, axis=2) !! GraphIndexError !! unique: axis 2
T.unravel_index(p, i) !! GraphValueError !! the number of lengths in i is not known;
    give a list of them, or ndim
T.unravel_index(p, ()) !! GraphValueError !! dims are empty
T.unravel_index(p, (2, 3), ndim=3) !! GraphValueError !! given 2 lengths in dims,
    expected 3
T.unravel_index(v, (2, 3)) !! GraphTypeError !! unravel_index: indices are v
T.unravel_index(p, (2, 3), 'K') !! GraphValueError !! unravel_index: order is 'K'
T.ravel_multi_index([p], (2, 3)) !! GraphValueError !! 1 index arrays and 2 modes for 2
    axes
T.ravel_multi_index([p, p], (2, 3), ('wrap',)) !! GraphValueError !! 2 index arrays and
    1 modes for 2 axes
T.ravel_multi_index([p, p], (2, 3), 'fold') !! GraphValueError !! mode is 'fold',
    expected 'raise', 'wrap' or 'clip'
T.ravel_multi_index([v, p], (2, 3)) !! GraphTypeError !! ravel_multi_index: indices are
    v
T.ravel_multi_index([p, p], (2, 3), order='A') !! GraphValueError !! ravel_multi_index:
    order is 'A'
T.cov(c) !! GraphArgumentError !! cov: given TensorType(float64, 3D), expected 2 axes at
    most
T.cov(a, c) !! GraphArgumentError !! cov: given TensorType(float64, 3D)
T.cov(a, ddof=0.5) !! GraphTypeError !! cov: ddof is 0.5
T.cov(a, aweights=a) !! GraphArgumentError !! cov: weights are TensorType(float64,
    matrix)
T.fft.rfft(v) !! GraphArgumentError !! rfft: given v
T.fft.rfft(j) !! GraphArgumentError !! rfft: given j
T.fft.irfft(a) !! GraphArgumentError !! irfft: given a of TensorType(float64, matrix),
    expected floats of 3 axes
T.fft.rfft(a, 'other') !! GraphValueError !! rfft: norm is 'other'
T.fft.irfft(c, 'other') !! GraphValueError !! irfft: norm is 'other'
T.fft.irfft(c, is_odd=2) !! GraphValueError !! is_odd is 2
ifelse(v, 1, 2) !! GraphTypeError !! the condition v is of TensorType(float64, vector)
ifelse(s, [v], v) !! GraphValueError !! one branch is a list
ifelse(s, v, [v]) !! GraphValueError !! one branch is a list
ifelse(s, [v, v], [v]) !! GraphValueError !! the branches have 2 and 1 variables
ifelse(s, v, a) !! GraphTypeError !! in place 0; expected equal types
ifelse(s, [v, x32], [v, a]) !! GraphTypeError !! in place 1; expected equal types
ifelse(s, p, 0.5 * p) !! GraphTypeError !! expected equal types
ifelse(s, 0.1, x32[0, 0]) !! GraphTypeError !! expected equal types
a[0, 1, 2] !! GraphIndexError !! array is 2-dimensional, but 3 were indexed
a[..., 0, ...] !! GraphIndexError !! only have a single ellipsis
a[None, 1, 1, 1] !! GraphIndexError !! array is 2-dimensional, but 3 were indexed
a[p, p, p] !! GraphIndexError !! array is 2-dimensional, but 3 were indexed
a[g, 0] !! GraphIndexError !! array is 2-dimensional, but 3 were indexed
r[1] !! GraphIndexError !! index 1 is out of bounds for axis 0 with size 1
r[-2] !! GraphIndexError !! index -2 is out of bounds for axis 0 with size 1
r[[0, 1]] !! GraphIndexError !! index 1 is out of bounds for axis 0 with size 1
r[[0, -2]] !! GraphIndexError !! index -2 is out of bounds for axis 0 with size 1
k[:, 1] !! GraphIndexError !! index 1 is out of bounds for axis 1 with size 1
k[0, 1] !! GraphIndexError !! index 1 is out of bounds for axis 1 with size 1
T.constant([1, 2])[2] !! GraphIndexError !! index 2 is out of bounds for axis 0 with
    size 2
T.constant([1, 2])[-3] !! GraphIndexError !! index -3 is out of bounds for axis 0 with
    size 2
a.shape[2] !! GraphIndexError !! index 2 is out of bounds for axis 0 with size 2
a.shape[-3] !! GraphIndexError !! index -3 is out of bounds for axis 0 with size 2
a['x'] !! GraphIndexKindError !! 'x', a str; only integers
a[1.0] !! GraphIndexKindError !! 1.0, a float; only integers
a[v] !! GraphIndexKindError !! indexing: given v
a[True] !! GraphIndexKindError !! only integers
a[t[0]] !! GraphIndexKindError !! only integers
a[[[1, 2], [3]]] !! GraphIndexError !! indexing: given [[1, 2], [3]]
a[1:2.5] !! GraphTypeError !! has 2.5; its parts must be integers
a[v:] !! GraphTypeError !! has v; its parts must be integers
a[p:] !! GraphTypeError !! has p; its parts must be integers
a[::s] !! GraphTypeError !! has s; its parts must be integers
a[::0] !! GraphValueError !! slice step cannot be zero
T.set_subtensor(a, 0) !! GraphTypeError !! set_subtensor: given a, expected a part of an
    array
T.inc_subtensor(a + 1, 0) !! GraphTypeError !! inc_subtensor: given
T.set_subtensor(a[0], a) !! GraphArgumentError !! set_subtensor: given values of 2 axes
    for a part of 1 axes
T.set_subtensor(a[:, None], d) !! GraphArgumentError !! given values of 4 axes for a
    part of 3 axes
T.inc_subtensor(a[p, p], a) !! GraphArgumentError !! inc_subtensor: given values of 2
    axes for a part of 1 axes
T.set_subtensor(j[0], s) !! GraphTypeError !! given values of float64 for an array of
    int32
T.set_subtensor(a[0], z[0]) !! GraphTypeError !! given values of complex128 for an array
    of float64
T.inc_subtensor(g[0], p[0]) !! GraphTypeError !! given values of int64 for an array of
    bool
len(s) !! GraphTypeError !! len: s is a scalar
list(s) !! GraphTypeError !! iteration: s is a scalar
list(v) !! GraphTypeError !! the length of v is not known before
len(v) !! GraphTypeError !! use x.shape[0]
""")
"""Mistakes that are told while the graph is built."""

RUN = rows("""
T.specify_shape(a, (3, 5)) !! SpecifiedShapeError !! given shape (3, 4), expected (3, 5)
T.addbroadcast(a, 0) !! GraphValueError !! axis 0 has length 3, expected 1
T.addbroadcast(a, 1) !! GraphValueError !! axis 1 has length 4, expected 1
T.broadcast_to(a, (3, 5)) !! GraphValueError !! axis 1 has length 4, expected 5: it does
    not broadcast
T.broadcast_to(u, (3, 4)) !! GraphValueError !! axis 0 has length 1, expected 3
T.argmax(e) !! GraphValueError !! no elements over axes (0, 1)
T.argmin(e, 0) !! GraphValueError !! no elements over axes (0,)
T.max(e) !! ValueError !! no identity
T.join(0, a, c[0, :, :3]) !! ValueError !! must match exactly
T.split(v5, [1, 2], 2) !! GraphValueError !! sizes [1, 2] for axis 0 of length 5;
    expected 2 that sum up
T.split(v5, p, 3) !! GraphValueError !! sizes [2, 0, 1] for axis 0 of length 5
T.split(v, i[:3] * 2 + p * 0, 3) !! GraphValueError !! split: sizes [4, 0, -2]
T.matmul(c, d[:, 0, None]) !! ValueError !! mismatch
T.matmul(c, c.transpose(0, 2, 1)[:1]) !! GraphValueError !! axis 0 of the batch has
    lengths 2 and 1
a + u !! GraphValueError !! shapes (3, 4) and (1, 4) differ on axis 0
T.set_subtensor(a[:2], b) !! GraphValueError !! values of shape (3, 4) for a part of
    shape (2, 4)
T.set_subtensor(a[:2], u) !! GraphValueError !! values of shape (1, 4) for a part of
    shape (2, 4)
a[n + 1] !! IndexError !! index 3 is out of bounds for axis 0 with size 3
a[p + 1] !! IndexError !! index 3 is out of bounds for axis 0 with size 3
T.repeat(v, p[:2]) !! GraphValueError !! repeats [2, 0] for axis 0 of length 3
T.repeat(v, p - 1) !! GraphValueError !! repeats [1, -1, 0] for axis 0
T.topk(v, 4) !! GraphValueError !! kth is 4 for axis 0 of length 3
T.topk(v, n - 6) !! GraphValueError !! kth is -4 for axis 0 of length 3
T.AllocDiag()(v, 2, 4) !! GraphValueError !! given 3 elements for a diagonal of 2
T.nnet.categorical_crossentropy(a, p + 2) !! GraphIndexError !! places from 2 to 4 in
    rows of 4
T.nnet.categorical_crossentropy(a, -p - 3) !! GraphIndexError !! places from -5 to -3 in
    rows of 4
T.nnet.categorical_crossentropy(a, i) !! GraphValueError !! rows of shape (3, 4) and
    places of shape (4,); expected (3,): a place, or a class, in each row
T.bincount(i, assert_nonneg=True) !! GraphValueError !! an element is below 0
T.ravel_multi_index([p + 1, p], (3, 4)) !! IndexError !! index 3 is out of bounds for
    axis 0 with size 3
T.ravel_multi_index([i, i], (3, 4)) !! IndexError !! index 3 is out of bounds for axis 0
    with size 3
T.unravel_index(p + 4, (2, 3)) !! IndexError !! index 6 is out of bounds for axis 0 with
    size 6
T.unravel_index(i, (2, 3)) !! IndexError !! index 6 is out of bounds for axis 0 with
    size 6
T.choose(p, [v, v]) !! IndexError !! index 2 is out of bounds for axis 0 with size 2
T.choose(i, [w, w, w]) !! IndexError !! index 3 is out of bounds for axis 0 with size 3
T.choose(i[:3], a[:, :3]) !! IndexError !! index 3 is out of bounds for axis 0 with size
    3
T.inverse_permutation(p + 1) !! IndexError !! index 3 is out of bounds
as_op([T.dvector], [T.dvector])(tuple)(v) !! GraphValueError !! the function gave 3
    arrays, expected 1
T.slinalg.cholesky(-q) !! LinAlgError !! positive definite
T.sort(a, n) !! IndexError !! index 2 is out of bounds for axis 0 with size 2
""")
"""Mistakes that are told of values."""
