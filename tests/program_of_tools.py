"""The programs of the folder tools, for their tests."""

import importlib
import sys
from pathlib import Path

TOOLS = str(Path(__file__).resolve().parent.parent / "tools")


def program_of_tools(name):
    """The program as a module."""
    if TOOLS not in sys.path:
        sys.path.append(TOOLS)
    return importlib.import_module(name)
