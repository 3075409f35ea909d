"""Neighbourhoods of images by NumPy: places are listed, no element is computed."""

import math

import numpy as np

MODES = ("valid", "ignore_borders", "wrap_centered", "half", "full")


def places(mode, image, length, step):
    """The places along an axis: a row for each neighbourhood, -1 beyond the image.

    None where the mode does not take these numbers.
    """
    if mode == "wrap_centered":
        if length % 2 == 0 or length > image:
            return None
        first = np.arange(0, image, step)[:, None] - length // 2
        return (first + np.arange(length)) % max(image, 1)
    zeros = {"half": length // 2, "full": length - 1}.get(mode, 0)
    starts = np.arange(-zeros, image + zeros - length + 1, step)
    is_whole = starts.size and starts[-1] + length == image + zeros
    if mode != "ignore_borders" and not is_whole:
        return None
    at = starts[:, None] + np.arange(length)
    return np.where((at >= 0) & (at < image), at, -1)


def matrix(x, rows, columns):
    """The neighbourhoods of images as rows, for the places along both axes."""
    padded = np.pad(x, [(0, 0), (0, 0), (0, 1), (0, 1)])  # place -1 is a zero
    found = padded[:, :, rows[:, None, :, None], columns[None, :, None, :]]
    return found.reshape(math.prod(found.shape[:4]), math.prod(found.shape[4:]))


def images(neighbours, shape, rows, columns):
    """Images whose elements are the sums of their copies."""
    out = np.zeros((*shape[:2], shape[2] + 1, shape[3] + 1), neighbours.dtype)
    counts = len(rows), len(columns), rows.shape[1], columns.shape[1]
    copies = neighbours.reshape(*shape[:2], *counts)
    at = rows[:, None, :, None], columns[None, :, None, :]
    np.add.at(out, (slice(None), slice(None), *at), copies)
    return out[:, :, :-1, :-1]
