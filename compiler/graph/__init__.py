"""The graph of an expression: types, variables, nodes, walks, rewriting."""
