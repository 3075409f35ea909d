"""How ops and expressions read, and where they are computed."""

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import shared
from gpuarray.compiler.compile.ops import Shape_i
from gpuarray.compiler.graph.core import constant
from gpuarray.compiler.graph.traverse import toposort
from gpuarray.compiler.ops.elemwise.elemwise import Cast, Elemwise
from gpuarray.compiler.ops.linalg.linalg import Gemm, Gemv
from gpuarray.compiler.ops.linalg.products import BatchedGemm, Ger
from gpuarray.compiler.ops.shape.lengths import is_free, lengths_of, settled
from gpuarray.compiler.ops.variables.context_assignment import own_place, places_of
from gpuarray.compiler.ops.variables.transfer import (
    GpuFromHost,
    GpuToGpu,
    HostFromGpu,
    as_gpuarray_variable,
    gpu_from_host,
    infer_context_name,
    meant_for,
)
from gpuarray.compiler.printing import Print, pp
from gpuarray.compiler.tensor.opt import Assert
from gpuarray.scalars import SCALARS
from written import rows, sides

READ = rows("""
a.T -> a.T
a.dimshuffle('x', 0, 1) -> a
a.dimshuffle(1, 'x', 0) -> DimShuffle{1,x,0}(a)
r.dimshuffle(1) -> DimShuffle{1}(r)
a[0, 1:] -> a[0, 1:]
a[::-1] -> a[::-1]
a[:, 1::2] -> a[:, 1::2]
a[p] -> a[p]
a[1:, p] -> a[1:, p]
T.set_subtensor(a[0], 1) -> set_subtensor(a[0], Cast{float64}(TensorConstant{1}))
T.inc_subtensor(a[1:], s) -> inc_subtensor(a[1:], s)
T.sum(a, 1) -> Sum{[1]}(a)
T.max(a) -> Max{[0, 1]}(a)
T.dot(a, w) -> (a \\dot w)
a + w -> (a + w)
-a -> (-a)
T.exp(a) -> exp(a)
T.maximum(a, w) -> maximum(a, w)
T.cast(a, 'float32') -> Cast{float32}(a)
a.shape[1] -> a.shape[1]
T.unbroadcast(r, 0) -> r
T.reshape(a, (4, 3)) -> reshape(a, TensorConstant{[4 3]})
""")


@pytest.mark.parametrize("row", READ)
def test_an_expression_reads_as_it_is_written(row):
    text, _, told = row.partition(" -> ")
    assert pp(sides(f"{text} :: 0")[2]) == told


OPS = [
    (T.Argmax((0, 1)), "Argmax{axis=[0, 1]}"),
    (T.Argmax((1,), True), "Argmin{axis=[1]}"),
    (T.Reduce("add", (0,)), "Sum{axis=[0]}"),
    (T.Reduce("add", (0,), None, "float32"), "Sum{axis=[0], acc_dtype=float32}"),
    (T.CumOp(0), "CumOp{0, add}"),
    (T.CumOp(1, "mul", True), "CumOp{1, mul, reverse}"),
    (Gemm(), "Gemm{no_inplace, alpha=1, beta=1}"),
    (Gemm(inplace=True, alpha=2, beta=0), "Gemm{inplace, alpha=2, beta=0}"),
    (Gemv(inplace=True), "Gemv{inplace, alpha=1, beta=1}"),
    (Ger(0.5), "Ger{no_inplace, alpha=0.5, beta=1}"),
    (BatchedGemm(), "BatchedGemm{no_inplace, alpha=1, beta=1}"),
    (T.IncSubtensor(["int64"]), "IncSubtensor{Inc;int64}"),
    (T.IncSubtensor(["int64"], True, True), "IncSubtensor{InplaceSet;int64}"),
    (T.AdvancedIncSubtensor1(), "AdvancedIncSubtensor1{no_inplace,inc}"),
    (T.AdvancedIncSubtensor1(True, True), "AdvancedIncSubtensor1{inplace,set}"),
    (
        T.AdvancedIncSubtensor(["array"], True),
        "AdvancedIncSubtensor{inplace=True,  set_instead_of_inc=False}",
    ),
    (T.DimShuffle((False,), ("x", 0)), "InplaceDimShuffle{x,0}"),
    (T.Rebroadcast((True, False)), "Rebroadcast{row}"),
    (T.Reshape(2), "Reshape{2}"),
    (Shape_i(1), "Shape_i{1}"),
    (GpuFromHost("null"), "GpuFromHost<null>"),
    (GpuToGpu("null"), "GpuToGpu<null>"),
    (HostFromGpu(), "HostFromGpu(gpuarray)"),
    (Print(), "Print{attrs=('__str__',)}"),
    (Print("x", ("shape",)), "Print{message='x', attrs=('shape',)}"),
    (Assert("no"), "Assert{msg='no'}"),
    (Assert(), "Assert{msg='Assert failed!'}"),
    (Elemwise(SCALARS["exp"], {0: 0}), "Elemwise{exp}[(0, 0)]"),
    (Elemwise(Cast("int8")), "Elemwise{Cast{int8}}"),
    (Elemwise(Cast("int8"), {0: 0}), "Elemwise{Cast{int8}}[(0, 0)]"),
    (T.MakeVector(), "MakeVector{dtype=None}"),
    (T.MakeVector("int64"), "MakeVector{dtype='int64'}"),
]


