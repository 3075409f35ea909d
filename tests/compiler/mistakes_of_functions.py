"""More of `mistakes`: those of products, factors, sorting, reductions and NumPy."""

from written import rows

BUILT = rows("""
T.nlinalg.lstsq(c, v) !! GraphArgumentError !! lstsq: given TensorType(float64, 3D)
T.nlinalg.lstsq(a, c) !! GraphArgumentError !! and TensorType(float64, 3D), expected a
    matrix
T.nlinalg.lstsq(a, s) !! GraphArgumentError !! and TensorType(float64, scalar), expected
    a matrix
T.nlinalg.lstsq(a, v, 'x') !! GraphArgumentError !! rcond is 'x', expected a number
T.nlinalg.lstsq(a, v, True) !! GraphArgumentError !! rcond is True
T.nlinalg.lstsq(a, v, s) !! GraphArgumentError !! rcond is s
T.nlinalg.matrix_power(v, 2) !! GraphMatrixError !! matrix_power: given
    TensorType(float64, vector)
T.nlinalg.matrix_power(q, 0.5) !! GraphArgumentError !! n is 0.5, expected an integer
T.nlinalg.matrix_dot() !! GraphArgumentError !! given nothing
T.nlinalg.tensorsolve(a, c) !! GraphValueError !! given 2 and 3 axes; expected fewer of
    the second
T.nlinalg.tensorsolve(a, a) !! GraphValueError !! given 2 and 2 axes
T.nlinalg.tensorinv(c, 3) !! GraphMatrixError !! ind is 3 for 3 axes, expected a number
    from 1 to 2
T.nlinalg.tensorinv(c, 0) !! GraphMatrixError !! ind is 0 for 3 axes
T.nlinalg.tensorinv(c, 1.0) !! GraphMatrixError !! ind is 1.0
T.join(0) !! GraphValueError !! join: given no arrays
T.Join(0)() !! GraphValueError !! join: given no arrays
T.join(0, s, s) !! GraphArgumentError !! expected arrays of as many axes each, at least
    one
T.join(0, v, a) !! GraphArgumentError !! expected arrays of as many axes each
T.join(2, a, a) !! GraphIndexError !! join: axis 2
T.join(s, a, a) !! GraphArgumentError !! join: axis is s
T.join(p, a, a) !! GraphArgumentError !! join: axis is p
T.concatenate(v) !! GraphTypeError !! concatenate: given v, a Variable; expected a list
    or tuple
T.concatenate([]) !! GraphValueError !! concatenate: given no arrays
T.stack([v, v], 1, 2) !! GraphArgumentError !! stack: expected a list of arrays and an
    axis
T.stack([]) !! GraphValueError !! stack: given no arrays
T.stack([v, a]) !! GraphArgumentError !! expected as many axes each
T.stack([v, v], axis=2) !! GraphIndexError !! stack: axis 2 is not among 2 axes
T.stacklists([]) !! GraphValueError !! stacklists: given no arrays
T.horizontal_stack(v, v) !! GraphArgumentError !! horizontal_stack: given v
T.vertical_stack(a, v) !! GraphArgumentError !! vertical_stack: given v
T.split(v, [1, 2], 3) !! GraphValueError !! split: given 2 sizes, expected n_splits=3
T.split(v, [-1, 4], 2) !! GraphValueError !! split: negative sizes in [-1, 4]
T.split(v, p) !! GraphValueError !! split: the number of sizes in p is not known; give
    n_splits
T.split(v, [], 0) !! GraphValueError !! n_splits is 0, expected 1 or more
T.split(v, [1, 2], 2.0) !! GraphTypeError !! split: n_splits is 2.0
T.tensordot(a, a, 3) !! GraphIndexError !! axes=3 for operands of 2 and 2 axes
T.tensordot(a, v, 2) !! GraphIndexError !! axes=2 for operands of 2 and 1 axes
T.tensordot(a, a, -1) !! GraphIndexError !! axes=-1
T.tensordot(a, a, 1.5) !! GraphTypeError !! axes is 1.5
T.tensordot(a, a, 'ab') !! GraphArgumentError !! axes is 'ab', expected a number or a
    pair
T.tensordot(a, a, 'a') !! GraphArgumentError !! axes is 'a', expected a number or a pair
T.tensordot(a, a, [1]) !! GraphArgumentError !! axes is [1], expected a number or a pair
T.tensordot(a, a, [0, 1, 1]) !! GraphArgumentError !! axes is [0, 1, 1]
T.tensordot(a, a, [[0, 1], [1]]) !! GraphValueError !! 2 axes of the first operand for 1
T.tri(p) !! GraphTypeError !! tri: a length is p of TensorType(int64, vector)
T.tri(0.5) !! GraphTypeError !! tri: a length is TensorConstant{0.5}
T.tri(t[0]) !! GraphTypeError !! of TensorType(bool, scalar), expected an integer
T.tri(3, 2, 0.5) !! GraphTypeError !! tri: k is TensorConstant{0.5}
T.topk(v, p) !! GraphTypeError !! topk: kth is p of TensorType(int64, vector)
T.roll(a, 0.5, 0) !! GraphTypeError !! roll: shift is TensorConstant{0.5}
T.pad(a, 0.5) !! GraphTypeError !! pad: a width is TensorConstant{0.5}
T.tensordot(a, a, [[0, 0], [0, 1]]) !! GraphValueError !! axes [0, 0]: they must differ
T.tensordot(a, a, [[0, 1], [1, -1]]) !! GraphValueError !! axes [1, 1]: they must differ
T.tensordot(a, a, [[2], [0]]) !! GraphIndexError !! tensordot: axis 2
T.batched_tensordot(a, a, [[0], [1]]) !! GraphValueError !! the first 1 are the batch
T.batched_tensordot(a, a, [[1], [0]]) !! GraphValueError !! the first 1 are the batch
T.batched_tensordot(a, a, 2) !! GraphIndexError !! axes=2 for operands of 2 and 2 axes
T.batched_tensordot(s, a) !! GraphTypeError !! batched_tensordot: given
    TensorType(float64, scalar)
T.batched_tensordot(a, s) !! GraphTypeError !! batched_tensordot: given
    TensorType(float64, scalar)
T.batched_dot(s, a) !! GraphArgumentError !! batched_dot: given s
T.batched_dot(a, s) !! GraphArgumentError !! batched_dot: given s
T.matmul(s, a) !! GraphArgumentError !! a scalar; use a * b
T.matmul(a, s) !! GraphArgumentError !! a scalar; use a * b
T.nnet.categorical_crossentropy(a, s) !! GraphTypeError !! expected a distribution for
    each row, or a class
T.nnet.categorical_crossentropy(a, v) !! GraphArgumentError !! Pick: the places, or
    classes, are v
T.nnet.confusion_matrix(i2, p) !! GraphArgumentError !! confusion_matrix: given i2
T.nnet.confusion_matrix(p, i2) !! GraphArgumentError !! confusion_matrix: given i2
T.nnet.softmax(s) !! GraphArgumentError !! softmax: given s
T.nnet.softmax(j) !! GraphArgumentError !! softmax: given j
T.nnet.Softmax(2)(a) !! GraphArgumentError !! expected floats that have axis 2
T.nnet.Softmax(-1)(a) !! GraphArgumentError !! expected floats that have axis -1
T.nnet.Softmax(0)(j) !! GraphArgumentError !! expected floats that have axis 0
T.nnet.logsoftmax(j) !! GraphArgumentError !! logsoftmax: given j
T.nnet.softmax(a, 2) !! GraphIndexError !! softmax: axis 2
T.cast(z, 'float64') !! GraphTypeError !! take real(x), imag(x) or abs(x)
np.linalg.norm(a, 'x') !! GraphValueError !! the order is 'x', expected 1, -1, 2, -2
np.linalg.norm(a, 3) !! GraphValueError !! the order is 3, expected 1, -1, 2
np.linalg.norm(v, 'fro') !! GraphValueError !! the order is 'fro', expected a number for
    vectors
np.linalg.norm(v, True) !! GraphValueError !! the order is True, expected a number
np.linalg.norm(v, [1]) !! GraphValueError !! the order is [1], expected a number
np.linalg.norm(c, 1) !! GraphValueError !! over the axes (0, 1, 2), expected 1 (vectors)
    or 2
np.linalg.norm(a, 1, (0, 0)) !! GraphValueError !! over the axes (0, 0)
T.nlinalg.eigh(q, 'X') !! GraphValueError !! eigh: UPLO is 'X', expected 'L' or 'U'
T.nlinalg.qr(a, 'full') !! GraphValueError !! qr: mode is 'full'
T.nlinalg.det(v) !! GraphMatrixError !! det: given v
T.nlinalg.svd(x16) !! GraphTypeError !! svd: given x16
T.nlinalg.eig(v) !! GraphMatrixError !! eig: given v
T.nlinalg.pinv(v) !! GraphMatrixError !! pinv: given v
T.slinalg.cholesky(v) !! GraphMatrixError !! cholesky: given v
T.slinalg.cholesky(q, on_error='warn') !! GraphValueError !! on_error is 'warn',
    expected 'raise' or 'nan'
T.slinalg.expm(v) !! GraphMatrixError !! expm: given v
T.slinalg.Solve('sparse') !! GraphValueError !! A_structure is 'sparse'
T.slinalg.solve(q, s) !! GraphArgumentError !! solve: given
T.slinalg.solve(qs, v) !! GraphArgumentError !! expected a matrix and a vector, or
    matrices
T.slinalg.solve(v, v) !! GraphMatrixError !! solve: given v
T.slinalg.solve(q, v, 'her') !! GraphValueError !! assume_a is 'her'
T.pad(a, 1, 'mirror') !! GraphValueError !! mode is 'mirror', expected one of
T.pad(a, 1, end_values=1) !! GraphValueError !! mode 'constant' takes no ['end_values']
T.pad(a, 1, 'reflect', reflect_type='odd') !! GraphValueError !! reflect_type is not
    'even'
T.pad(a, 1, 'mean', stat_length=2) !! GraphValueError !! stat_length is not None
T.pad(a, (1, 2, 3)) !! GraphValueError !! pad_width is (1, 2, 3), expected one, a pair
T.pad(a, ((1, 2), (1, 2), (1, 2))) !! GraphValueError !! a pair for each of 2 axes
T.pad(a, ((1, 2), 1)) !! GraphValueError !! a pair for each of 2 axes
T.pad(a, ((1, 2, 3), (1, 2, 3))) !! GraphValueError !! a pair for each of 2 axes
T.pad(a, -1) !! GraphValueError !! a width is -1, expected 0 or more
T.pad(a, 1.5) !! GraphTypeError !! pad: a width is
T.pad(a, 1, constant_values=v) !! GraphArgumentError !! a value is TensorType(float64,
    vector)
T.pad(a, 1, 'linear_ramp', end_values=v) !! GraphArgumentError !! an end value is
    TensorType(float64, vector)
T.take(a, v) !! GraphIndexKindError !! indexing: given v
T.take(a, t) !! GraphTypeError !! take: given indices t
T.take(a, slice(2)) !! GraphTypeError !! take: given indices slice
T.take(a, p, mode='fold') !! GraphValueError !! take: mode is 'fold'
T.take(a, p, 2) !! GraphIndexError !! take: axis 2
T.flatnonzero(s) !! GraphValueError !! flatnonzero: given a scalar
T.nonzero(s) !! GraphValueError !! nonzero: given a scalar
T.choose(v, [v]) !! GraphTypeError !! choose: given v
T.choose(p, []) !! GraphValueError !! choices is empty
T.choose(p, s) !! GraphArgumentError !! choices is a scalar
T.choose(p, [v], out=v) !! NotOfferedError !! out is not offered
T.choose(p, [v], mode='fold') !! GraphValueError !! choose: mode is 'fold'
T.inverse_permutation(v) !! GraphArgumentError !! inverse_permutation: given
    TensorType(float64, vector)
T.inverse_permutation(n) !! GraphArgumentError !! inverse_permutation: given
    TensorType(int64, scalar)
T.permute_row_elements(s, p) !! GraphArgumentError !! permute_row_elements: given
    TensorType(float64, scalar)
T.permute_row_elements(v, n) !! GraphArgumentError !! and TensorType(int64, scalar),
    expected at least one axis
T.Reduce('sub', (0,)) !! GraphValueError !! no reduction folds 'sub'
T.Reduce('add', (1,))(v) !! GraphIndexError !! axes (1,) are not among 1 axes
T.mean(a, dtype='int32') !! GraphTypeError !! dtype int32 has no fractions
T.Argmax((1,))(v) !! GraphValueError !! which lacks some of the axes
T.tile(a, p) !! GraphValueError !! the number of repeats in p is not known; give ndim
T.tile(a, (1, 2, 3), 2) !! GraphValueError !! tile: ndim=2, expected at least the 2 axes
    of a and the 3 repeats
T.tile(c, (1, 2), 2) !! GraphValueError !! tile: ndim=2
T.tile(a, (-1, 2)) !! GraphValueError !! tile: -1 times
T.repeat(a, 1.5) !! GraphArgumentError !! repeat: repeats are
T.repeat(a, i2) !! GraphArgumentError !! repeat: repeats are i2
T.repeat(a, -1) !! GraphValueError !! repeat: -1 times
T.repeat(v, [1, -1, 2]) !! GraphValueError !! a negative number of repeats
T.repeat(a, 2, 2) !! GraphIndexError !! repeat: axis 2
T.roll(a, (1, 2), (0, 1, 1)) !! GraphValueError !! 2 shifts for 3 axes
T.roll(a, 1.5) !! GraphTypeError !! roll: shift is
T.roll(a, 1, 2) !! GraphIndexError !! roll: axis 2
T.CumOp(0, 'max') !! GraphValueError !! mode is 'max'
T.cumsum(a, 2) !! GraphIndexError !! cumsum: axis 2
T.cumprod(a, 2) !! GraphIndexError !! cumprod: axis 2
T.diff(a, -1) !! GraphValueError !! n is -1, expected 0 or more
T.diff(s) !! GraphArgumentError !! diff: given s, a scalar
T.diff(a, axis=2) !! GraphIndexError !! diff: axis 2
a.dimshuffle('y', 0, 1) !! GraphArgumentError !! 'y' is no axis; write 'x'
a.dimshuffle(0, 0) !! GraphValueError !! an axis stands twice in (0, 0)
a.dimshuffle(0) !! GraphValueError !! leaves out axis 1, which may be longer than 1
T.DimShuffle((False,), (1,)) !! GraphIndexError !! axis 1 is not among the 1 axes
T.DimShuffle((False,), (-1,)) !! GraphIndexError !! axis -1 is not among the 1 axes
T.DimShuffle((True,), (0,))(v) !! GraphTypeError !! expected the pattern (True,)
T.transpose(c, (0, 1)) !! GraphValueError !! axes (0, 1) do not name all 3 axes
Shape_i(1)(v) !! GraphIndexError !! which has no axis 1
Shape_i(-1)(v) !! GraphIndexError !! which has no axis -1
T.reshape(a, (2, 6), 3) !! GraphArgumentError !! the shape has 2 lengths, expected
    ndim=3
T.reshape(a, (-1, -1)) !! GraphValueError !! the shape is (-1, -1); lengths are not
    negative
T.reshape(a, (-2, 6)) !! GraphValueError !! the shape is (-2, 6)
T.reshape(a, p) !! GraphValueError !! the number of lengths in p is not known; give ndim
T.flatten(a, 2, 2) !! GraphTypeError !! given ndim and outdim
T.flatten(a, 3) !! GraphValueError !! ndim=3 is not between 1 and 2
T.flatten(a, 0) !! GraphValueError !! ndim=0 is not between 1 and 2
T.sort(a, kind='bubble') !! GraphValueError !! sort: kind is 'bubble'
T.argsort(a, kind='bubble') !! GraphValueError !! argsort: kind is 'bubble'
T.sort(a, order='x') !! NotOfferedError !! sort: order='x'
T.sort(a, 2) !! GraphIndexError !! sort: axis 2
T.topk(a, 0) !! GraphValueError !! kth is 0
T.topk(a, 1.5) !! GraphTypeError !! topk: kth is
T.topk(a, 1, 2) !! GraphIndexError !! topk: axis 2
T.argtopk(a, 1, idx_dtype='float32') !! GraphTypeError !! idx_dtype is float32, expected
    integers
T.take_along_axis(a, p, 0) !! GraphIndexKindError !! expected integers of 2 axes
T.take_along_axis(a, b, 0) !! GraphIndexKindError !! expected integers of 2 axes
T.take_along_axis(a, i2, 2) !! GraphIndexError !! take_along_axis: axis 2
T.round(a, 'up') !! GraphValueError !! mode='up'; it takes 'half_to_even' or
T.Subtensor(['int64'])(a) !! GraphTypeError !! given 0 inputs for the index, expected 1
T.Subtensor(['int64'])(a, 1, 2) !! GraphTypeError !! given 2 inputs for the index,
    expected 1
T.Subtensor(['int64'])(a, v) !! GraphIndexError !! is no integer scalar
T.Subtensor(['int64'])(a, s) !! GraphIndexError !! is no integer scalar
T.Subtensor(['int64'])(s, 0) !! GraphIndexError !! array is 0-dimensional, but 1 were
    indexed
T.AdvancedSubtensor1()(a, i2) !! GraphTypeError !! given an index of TensorType(int64,
    matrix), expected a vector
as_op([T.dvector], [3])(len) !! GraphTypeError !! otypes holds 3; expected types
as_op(['x'], [T.dvector])(len) !! GraphTypeError !! itypes holds 'x'; expected types
as_op([T.dvector], [T.dvector])(str)(v, v) !! GraphTypeError !! given 2 inputs, expected
    1
as_op([T.dmatrix], [T.dvector])(str)(v) !! GraphTypeError !! expected
    TensorType(float64, matrix); convert it
grad_clip(v, 2, 1) !! GraphValueError !! the bounds are 2 and 1
v.transfer('nowhere') !! ContextNotDefined !! nowhere
bool(v) !! GraphTypeError !! bool: v is symbolic
int(s) !! GraphTypeError !! int: s is symbolic
float(s) !! GraphTypeError !! float: s is symbolic
complex(s) !! GraphTypeError !! complex: s is symbolic
range(n) !! GraphTypeError !! index: n is symbolic
1 in v !! GraphTypeError !! in: v is symbolic
np.array(v) !! GraphTypeError !! array: v is symbolic
v.__setitem__(0, 1) !! GraphTypeError !! assignment: v is symbolic
np.add(v, v, out=np.zeros(3)) !! GraphTypeError !! numpy.add: not offered
np.add(v, v, where=[True]) !! GraphTypeError !! where= cannot be given
np.add(v, v, dtype='float32') !! GraphTypeError !! dtype= cannot be given
np.add.at(v, 0, 1) !! GraphTypeError !! use T.inc_subtensor
np.add.reduceat(v, [0]) !! GraphTypeError !! numpy.add.reduceat: not offered
np.arctan2.reduce(v) !! GraphTypeError !! numpy.arctan2.reduce: not offered
np.add.reduce(v, initial=1) !! GraphTypeError !! initial= cannot be given
np.add.outer(v, v, dtype='float32') !! GraphTypeError !! numpy.add.outer: not offered
np.copyto(v, v) !! GraphTypeError !! use new = T.where(mask, values, x)
np.interp(v, v, v) !! GraphTypeError !! numpy.interp: not offered
np.fft.fft(v) !! GraphTypeError !! T.fft.rfft and T.fft.irfft are offered
np.sum(v, initial=1.0) !! GraphTypeError !! initial=1.0 cannot be given; ours takes
""")
