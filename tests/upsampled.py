"""Linear interpolation of images: the judge of bilinear upsampling."""

import numpy as np


def interpolated(x, rows, columns):
    """Images larger by the fractions (p, q) of rows and of columns, in lowest terms."""
    for axis, (p, q) in ((-2, rows), (-1, columns)):
        n = x.shape[axis]
        at = (np.arange(0, n * p, q) - (p - 1) // 2) / p
        before = np.clip(np.floor(at), 0, n - 1).astype(int)
        after = np.minimum(before + 1, n - 1)
        shape = [1] * x.ndim
        shape[axis] = len(at)
        share = (np.clip(at, 0, n - 1) - before).reshape(shape).astype(x.dtype)
        x = np.take(x, before, axis) * (1 - share) + np.take(x, after, axis) * share
    return x
