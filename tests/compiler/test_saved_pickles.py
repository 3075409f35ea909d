"""Pickles in files of functions: nothing is unpickled that is not trusted."""

import json
import os
import pickle
import warnings

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import function, load, printing, shared
from gpuarray.compiler.compile import as_op
from gpuarray.compiler.errors import UntrustedFileError
from gpuarray.compiler.function import pickled, saving
from test_saving import printed, rows

pytestmark = pytest.mark.filterwarnings("ignore:save.*the file is a pickle:UserWarning")


@as_op(itypes=[T.fvector], otypes=[T.fvector])
def doubled(a):
    return a * 2


@pytest.mark.filterwarnings("ignore::gpuarray.errors.HostNotice")
def test_an_op_in_python_is_saved_by_the_name_that_it_has(on_first, tmp_path):
    x = T.fvector("x")
    function([x], doubled(x) + 1).save(tmp_path / "f")
    np.testing.assert_array_equal(
        load(tmp_path / "f", trusted=True)(np.ones(3, "f4")), [3, 3, 3]
    )

    @as_op(itypes=[T.fvector], otypes=[T.fvector])
    def tripled(a):
        return a * 3

    nowhere = function([x], tripled(x))
    with pytest.raises(ValueError, match=r"cannot be pickled: .*tripled.* in a module"):
        nowhere.save(tmp_path / "g")
    assert not (tmp_path / "g").exists()


class Planted:
    """What runs when it is unpickled: it makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def planted(file, folder, monkeypatch):
    """A file of a function whose graph is a pickle that makes a folder."""
    x = T.vector("x")
    f = function([x], x * 2)
    f(rows(1)[0])
    monkeypatch.setattr(saving, "_pickled", lambda *_: pickle.dumps(Planted(folder)))
    f.save(file)
    return f


def test_nothing_is_unpickled_that_is_not_trusted(on_first, tmp_path, monkeypatch):
    file, folder = tmp_path / "f", tmp_path / "made"
    f = planted(file, folder, monkeypatch)
    g = load(file)
    assert np.array_equal(g(rows(1)[0]), f(rows(1)[0]))
    asks = (g.function, lambda: g.maker, lambda: g.plan, lambda: printing.debugprint(g))
    for ask in asks:
        with pytest.raises(UntrustedFileError, match=r"mkdir.* load it with trusted="):
            ask()
    assert not folder.exists()
    with pytest.raises(AttributeError):  # what it makes is no function
        load(file, trusted=True).function()
    assert folder.exists()


def test_a_function_with_steps_in_python_is_loaded_where_trusted(on_first, tmp_path):
    x = T.fvector("x")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gpuarray.errors.HostNotice)
        function([x], doubled(x) + 1).save(tmp_path / "f")
    with pytest.raises(UntrustedFileError) as caught:
        load(tmp_path / "f")
    for said in ("only Python runs", "its step", "trusted=True", str(tmp_path / "f")):
        assert said in str(caught.value)
    damaged = (tmp_path / "f").read_bytes()[:-1]
    (tmp_path / "f").write_bytes(damaged)
    with pytest.raises(ValueError, match="damaged"):
        load(tmp_path / "f")


UNPICKLES = """
import json, sys
import numpy as np
import gpuarray
context = gpuarray.context(sys.argv[1])
events = []
sys.addaudithook(lambda event, args: "pickle" in event and events.append(str(args)))
f = gpuarray.load_function(sys.argv[2], context)
f(np.ones(3, "float32"))
f.save(sys.argv[2] + "-again"), f.info(), repr(f), f.interface
try:
    gpuarray.load_function(sys.argv[3], context)
except ValueError as error:
    said = str(error)
