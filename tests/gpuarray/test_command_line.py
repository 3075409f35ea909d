"""Command-line programs end quietly when the reader of their output has ended."""

import subprocess
import sys

import pytest
from gpuarray._core.command_line import BROKEN_PIPE

PROGRAM = """
from gpuarray._core.command_line import exit_with
def main():
    {}
exit_with(main)
"""


def read_none(*arguments):
    """Run a program whose output nobody reads; return its status and its errors."""
    with subprocess.Popen(
        [sys.executable, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        process.stdout.close()
        errors = process.stderr.read()
    return process.returncode, errors


def test_the_doctor_ends_quietly_when_nobody_reads():
    assert read_none("-m", "gpuarray.doctor") == (BROKEN_PIPE, "")


@pytest.mark.parametrize("work", [
    "print('short')", "print('long\\n' * 100000)",
    "print('short'); raise SystemExit(2)",
])  # fmt: skip
def test_a_program_ends_quietly_when_nobody_reads(work):
    assert read_none("-c", PROGRAM.format(work)) == (BROKEN_PIPE, "")


@pytest.mark.parametrize("work, status", [
    ("return 3", 3), ("return None", 0), ("raise SystemExit(2)", 2),
    ("raise ConnectionResetError", 1),
])  # fmt: skip
def test_a_program_exits_with_its_status(work, status):
    command = [sys.executable, "-c", PROGRAM.format(work)]
    assert subprocess.run(command, capture_output=True).returncode == status
