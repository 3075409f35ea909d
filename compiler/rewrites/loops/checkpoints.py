"""Loops with checkpoints, before all rewrites: plain loops, or loops in segments.

A gradient is that of the loop in segments. Where there is one, the loop is replaced by
the one in segments, so that it runs once; without one, checkpoints mean nothing.
"""

from __future__ import annotations

from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.ops.scan.scan import Scan
from gpuarray.compiler.ops.scan.segments import storing, with_checkpoints
from gpuarray.compiler.rewrites.engine.engine import Log
from gpuarray.compiler.rewrites.loops.parts import loop_of, loops_of, replace_outputs
from gpuarray.compiler.rewrites.loops.tidying import take_final_states


def has_checkpoints(fgraph: FunctionGraph) -> bool:
    """True if a loop of the graph has checkpoints."""
    return any(loop_of(node).checkpoint is not None for node in loops_of(fgraph))


def settle_checkpoints(fgraph: FunctionGraph, log: Log) -> None:
    """Replace each loop with checkpoints by one without."""
    take_final_states.run(fgraph, log)
    loops = loops_of(fgraph)
    segments = [loop_of(node) for node in loops if loop_of(node).is_of_segments]
    in_segments = {
        node.op.body
        for loop in segments
        for node in loop.body.nodes
        if isinstance(node.op, Scan)
    }
    for node in loops:
        loop = loop_of(node)
        if loop.checkpoint is None:
            continue
        if storing(loop).body in in_segments:
            results = with_checkpoints(loop, node.inputs)
        else:
            plain = loop.like(loop.body, loop.n_sequences, loop.n_states)
            plain.checkpoint = None
            results = plain.make_node(*node.inputs).outputs
        replace_outputs(fgraph, node, results, "settle_checkpoints", log)