print(json.dumps([events, said, "pickle" in vars(gpuarray._files.function_files)]))
"""


@pytest.mark.filterwarnings("ignore::gpuarray.errors.HostNotice")
def test_load_function_reads_no_pickle(on_first, tmp_path, monkeypatch):
    """Python tells of each name that a pickle looks up; there is none."""
    x = T.fvector("x")
    function([x], doubled(x)).save(tmp_path / "python")
    planted(tmp_path / "f", tmp_path / "made", monkeypatch)
    said = printed(UNPICKLES, on_first, tmp_path, "f", "python")
    events, message, has_pickle = json.loads(said)
    assert not events and not has_pickle and not (tmp_path / "made").exists()
    assert "only Python runs this function" in message


PLANTED_EVERYWHERE = """
import json, sys
import numpy as np
import gpuarray
from gpuarray.compiler import load
from gpuarray.compiler.errors import UntrustedFileError
context = gpuarray.context(sys.argv[1])
events, refused = [], 0
sys.addaudithook(lambda event, args: "pickle" in event and events.append(str(args)))
for loaded in (gpuarray.load_function, load):
    f = loaded(sys.argv[2], context)
    for n in (3, 5):
        f(np.ones(n, "float32"), 2)
    f.save(sys.argv[2] + "-again"), f.info(), repr(f), str(f.interface)
    for name in f.values:
        f[name] = f[name]
for ask in (f.function, lambda: f.maker, lambda: f.plan):
    try:
        ask()
    except UntrustedFileError:
        refused += 1
print(json.dumps([events, refused]))
"""


def test_pickles_in_every_part_of_a_file_are_bytes(on_first, tmp_path, monkeypatch):
    """As names, constants, kept values, the note's fields and the graph."""
    folder = tmp_path / "made"
    text = pickle.dumps(Planted(folder), 0).decode()
    elements = np.frombuffer(pickle.dumps(Planted(folder)), np.uint8)
    monkeypatch.setattr(saving, "_pickled", lambda *_: pickle.dumps(Planted(folder)))
    x, k = T.fvector(text), T.lscalar(text + "k")
    kept = shared(elements, name=text + "kept")
    f = function(
        [x, k],
        {text: T.sort(x) * k, text + "2": kept[::-1], text + "3": T.constant(elements)},
        updates={kept: kept[::-1]},
        name=text,
    )
    f(np.ones(4, "float32"), 1)  # which the file has, too
    f.save(tmp_path / "f")
    assert (tmp_path / "f").read_bytes().count(b"mkdir") > 8
    assert (tmp_path / "f").read_bytes().count(elements.tobytes()) >= 2
    said = printed(PLANTED_EVERYWHERE, on_first, tmp_path, "f")
    assert json.loads(said) == [[], 3]
    assert not folder.exists()


@pytest.mark.parametrize("protocol", range(6))
def test_what_a_pickle_names_is_found_without_running_it(tmp_path, protocol):
    value = [Planted(tmp_path / "made"), Planted(tmp_path / "b"), np.float32, {"a": 1}]
    names = pickled.named(pickle.dumps(value, protocol))
    assert "posix.mkdir" in names and "numpy.float32" in names
    assert not (tmp_path / "made").exists()
    assert len(names) == len(set(names))
    assert pickled.named(b"no pickle") == []


def test_a_message_names_what_is_neither_ours_nor_a_class_of_python(tmp_path):
    plain = [slice(1), complex(1), range(3), np.float32(1), np.zeros(2), T.TensorType]
    said = str(pickled.untrusted("f", pickle.dumps(plain), "the graph"))
    assert "functions of gpuarray and numpy alone" in said
    others = [*plain, getattr, json.dumps, Planted(tmp_path)]
    said = str(pickled.untrusted("f", pickle.dumps(others), "the graph"))
    assert "(builtins.getattr, json.dumps, posix.mkdir, besides" in said
    many = [vars(os)[name] for name in sorted(vars(os)) if name.startswith("get")]
    names = pickled.named(pickle.dumps(many))
    said = str(pickled.untrusted("f", pickle.dumps(many), "the graph"))
    shown = ", ".join(names[: pickled._SHOWN])
    assert len(names) > pickled._SHOWN
    assert f"({shown} and {len(names) - pickled._SHOWN} more, besides" in said


def test_a_function_of_python_s_is_loaded_on_the_context_asked_for(on_first, tmp_path):
    x = T.fvector("x")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gpuarray.errors.HostNotice)
        function([x], doubled(x) + 1).save(tmp_path / "f")
    other = gpuarray.context("null")
    assert load(tmp_path / "f", other, trusted=True).context is other
    assert load(tmp_path / "f", trusted=True).context is not other


def test_a_name_of_python_s_in_another_module_is_told():
    said = str(pickled.untrusted("f", b"cjson\nslice\n.", "the graph"))
    assert "(json.slice, besides" in said
