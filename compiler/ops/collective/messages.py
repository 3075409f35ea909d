"""Messages between two ranks in expressions, with gradients: one the other way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from gpuarray.array import Array
from gpuarray.compiler.errors import GraphTypeError, GraphValueError
from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.graph.op import Gradients, Variables
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.collective.collectives import Collective, clear
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.variables.basic import as_tensor_variable
from gpuarray.dtypes import as_dtype, kind_of

if TYPE_CHECKING:
    from gpuarray.distributed import Communicator


class Message(Collective):
    """The base of messages to and from another rank, the ``peer``.

    Operands behind the first are not read: the message comes after them.
    """

    __props__: ClassVar[tuple[str, ...]] = ("comm", "peer")

    def __init__(self, comm: Communicator, peer: int) -> None:
        super().__init__(comm)
        name = type(self).__name__
        if isinstance(peer, bool) or not isinstance(peer, int):
            raise GraphTypeError(
                f"{name}: the rank is {peer!r}, a {type(peer).__name__}; expected an "
                "int: it cannot depend on what is computed"
            )
        if not 0 <= peer < comm.size or peer == comm.rank:
            raise GraphValueError(
                f"{name}: the rank is {peer}, expected one of 0 to {comm.size - 1} "
                f"other than this one, rank {comm.rank}"
            )
        self.peer = peer

    def make_node(self, x: Any, *after: Variable) -> Apply:
        """Return a node over an array, to run after some variables are known."""
        variable = as_tensor_variable(x)
        return Apply(self, [variable, *after], [self.infer(variable.type)])

    def R_op(self, inputs: Any, eval_points: Any) -> list[Variable | None]:
        """A message of the direction, which the other rank has to take."""
        return super().R_op(inputs[:1], eval_points[:1])


class SendTo(Message):
    """Sends an array to a rank. The result is a token, 0, that orders what follows."""

    def infer(self, x: Any) -> Any:
        """A number of the operand's dtype."""
        return TensorType(x.dtype, ())()

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """No axes."""
        return [()]

    def result_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return no axes."""
        return ()

    def run(self, x: Array, out: Array) -> None:
        """Send the array, and write 0."""
        self.comm.send(x, self.peer)
        clear(out)

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """Return the gradient of what the other rank has received, which it sends."""
        x, *after = inputs
        if kind_of(as_dtype(x.type.dtype)) not in "fc":
            return [math.zeros_like(x), *(None for _ in after)]
        received = ReceiveFrom(self.comm, self.peer)(x, *outputs)
        return [received, *(None for _ in after)]


class ReceiveFrom(Message):
    """The array that a rank sends, of the dtype and shape of the operand."""

    def run(self, x: Array, out: Array) -> None:
        """Write what was sent."""
        self.comm.recv(self.peer, out)

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """Send the gradient to the rank that has sent the array; return zeros."""
        (like, *after), (g,) = inputs, output_gradients
        assert g is not None
        if kind_of(as_dtype(like.type.dtype)) not in "fc":
            return [math.zeros_like(like), *(None for _ in after)]
        slope = math.cast(g, like.type.dtype)
        sent = SendTo(self.comm, self.peer)(slope, *outputs)
        return [math.second(like, sent), *(None for _ in after)]


MESSAGES = (SendTo, ReceiveFrom)


def send(x: Any, comm: Communicator, rank: int) -> Variable:
    """Return 0, once ``x`` is sent to a rank, which receives it by `recv`.

    Return it from the function, or add it to the cost: what nothing needs is not sent.
    The gradient by ``x`` is that by what the other rank has received; it is received
    from there.
    """
    result: Variable = SendTo(comm, rank)(x)
    return result


def recv(like: Any, comm: Communicator, rank: int) -> Variable:
    """Return what a rank sends by `send`: an array of ``like``'s dtype and shape.

    The elements of ``like`` are not read. Its gradient is zeros; to compute it is to
    send the gradient by the result back to that rank, which waits for it.
    """
    result: Variable = ReceiveFrom(comm, rank)(like)
    return result
