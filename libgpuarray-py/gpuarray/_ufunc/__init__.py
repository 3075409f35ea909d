"""Functions of each element, and their folds: operators, ufuncs, reductions, scans."""
