"""``einsum``: sums of products over labelled axes.

NumPy's ``einsum_path`` chooses the order of pairwise products. Each is one matrix
product, or a batch: axes that both operands have and the result keeps are the batch,
axes that both have and nothing else needs are summed over, the others are rows and
columns. Views permute the axes; a copy is made only where a matrix product cannot read
the view.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray._core.base import require_all
from gpuarray._manipulation.shaping import diagonal
from gpuarray._products.matmul import matmul
from gpuarray.dtypes import Casting, as_dtype, can_cast, check_casting, result_type
from gpuarray.errors import BadType, BadValue

_DOTS = "."  # of an ellipsis: labels are pairs of it and a place, counted from the last
Label = Any


@dataclass(frozen=True, slots=True)
class Sum:
    """The labels of each operand's axes and of the result's."""

    operands: tuple[tuple[Label, ...], ...]
    result: tuple[Label, ...]


# ---- subscripts ----


def _expand(labels: Sequence[Any], ndim: int, position: int) -> tuple[Label, ...]:
    """Return an operand's labels with those of its ellipsis, one for each axis."""
    listed = list(labels)
    if listed.count(Ellipsis) > 1:
        raise BadValue(f"einsum: operand {position} has more than one ellipsis")
    if Ellipsis not in listed:
        if len(listed) != ndim:
            raise BadValue(
                f"einsum: operand {position} has {ndim} axes and {len(listed)} "
                "subscripts; expected as many"
            )
        return tuple(listed)
    at = listed.index(Ellipsis)
    count = ndim - len(listed) + 1
    if count < 0:
        raise BadValue(
            f"einsum: operand {position} has {ndim} axes and {len(listed) - 1} "
            "subscripts beside an ellipsis; expected no more"
        )
    listed[at : at + 1] = _dots(count)
    return tuple(listed)


def _dots(count: int) -> list[Label]:
    return [(_DOTS, place) for place in range(count, 0, -1)]


def _characters(text: str) -> list[Any]:
    """Return the labels of one operand's subscripts."""
    listed: list[Any] = []
    parts = text.replace(" ", "").split("...")
    for i, part in enumerate(parts):
        if i:
            listed.append(Ellipsis)
        for letter in part:
            if not (letter.isascii() and letter.isalpha()):
                raise BadValue(
                    f"einsum: {letter!r} in the subscripts {text!r} is no letter"
                )
            listed.append(letter)
    return listed


def _from_text(text: str) -> tuple[list[list[Any]], list[Any] | None]:
    left, arrow, right = text.partition("->")
    result = _characters(right) if arrow else None
    return [_characters(part) for part in left.split(",")], result


def _from_lists(items: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any] | None]:
    """Return operands and labels of ``einsum(a, [0, 1], b, [1, 2], [0, 2])``."""
    pairs = len(items) // 2
    operands = [items[2 * i] for i in range(pairs)]
    labels = [_integers(items[2 * i + 1]) for i in range(pairs)]
    result = _integers(items[-1]) if len(items) % 2 else None
    return operands, labels, result


def _integers(labels: Any) -> list[Any]:
    try:
        return [
            label if label is Ellipsis else operator.index(label) for label in labels
        ]
    except TypeError:
        raise BadType(
            f"einsum: subscripts {labels!r}; expected text or a list of integers"
        ) from None


def _order(label: Label) -> tuple[int, Any]:
    return (1, label) if isinstance(label, str) else (0, label)


def _implied(labels: Sequence[tuple[Label, ...]], dots: int) -> tuple[Label, ...]:
    """Return the labels that occur once, in their order, behind an ellipsis."""
    flat = [label for of_operand in labels for label in of_operand]
    once = {label for label in flat if flat.count(label) == 1}
    named = [label for label in once if not isinstance(label, tuple)]
    return (*_dots(dots), *sorted(named, key=_order))


def _parse(arguments: Sequence[Any]) -> tuple[list[Any], Sum]:
    if not arguments:
        raise BadValue("einsum: no subscripts and no operands are given")
    if isinstance(arguments[0], str):
        operands = list(arguments[1:])
        listed, result_labels = _from_text(arguments[0])
    else:
        operands, listed, result_labels = _from_lists(arguments)
    if not operands or len(listed) != len(operands):
        raise BadValue(
            f"einsum: subscripts of {len(listed)} operands for {len(operands)} arrays"
        )
    operands = require_all("einsum", *operands)
    labels = tuple(
        _expand(subscripts, x.ndim, i)
        for i, (subscripts, x) in enumerate(zip(listed, operands, strict=True))
    )
    dots = max(
        sum(isinstance(label, tuple) for label in subscripts) for subscripts in labels
    )
    if result_labels is None:
        return operands, Sum(labels, _implied(labels, dots))
    result = _result(result_labels, dots)
    _check_result(result, labels)
    return operands, Sum(labels, result)


