"""Programs that are given a time, and are ended with all that they have started."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress

from benchmarks.report import ROOT


def started(command: list[str], **more: str) -> subprocess.Popen[str]:
    """A program that is spoken to through pipes, in a session of its own."""
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
        env={**os.environ, **more},
        text=True,
        start_new_session=True,
    )


def end(process: subprocess.Popen[str]) -> None:
    """End a program that `started` gave, and what it has started; wait for it."""
    if process.returncode is None:  # else the number may be another one's by now
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(BrokenPipeError):
        process.communicate()


def ended(
    command: list[str], seconds: float, **more: str
) -> tuple[int | None, str, str]:
    """Its status, output and errors; a status of None where the time was over."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, **more},
        text=True,
        start_new_session=True,
    )
    try:
        said, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        end(process)
        return None, "", ""
    except BaseException:
        end(process)
        raise
    return process.returncode, said, errors
