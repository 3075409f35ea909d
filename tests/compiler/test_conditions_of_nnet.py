"""Activations, costs and Fourier transforms, on both sides of their conditions."""

import pytest
from written import assert_gradient, assert_numpys, rows

OF_REALS = rows("""
T.nnet.softmax(a) :: np.exp(a) / np.exp(a).sum(1, keepdims=True)
T.nnet.softmax(a, 0) :: np.exp(a) / np.exp(a).sum(0)
T.nnet.softmax(v) :: np.exp(v) / np.exp(v).sum()
T.nnet.softmax(c, axis=-2) :: np.exp(c) / np.exp(c).sum(1, keepdims=True)
T.nnet.logsoftmax(a) :: a - np.log(np.exp(a).sum(1, keepdims=True))
T.nnet.logsoftmax(a, 0) :: a - np.log(np.exp(a).sum(0))
T.nnet.softmax_graph(a) :: np.exp(a) / np.exp(a).sum(1, keepdims=True)
T.nnet.softmax_with_bias(a, w) :: np.exp(a + w) / np.exp(a + w).sum(1, keepdims=True)
T.nnet.relu(a) :: np.maximum(a, 0)
T.nnet.relu(a, 0.25) :: np.where(a > 0, a, 0.25 * a)
T.nnet.relu(a, 0.0) :: np.maximum(a, 0)
T.nnet.relu(a, w) :: np.where(a > 0, a, w * a)
T.nnet.elu(a) :: np.where(a > 0, a, np.expm1(a))
T.nnet.elu(a, 0.3) :: np.where(a > 0, a, 0.3 * np.expm1(a))
T.nnet.selu(a) :: 1.0507009873554804934 * np.where(a > 0, a, 1.6732632423543772848 *
    np.expm1(a))
T.nnet.softsign(a) :: a / (1 + abs(a))
T.nnet.ultra_fast_sigmoid(2 * a) :: 0.5 + 0.5 * np.sign(a) * np.where(abs(a) < 1.7,
    1.5 * abs(a) / (1 + abs(a)), np.where(abs(a) < 3, 0.935409070603099 +
    0.0458812946797165 * (abs(a) - 1.7), 0.99505475368673))
T.nnet.hard_sigmoid(2 * a) :: np.clip(0.4 * a + 0.5, 0, 1)
T.nnet.binary_crossentropy(abs(a) / 9, w) :: -(w * np.log(abs(a) / 9) + (1 - w) *
    np.log1p(-abs(a) / 9))
T.nnet.sigmoid_binary_crossentropy(a, w) :: np.log1p(np.exp(a)) - w * a
T.nnet.categorical_crossentropy(abs(a), b) :: -(b * np.log(abs(a))).sum(1)
T.nnet.categorical_crossentropy(abs(a), p) :: -np.log(abs(a[np.arange(3), p]))
T.nnet.categorical_crossentropy(abs(v), p[0]) :: -np.log(abs(v[p[0]]))
T.nnet.crossentropy_softmax_1hot(a, p) :: [-np.log((np.exp(a) / np.exp(a).sum(1,
    keepdims=True))[np.arange(3), p]), np.exp(a) / np.exp(a).sum(1, keepdims=True)]
T.nnet.crossentropy_softmax_1hot_with_bias(a, w, p)[0] :: -np.log((np.exp(a + w) /
    np.exp(a + w).sum(1, keepdims=True))[np.arange(3), p])
T.nnet.crossentropy_softmax_max_and_argmax_1hot(a, p)[2] :: (np.exp(a) /
    np.exp(a).sum(1, keepdims=True)).max(1)
T.nnet.prepend_0_to_each_row(a) :: np.c_[v * 0, a]
T.nnet.prepend_1_to_each_row(a) :: np.c_[v * 0 + 1, a]
T.nnet.prepend_scalar_to_each_row(s, a) :: np.c_[v * 0 + s, a]
T.fft.rfft(a) :: np.stack([np.fft.rfft(a).real, np.fft.rfft(a).imag], -1)
T.fft.rfft(a[:, :3]) :: np.stack([np.fft.rfft(a[:, :3]).real, np.fft.rfft(a[:,
    :3]).imag], -1)
T.fft.rfft(c, norm='ortho') :: np.stack([np.fft.rfft2(c, norm='ortho').real,
    np.fft.rfft2(c, norm='ortho').imag], -1)
T.fft.rfft(c, norm='no_norm') :: np.stack([np.fft.rfft2(c).real, np.fft.rfft2(c).imag],
    -1)
T.fft.irfft(T.fft.rfft(a)) :: a
T.fft.irfft(T.fft.rfft(a[:, :3]), is_odd=True) :: a[:, :3]
T.fft.irfft(T.fft.rfft(c, 'ortho'), 'ortho') :: c
T.fft.irfft(T.fft.rfft(c), 'no_norm') :: c * 12
""")

OF_OTHERS = rows("""
T.nnet.confusion_matrix([0, 1, 1, 5], [1, 1, 0, 5]) :: [np.array([[0, 1, 0], [1, 1, 0],
    [0, 0, 1]]), np.array([0, 1, 5])]
T.nnet.crossentropy_softmax_argmax_1hot_with_bias(a, w, p)[2] :: (a + w).argmax(1)
T.nnet.crossentropy_softmax_max_and_argmax_1hot(a, p)[3] :: a.argmax(1)
T.nnet.crossentropy_softmax_max_and_argmax_1hot_with_bias(a, w, p)[3] :: (a +
    w).argmax(1)
T.nnet.relu(j) :: np.maximum(j, 0)
T.nnet.relu(x32, 0.1) :: np.where(x32 > 0, x32, np.float32(0.1) * x32)
T.nnet.elu(x32) :: np.where(x32 > 0, x32, np.expm1(x32))
""")


@pytest.mark.parametrize("text", [*OF_REALS, *OF_OTHERS])
def test_values_of_networks_are_those_written_with_numpy(text):
    assert_numpys(text)


@pytest.mark.parametrize("text", OF_REALS)
def test_gradients_of_networks_agree_with_differences(text):
    assert_gradient(text)
