"""A plan in stages: parts that one call runs, and the pausing steps between.

The executor runs a whole plan whose functions are all recorded. Any other pauses where
a step's function is called, and where the host reads integers that the device computed.
The steps between are a plan of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from gpuarray.compiler import plan as p
from gpuarray.compiler.plan_steps import VIEWED


@dataclass(frozen=True, slots=True)
class PlanPart:
    """Steps without a pause, as a plan.

    ``ins`` and ``outs`` are its inputs and outputs, as values of the whole plan;
    ``integers`` the steps whose integers are needed after it.
    """

    plan: p.Plan
    ins: tuple[int, ...]
    outs: tuple[int, ...]
    integers: tuple[p.Step, ...]


@dataclass(frozen=True, slots=True)
class Stage:
    """A part or a pausing step, and the values whose last use it is."""

    work: PlanPart | p.Call | p.LoopStep | p.Read
    dead: tuple[int, ...]


def is_called(step: p.Step) -> bool:
    """Return True if Python calls the step's function, or a body, at each run."""
    if isinstance(step, p.LoopStep):
        return not step.recorded
    return step.pauses and not isinstance(step, p.Read)


def pauses(step: p.Step) -> bool:
    """Return True if Python takes part in the step at each run: no part has it."""
    return isinstance(step, p.Read) or is_called(step)


def taken_over(step: p.Step) -> list[int]:
    """Return the values whose memory a step writes its results to."""
    if isinstance(step, p.Library):
        return [step.ins[2]] if step.inplace else []
    places: tuple[int, ...] = getattr(step, "inplace", ())
    return [step.ins[place] for place in places if place >= 0]


def viewed(step: p.Step) -> int | None:
    """Return the input whose memory the result of a step may be; None if it is new."""
    if isinstance(step, p.View | p.ReshapeStep | p.Broadcast | p.Index):
        return step.ins[0]
    if isinstance(step, p.Routine) and step.name in VIEWED:
        return step.ins[0]
    return None


def endangered(plan: p.Plan) -> tuple[int, ...]:
    """Return the inputs that are overwritten while a later part may still fail.

    Within a part nothing is written before all its memory is allocated.
    """
    runs = list(_runs(plan.steps))
    if runs and not pauses(runs[-1][0]):
        runs.pop()
    overwritten = _overwritten([step for run in runs for step in run])
    return tuple(sorted(n for n in overwritten if n < plan.n_inputs))


def is_whole(plan: p.Plan) -> bool:
    """Return True if the executor runs all of the plan."""
    return not any(map(is_called, plan.steps))


def stages(plan: p.Plan) -> list[Stage]:
    """Return the plan's stages in the order in which they run."""
    runs = list(_runs(plan.steps))
    outs = [{number for step in run for number in step.outs} for run in runs]
    # What each run reads; a length that is needed later keeps its array until then.
    reads = [_read(run) for run in runs]
    result: list[Stage] = []
    later: set[int] = set(plan.outputs)
    for index in reversed(range(len(runs))):
        run = runs[index]
        if pauses(run[0]):
            work: PlanPart | p.Step = run[0]
            used = set(run[0].reads)
        else:
            # A part may write to a copy of an input, so it returns what it overwrites.
            kept = (outs[index] | _overwritten(run)) & later
            work = _part(plan, run, reads[index] - outs[index], kept)
            used = set(work.ins)
        assert isinstance(work, PlanPart | p.Call | p.LoopStep | p.Read)
        known = outs[index] | used
        result.append(Stage(work, tuple(sorted(known - later))))
        later |= used
    return result[::-1]


def single(plan: p.Plan, step: p.Step) -> PlanPart:
    """Return a step that does not pause as a part, whatever its conditions."""
    return _part(plan, [replace(step, when=())], set(step.ins), set(step.outs))


def _runs(steps: Iterable[p.Step]) -> Iterable[list[p.Step]]:
    run: list[p.Step] = []
    for step in steps:
        if not pauses(step):
            run.append(step)
            continue
        if run:
            yield run
        yield [step]
        run = []
    if run:
        yield run


def _overwritten(run: Sequence[p.Step]) -> set[int]:
    """Return the values that the steps overwrite and do not make themselves."""
    root: dict[int, int] = {}
    own: set[int] = set()
    overwritten: set[int] = set()
    for step in run:
        source = viewed(step)
        if source is not None:
            root[step.outs[0]] = root.get(source, source)
        overwritten.update(root.get(number, number) for number in taken_over(step))
        own.update(step.outs)
    return overwritten - own


def _read(run: Sequence[p.Step]) -> set[int]:
    return {number for step in run for number in step.reads}


def _part(
    plan: p.Plan, run: Sequence[p.Step], ins: set[int], outs: set[int]
) -> PlanPart:
    """Return the steps as a plan from ``ins`` to ``outs``, values of the whole plan."""
    arrays = {n for n in outs if isinstance(plan.values[n], p.ArrayValue)}
    integers = _integer_steps(run, outs - arrays)
    measured = {n for step in integers if isinstance(step, p.Dim) for n in step.ins}
    results = {number for step in run for number in step.outs}
    arrays |= measured & results
    constants = dict(plan.constants)
    part_inputs = tuple(sorted((ins | (measured - results)) - set(constants)))
    part_constants = sorted((ins | arrays) & set(constants))
    order = [*part_inputs, *part_constants, *(n for step in run for n in step.outs)]
    number = {old: new for new, old in enumerate(order)}
    part_outputs = tuple(sorted(arrays))
    places = plan.places()
    part = p.Plan(
        name=plan.name,
        values=tuple(_placed(plan.values[old], places[old]) for old in order),
        n_inputs=len(part_inputs),
        constants=tuple((number[old], constants[old]) for old in part_constants),
        steps=tuple(_renumbered(step, number) for step in run),
        outputs=tuple(number[old] for old in part_outputs),
    )
    return PlanPart(part, part_inputs, part_outputs, tuple(integers))


def _placed(value: p.Value, place: str | None) -> p.Value:
    return value if isinstance(value, p.IntValue) else replace(value, place=place)


def _integer_steps(run: Sequence[p.Step], integers: set[int]) -> list[p.Step]:
    """Return the run's steps that compute ``integers``, in order."""
    kinds = p.HostInt | p.Dim | p.IntOp
    steps: list[p.Step] = []
    needed = set(integers)
    for step in reversed(run):
        if isinstance(step, kinds) and not needed.isdisjoint(step.outs):
            steps.append(step)
            needed.update(number for number, _ in step.when)
            needed.update(() if isinstance(step, p.Dim) else step.ins)
    return steps[::-1]


def _renumbered(step: p.Step, number: Mapping[int, int]) -> p.Step:
    outs = tuple(number[n] for n in step.outs)
    ins = tuple(number[n] for n in step.ins)
    when = tuple((number[n], expected) for n, expected in step.when)
    return replace(step, outs=outs, ins=ins, when=when)
