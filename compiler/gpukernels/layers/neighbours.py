"""Neighbourhoods of images, and their gradient: functions of the library."""

from __future__ import annotations

from gpuarray._nn import neighbours
from gpuarray.array import Array
from gpuarray.compiler.gpukernels.bodies import Steps, body_of
from gpuarray.compiler.gpukernels.calls import step_function
from gpuarray.compiler.gpukernels.registry import lowered_by_call
from gpuarray.compiler.ops.nnet.neighbours import Images2Neibs, Neibs2Images


@step_function("images2neibs")
def to_neighbours(x: Array, *numbers: int, mode: str) -> Array:
    """Return the neighbourhoods as rows."""
    shape, step = numbers[:2], numbers[2:]
    rows: Array = neighbours.images_to_neighbours(x, shape, step, mode)
    return rows


lowered_by_call(Images2Neibs, "images2neibs", "mode")


@body_of("images2neibs")
def neighbours_steps(s: Steps, x: int, *numbers: int, mode: str) -> int:
    """Add the routine."""
    number = neighbours.MODES.index(mode)
    dtype = s.array(x).dtype
    return s.routine("images_to_neighbours", [x, *numbers], dtype, 2, number)


@step_function("neibs2images")
def to_images(x: Array, *numbers: int, mode: str) -> Array:
    """Return the sums of the copies of each element."""
    lengths, shape, step = numbers[:4], numbers[4:6], numbers[6:]
    images: Array = neighbours.neighbours_to_images(x, lengths, shape, step, mode)
    return images


lowered_by_call(Neibs2Images, "neibs2images", "mode")


@body_of("neibs2images")
def images_steps(s: Steps, x: int, *numbers: int, mode: str) -> int:
    """Add the routine."""
    number = neighbours.MODES.index(mode)
    dtype = s.array(x).dtype
    return s.routine("neighbours_to_images", [x, *numbers], dtype, 4, number)
