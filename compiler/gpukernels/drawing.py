"""Draws by the library's own kernels: those that an elementwise node only stores."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
from gpuarray._random.table import DISTRIBUTIONS, Distribution, real_dtype
from gpuarray.compiler import plan
from gpuarray.compiler.gpukernels.registry import Lowerer
from gpuarray.compiler.graph.core import Apply, Constant
from gpuarray.compiler.ops.elemwise.draws import CAPS, PLACE, PREFIX
from gpuarray.compiler.ops.elemwise.elemwise import Composite, CompositeStep, Elemwise
from gpuarray.compiler.ops.random.positions import is_implied
from gpuarray.scalars import Scalar

_MOST = 4  # parameters of a distribution


def lower_stored_draw(op: Elemwise, node: Apply, k: Lowerer) -> bool:
    """Lower a draw of constant parameters, which the node only stores, to a routine.

    Its kernel is the array package's, which does on GPUs what an elementwise one
    cannot. Return False for other nodes.
    """
    row = _stored(op, node)
    if row is None:
        return False
    given = node.inputs[PLACE : PLACE + len(row.parameters)]
    values = [float(np.asarray(v.data).reshape(())) for v in given]  # type: ignore[attr-defined]
    values += [0.0] * (_MOST - len(values))
    params = struct.unpack(f"={_MOST}q", struct.pack(f"={_MOST}d", *values))
    ins = tuple(k.number(variable) for variable in node.inputs[:PLACE])
    k.add(
        plan.Routine(
            f"{PREFIX}{row.name}",
            k.origin(node),
            k.outputs(node),
            ins,
            name="random",
            params=params,
            texts=(row.name,),
        )
    )
    return True


def _stored(op: Elemwise, node: Apply) -> Distribution | None:
    """Return the distribution of a node that only stores a draw."""
    dtype = node.outputs[0].type.dtype
    if isinstance(op.scalar, Composite):
        first, *rest = op.scalar.steps
        name, computed = first.op, first.dtype
        in_order = first.operands == tuple(range(len(first.operands)))
        last = len(node.inputs) + len(rest)
        if not in_order or op.scalar.outputs != (last,):
            return None
    elif isinstance(op.scalar, Scalar):
        name, computed, rest = op.scalar.name, dtype, []
    else:
        return None
    row = DISTRIBUTIONS.get(name.removeprefix(PREFIX))
    if row is None or not name.startswith(PREFIX) or computed != real_dtype(dtype).name:
        return None
    numbers, given = node.inputs[PLACE - 1], node.inputs[PLACE:]
    is_drawn = is_implied(numbers) and all(
        isinstance(value, Constant) and value.data.size == 1 for value in given
    )
    return row if is_drawn and _stores(row, dtype, rest, node) else None


def _stores(
    row: Distribution, dtype: str, steps: Sequence[CompositeStep], node: Apply
) -> bool:
    """True if the steps behind a draw are what the routine does when it stores."""
    names = [step.op for step in steps]
    if not names:
        return dtype in ("float32", "float64")
    drawn = len(node.inputs)
    if dtype in CAPS and row.name == "uniform":
        low, high = range(PLACE, PLACE + 2)
        capped = [(CAPS[dtype].name, (drawn, low, high)), ("cast", (drawn + 1,))]
        return [(step.op, step.operands) for step in steps] == capped
    if row.kind == "i" and dtype[0] in "iu":
        return names == ["ge", "cast", "where"] and _fits(dtype, steps, node)
    is_integer = dtype == "bool" or dtype[0] in "iu"
    is_cast = names == ["cast"] and steps[0].operands == (drawn,)
    return is_cast and (not is_integer or row.kind == "b")


def _fits(dtype: str, steps: Sequence[CompositeStep], node: Apply) -> bool:
    """True if integers that do not fit become the greatest."""
    drawn = len(node.inputs)
    above, cast, choice = steps
    end, most = above.operands[-1], choice.operands[1]
    if max(end, most) >= drawn:
        return False
    greatest = int(np.iinfo(dtype).max)
    found = [np.asarray(node.inputs[i].data).reshape(()) for i in (end, most)]  # type: ignore[attr-defined]
    return (
        above.operands == (drawn, end)
        and cast.operands == (drawn,)
        and choice.operands == (drawn + 1, most, drawn + 2)
        and float(found[0]) == float(greatest + 1)
        and int(found[1]) == greatest
    )
