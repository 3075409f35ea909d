"""Arrays on a device whose layouts are drawn, within memory that is not theirs."""

from __future__ import annotations

import math

import gpuarray
import numpy as np

STEPS = [1, 1, 2, -1, -3]


def beside(dtype):
    """What lies between the elements of an array and around them: nan, or the largest.

    So a result that was made from it is seen.
    """
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        return np.iinfo(dtype).max
    return dtype.kind == "b" or np.nan


class Views:
    """Makes views for one case; `touched` sees what was written beside them."""

    def __init__(self, rng, context, plain=0.3):
        self.rng, self.context, self.plain = rng, context, plain
        self.outs = []

    def array(self, host):
        """A view with the elements of an array, of stride 0 where the array's is."""
        if self.rng.random() < self.plain:
            return gpuarray.asarray(np.ascontiguousarray(host), device=self.context)
        order = self.rng.permutation(host.ndim).tolist()
        turned = host.transpose(order)
        lengths = zip(turned.shape, turned.strides, strict=True)
        short = turned[tuple(slice(n if stride else 1) for n, stride in lengths)]
        memory, part = self.around(short.shape, host.dtype)
        memory[part] = short
        view = gpuarray.asarray(memory, device=self.context)[part]
        return view.broadcast_to(turned.shape).transpose(*np.argsort(order).tolist())

    def out(self, shape, dtype):
        """A view to write to."""
        order = self.rng.permutation(len(shape)).tolist()
        memory, part = self.around([shape[k] for k in order], dtype)
        whole = gpuarray.asarray(memory, device=self.context)
        self.outs.append((whole, [part]))
        return whole[part].transpose(*np.argsort(order).tolist())

    def overlapping(self, shape, host):
        """A view to write to, and one with the elements of an array in its memory."""
        lengths = [math.prod(each) for each in (shape, host.shape)]
        firsts = self.rng.integers(0, min(lengths) + 1, 2).tolist()
        pairs = zip(firsts, lengths, strict=True)
        parts = [slice(first, first + n) for first, n in pairs]
        memory = np.full(max(part.stop for part in parts) + 1, beside(host.dtype))
        memory = memory.astype(host.dtype)
        memory[parts[1]] = host.ravel()
        whole = gpuarray.asarray(memory, device=self.context)
        self.outs.append((whole, parts))
        out, array = (whole[part] for part in parts)
        return out.reshape(shape), array.reshape(host.shape)

    def around(self, shape, dtype):
        """Memory, and the part of it that has a shape."""
        part, lengths = [], []
        for n in shape:
            which, first, last = self.rng.integers((len(STEPS), 2, 2)).tolist()
            step = STEPS[which]
            reach = max(n - 1, 0) * abs(step) + min(n, 1)
            here = range(first, first + reach, abs(step))[:: 1 if step > 0 else -1]
            stop = here.stop if here.stop >= 0 else None
            part.append(slice(here.start, stop, here.step) if n else slice(0))
            lengths.append(first + reach + last)
        return np.full(lengths, beside(dtype), dtype), tuple(part)

    def touched(self):
        """Whether anything was written beside the views to write to."""
        for whole, parts in self.outs:
            memory = np.array(whole)
            fresh = np.full_like(memory, beside(memory.dtype))
            for part in parts:
                memory[part] = fresh[part]
            if memory.tobytes() != fresh.tobytes():
                return True
        return False