def _result(subscripts: list[Any], dots: int) -> tuple[Label, ...]:
    if Ellipsis not in subscripts:
        if dots:
            raise BadValue(
                "einsum: an operand has axes of an ellipsis that the result's "
                "subscripts leave out; write them with '...'"
            )
        return tuple(subscripts)
    at = subscripts.index(Ellipsis)
    return (*subscripts[:at], *_dots(dots), *subscripts[at + 1 :])


def _check_result(result: tuple[Label, ...], labels: Sequence[Any]) -> None:
    known = {label for of_operand in labels for label in of_operand}
    for label in result:
        if label not in known:
            raise BadValue(
                f"einsum: the result has a subscript {label!r} of no operand"
            )
        if result.count(label) > 1:
            raise BadValue(f"einsum: the result has the subscript {label!r} twice")


def _lengths(operands: Sequence[Any], labels: Sequence[Any]) -> dict[Label, int]:
    """Return the length of each label's axis; an axis of length 1 broadcasts."""
    lengths: dict[Label, int] = {}
    for i, (x, of_operand) in enumerate(zip(operands, labels, strict=True)):
        for label, n in zip(of_operand, x.shape, strict=True):
            known = lengths.get(label, 1)
            if known not in (1, n) and n != 1:
                raise BadValue(
                    f"einsum: operand {i} of shape {x.shape} has length {n} where "
                    f"another has {known} for the subscript "
                    f"{'...' if isinstance(label, tuple) else label!r}"
                )
            lengths[label] = n if known == 1 else known
    return lengths


# ---- one operand ----


def _simplified(x: Any, labels: Sequence[Label], lengths: dict[Label, int]) -> Any:
    """Return a view with each label once, and without axes that only broadcast."""
    listed = list(labels)
    keep = [lengths[label] == n for label, n in zip(listed, x.shape, strict=True)]
    if not all(keep):
        x = x[tuple(slice(None) if is_kept else 0 for is_kept in keep)]
        listed = [label for label, is_kept in zip(listed, keep, strict=True) if is_kept]
    for label in list(dict.fromkeys(listed)):
        while listed.count(label) > 1:
            first = listed.index(label)
            second = listed.index(label, first + 1)
            x = diagonal(x, 0, first, second)
            del listed[second], listed[first]
            listed.append(label)
    return x, tuple(listed)


def _summed(x: Any, labels: tuple[Label, ...], keep: set[Label]) -> Any:
    """Return the sums over the axes whose labels nothing needs any more."""
    axes = tuple(i for i, label in enumerate(labels) if label not in keep)
    if not axes:
        return x, labels
    total = x.any(axis=axes) if x.dtype == np.bool_ else x.sum(axis=axes, dtype=x.dtype)
    return total, tuple(label for label in labels if label in keep)


def _arranged(x: Any, labels: tuple[Label, ...], order: Sequence[Label]) -> Any:
    if tuple(order) == labels:
        return x
    return x.transpose(*(labels.index(label) for label in order))


# ---- two operands ----


def _times(a: Any, la: Any, b: Any, lb: Any, keep: set[Label]) -> Any:
    """Return the product of two operands, summed over labels not in ``keep``."""
    a, la = _summed(a, la, keep | set(lb))
    b, lb = _summed(b, lb, keep | set(la))
    batch = [label for label in la if label in lb and label in keep]
    inner = [label for label in la if label in lb and label not in keep]
    rows = [label for label in la if label not in lb]
    columns = [label for label in lb if label not in la]
    if not inner:
        return _broadcast_product(a, la, b, lb, batch, rows, columns)
    of = {**dict(zip(la, a.shape, strict=True)), **dict(zip(lb, b.shape, strict=True))}
    batch_shape = [of[label] for label in batch]

    def group(labels: Sequence[Label]) -> int:
        return math.prod(of[label] for label in labels)

    left = _arranged(a, la, [*batch, *rows, *inner])
    right = _arranged(b, lb, [*batch, *inner, *columns])
    left = left.reshape([*batch_shape, group(rows), group(inner)])
    right = right.reshape([*batch_shape, group(inner), group(columns)])
    labels = (*batch, *rows, *columns)
    return matmul(left, right).reshape([of[label] for label in labels]), labels


