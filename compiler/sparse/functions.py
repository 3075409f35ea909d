"""Functions of the elements of sparse matrices, by Theano's names."""

from __future__ import annotations

from functools import partial

from gpuarray.compiler.ops.sparse.elementwise import cast, comparison, structured

eq, neq = comparison("eq"), comparison("ne")
lt, le = comparison("lt"), comparison("le")
gt, ge = comparison("gt"), comparison("ge")

sin, arcsin = structured("sin"), structured("arcsin")
sinh, arcsinh = structured("sinh"), structured("arcsinh")
tan, arctan = structured("tan"), structured("arctan")
tanh, arctanh = structured("tanh"), structured("arctanh")
sgn, ceil, floor = structured("sign"), structured("ceil"), structured("floor")
trunc, rint = structured("trunc"), structured("rint")
sqr, sqrt = structured("square"), structured("sqrt")
expm1, log1p = structured("expm1"), structured("log1p")
deg2rad, rad2deg = structured("deg2rad"), structured("rad2deg")
conj = structured("conjugate")

structured_abs, structured_exp = structured("abs"), structured("exp")
structured_log, structured_sigmoid = structured("log"), structured("sigmoid")
structured_pow, structured_add = structured("power"), structured("add")
structured_minimum, structured_maximum = structured("minimum"), structured("maximum")

bcast, wcast = partial(cast, dtype="int8"), partial(cast, dtype="int16")
icast, lcast = partial(cast, dtype="int32"), partial(cast, dtype="int64")
fcast, dcast = partial(cast, dtype="float32"), partial(cast, dtype="float64")
ccast, zcast = partial(cast, dtype="complex64"), partial(cast, dtype="complex128")
