"""Mutation testing: the package is changed in one place, and tests are to fail.

Not a part of the suite. First ``map``: the tests run once, and which blocks of code
each of them enters is noted. Then ``run``: of the mutants of the files named a sample
is drawn by a seed, and each meets the tests that enter its block, first those that have
noticed others of the file, then the quick ones, until one fails. Tests that fail
without a change are left out. Tests are collected once; a mutant is a fork of that
process with the changed functions' code put in place, so it costs no more than its
tests. What is changed outside of functions (tables, defaults) is imported anew in a
process of its own.

python -m tools.mutate map tests/compiler tests/gpuarray
python -m tools.mutate run compiler/rewrites --sample 100 --seed 1
python -m tools.mutate run compiler/rewrites --again  # what was not noticed
python -m tools.mutate run compiler/ops/own.py:20-90  # those of some lines
python -m tools.mutate list compiler/rewrites  # what is known, counted and listed

A mutant is killed by a test that fails, and by nothing else: one that takes too long or
whose process tells nothing is counted apart, as neither noticed nor survived. --control
runs the same tests on the code as it is; whatever fails there says nothing of mutants.

What was found is kept in --state, under the text of the function and the change; a
survivor is either a change of nothing that can be seen, or a test that is missing.

The modules, each of which imports those below it:

- ``__main__``: the command line
- ``plugin``: what pytest does in place of, or beside, its own run
- ``running``: mutants are drawn, and each meets its tests in a process of its own
- ``patching``: changed code is put into a process that runs
- ``coverage``: the map of tests to the blocks that they enter
- ``state``: what became of mutants, kept and listed
- ``importing``: modules are changed as they are imported
- ``trees``: the mutants of a file, and its code with one of them
- ``changes``: what a node of a syntax tree may become
- ``orders``: how processes are told what to do, and tell what they did
- ``package``: the files that may be changed
"""
