"""Fusion: groups of nodes that become one launch."""
