"""Graphs of expressions: types, variables, nodes, traversals, rewriting."""
