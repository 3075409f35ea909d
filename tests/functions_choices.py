"""Cases of functions that choose, pack and unwrap."""

import numpy as np
from functions import COMPLEX, FLOATS, PRODUCT, SUM, case

FEW = ("bool", "int8", "uint8", "int64", "float32", "complex128")


@case("choose")
def _(d):
    count = d.number(1, 3)
    shape = d.shape(0, 3)
    dtype = d.pick("int64", "int64", "int8", "bool", "float32")
    numbers = d.content.integers(-1 if d.flag() else 0, count + 1, shape).astype(dtype)
    dtypes = [d.pick("float32", "int16", "int64") for _ in range(count)]
    choices = [d.laid_out(d.values(d.broadcast_to(shape), name)) for name in dtypes]
    if d.number(0, 3) == 0:
        choices = d.array(("float32",), shape=(count, *d.broadcast_to(shape)))
    elif d.flag() and count > 1:
        choices[0] = d.pick(2, 2.5, True)
    is_inside = ((numbers >= 0) & (numbers < count)).all()
    modes = ("raise", "wrap", "clip") if is_inside else ("wrap", "clip")
    return (d.laid_out(numbers), choices), {"mode": d.pick(*modes)}


@case("packbits")
def _(d):
    a = d.array(("bool", "uint8", "int32", "float32") if d.flag() else ("bool",))
    return (a,), {
        "axis": d.axis(a, many=False),
        "bitorder": d.pick("big", "little"),
    }


@case("unpackbits")
def _(d):
    a = d.array(("uint8", "uint8", "uint8", "int8"))
    return (a,), {
        "axis": d.axis(a, many=False),
        "count": d.pick(None, 0, 3, 13, -3, -200),
        "bitorder": d.pick("big", "little"),
    }


@case("sinc", rtol=PRODUCT)
def _(d):
    return (d.array(("int8", *FLOATS, "complex128"), special=False),), {}


@case("unwrap", rtol=SUM)
def _(d):
    whole = d.flag()
    a = d.array(("int64", "uint8") if whole else ("float32", "float64"), low=1)
    periods = (5, 6) if whole else (4.0, 2.5)
    period = d.pick(*periods, 2 * np.pi)
    axis = d.number(-a.ndim, a.ndim - 1)
    return (a,), {"discont": d.pick(None, None, 2, 4), "axis": axis, "period": period}


@case("iscomplex", "isreal", "sort_complex")
def _(d):
    return (d.array((*FEW, *COMPLEX), low=1),), {}


@case("real_if_close", waits="values")
def _(d):
    a = d.array(COMPLEX)
    a.imag *= d.pick(1, 1e-6, 1e-15, 0)
    return (a,), {"tol": d.pick(100, 100, 1e-5, 1e9)}


@case("fix")
def _(d):
    return (d.array(("int8", "float32", "complex64")),), {}
