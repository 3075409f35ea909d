"""A file a compiler: ``make(graph, context)`` gives its function and two seconds.

The seconds are those of building the graph and of compiling it.
"""
