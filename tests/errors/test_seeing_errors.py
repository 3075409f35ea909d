"""Bad input of what shows graphs and values."""

import gpuarray.compiler.tensor as T
import pytest
from gpuarray.compiler import config, printing
from gpuarray.compiler.ops.control.debugging import Assert, Print


def test_print_takes_names_in_a_tuple():
    with pytest.raises(TypeError, match=r"attrs='shape' is a text; expected names"):
        Print("x", attrs="shape")


def test_assert_takes_numbers_as_conditions():
    x = T.dvector("x")
    with pytest.raises(TypeError, match=r"expected a number; write T\.all") as caught:
        Assert()(x, x > 0)
    assert "test_seeing_errors.py" in str(caught.value)


@pytest.mark.parametrize(
    "show",
    [
        printing.debugprint,
        printing.pprint,
        printing.pydotprint,
        lambda thing: printing.viz(thing, "unused.html"),
    ],
)
def test_what_has_no_graph_is_refused(show):
    with pytest.raises(TypeError, match="expected a variable, a node, a graph"):
        show(3.5)


def test_pictures_have_known_formats(tmp_path):
    with pytest.raises(ValueError, match="it takes png, svg, pdf, dot"):
        printing.pydotprint(T.dvector("x"), tmp_path / "x", format="bmp")


def test_settings_of_profiles_are_checked():
    wrong = {"profiling.n_ops": "many"}
    with pytest.raises(ValueError, match="expected int"), config.use(**wrong):
        pass
