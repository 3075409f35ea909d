"""Settings: files, flags, blocks, assignment, and what is wrong with them."""

import subprocess
import sys
import threading
import warnings

import gpuarray
import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import pytest
from gpuarray.compiler import config, function
from gpuarray.compiler.config import CompilerFlags, load, parse_flags
from gpuarray.compiler.errors import ConfigError
from gpuarray.compiler.flags import changed, flags_of
from gpuarray.compiler.graph.types import TensorType


def settings(flags, *, strict=True):
    return changed(CompilerFlags(), parse_flags(flags, strict=strict))


def test_settings_last_for_a_block():
    assert config.floatX == "float64"
    with config.use(floatX="float32", device="cuda0"):
        assert (config.floatX, config.device) == ("float32", "cuda0")
        with config.use(floatX="float16", **{"profiling.n_ops": 3}):
            assert (config.floatX, config.device) == ("float16", "cuda0")
            assert config.profiling.n_ops == 3
    assert config.floatX == "float64"
    assert config.current() == CompilerFlags()


def test_a_setting_is_assigned_for_the_program_or_within_a_block():
    with config.use():
        config.floatX = "float32"
        config.profiling.n_apply = 7
        assert config.floatX == "float32" and config.profiling.n_apply == 7
        assert T.vector().dtype == "float32"
    assert config.current() == CompilerFlags()
    seen = []
    config.exception_verbosity = "high"
    try:
        thread = threading.Thread(
            target=lambda: seen.append(config.exception_verbosity)
        )
        thread.start()
        thread.join()
    finally:
        config.exception_verbosity = "low"
    assert seen == ["high"]


def test_settings_can_decorate_a_function():
    @theano.config.change_flags(floatX="float32")
    def dtype():
        return T.scalar().dtype

    assert dtype() == "float32" and T.scalar().dtype == "float64"


def test_flags_are_read_as_theano_wrote_them():
    flags = settings("mode=FAST_RUN,device=gpu1, floatX=float32,allow_gc=False")
    assert flags == CompilerFlags(device="cuda1", floatX="float32", allow_gc=False)
    nested = settings("profiling.n_apply=3,DebugMode.check_finite=False")
    assert nested.profiling.n_apply == 3 and not nested.DebugMode.check_finite


def start(tmp_path, **environment):
    return load({"HOME": str(tmp_path), **environment})


def test_the_environment_comes_before_the_file(tmp_path):
    theano_flags = "device=cpu,nvcc.flags=-ftz=true,floatX=float32"
    assert start(tmp_path) == CompilerFlags()
    expected = CompilerFlags(device="cpu", floatX="float32")
    assert start(tmp_path, THEANO_FLAGS=theano_flags) == expected
    both = {"THEANO_FLAGS": theano_flags, "GPUARRAY_FLAGS": "device=opencl0:0"}
    assert start(tmp_path, **both) == CompilerFlags(device="opencl0:0")
    for name in ("THEANO_FLAGS", "GPUARRAY_FLAGS"):
        with pytest.raises(ConfigError, match=f"^{name}: .*float33"):
            start(tmp_path, **{name: "floatX=float33"})
        with pytest.raises(ConfigError, match=f"^{name}: .*floatX' has no value"):
            start(tmp_path, **{name: "floatX"})

    (tmp_path / ".gpuarrayrc").write_text(
        "[global]\nfloatX = float32\ndevice = cuda0\n[profiling]\nn_ops = 5\n"
    )
    found = start(tmp_path, GPUARRAY_FLAGS="device=cpu")
    assert (found.floatX, found.device, found.profiling.n_ops) == ("float32", "cpu", 5)
    other = tmp_path / "other"
    other.write_text("[global]\nfloatX=float16\n")
    names = f"~/.gpuarrayrc:{other}".replace("~", str(tmp_path))
    assert start(tmp_path, GPUARRAYRC=names).floatX == "float16"


def test_a_file_with_an_unknown_name_says_where(tmp_path):
    (tmp_path / ".gpuarrayrc").write_text("[global]\nfloatx = float32\n")
    with pytest.raises(ConfigError, match=r"\.gpuarrayrc.*did you mean floatX\?"):
        start(tmp_path)
    (tmp_path / ".gpuarrayrc").write_text("floatX = float32\n")
    with pytest.raises(ConfigError, match=r"\.gpuarrayrc cannot be read"):
        start(tmp_path)


@pytest.mark.parametrize(
    ("flags", "hint"),
    [
        ("floatx=float32", "did you mean floatX"),
        ("floatX=float31", "did you mean 'float32'"),
        ("device=tpu", "names no device"),
        ("fuse=perhaps", "neither True nor False"),
        ("fuse", "has no value"),
        ("profiling.n_apply=many", "no integer"),
        ("profiling.n_aply=3", "did you mean profiling.n_apply"),
        ("profiling=3", "no setting is named 'profiling'"),
        ("zzzzzz=1", "there are "),
        ("contexts=cuda0", "name->device"),
    ],
)
def test_an_unknown_flag_or_value_is_an_error(flags, hint):
    with pytest.raises(ConfigError, match=hint):
        settings(flags)


def test_a_bad_assignment_changes_nothing():
    before = config.current()
    for name, value in (("floatX", "float80"), ("floatx", "float32"), ("fuse", 1)):
        with pytest.raises(ConfigError):
            setattr(config, name, value)
    with pytest.raises(ConfigError):
        config.profiling.n_apply = True
    with pytest.raises(ConfigError, match="did you mean"):
        _ = config.floatx
    with pytest.raises(ConfigError), config.use(floatx="float32"):
        pass
    assert config.current() == before


