"""A file a library: ``prepare(row, variant, place)`` makes what is measured.

``place`` is where it shall run: ``cpu``, ``cuda``, or for ours the name of a context.
Nothing here is imported but in a process that is the library's own.
"""
