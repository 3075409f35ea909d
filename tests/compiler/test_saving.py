"""Functions in files: what comes back, in this process and in others; bad files."""

import json
import os
import pickle
import subprocess
import sys
import threading

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import In, Out, function, grad, load, printing, shared
from gpuarray.compiler.ifelse import ifelse
from own_kernels import Branching

# Told by name: test_a_function_that_pauses_is_for_python.
pytestmark = pytest.mark.filterwarnings("ignore:save.*the file is a pickle:UserWarning")


def printed(program, context, folder, *names):
    """What a program prints that is given files of a folder, in its own process."""
    done = subprocess.run(
        [sys.executable, "-c", program, context.name]
        + [str(folder / name) for name in names],
        env={**os.environ, "GPUARRAY_CACHE_DIR": str(folder / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


LOADS = """
import json, sys
import numpy as np
import gpuarray
context = gpuarray.context(sys.argv[1])
f = gpuarray.load_function(sys.argv[2], context)
arguments = np.load(sys.argv[3])
results = [f(arguments["x"], y=arguments["y"]) for _ in range(3)]
print(json.dumps({
    "cost": [float(each) for each in results],
    "w": f["w"].tolist(),
    "counts": context.cache_info()._asdict(),
    "compiler": "gpuarray.compiler" in sys.modules,
}))
"""


def rows(n, width=4, seed=0):
    return np.random.RandomState(seed).uniform(-2, 2, (n, width)).astype("float32")


def labels(n, classes=3):
    return np.arange(n) % classes


def classifier():
    """A step whose plan has steps of the array package: it picks by whole numbers."""
    x, y = T.matrix("x"), T.lvector("y")
    w = shared(np.zeros((4, 3), "float32"), name="w")
    p = T.nnet.softmax(T.dot(x, w))
    cost = -T.mean(T.log(p)[T.arange(y.shape[0]), y])
    return function([x, y], cost, updates={w: w - grad(cost, w)}, name="classify")


def counted():
    """How many rows there were, and their sum, which nothing reads."""
    x = T.matrix("x")
    n, last = shared(0, name="n"), shared(np.zeros(4, "float32"), name="last")
    return function([x], x.sum(), updates={n: n + x.shape[0], last: x.sum(axis=0)})


def pausing(x):
    """What only Python does: the different columns of a matrix, in order."""
    return T.unique(T.stack([x, -x]), axis=1)


def test_what_comes_back_goes_on_alone(on_context, tmp_path):
    f = classifier()
    f(rows(6), labels(6))
    f.save(tmp_path / "f")
    g = load(tmp_path / "f")
    assert g.values == ("w",) and np.array_equal(g["w"], f["w"])
    before = f["w"]
    ours = [g(rows(6), y=labels(6)) for _ in range(3)]
    assert np.array_equal(f["w"], before)  # each has values of its own
    theirs = [f(rows(6), labels(6)) for _ in range(3)]
    assert ours == theirs and np.array_equal(g["w"], f["w"])
    assert "classify(x, y)" in repr(g)
    g["w"] = before
    assert np.array_equal(g.get_value("w"), before) and g(rows(6), labels(6)) == ours[0]


@pytest.mark.every_case
def test_another_process_runs_it_without_compiling(on_context, tmp_path):
    x, y = rows(6), labels(6)
    f = classifier()
    f(x, y)
    f.save(tmp_path / "f")
    np.savez(tmp_path / "arguments.npz", x=x, y=y)
    said = json.loads(printed(LOADS, on_context, tmp_path, "f", "arguments.npz"))
    assert said["cost"] == [float(f(x, y)) for _ in range(3)]
    assert said["w"] == f["w"].tolist()
    assert said["counts"]["compiled"] == said["counts"]["disk_hits"] == 0
    assert not said["compiler"] and not (tmp_path / "cache").exists()


CHOOSES = """
import json, sys
import numpy as np
import gpuarray
context = gpuarray.context(sys.argv[1])
f = gpuarray.load_function(sys.argv[2], context)
x = np.arange(6, dtype="float32")
print(json.dumps({
    "found": [f(sign * x, [2, 3]).tolist() for sign in (1, -1, 1)],
    "w": float(f["w"]),
    "compiled": context.cache_info().compiled + context.cache_info().disk_hits,
    "compiler": "gpuarray.compiler" in sys.modules,
}))
"""


@pytest.mark.every_case
def test_another_process_reads_what_the_device_computes(on_context, tmp_path):
    """A branch and lengths that the device knows, from bindings of each stage."""
    x, lengths = T.vector("x"), T.lvector("lengths")
    w = shared(np.float32(1), name="w")
    side = ifelse(x.sum() > 0, T.exp(x) * w, T.cumsum(x))
    f = function([x, lengths], side.reshape(lengths, ndim=2), updates={w: w + 1})
    given = np.arange(6, dtype="float32")
    for sign in (1, -1):
        f(sign * given, [2, 3])
    w.set_value(np.float32(1))
    f.save(tmp_path / "f")
    said = json.loads(printed(CHOOSES, on_context, tmp_path, "f"))
    for sign, found in zip((1, -1, 1), said["found"], strict=True):
        assert found == f(sign * given, [2, 3]).tolist()
    assert said["w"] == 4 and said["compiled"] == 0 and not said["compiler"]


COMPILES = """
import sys
import numpy as np
import gpuarray
from gpuarray.compiler import load
context = gpuarray.context(sys.argv[1])
f = load(sys.argv[2], trusted=True)
f(np.ones((3, 5), "float32"))
counts = context.cache_info()
print(counts.compiled + counts.disk_hits)
"""


@pytest.mark.every_case
def test_a_file_has_the_kernels_of_calls_that_were_not_made(on_context, tmp_path):
    x = T.matrix("x")
    f = function([x], [T.nnet.softmax(x), x.sum()])
    f.save(tmp_path / "f")
    assert printed(COMPILES, on_context, tmp_path, "f") == "0\n"


SAVES = """
import pickle, sys
import numpy as np
from gpuarray.compiler import config
with open(sys.argv[2], "rb") as file, config.use(device=sys.argv[1]):
    f = pickle.load(file)
    given = np.load(sys.argv[3])
    f(given["x6"], given["y6"])
    f.save(sys.argv[4])
"""

BINDS = """
import sys
import numpy as np
import gpuarray
from gpuarray.compiler import load
context = gpuarray.context(sys.argv[1])
f = load(sys.argv[2], trusted=True)
given, results = np.load(sys.argv[3]), {}
for n in (6, 9, 6):
    results[f"{n}"] = f(given[f"x{n}"], given[f"y{n}"])
    results[f"{n} kept"] = f["w"]
counts = context.cache_info()
np.savez(sys.argv[4], **results)
print(counts.compiled + counts.disk_hits)
"""


@pytest.mark.every_case
def test_shapes_that_were_not_recorded_are_bound_from_the_graph(on_context, tmp_path):
    """With the launches of the function, not those of its steps' bodies.

    A process of its own saves it: in one that has a kernel of more axes a copy takes
    that, and so does the file.
    """
    x, y = T.matrix("x"), T.lvector("y")
    w = shared(np.ones(4, "float32"), name="w")
    several = [x.sum(), (x * x).sum(), T.sort(x * w, 0).sum(), T.argmax(x[y])]
    total = sum(each.astype("float32") for each in several)
    f = function([x, y], total, updates={w: w + x.std(0) * total})
    given = {f"x{n}": rows(n) for n in (6, 9)} | {f"y{n}": labels(n) for n in (6, 9)}
    np.savez(tmp_path / "given.npz", **given)
    (tmp_path / "pickled").write_bytes(pickle.dumps(f))
    printed(SAVES, on_context, tmp_path, "pickled", "given.npz", "f")
    f(given["x6"], given["y6"])
    names = "f", "given.npz", "found.npz"
    assert printed(BINDS, on_context, tmp_path, *names) == "0\n"
    found = np.load(tmp_path / "found.npz")
    results = {}
    for n in (6, 9, 6):
        results[f"{n}"] = f(given[f"x{n}"], given[f"y{n}"])
        results[f"{n} kept"] = f["w"]
    for name, result in results.items():
        assert found[name].tobytes() == result.tobytes()


def test_a_function_bound_from_its_graph_is_saved_with_its_bodies(on_first, tmp_path):
    x = T.matrix("x")
    f = function([x], T.nnet.softmax(x))
    f.save(tmp_path / "f")
    g = load(tmp_path / "f", trusted=True)
    g(rows(3))
    g.save(tmp_path / "again")
    h = gpuarray.load_function(tmp_path / "again", on_first)
    np.testing.assert_allclose(h(rows(9)), f(rows(9)), rtol=1e-5)


@pytest.mark.every_case
@pytest.mark.parametrize("graph", [True, False])
def test_steps_of_the_array_package_have_bodies(on_context, tmp_path, graph):
    f = classifier()
    f(rows(6), labels(6))
    f.save(tmp_path / "f", graph=graph)
    loaded = gpuarray.load_function(tmp_path / "f", on_context), load(tmp_path / "f")
    for n in (6, 7, 1):
        expected = f(rows(n), labels(n))
        for g in loaded:
            np.testing.assert_allclose(g(rows(n), labels(n)), expected, rtol=1e-5)
            np.testing.assert_allclose(g["w"], f["w"], rtol=1e-5, atol=1e-6)


def test_a_file_without_the_graph_does_not_give_it(on_first, tmp_path):
    classifier().save(tmp_path / "bare", graph=False)
    with pytest.raises(ValueError, match="save it with graph=True"):
        load(tmp_path / "bare").function()


@pytest.mark.parametrize("is_called", [True, False])
def test_steps_that_only_python_knows_are_named(on_first, tmp_path, is_called):
    x = T.fmatrix("x")
    f = function([x], Branching()(T.sort(x)))
    if is_called:
        f(rows(3))
    says = "only on this device" if is_called else "nowhere: .* was not called"
    with pytest.warns(UserWarning, match=rf"Branching.*, made at .*: .* {says}"):
        f.save(tmp_path / "f", graph=False)
    g = load(tmp_path / "f")
    if is_called:
        assert np.array_equal(g(rows(3)), f(rows(3)))
    with pytest.raises(gpuarray.errors.Unsupported, match="before it was saved; run"):
        g(rows(9))


def test_a_graph_is_compiled_anew_for_steps_that_only_python_knows(on_first, tmp_path):
    x = T.fmatrix("x")
    f = function([x], Branching()(T.sort(x)))
    f(rows(3))
    with pytest.warns(UserWarning, match="without the graph"):
        f.save(tmp_path / "f")
    with pytest.raises(gpuarray.errors.Unsupported) as caught:
        load(tmp_path / "f")(rows(9))
    assert "trusted=True" in "".join(caught.value.__notes__)
    g = load(tmp_path / "f", trusted=True)
    assert np.array_equal(g(rows(3)), f(rows(3)))
    assert np.array_equal(g(rows(9)), f(rows(9)))
    assert g.function() is g.function()


def test_values_that_nothing_reads_and_integers(on_first, tmp_path):
    f = counted()
    f.save(tmp_path / "f")
    g = load(tmp_path / "f", trusted=True)
    for n in (3, 5):
        np.testing.assert_allclose(g(rows(n)), f(rows(n)), rtol=1e-6)
    assert g["n"] == 8
    np.testing.assert_allclose(g["last"], rows(5).sum(axis=0), rtol=1e-5)


def test_inputs_of_all_kinds(on_first, tmp_path):
    x, k, a, s, h = T.vector("x"), T.lscalar("k"), T.scalar("a"), T.scalar(), T.scalar()
    f = function(
        [x, In(a, value=2.0), In(k, value=1), In(s, value=5.0, update=s + 1, name="s"),
         In(h, value=9.0, implicit=True, name="h")],
        {"scaled": a * x[:k] + s, "kept": Out(x + h, on_device=True)},
    )  # fmt: skip
    f.save(tmp_path / "f")
    g = load(tmp_path / "f", trusted=True)
    v = rows(1)[0]
    calls = [((v,), {}), ((v, 3.0), {}), ((v,), {"k": 3, "a": 1}), ((v, 1, 2, 0.5), {})]
    for args, named in calls:
        ours, theirs = g(*args, **named), f(*args, **named)
        assert list(ours) == list(theirs) == ["scaled", "kept"]
        assert isinstance(ours["kept"], gpuarray.Array)
        for name in ours:
            assert np.array_equal(np.asarray(ours[name]), np.asarray(theirs[name]))
    assert g["s"] == f["s"] and g["h"] == 9


def test_a_hidden_input_may_stand_before_others(on_first, tmp_path):
    """Of arrays and integers, of which each has its places."""
    x, y, k = T.vector("x"), T.vector("y"), T.lscalar("k")
    hidden = [
        In(T.scalar("h"), value=9.0, implicit=True),
        In(T.vector("v"), value=np.arange(3.0, dtype="f4"), implicit=True),
    ]
    places = [hidden[0], x, hidden[1], k, y]
    h, v = (each.variable for each in hidden)
    f = function(places, (x * h)[:k] + (y - v)[:k], on_unused_input="ignore")
    f.save(tmp_path / "f")
    one, other = rows(2)[0], rows(2)[1]
    one, other = one[:3], other[:3]
    for trusted in (True, False):
        g = load(tmp_path / "f", trusted=trusted)
        for n in (2, 3):
            assert np.array_equal(g(one, n, other), f(one, n, other))


def test_a_copy_without_updates_keeps_its_values(on_first, tmp_path):
    f = classifier().copy(delete_updates=True)
    f.save(tmp_path / "f")
    g = load(tmp_path / "f", trusted=True)
    assert g(rows(6), labels(6)) == g(rows(6), labels(6)) == f(rows(6), labels(6))
    assert not g["w"].any()


def test_values_of_one_name_are_told_apart(on_first, tmp_path):
    x = T.scalar("x")
    same = [shared(np.float32(i), name="w") for i in range(2)]
    function([x], x + same[0] + same[1] + shared(np.float32(4))).save(tmp_path / "f")
    g = load(tmp_path / "f")
    assert g.values == ("w", "w_2", "value") and "w_2" in g and "v" not in g
    assert [g[name] for name in g.values] == [0, 1, 4]
    assert g(1) == 6
    with pytest.raises(KeyError, match="there are values of w, w_2, value"):
        g["v"] = 1


def test_the_graph_comes_when_it_is_asked_for(on_first, tmp_path, capsys):
    f = counted()
    f.save(tmp_path / "f")
    g = load(tmp_path / "f", trusted=True)
    g(rows(3))
    printing.debugprint(g)
    of_loaded = capsys.readouterr().out
    printing.debugprint(f)
    assert of_loaded == capsys.readouterr().out
    assert g.function()["n"] == 3 and g.plan == f.plan


def test_a_function_that_pauses_is_for_python(on_first, tmp_path):
    x, w = T.vector("x"), shared(np.float32(2), name="w")
    f = function([x], pausing(w * x), updates={w: w + 1})
    for graph in (True, False):
        with pytest.warns(
            UserWarning, match=r"its step unique is .* a pickle.*trusted"
        ):
            f.save(tmp_path / "f", graph=graph)
    g = load(tmp_path / "f", trusted=True)
    v = rows(1)[0]
    assert np.array_equal(g(v), f(v)) and np.array_equal(g(v), f(v)) and g["w"] == 4
    with pytest.raises(ValueError, match="only Python runs this function: its step"):
        gpuarray.load_function(tmp_path / "f", on_first)


def test_what_is_loaded_is_a_path():
    with pytest.raises(
        TypeError, match=r"load_function: path is 3\.5, expected a path"
    ):
        gpuarray.load_function(3.5)


def test_threads_that_save_give_bodies_once(on_first, tmp_path):
    f = classifier()
    failures = []

    def save(number):
        try:
            f.save(tmp_path / str(number))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=save, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    for n in range(4):
        g = gpuarray.load_function(tmp_path / str(n), on_first)
        assert np.isfinite(g(rows(7), labels(7)))


@pytest.mark.parametrize("make", [counted, "pauses"])
def test_damaged_files_are_refused(on_first, tmp_path, make):
    file = tmp_path / "f"
    x = T.vector("x")
    f = function([x], pausing(x)) if make == "pauses" else make()
    f.save(file)
    whole = file.read_bytes()
    cuts = [whole[: len(whole) * i // 7] for i in range(7)]
    flips = [whole[:i] + bytes([whole[i] ^ 4]) + whole[i + 1 :] for i in (9, 40, 2000)]
    for content in [*cuts, *flips, whole + b"x"]:
        file.write_bytes(content)
        with pytest.raises(ValueError, match=r"damaged|not a saved plan|newer"):
            load(file, on_first)


def test_files_that_cannot_be_had(on_first, tmp_path):
    f = counted()
    with pytest.raises(OSError, match="No such file"):
        f.save(tmp_path / "none" / "f")
    with pytest.raises(OSError, match="No such file"):
        load(tmp_path / "f")
    with pytest.raises(OSError, match="it is not a file"):
        gpuarray.load_function(tmp_path, on_first)
    f.save(tmp_path / "f")
    assert [each.name for each in tmp_path.iterdir()] == ["f"]  # nothing temporary


@pytest.mark.parametrize("pauses", [False, True])
def test_threads_that_save_to_one_path_leave_a_whole_file(on_first, tmp_path, pauses):
    x = T.vector("x")
    f = function([x], pausing(x) if pauses else x + 1)
    f(rows(1)[0])
    failures = []

    def save():
        try:
            for _ in range(20):
                f.save(tmp_path / "f")
        except OSError as error:
            failures.append(error)

    threads = [threading.Thread(target=save) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert [each.name for each in tmp_path.iterdir()] == ["f"]
    assert np.array_equal(load(tmp_path / "f", trusted=True)(rows(1)[0]), f(rows(1)[0]))