def test_settings_print_themselves():
    text = repr(config)
    for flag in flags_of(CompilerFlags):
        assert f"{flag.name} = {flag.default!r}" in text and flag.text in text
    with config.use(floatX="float32"):
        assert "floatX = 'float32'" in repr(config)
        assert "by default 'float64'" in repr(config)
    assert repr(config.profiling).startswith("profiling.n_apply = 20")
    assert {"floatX", "profiling", "use"} <= set(dir(config))
    assert "n_apply" in dir(config.profiling)


def test_a_program_with_a_bad_flag_ends_at_the_import():
    program = "import gpuarray.compiler"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**__import__("os").environ, "GPUARRAY_FLAGS": "floatX=float33"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode and "did you mean" in done.stderr.splitlines()[-1]


# What settings do to expressions.


def test_float64_variables_are_noticed():
    with config.use(warn_float64="raise"), pytest.raises(TypeError, match="float64"):
        T.dvector("x")
    for make in (T.dvector, TensorType("float64", (False,))):
        with config.use(warn_float64="warn"), pytest.warns(UserWarning) as told:
            make("x")
        assert [each.filename for each in told] == [__file__]
        assert "float64" in str(told[0].message)
    with config.use(warn_float64="raise", floatX="float32"):
        assert (T.vector("x") * 2).dtype == "float32"


def test_division_of_integers():
    a, b = T.ivector("a"), T.ivector("b")
    assert (a / b).dtype == "float64"
    with config.use(floatX="float32"):
        assert (a / b).dtype == "float32"
    with config.use(int_division="int"):
        assert (a / b).dtype == "int32"
    with config.use(int_division="raise"), pytest.raises(TypeError, match="//"):
        a / b


# ---- names that Theano has ----


def test_an_unknown_name_is_no_attribute():
    assert not hasattr(config, "nothing") and not hasattr(config.profiling, "nothing")
    assert getattr(config, "floatx", 3) == getattr(config.warn, "any", 3) == 3
    with pytest.raises(AttributeError, match="did you mean floatX"):
        _ = config.floatx
    with pytest.raises(AttributeError, match="no setting is named"):
        _ = config.dnn.convolve


def test_warnings_of_theano_are_settings_without_effect():
    with config.use():
        config.warn.sum_div_dimshuffle_bug = False
        config.warn.ignore_bug_before = "all"
        assert config.warn.sum_div_dimshuffle_bug is False
        assert config.warn.ignore_bug_before == "all"
        with theano.change_flags({"warn.round": False}, floatX="float32"):
            assert config.warn.round is False and config.floatX == "float32"
        assert not hasattr(config.warn, "round")
    assert not hasattr(config.warn, "sum_div_dimshuffle_bug")
    assert config.current() == CompilerFlags() and "warn." not in repr(config)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("linker", "py"),
        ("optimizer", "fast_compile"),
        ("cxx", ""),
        ("gcc.cxxflags", "-O3"),
        ("dnn.conv.algo_fwd", "time_once"),
        ("DebugMode.check_py", False),
        ("scan.allow_gc", True),
    ],
)
def test_other_settings_of_theano_are_taken_and_told_of(name, value):
    owner, _, last = f".{name}".rpartition(".")
    with config.use():
        section = config
        for part in filter(None, owner.split(".")):
            section = getattr(section, part)
        with pytest.warns(UserWarning, match=f"{name} is a setting of Theano's"):
            setattr(section, last, value)
        assert getattr(section, last) == value
        assert config.current() == CompilerFlags()
    assert not hasattr(section, last)
    flags = f"{name}={value},floatX=float32"
    assert settings(flags, strict=False) == settings("floatX=float32")
    with pytest.raises(ConfigError, match=f"no setting is named '{name}'"):
        settings(flags)


def test_a_misspelt_name_of_theanos_is_an_error():
    for name in ("linkr", "dnn.conv.algo", "gcc.flags", "warn", "dnn"):
        with pytest.raises(ConfigError, match=f"no setting is named '{name}'"):
            config.use({name: 1}).__enter__()


def test_change_flags_takes_pairs():
    with theano.change_flags([("floatX", "float32"), ("profiling.n_ops", 3)]):
        assert (config.floatX, config.profiling.n_ops) == ("float32", 3)
    assert theano.change_flags == config.change_flags


def test_device_moves_functions_and_no_arrays(first_context):
    x = T.fvector("x")
    with config.use(device="null"):
        assert function([x], x + 1).context.name == "null"
        with first_context:
            assert gpuarray.zeros(3).context is first_context


@pytest.mark.parametrize(
    ("word", "value"),
    [("more", True), ("default", True), ("True", True), ("False", False), ("0", False)],
)
def test_deterministic_takes_theanos_words(word, value):
    assert config.deterministic is True
    assert settings(f"deterministic={word}").deterministic is value
    if word in ("more", "default"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with config.use(deterministic=word):
                assert config.deterministic is value


def test_deterministic_takes_no_other_words():
    with pytest.raises(ConfigError, match="'less' is neither True nor False"):
        settings("deterministic=less")
    with pytest.raises(ConfigError, match="'less' is a str, expected bool"):
        config.use(deterministic="less").__enter__()
