"""Tips: suggestions from a profile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gpuarray._nn.vendor import why_no_dnn
from gpuarray.compiler.config import config
from gpuarray.compiler.contexts import get_context
from gpuarray.compiler.graph.core import Apply
from gpuarray.compiler.ops.control.debugging import Assert, Print
from gpuarray.compiler.ops.nnet.conv import BaseAbstractConv

if TYPE_CHECKING:
    from gpuarray.compiler.profiling.stats import ProfileStats


def tips(stats: ProfileStats) -> Iterator[str]:
    """Return the lines of the last section."""
    yield "Here are tips to potentially make your code run faster."
    yield "Test them first, as they are not guaranteed to always provide a speedup."
    texts = list(suggestions(stats))
    yield from (f"  - {text}" for text in texts)
    if not texts:
        yield "  Sorry, no tip for today."
    yield ""


def suggestions(stats: ProfileStats) -> Iterator[str]:
    """Return a line for each suggestion."""
    nodes = list(stats.apply_time)
    dtypes = {v.type.dtype for node in nodes for v in node.outputs}
    if "float64" in dtypes and config.floatX == "float64":
        yield "Try the setting `floatX=float32`"
    spent = {"host": 0.0, "device": 0.0, "transfer": 0.0}
    for node, seconds in stats.apply_time.items():
        spent[stats.kind(node)] += seconds
    if spent["transfer"] > spent["device"]:
        yield (
            "Transfers take longer than computing: keep inputs in shared variables, "
            "leave results on the device with `function(..., on_device=True)`"
        )
    looked = [n for n in stats.on_host if isinstance(n.op, Print | Assert)]
    if looked:
        yield "Print and Assert make the device wait: take them out when you are done"
    others = sorted({str(n.op) for n in stats.on_host} - {str(n.op) for n in looked})
    if others:
        yield f"The plan pauses for the host at {', '.join(others[:4])}"
    yield from without_dnn(nodes)
    over = stats.fct_call_time - stats.local_time
    if stats.fct_callcount and over > 0.5 * stats.fct_call_time:
        yield (
            "Calls are too short for the device: give each more to compute, such as "
            "larger batches"
        )
    if not config.fuse or config.rewrites != "all":
        yield "Let all rewrites work: the settings `fuse=True`, `rewrites=all`"


def without_dnn(nodes: Sequence[Apply]) -> Iterator[str]:
    """Return a line where convolutions on CUDA are computed without cuDNN."""
    convolutions = [node for node in nodes if isinstance(node.op, BaseAbstractConv)]
    types = [node.outputs[0].type for node in convolutions]
    for name in {getattr(type_, "context_name", None) for type_ in types}:
        reason = why_no_dnn(get_context(name))
        if reason:
            first, *_ = reason.splitlines()
            yield (
                "Own kernels compute the convolutions, for cuDNN was not used: "
                f"{first}; `python -m gpuarray.doctor` says what to install"
            )
