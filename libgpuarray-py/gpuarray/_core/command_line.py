"""The end of the package's command-line programs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import NoReturn

BROKEN_PIPE = 128 + 13
"""The status that a shell reports for a program that SIGPIPE ends."""


def exit_with(main: Callable[[], int | None]) -> NoReturn:
    """Run ``main`` and exit with its status, quietly if the output's reader has ended.

    Python ignores SIGPIPE, so that a write to a pipe of ``head`` raises.
    """
    try:
        try:
            status = main()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = BROKEN_PIPE
    sys.exit(status)
