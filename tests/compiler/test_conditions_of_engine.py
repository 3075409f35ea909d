"""How rules are asked, chosen and brought to rest; which phases there are."""

import warnings

import gpuarray.compiler.tensor as T
import pytest
from gpuarray.compiler import rewrites
from gpuarray.compiler.config import config
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.op import Op
from gpuarray.compiler.graph.types import generic
from gpuarray.compiler.rewrites import Selection, passes
from gpuarray.compiler.rewrites.engine import engine
from gpuarray.compiler.rewrites.engine.engine import Fixpoint, Log, RestlessError

x, y = T.dvectors("x", "y")


def counting(*rows, seeing=False):
    """A rule that changes nothing, and the list of what it was asked of."""
    asked = []

    def count(node):
        """x -> x"""
        asked.append(node)

    def count_and_see(node, fgraph):
        """x -> x"""
        asked.append(node)

    transform = count_and_see if seeing else count
    return engine.rewrite(phase="simplify", ops=rows)(transform), asked


@engine.rewrite(phase="simplify", ops=["sin"])
def take_cosine(node):
    """sin(x) -> cos(x)"""
    return T.cos(node.inputs[0])


def applied(outputs, *rules, rested=()):
    fgraph = FunctionGraph([x, y], outputs)
    log = Log()
    fixpoint = Fixpoint(fgraph, rules, log, rested)
    return fixpoint.run(), log, fgraph


def test_a_rule_that_sees_its_node_is_asked_again_only_where_that_changes():
    rule, asked = counting("exp")
    changed, log, _ = applied([T.exp(x), T.exp(T.sin(y))], rule, take_cosine)
    assert changed and log.fired == {"take_cosine": 1}
    of_x = [node for node in asked if node.inputs == [x]]
    assert len(of_x) == 1
    assert len(asked) == 2


def test_a_rule_that_sees_the_graph_is_asked_again_when_anything_changes():
    rule, asked = counting("exp", seeing=True)
    changed, _, _ = applied([T.exp(x), T.sin(y)], rule, take_cosine)
    assert changed and len(asked) == 2
    rule, asked = counting("exp", seeing=True)
    changed, log, _ = applied([T.exp(x), T.cos(y)], rule, take_cosine)
    assert not changed and len(asked) == 1 and not log.fired


def test_rules_that_rest_are_asked_where_something_changes():
    rule, asked = counting("exp")
    applied([T.exp(x), T.exp(T.sin(y))], rule, take_cosine, rested=[rule])
    assert len(asked) == 1 and asked[0].inputs != [x]
    seeing, asked = counting("exp", seeing=True)
    applied([T.exp(x)], seeing, rested=[seeing])
    assert not asked


class Anything(Op):
    """An op whose result is no array."""

    __props__ = ()

    def infer(self, x):
        return generic


def test_a_rule_of_some_kinds_is_not_asked_of_what_has_none():
    asked = []

    @engine.rewrite(phase="simplify", ops=[Anything], kinds="f")
    def of_floats(node):
        """x -> x"""
        asked.append(node)

    @engine.rewrite(phase="simplify", ops=["exp"], kinds="f")
    def of_floats_too(node):
        """x -> x"""
        asked.append(node)

    z = T.zvector("z")
    fgraph = FunctionGraph([x, z], [Anything()(x), T.exp(x), T.exp(z)])
    Fixpoint(fgraph, [of_floats, of_floats_too], Log()).run()
    assert [str(node.inputs[0]) for node in asked] == ["x"]
    assert asked[0].op != Anything()


def turning(name, row, other):
    def turn(node):
        """x -> x"""
        return getattr(T, other)(-node.inputs[0])

    turn.__name__ = name
    return engine.rewrite(phase="simplify", ops=[row])(turn)


def test_rules_without_rest_are_told_by_name():
    there, back = turning("there", "sin", "cos"), turning("back", "cos", "sin")
    with pytest.raises(RestlessError, match="there 1001x, back 1000x") as told:
        applied([T.sin(x) + T.sin(y)], there, back, take_nothing)
    assert told.value.rules == ["there", "back"]


@engine.rewrite(phase="simplify", ops=["add"])
def take_nothing(node):
    """x -> x"""
    return node.out