@pytest.mark.parametrize(("op", "told"), OPS, ids=[told for _, told in OPS])
def test_an_op_reads_so(op, told):
    assert str(op) == told


CONNECTED = {
    "a.shape": [False],
    "a.shape[0]": [False],
    "a[p]": [True, False],
    "a[p, p]": [True, False, False],
    "a[n:, p]": [True, False, False],
    "a[t]": [True, False],
    "T.set_subtensor(a[p], s)": [True, True, False],
    "T.inc_subtensor(v[p], s)": [True, True, False],
    "T.inc_subtensor(a[p, p], s)": [True, True, False, False],
    "T.set_subtensor(a[n:, p], s)": [True, True, False, False],
    "T.set_subtensor(a[t], s)": [True, True, False],
}


@pytest.mark.parametrize("text", CONNECTED)
def test_places_and_lengths_are_not_connected(text):
    node = sides(f"{text} :: 0")[2].owner
    assert [flag for (flag,) in node.op.connection_pattern(node)] == CONNECTED[text]


# ---- contexts and lengths ----


def test_what_is_moved_there_and_back_is_taken_from_where_it_was():
    x = T.fvector("x")
    there = x.transfer("null")
    back = there.transfer("cpu")
    assert as_gpuarray_variable(back, "null") is there
    assert as_gpuarray_variable(there, "null") is there
    moved = as_gpuarray_variable(back, None)
    assert moved.type.context_name is None and moved.owner.inputs == [back]
    other = gpu_from_host(there, None)
    assert isinstance(other.owner.op, GpuToGpu) and other.type.context_name is None
    assert gpu_from_host(there, "null") is there
    assert isinstance(gpu_from_host(x, None).owner.op, GpuFromHost)
    for wrong, op in ((x, HostFromGpu()), (there, GpuFromHost()), (x, GpuToGpu())):
        with pytest.raises(TypeError, match="expected an array of"):
            op(wrong)


def test_a_context_is_that_of_the_first_that_is_meant_for_one():
    x, y = T.fvector("x"), T.fvector("y")
    assert meant_for(x) == (False, None)
    there = y.transfer("null")
    assert meant_for(there) == (True, "null")
    assert meant_for(x.transfer(None)) == (True, None)
    assert infer_context_name(x, 3, T.exp(there)) == "null"
    assert infer_context_name(x + there.transfer("cpu")) is None
    for field in ("target", "context_name"):
        z = T.fvector("z")
        setattr(z.tag, field, "null")
        assert meant_for(z) == (True, "null")
        setattr(z.tag, field, "cpu")
        assert meant_for(z) == (False, None)
    assert meant_for(shared(np.zeros(3, "float32"), target="null")) == (True, "null")


def test_a_free_input_is_where_the_first_that_takes_it_is():
    x, y, z = T.fvector("x"), T.fvector("y"), T.fvector("z")
    y.tag.target = "null"
    total, apart = x + y, T.exp(z)
    read = total.transfer("null").transfer("cpu")
    order = toposort([read, apart])
    places = places_of([x, y, z], order)
    moved = read.owner.inputs[0]
    assert {each for each in places if each.owner is None} == {x, y}
    assert places[x] == places[y] == places[total] == places[moved] == "null"
    assert z not in places and apart not in places
    assert own_place(moved.owner) == own_place(read.owner) == "null"
    # What is computed of what may be anywhere is where it is read.
    w = T.fvector("w")
    middle = T.exp(w)
    found = places_of([w, y], toposort([middle + y]))
    assert found[middle] == found[w] == "null"


def test_lengths_are_those_of_leaves():
    a, n = T.dmatrix("a"), T.lscalar("n")
    rows_, columns = lengths_of(T.exp(a.T) + 1)
    assert rows_.owner.op == Shape_i(1) and rows_.owner.inputs == [a]
    assert columns.owner.op == Shape_i(0) and columns.owner.inputs == [a]
    assert settled(Shape_i(0)(T.exp(a))).owner.inputs == [a]
    assert settled(n) is n and settled(3).data == 3
    unknown = T.dvector("v")[T.lscalar("i") :]
    for length, free in (
        (n, True),
        (constant(2), True),
        (n + a.shape[0], True),
        (T.dscalar(), False),
        (T.lvector(), False),
        (T.cast(a.sum(), "int64"), False),
        (Shape_i(0)(T.exp(a)), False),
        (Shape_i(0)(unknown), False),
        (T.switch(n, a.shape[0], a.shape[1]), True),
    ):
        assert is_free(length) == free, length
