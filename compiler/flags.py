"""The settings: a frozen dataclass, its sections, and their parser."""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from typing import Any, Literal, NamedTuple, get_args, get_type_hints

from gpuarray.compiler.errors import ConfigError, UnknownSettingError

DEVICE = re.compile(r"|cpu|null|cuda\d*|opencl(\d+:\d+)?")

Reaction = Literal["ignore", "warn", "raise"]


def flag(default: Any, text: str) -> Any:
    """Return a field of a section, with its description."""
    return field(default=default, metadata={"text": text})


def section(kind: type[Any]) -> Any:
    """Return a field that has further settings: ``profiling.n_apply``."""
    return field(default_factory=kind)


@dataclass(frozen=True, slots=True)
class Traceback:
    """``traceback.*``: the lines of the user's program that errors show."""

    limit: int = flag(8, "lines of the stack where a node was made, in long errors")


@dataclass(frozen=True, slots=True)
class Profiling:
    """``profiling.*``: what a profile prints."""

    n_apply: int = flag(20, "nodes in the table of nodes")
    n_ops: int = flag(20, "operations in the tables of operations")
    output_line_width: int = flag(512, "characters of a line")
    min_memory_size: int = flag(1024, "bytes of the smallest array that is listed")
    min_peak_memory: bool = flag(False, "find the order of nodes that needs least")
    time_thunks: bool = flag(True, "measure each node; off: the functions only")
    debugprint: bool = flag(False, "print the graph with the profile")
    destination: str = flag("stderr", "stderr, stdout, or a file's name")


@dataclass(frozen=True, slots=True)
class DebugFlags:
    """``DebugMode.*``: what that mode checks."""

    check_finite: bool = flag(True, "raise where only the rewritten graph gives nan")


@dataclass(frozen=True, slots=True)
class NanGuardFlags:
    """``NanGuardMode.*``: which values that mode refuses."""

    nan_is_error: bool = flag(True, "refuse nan")
    inf_is_error: bool = flag(True, "refuse infinities")
    big_is_error: bool = flag(True, "refuse values beyond 1e10")
    action: Literal["raise", "warn", "pdb"] = flag("raise", "what is done about one")


@dataclass(frozen=True, slots=True)
class Unittests:
    """``unittests.*``: for tests of programs."""

    rseed: int = flag(0, "the seed of verify_grad's weights")


