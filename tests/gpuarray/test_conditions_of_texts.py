"""What errors say of a compiler's log and of contexts, and claims of rows by name."""

import gpuarray
import pytest
from gpuarray.errors import BadArgument, DeviceNotFound, GpuArrayError, KernelError
from gpuarray.scalars import SCALARS

SOURCE = [f"{i:5}  line {i};" for i in range(1, 41)]


def excerpt(details):
    """What an error says of a log."""
    return str(KernelError(details))


def log(place):
    """A log of a compiler, with the source numbered behind it."""
    return "\n".join([
        "kernel 'k' for device:", "options:", "a note that is not shown",
        place, "  what = wrong;", "  ^", "more", "another error: later",
        *SOURCE])  # fmt: skip


@pytest.mark.parametrize("place", [
    "k.cl:20:7: error: no such name", "k.cu(20): error: no such name",
    "k.cl:20:7: fatal error: gone", "k.cu(20): catastrophic error: gone",
    "error: in file k.cl:20:3: bad",
])  # fmt: skip
def test_an_excerpt_has_the_first_error_and_the_lines_around_it(place):
    said = excerpt(log(place)).splitlines()
    assert said[:3] == ["kernel 'k' for device:", "options:", place]
    assert said[3:6] == ["  what = wrong;", "  ^", "more"]
    assert said[6:-1] == SOURCE[17:22]
    assert said[-1].endswith("has all 48 lines of the log and the source)")


def test_a_short_log_is_said_as_it_stands():
    assert excerpt("an error\nof two lines\n") == "an error\nof two lines"
    lines = [f"note {i}" for i in range(15)]
    assert excerpt("\n".join(lines)) == "\n".join(lines)
    said = excerpt("\n".join([*lines, "note 15"])).splitlines()
    assert said[:-1] == lines[:4]
    alone = excerpt("\n".join(SOURCE)).splitlines()
    assert len(alone) == 3  # no line is near to none: the first two
    assert alone[:2] == SOURCE[:2]
    blank = "\n".join(["k.cl:2:1: error: x", "", "next", *SOURCE])
    assert excerpt(blank).splitlines()[:2] == ["k.cl:2:1: error: x", "next"]


def test_a_context_that_is_none_tells_of_those_there_are(first_context):
    far = "cuda99" if first_context.name.startswith("cuda") else "opencl9:0"
    for name, error in (("nothing", BadArgument), (far, DeviceNotFound)):
        with pytest.raises(error, match="the devices of this machine are ") as caught:
            gpuarray.context(name)
        assert type(caught.value) is error
        assert first_context.name in str(caught.value)
        assert "gpuarray.doctor says why others are not" in str(caught.value)
    assert gpuarray.context(first_context.name) is first_context
    with pytest.raises(GpuArrayError):
        gpuarray.context(3)


def test_rows_that_reductions_are_named_after():
    named = {row.reduction: row.name for row in SCALARS.values() if row.reduction}
    assert named == {"max": "maximum", "min": "minimum", "sum": "add", "prod": "mul",
                     "all": "logical_and", "any": "logical_or"}  # fmt: skip