WRONG = {
    "several": (lambda node: [node.inputs[0]] * 2, "2 results for 1 outputs"),
    "another type": (lambda node: T.cast(node.inputs[0], "float32"), "float32"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_rule_that_breaks_its_contract_is_told(name):
    def wrong(node):
        """x -> x"""
        return WRONG[name][0](node)

    rule = engine.rewrite(phase="simplify", ops=["exp"])(wrong)
    with pytest.raises(engine.RewriteError, match=f"wrong: .*{WRONG[name][1]}"):
        applied([T.exp(x)], rule)


def test_a_rule_has_an_example():
    with pytest.raises(engine.RewriteError, match="needs a 'before -> after' line"):
        engine.rewrite(phase="simplify")(lambda node: None)


def test_examples_are_lines_with_an_arrow_and_a_note():
    found = engine.examples_of(
        "Text.\n\n  a + 0  ->  a  # but at a = 1\n  b -> c\n-> d"
    )
    assert [(e.before, e.after, e.note) for e in found] == [
        ("a + 0", "a", "but at a = 1"),
        ("b", "c", ""),
    ]


def test_texts_of_what_fired_are_kept_where_they_are_asked_for():
    for keep_text in (False, True):
        log = Log(keep_text)
        Fixpoint(FunctionGraph([x], [T.sin(x)]), [take_cosine], log).run()
        texts = [(e.rule, e.before, e.after) for e in log.entries]
        names = "Elemwise{sin,no_inplace}(x)", "Elemwise{cos,no_inplace}(x)"
        assert texts == ([("take_cosine", *names)] if keep_text else [])


# ---- phases, and what is chosen by name ----

CLEAN = ("canonicalize", "simplify")
WANTED = [
    ("canonicalize", (), True),
    ("simplify", ("canonicalize",), True),
    ("stabilize", CLEAN, False),
    ("specialize", CLEAN, True),
    ("blas", (), True),
    ("fuse", (), True),
    ("inplace", (), True),
]


def test_the_phases_and_the_rules_at_work_in_them():
    assert [(p.name, p.includes, p.is_exact) for p in passes.PHASES] == WANTED
    for phase in passes.PHASES:
        rules = passes.rules_of(phase)
        assert {rule.phase for rule in rules} <= {*phase.includes, phase.name}
        own = [rule for rule in rules if rule.phase == phase.name]
        assert own == passes.RULES[phase.name]
        for name in phase.includes:
            assert passes.RULES[name] == [r for r in rules if r.phase == name]
        assert all(each.phase == phase.name for each in passes.passes_of(phase))
    assert sum(len(passes.passes_of(p)) for p in passes.PHASES) == len(passes.PASSES)


SETTINGS = [
    ({}, "canonicalize simplify stabilize specialize blas fuse inplace"),
    ({"fuse": False}, "canonicalize simplify stabilize specialize blas inplace"),
    ({"rewrites": "safe"}, "canonicalize simplify specialize blas fuse inplace"),
    ({"rewrites": "none"}, ""),
]


@pytest.mark.parametrize(("settings", "wanted"), SETTINGS)
def test_settings_ask_for_phases(settings, wanted):
    with config.use(**{"rewrites": "all", "fuse": True} | settings):
        assert rewrites.phases_of(config.current()) == tuple(wanted.split())


def test_a_phase_is_left_out_where_the_next_one_applies_its_rules():
    def left(*names):
        phases = [phase for phase in passes.PHASES if phase.name in names]
        return [phase.name for phase in rewrites.without_prefixes(phases)]

    assert left("canonicalize", "simplify", "blas") == ["simplify", "blas"]
    assert left("canonicalize", "blas") == ["canonicalize", "blas"]
    assert left("canonicalize", "specialize") == ["specialize"]
    assert left("simplify") == ["simplify"]


RULE = next(rule for rule in passes.all_rules() if rule.name == "drop_identity")
CHOICES = [
    ((), (), ("canonicalize",), True),
    ((), (), ("blas",), False),
    ((), (), (), False),
    (("drop_identity",), (), (), True),
    (("identities",), (), (), True),
    (("canonicalize",), (), (), True),
    (("algebra",), (), (), False),
    ((), ("drop_identity",), ("canonicalize",), False),
    ((), ("identities",), ("canonicalize",), False),
    ((), ("algebra",), ("canonicalize",), True),
    (("drop_identity",), ("identities",), ("canonicalize",), False),
]


@pytest.mark.parametrize(("including", "excluding", "phases", "wanted"), CHOICES)
def test_a_rule_is_chosen_by_its_names(including, excluding, phases, wanted):
    chosen = Selection(None, frozenset(including), frozenset(excluding))
    assert chosen.wants(RULE, phases) is wanted


def test_names_that_are_none_are_told_of():
    with pytest.raises(ValueError, match="'canonise' is no phase; there are"):
        Selection(("canonicalize", "canonise"))
    with pytest.warns(UserWarning, match="did you mean drop_identity") as told:
        Selection(None, frozenset({"drop_identiti"}), frozenset({"blas"}))
    assert len(told) == 1
    with pytest.warns(UserWarning, match="'zzzz', so it chooses nothing; see RULES"):
        Selection(None, excluding=frozenset({"zzzz"}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Selection(("blas",), frozenset({"fusion"}), frozenset({"inplace"}))


def test_names_in_a_setting_are_between_colons():
    assert rewrites.named(" a: b ::c") == {"a", "b", "c"}
    assert rewrites.named("") == frozenset()


def test_rules_of_inexact_phases_are_not_exact():
    assert rewrites.is_exact("drop_identity")
    assert not rewrites.is_exact("log_of_one_plus")
    assert rewrites.is_exact("fuse_elementwise")


def test_phases_run_by_name_and_what_is_included_runs_too():
    def fired(phases, **names):
        fgraph = FunctionGraph([x], [T.log(T.exp(x * 1)) + T.exp(x)])
        with config.use(**{f"optimizer_{k}": v for k, v in names.items()}):
            log = rewrites.optimize(fgraph, phases)
        told = {"drop_identity", "drop_inverse_pair"}
        return told & set(log.fired), set(log.seconds)

    assert fired(["canonicalize"]) == ({"drop_identity"}, {"canonicalize"})
    assert fired([]) == (set(), set())
    found, phases = fired(["canonicalize"], including="drop_inverse_pair")
    assert found == {"drop_identity", "drop_inverse_pair"}
    assert phases == {"stabilize"}
    found, _ = fired(["stabilize"], excluding="identities")
    assert not found
