"""What is changed: a node of a syntax tree becomes another."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

COMPARED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
COMPUTED = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
CALLED = {"min": "max", "max": "min", "any": "all", "all": "any"}
CHECKS = ("strict", "frozen", "slots")
"""Keywords that refuse what is wrong, as an assertion does, and change nothing else."""
SHOWN = ("example",)
"""Keywords that only the documentation reads."""
WRITTEN = {" < ": " <= ", " > ": " >= ", " <= ": " < ", " >= ": " > ", " == ": " != "}
WRITTEN |= {" + ": " - ", " - ": " + ", " * ": " / ", " / ": " * ", " && ": " || "}


def changes(node: ast.AST) -> Iterator[ast.AST]:  # noqa: C901 (a case for each)
    """The nodes that one may become."""
    if isinstance(node, ast.Compare):
        for place, op in enumerate(node.ops):
            if type(op) in COMPARED:
                made = copy.deepcopy(node)
                made.ops[place] = COMPARED[type(op)]()
                yield made
    elif isinstance(node, ast.BoolOp):
        for place in range(len(node.values)):
            left = node.values[:place] + node.values[place + 1 :]
            yield left[0] if len(left) == 1 else ast.BoolOp(node.op, left)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield node.operand
    elif isinstance(node, ast.BinOp) and type(node.op) in COMPUTED:
        if not isinstance(node.left, ast.Constant | ast.JoinedStr) or not isinstance(
            getattr(node.left, "value", None), str
        ):
            yield ast.BinOp(node.left, COMPUTED[type(node.op)](), node.right)
    elif isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load):
        for place in range(len(node.elts) if len(node.elts) > 1 else 0):
            yield ast.Tuple(node.elts[:place] + node.elts[place + 1 :], node.ctx)
    elif isinstance(node, ast.Call):
        yield from changed_calls(node)
    elif isinstance(node, ast.If | ast.IfExp):
        for value in (True, False):
            chosen = copy.copy(node)
            chosen.test = ast.Constant(value)
            yield chosen
    elif isinstance(node, ast.Constant):
        yield from changed_constants(node)


def changed_calls(node: ast.Call) -> Iterator[ast.AST]:
    """A call without one of its keywords, or of the opposite function."""
    if isinstance(node.func, ast.Name) and node.func.id in CALLED:
        name = ast.Name(CALLED[node.func.id], ast.Load())
        yield ast.Call(name, node.args, node.keywords)
    for place, keyword in enumerate(node.keywords):
        if keyword.arg in (*CHECKS, *SHOWN):
            continue
        left = node.keywords[:place] + node.keywords[place + 1 :]
        yield ast.Call(node.func, node.args, left)


def changed_constants(node: ast.Constant) -> Iterator[ast.AST]:
    """Another number, or a kernel's text with another operator in one of its lines."""
    value = node.value
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int):
        yield ast.Constant(value + 1)
    elif isinstance(value, float):
        yield ast.Constant(value + 1.0)
    elif isinstance(value, str) and ("{0}" in value or " = " in value):
        lines = value.split("\n")
        for place, line in enumerate(lines):
            if line.lstrip().startswith(("/*", "* ", "//")):
                continue
            for old, new in WRITTEN.items():
                if old in line:
                    made = line.replace(old, new, 1)
                    rest = lines[place + 1 :]
                    yield ast.Constant("\n".join([*lines[:place], made, *rest]))


def shown(node: ast.AST) -> str:
    """A node in a line."""
    if isinstance(node, ast.If):
        return f"if {ast.unparse(node.test)}"
    return " ".join(ast.unparse(ast.fix_missing_locations(copy.copy(node))).split())


def differing(before: str, after: str) -> tuple[str, str]:
    """Of long texts what is around the place where they differ."""
    if len(before) < 200:
        return before, after
    start = alike(before, after)
    end = alike(before[:start:-1], after[:start:-1])
    first = max(0, start - 60)
    return before[first : len(before) - end + 40], after[first : len(after) - end + 40]


def alike(one: str, other: str) -> int:
    """How many characters two texts have in common before they differ."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))