@dataclass(frozen=True, slots=True)
class CompilerFlags:
    """The settings of the compiler; every field has a safe default.

    ``device`` is the context of functions: ``cuda0``, ``opencl0:1``, ``cpu`` (the first
    OpenCL device that is a processor), ``null`` (runs no kernel), or nothing for the
    default context of ``gpuarray``. It places functions and their shared values, not
    arrays: ``gpuarray.zeros(3)`` is on the default context, which GPUARRAY_DEVICE or
    ``with context:`` chooses. ``contexts`` maps names of a program to devices:
    ``dev0->cuda0;dev1->cuda1``. ``others`` has the values of Theano's further settings,
    which have no effect.
    """

    floatX: Literal["float16", "float32", "float64"] = flag(
        "float64", "the dtype of floats where none is said"
    )
    device: str = flag(
        "",
        "where functions compute, not arrays: cpu, cuda0, opencl0:0; empty: the best",
    )
    contexts: str = flag("", "names of devices: dev0->cuda0;dev1->cuda1")
    cast_policy: Literal["custom", "numpy+floatX"] = flag(
        "custom", "numpy+floatX: floatX where NumPy would widen to float64"
    )
    int_division: Literal["floatX", "int", "raise"] = flag(
        "floatX", "what / makes of integers"
    )
    warn_float64: Reaction = flag("ignore", "where a variable of float64 is made")
    mode: str = flag("FAST_RUN", "how functions are compiled: the name of a mode")
    rewrites: Literal["none", "safe", "all"] = flag(
        "all", "none, those that keep every value, or all"
    )
    optimizer_including: str = flag("", "names of further rewrites, a:b:c")
    optimizer_excluding: str = flag("", "names of rewrites that are left out, a:b:c")
    fuse: bool = flag(True, "join elementwise operations in one kernel")
    allow_gc: bool = flag(
        True, "give memory of intermediate results back after each call"
    )
    deterministic: bool = flag(
        True, "False: also engines of cuDNN that add in another order each time"
    )
    bindings: int = flag(64, "signatures that a function keeps bound, at least one")
    launch_blocking: bool = flag(
        False, "while on, each step of a call waits, so that errors name the failed one"
    )
    assert_no_cpu_op: Reaction = flag(
        "ignore", "where a function holds an operation that runs on the host"
    )
    protocols: Literal["strict", "theano"] = flag(
        "strict", "theano: `if x:` holds but of comparisons, numpy.prod takes lists"
    )
    compute_test_value: Literal["off", "ignore", "warn", "raise"] = flag(
        "off", "compute expressions of tag.test_value while they are built"
    )
    profile: bool = flag(False, "measure every function; print at exit")
    profile_memory: bool = flag(False, "measure memory too")
    profile_optimizer: bool = flag(False, "measure each rewrite too")
    on_unused_input: Reaction = flag("raise", "where an input is not used")
    exception_verbosity: Literal["low", "high"] = flag(
        "low", "high: errors show the graph and the inputs' values"
    )
    traceback: Traceback = section(Traceback)
    profiling: Profiling = section(Profiling)
    DebugMode: DebugFlags = section(DebugFlags)
    NanGuardMode: NanGuardFlags = section(NanGuardFlags)
    unittests: Unittests = section(Unittests)
    others: tuple[tuple[str, Any], ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        for setting in flags_of(CompilerFlags):
            check_value(setting, read(self, setting.name))
        if not DEVICE.fullmatch(self.device):
            raise ConfigError(
                f"config: device={self.device!r} names no device; write cpu, cuda, "
                "cuda0, opencl0:0, or nothing for the default"
            )
        context_map(self.contexts)
        if self.bindings < 1:
            raise ConfigError(
                f"config: bindings={self.bindings}; a function keeps at least one"
            )


class Flag(NamedTuple):
    """A setting: its dotted name, its type, its default and its description."""

    name: str
    hint: Any
    default: Any
    text: str

    @property
    def choices(self) -> str:
        """Return a description of the accepted values."""
        listed = get_args(self.hint)
        return " | ".join(listed) if listed else str(self.hint.__name__)


@cache
def flags_of(kind: type[Any]) -> tuple[Flag, ...]:
    """Return the settings of a dataclass and of its sections."""
    return tuple(_flags(kind, ""))


def _flags(kind: type[Any], prefix: str) -> Iterator[Flag]:
    hints = get_type_hints(kind)
    for attribute in fields(kind):
        if attribute.name == "others":
            continue
        hint, name = hints[attribute.name], prefix + attribute.name
        if is_dataclass(hint):
            assert isinstance(hint, type)
            yield from _flags(hint, f"{name}.")
        else:
            yield Flag(name, hint, attribute.default, attribute.metadata["text"])


@cache
def known() -> Mapping[str, Flag]:
    """Return all settings by name."""
    return {setting.name: setting for setting in flags_of(CompilerFlags)}


def find(name: str) -> Flag:
    """Return the setting of a name. Raises ConfigError, with similar names."""
    names = known()
    if name in names:
        return names[name]
    lower = {spelling.lower(): spelling for spelling in names}
    near = difflib.get_close_matches(name.lower(), lower, 3, 0.6)
    hint = (
        f"did you mean {' or '.join(lower[match] for match in near)}?"
        if near
        else (f"there are {', '.join(sorted(names))}")
    )
    raise UnknownSettingError(f"config: no setting is named {name!r}; {hint}")


_THEANOS_TEXT = """
    base_compiledir blas.check_openmp blas.ldflags cache_optimizations check_input
    check_stack_trace cmodule.age_thresh_use cmodule.compilation_warning cmodule.debug
    cmodule.preload_cache cmodule.remove_gxx_opt cmodule.warn_no_version compile.timeout
    compile.wait compiledir compiledir_format compute_test_value_opt conv.assert_shape
    ctc.root cuda.include_path cuda.root cxx cycle_detection DebugMode.check_c
    DebugMode.check_preallocated_output DebugMode.check_preallocated_output_ndim
    DebugMode.check_py DebugMode.check_strides DebugMode.patience
    DebugMode.warn_input_not_reused dnn.base_path dnn.bin_path
    dnn.conv.algo_bwd dnn.conv.algo_bwd_data dnn.conv.algo_bwd_filter dnn.conv.algo_fwd
    dnn.conv.precision dnn.enabled dnn.include_path dnn.library_path
    experimental.local_alloc_elemwise experimental.local_alloc_elemwise_assert
    experimental.unpickle_gpu_on_cpu force_device gcc.cxxflags gpu.local_elemwise_fusion
    gpuarray.cache_path gpuarray.preallocate gpuarray.sched gpuarray.single_stream
    gpuarray.sync gpuelemwise.sync init_gpu_device lib.amdlibm lib.cnmem linker
    magma.enabled magma.include_path magma.library_path metaopt.optimizer_excluding
    metaopt.optimizer_including metaopt.verbose nocleanup numpy.seterr_all
    numpy.seterr_divide numpy.seterr_invalid numpy.seterr_over numpy.seterr_under
    nvcc.fastmath nvcc.flags on_opt_error on_shape_error openmp openmp_elemwise_minsize
    optdb.max_use_ratio optdb.position_cutoff optimizer optimizer_requiring
    optimizer_verbose pickle_test_value print_active_device print_global_stats
    print_test_value ProfileMode.min_memory_size ProfileMode.n_apply_to_print
    ProfileMode.n_ops_to_print ProfileMode.profile_memory profiling.ignore_first_call
    reoptimize_unpickled_function scan.allow_gc scan.allow_output_prealloc scan.debug
    tensor.cmp_sloppy tensor.insert_inplace_optimizer_validate_nb
    tensor.local_elemwise_fusion traceback.compile_limit unpickle_function vm.lazy
    """
# Theano's words for values of settings that are here.
_WORDS: Mapping[str, Mapping[str, Any]] = {
    "deterministic": {"default": True, "more": True}
}
# Theano's settings. Assignments to those that are missing here have no effect.
_THEANOS = frozenset(_THEANOS_TEXT.split())


def is_theanos(name: str) -> bool:
    """Return True for the name of a setting that only Theano has.

    All of ``warn.*`` are: there each bug of an older version has its own.
    """
    return name in _THEANOS - known().keys() or name.startswith("warn.")


@cache
def sections() -> frozenset[str]:
    """Return the sections of settings' names (before the dot), Theano's included."""
    parts = [name.split(".") for name in {*known(), *_THEANOS, "warn.all"}]
    return frozenset(".".join(p[:n]) for p in parts for n in range(1, len(p)))


def mind_other(name: str) -> None:
    """Warn that one of Theano's settings has no effect; ``warn.*`` never had one."""
    if not name.startswith("warn."):
        warnings.warn(
            f"config: {name} is a setting of Theano's that has no effect here",
            stacklevel=4,
        )


def read(config: CompilerFlags, name: str) -> Any:
    """Return the value of a setting by its dotted name."""
    value: Any = config
    for part in name.split("."):
        value = getattr(value, part)
    return value


def changed(config: CompilerFlags, changes: Mapping[str, Any]) -> CompilerFlags:
    """Return the flags with other values, by dotted names."""
    direct: dict[str, Any] = {}
    others = dict(config.others)
    for name, value in changes.items():
        if is_theanos(name):
            mind_other(name)
            others[name] = value
            continue
        find(name)
        value = meaning(name, value)
        head, _, tail = name.partition(".")
        if tail:
            section = direct.get(head, getattr(config, head))
            direct[head] = replace(section, **{tail: value})
        else:
            direct[name] = value
    return replace(config, **direct, others=tuple(others.items()))


def meaning(name: str, value: Any) -> Any:
    """Return what a value means here: a word of Theano's has another one."""
    words = _WORDS.get(name, {})
    return words.get(value, value) if isinstance(value, str) else value


def check_value(flag: Flag, value: Any) -> None:
    """Raise ConfigError unless the setting takes ``value``."""
    allowed = get_args(flag.hint)
    if allowed and value not in allowed:
        near = difflib.get_close_matches(str(value), allowed, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"it takes {list(allowed)}"
        raise ConfigError(f"config: {flag.name}={value!r} is not known; {hint}")
    is_number = flag.hint is int and isinstance(value, bool)
    if not allowed and (is_number or not isinstance(value, flag.hint)):
        raise ConfigError(
            f"config: {flag.name}={value!r} is a {type(value).__name__}, expected "
            f"{flag.choices}"
        )


def context_map(text: str) -> dict[str, str]:
    """Return the devices by a program's names of contexts.

    >>> context_map("dev0->cuda0;dev1->cuda1")
    {'dev0': 'cuda0', 'dev1': 'cuda1'}
    """
    devices: dict[str, str] = {}
    for pair in filter(None, text.split(";")):
        name, arrow, device = (part.strip() for part in pair.partition("->"))
        if not arrow or not name or not device or DEVICE.fullmatch(name):
            raise ConfigError(
                f"config: contexts={text!r} holds {pair!r}; write name->device pairs "
                "with names that are no devices, such as dev0->cuda0;dev1->cuda1"
            )
        if not DEVICE.fullmatch(device):
            raise ConfigError(f"config: contexts={text!r}: {device!r} is no device")
        devices[name] = device
    return devices


def value_of(flag: Flag, text: str) -> Any:
    """Return a setting's value of ``text``."""
    words = {"1": True, "true": True, "0": False, "false": False}
    words |= _WORDS.get(flag.name, {})
    if flag.hint is bool:
        if text.lower() not in words:
            raise ConfigError(f"config: {flag.name}={text!r} is neither True nor False")
        return words[text.lower()]
    if flag.hint is int:
        try:
            return int(text)
        except ValueError:
            raise ConfigError(f"config: {flag.name}={text!r} is no integer") from None
    if flag.name == "device":
        return re.sub(r"^gpu", "cuda", text)
    return text


def values_of(
    pairs: Iterable[tuple[str, str]], source: str, *, strict: bool
) -> dict[str, Any]:
    """Return the settings' values of pairs of texts, by name.

    An unknown name is an error if ``strict``, else it is left to other programs. Errors
    name ``source``.
    """
    values: dict[str, Any] = {}
    names = known()
    for name, text in pairs:
        if name in names or strict:
            try:
                setting = find(name)
                values[name] = value_of(setting, text)
                check_value(setting, values[name])
            except ConfigError as error:
                raise ConfigError(f"{source}: {error}") from None
    return values
