"""Neighbourhoods of images: drawn shapes and layouts, gradients, errors."""

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray._nn.neighbours import images_to_neighbours, neighbours_to_images
from gpuarray.compiler import config, function, grad
from gpuarray.compiler.ops.nnet.neighbours import MODES, Neibs2Images
from gpuarray.compiler.tensor.nnet.neighbours import (
    Images2Neibs,
    images2neibs,
    neibs2images,
)

X, M = T.ftensor4("X"), T.fmatrix("m")
COUNT = 60


def drawn(rng, mode):
    """Lengths of images, neighbourhoods and steps that fit."""
    while True:
        lengths, shape, step = (rng.integers(1, n, 2).tolist() for n in (9, 5, 4))
        try:
            list(Images2Neibs(mode).places(lengths, shape, step))
        except ValueError:
            continue
        return lengths, shape, step


@pytest.mark.parametrize("mode", MODES)
def test_drawn_shapes_and_layouts(mode, context):
    rng = np.random.default_rng(MODES.index(mode))
    for _ in range(COUNT):
        lengths, shape, step = drawn(rng, mode)
        host = rng.integers(0, 99, (2, 3, *lengths)).astype("float32")
        array = gpuarray.asarray(host, context=context)
        if rng.integers(2):
            host, array = host[:, ::-1, :, ::-1], array[:, ::-1, :, ::-1]
        wanted = Images2Neibs(mode).reference(host, *shape, *step)
        found = images_to_neighbours(array, shape, step, mode)
        np.testing.assert_array_equal(found, wanted)
        wide = gpuarray.asarray(
            np.repeat(wanted, 2, 1) if wanted.size else wanted, context=context
        )
        rows = wide[:, ::2] if wanted.size else wide
        back = neighbours_to_images(rows, host.shape, shape, step, mode)
        sums = Neibs2Images(mode).reference(wanted, *host.shape, *shape, *step)
        np.testing.assert_array_equal(back, sums)


def test_places_beyond_an_int(context):
    """An image of one element, repeated more often than an int counts."""
    one = gpuarray.ones(1, "float32", device=context)
    images = one.broadcast_to((2, 1, 2**30, 2**22))
    step = (2**29, 2**21)
    found = images_to_neighbours(images, (2, 3), step, "ignore_borders")
    np.testing.assert_array_equal(found, np.ones((8, 6), "float32"))


def test_lengths_may_be_computed(first_context):
    shape, step = T.lvector("shape"), T.lscalar("step")
    with config.use(device=str(first_context.name)):
        f = function([X, shape, step], images2neibs(X, shape, [step, 2 * step]))
        back = function([M, shape, X], neibs2images(M, shape, X.shape))
    host = np.arange(48, dtype="float32").reshape(1, 2, 4, 6)
    wanted = Images2Neibs().reference(host, 2, 2, 1, 2)
    np.testing.assert_array_equal(f(host, [2, 2], 1), wanted)
    apart = Images2Neibs().reference(host, 2, 3, 2, 3)
    np.testing.assert_array_equal(back(apart, [2, 3], host), host)


def test_second_gradients(first_context):
    x, w = T.dtensor4("x"), T.dmatrix("w")
    rows = images2neibs(x, (3, 3), (1, 1), "half")
    slope = grad(T.sqr(rows * w).sum(), x)
    second = grad((slope**2).sum(), x)
    with config.use(device=str(first_context.name)):
        f = function([x, w], second)
    rng = np.random.default_rng(0)
    values, weights = rng.normal(size=(1, 2, 4, 5)), rng.normal(size=(40, 9))
    forth, back = Images2Neibs("half"), Neibs2Images("half")

    def curved(v):
        copies = forth.reference(v, 3, 3, 1, 1) * weights**2 * 2
        return back.reference(copies, *v.shape, 3, 3, 1, 1)

    np.testing.assert_allclose(f(values, weights), 2 * curved(curved(values)))


ERRORS = [
    (lambda: images2neibs(M, (2, 2)), TypeError, "given ten4 m of .*4 axes"),
    (lambda: images2neibs(X, 2), TypeError, "given neib_shape .*expected 2 integers"),
    (lambda: images2neibs(X, (2, 2, 2)), TypeError, "expected 2 integers"),
    (lambda: images2neibs(X, (2, 2), (1.5, 1.0)), TypeError, "given neib_step"),
    (lambda: images2neibs(X, (2, 2), mode="same"), ValueError, "given mode 'same'"),
    (lambda: neibs2images(X, (2, 2), (1, 1, 2, 2)), TypeError, "given neibs X of"),
    (lambda: neibs2images(M, (2, 2), (2, 2)), TypeError, "given original_shape"),
    (lambda: neibs2images(M, (2, 2), (1, 1, 2, 2), "half"), ValueError, "mode 'half'"),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors_name_the_argument(number):
    make, kind, message = ERRORS[number]
    with pytest.raises(kind, match=message):
        make()


RUN_ERRORS = {
    ("valid", (2, 2), (2, 2)): "length 2 and step 2 along axis 2 of images of 5",
    ("wrap_centered", (2, 2), (1, 1)): "expected an odd one that fits",
    ("half", (3, 3), (3, 1)): "with zeros around",
    ("valid", (0, 2), (1, 1)): "shape is",
    ("valid", (1, 2), (1, 2**40)): "step is .*, expected two integers, 1 to",
}


@pytest.mark.parametrize("given", RUN_ERRORS)
def test_what_does_not_fit_is_told(given, first_context):
    mode, shape, step = given
    with config.use(device=str(first_context.name)):
        f = function([X], images2neibs(X, shape, step, mode))
    with pytest.raises(ValueError, match=RUN_ERRORS[given]):
        f(np.zeros((1, 1, 5, 6), "f4"))
