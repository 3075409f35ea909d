"""Points of affine maps and images there, one by one: the judge of samplers."""

import numpy as np


def grid_of(theta, rows, columns):
    """The places, point by point."""
    out = np.zeros((len(theta), rows, columns, 2))
    for n, i, j in np.ndindex(out.shape[:3]):
        x, y = (
            2 * k / (count - 1) - 1 if count > 1 else 0.0  # the middle
            for k, count in ((j, columns), (i, rows))
        )
        out[n, i, j] = theta[n] @ [x, y, 1]
    return out


def sampled(img, grid):
    """The images at places, pixel by pixel; zeros beyond them."""
    n, channels, height, width = img.shape
    out = np.zeros((n, channels, *grid.shape[1:3]))
    for b, i, j in np.ndindex(grid.shape[:3]):
        x, y = (grid[b, i, j] + 1) * (np.array([width, height]) - 1) / 2
        for r in (int(np.floor(y)), int(np.floor(y)) + 1):
            for c in (int(np.floor(x)), int(np.floor(x)) + 1):
                if 0 <= r < height and 0 <= c < width:
                    weight = (1 - abs(x - c)) * (1 - abs(y - r))
                    out[b, :, i, j] += weight * img[b, :, r, c]
    return out
