"""Neighbours of an expression: one operator, function, number or operand is another.

The examples of a rewrite rule are what it is for. What lies beside them is where its
conditions are needed: another function, a negative bound, an axis more, a constant 0,
an index twice. Neighbours that mean nothing are refused when they are evaluated.
"""

import ast
import copy

OPERATORS = [ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.FloorDiv, ast.Mod]
COMPARISONS = [ast.Gt, ast.GtE, ast.Lt, ast.LtE]
NUMBERS = [0, 1, -1, 2, -2, 3, -3, 6, 0.5]
LEAVES = {
    **dict.fromkeys("xyzuv", ("u", "y", "i", "k", "X", "row(u)", "a", "abs(u)", "-y")),
    **dict.fromkeys("XYABC", ("Y", "X.T", "row(u)", "u", "Q", "col(v)", "exp(Y)")),
    **dict.fromkeys("QR", ("R", "X", "Q[::-1]")),
    "a": ["u", "2.0", "x[1]"],
    "i": ["x", "k", "-i"],
    "k": ["i", "abs(i)", "[0, 0, 2, 2]", "k[::-1]"],
}  # fmt: skip
SLICES = ["::-1", "::2", "-3:-1", ":-1", "1:", "3:1", "::-2", "5:"]
FAMILIES = [
    ["exp", "exp2", "expm1", "sin", "abs", "tanh", "sqrt", "log", "neg", "sgn"],
    ["log", "log1p", "log2", "log10", "exp", "sqr", "square"],
    ["sigmoid", "tanh", "softplus", "exp", "reciprocal", "abs"],
    ["sum", "prod", "max", "min", "mean", "argmax", "all", "any"],
    ["dot", "add", "mul", "outer"],
    ["maximum", "minimum", "fmax", "fmin", "power", "logaddexp", "add"],
    ["set_subtensor", "inc_subtensor"],
    ["sinh", "cosh", "arcsinh", "arccosh", "tan", "arctan", "arcsin", "sin", "arctanh"],
    ["square", "sqrt", "abs", "neg", "sgn"],
    ["logical_and", "logical_or", "maximum", "bitwise_xor"],
    ["zeros_like", "ones_like"],
    ["row", "col"],
]


def neighbours(text):
    """All expressions that differ in one place, each once, in an order of their own."""
    tree = ast.parse(text, mode="eval")
    found = {}
    for path, node in nodes(tree.body, ()):
        for other in others(node):
            made = copy.deepcopy(tree)
            put(made, path, other)
            found.setdefault(ast.unparse(ast.fix_missing_locations(made)))
    found.pop(ast.unparse(tree), None)
    return list(found)


def nodes(node, path):
    """Every node below one, with the way that leads there."""
    yield path, node
    for name, value in ast.iter_fields(node):
        for index, each in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(each, ast.expr):
                place = index if isinstance(value, list) else None
                yield from nodes(each, (*path, (name, place)))


def put(tree, path, other):
    """Let another node stand where a path leads."""
    at, steps = tree, [("body", None), *path]
    for name, place in steps[:-1]:
        at = getattr(at, name) if place is None else getattr(at, name)[place]
    name, place = steps[-1]
    if place is None:
        setattr(at, name, other)
    else:
        getattr(at, name)[place] = other


def others(node):
    """What may stand in a node's place."""
    if isinstance(node, ast.BinOp):
        yield from (ast.BinOp(node.left, op(), node.right) for op in OPERATORS)
        yield ast.BinOp(node.right, node.op, node.left)
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.Compare):
        yield from (
            ast.Compare(node.left, [op()], node.comparators) for op in COMPARISONS
        )
    elif isinstance(node, ast.Name):
        yield from map(parsed, LEAVES.get(node.id, ()))
    elif isinstance(node, ast.Constant):
        yield from other_constants(node.value)
    elif isinstance(node, ast.Slice):
        yield from (parsed(f"x[{each}]").slice for each in SLICES)
        yield from map(parsed, ["1", "2", "-1"])
    elif isinstance(node, ast.Tuple):
        yield ast.Tuple(node.elts[::-1], node.ctx)
    elif isinstance(node, ast.Call):
        yield from other_calls(node)


def other_constants(value):
    """Other numbers, and the other truth value."""
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int | float):
        yield from map(ast.Constant, NUMBERS)


def other_calls(node):
    """Another function of the kind, other arguments, another order."""
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    for family in FAMILIES:
        if name in family:
            for each in family:
                yield ast.Call(parsed(each), node.args, node.keywords)
    if len(node.args) == 2:
        yield ast.Call(node.func, node.args[::-1], node.keywords)
    for place in range(1, len(node.args)):
        yield ast.Call(node.func, node.args[:place], node.keywords)


def parsed(text):
    return ast.parse(text, mode="eval").body