def _broadcast_product(
    a: Any, la: Any, b: Any, lb: Any, batch: Any, rows: Any, columns: Any
) -> Any:
    left = _arranged(a, la, [*batch, *rows])
    right = _arranged(b, lb, [*batch, *columns])
    n_batch, labels = len(batch), (*batch, *rows, *columns)
    left = left.reshape((*left.shape, *(1 for _ in columns)))
    right = right.reshape(
        (*right.shape[:n_batch], *(1 for _ in rows), *right.shape[n_batch:])
    )
    return left * right, labels


# ---- the whole ----


def _path(what: Sum, lengths: dict[Label, int], optimize: Any) -> list[tuple[int, ...]]:
    """Return the order of products, as NumPy chooses it for arrays of these shapes."""
    if len(what.operands) <= 2 or optimize is False:
        return [tuple(range(len(what.operands)))]
    numbers = {label: i for i, label in enumerate(lengths)}
    stand_ins: list[Any] = []
    for labels in what.operands:
        shape = [lengths[label] for label in labels]
        stand_ins.append(np.broadcast_to(np.empty(()), shape))
        stand_ins.append([numbers[label] for label in labels])
    stand_ins.append([numbers[label] for label in what.result])
    path: list[Any] = np.einsum_path(*stand_ins, optimize=optimize)[0]
    return [tuple(step) for step in path[1:]]


def einsum_path(*operands: Any, optimize: Any = "greedy") -> tuple[list[Any], str]:
    """Return the order of products that ``einsum`` would take, and a text about it.

    NumPy's ``einsum_path``, which uses the shapes of the operands alone.

    >>> a = gpuarray.ones((2, 2))
    >>> gpuarray.einsum_path("ij,jk,kl->il", a, a, a)[0]
    ['einsum_path', (0, 1), (0, 1)]
    """
    arrays, what = _parse(operands)
    lengths = _lengths(arrays, what.operands)
    numbers = {label: i for i, label in enumerate(lengths)}
    listed: list[Any] = []
    for x, labels in zip(arrays, what.operands, strict=True):
        listed += [np.broadcast_to(np.empty(()), x.shape), [numbers[n] for n in labels]]
    listed.append([numbers[label] for label in what.result])
    path, text = np.einsum_path(*listed, optimize=optimize)
    return path, text


def _contracted(operands: list[Any], what: Sum, optimize: Any) -> Any:
    lengths = _lengths(operands, what.operands)
    terms = [
        _simplified(x, labels, lengths)
        for x, labels in zip(operands, what.operands, strict=True)
    ]
    result = set(what.result)
    for step in _path(what, lengths, optimize):
        picked = [terms[i] for i in step]
        terms = [term for i, term in enumerate(terms) if i not in step]
        x, labels = picked[0]
        for i, (y, more) in enumerate(picked[1:], start=2):
            rest = [*terms, *picked[i:]]
            keep = result.union(*(others for _, others in rest))
            x, labels = _times(x, labels, y, more, keep)
        terms.append((x, labels))
    x, labels = _summed(terms[0][0], terms[0][1], result)
    return _arranged(x, labels, what.result)


def einsum(
    *operands: Any,
    out: Any = None,
    dtype: npt.DTypeLike | None = None,
    order: str = "K",
    casting: Casting = "safe",
    optimize: Any = True,
) -> Any:
    """Return sums of products over axes that subscripts name, as ``numpy.einsum``.

    ``einsum("ij,jk->ik", a, b)`` or ``einsum(a, [0, 1], b, [1, 2], [0, 2])``. The
    products are computed pair by pair in the order of ``numpy.einsum_path`` for
    ``optimize``; False takes them from the left. Where nothing is computed the result
    is a view, as NumPy's.

    >>> a, b = gpuarray.arange(4).reshape(2, 2), gpuarray.asarray([1, 10])
    >>> print(gpuarray.einsum("ij,j->i", a, b))
    [10 32]
    """
    arrays, what = _parse(operands)
    target = result_type(*(x.dtype for x in arrays))
    if dtype is not None:
        target = as_dtype(dtype, "einsum")
        check_casting(casting, "einsum")
        for x in arrays:
            if not can_cast(x.dtype, target, casting):
                raise BadType(
                    f"einsum: {x.dtype} cannot be cast to {target} by the rule "
                    f"{casting!r}"
                )
    total = _contracted([x.astype(target, copy=False) for x in arrays], what, optimize)
    if out is not None:
        if out.shape != total.shape:
            raise BadValue(f"einsum: out has shape {out.shape}, expected {total.shape}")
        out[...] = total
        return out
    if order in ("C", "F"):
        flags = total.flags
        is_ordered = flags.c_contiguous if order == "C" else flags.f_contiguous
        return total if is_ordered else total.copy(order)
    return total
