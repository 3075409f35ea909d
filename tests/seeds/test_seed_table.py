"""The table of the seeds names tests that exist, and all tests of this folder."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def functions_of(path):
    tree = ast.parse(path.read_text())
    return {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def named():
    text = (ROOT / "docs" / "seeds.md").read_text()
    return re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)


def test_every_test_that_the_table_names_exists():
    assert named()
    missing = [
        f"{path}::{name}"
        for path, name in named()
        if name not in functions_of(ROOT / path)
    ]
    assert missing == []


def test_the_table_names_every_test_of_a_seed():
    here = Path(__file__)
    for path in here.parent.glob("test_seed_*.py"):
        listed = {name for file, name in named() if Path(file).name == path.name}
        assert path == here or listed == functions_of(path), path.name
