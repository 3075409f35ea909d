"""Benchmarks: ours and the peers', in one run on one machine."""
