"""Parameters of learners: none is given and not looked at, NumPy's scalars are as good as Python's, names elsewhere."""

import itertools
import pickle

import numpy as np
import pytest
from sklearn.base import clone

import trelliswork as tw
from trelliswork import _core, learners
from trelliswork.errors import InvalidInput, UnknownParameter

NAMES = learners.names()

# What else a parameter may be. Those of one learner that choose between algorithms have all their values here.
OTHERS = {
    ("crf", "solver"): ("lbfgs", "owlqn", "proximal", "sgd", "sgd-lbfgs", "sgd-owlqn", "sgd-proximal"),
    ("memm", "solver"): ("lbfgs", "owlqn", "proximal", "sgd", "sgd-lbfgs", "sgd-owlqn", "sgd-proximal"),
    ("pegasos", "loss"): ("k-best", "averaged-sum", "ramp", "ramp-do", "slack"),
    ("pegasos", "step"): ("power", "asgd", "constant"),
    ("pegasos", "gamma"): (0.7,),
    ("pegasos", "alpha"): (0.6,),
    ("subgradient", "loss"): ("direct",),
    ("subgradient", "step"): ("root", "pegasos"),
    ("subgradient", "rescaling"): ("slack",),
    ("subgradient", "epsilon"): (-0.3,),
    ("frank-wolfe", "rescaling"): ("slack",),
    ("frank-wolfe", "averaged"): (True, False),
    ("cutting-plane", "rescaling"): ("slack",),
    ("arow", "variant"): ("cw", "scw"),
    ("arow", "confidence"): (0.6,),
    ("eg", "loss"): ("max-margin",),
    ("eg", "step"): (0.2,),
    ("sdm", "loss"): ("slack", "ramp", "ramp-do"),
}
OF_ALL = {
    "lam": (0.3,),
    "growth": (1,),
    "batch_size": (2,),
    "C": (0.02,),
    "l1": (0.3,),
    "epochs": (2,),
    "sgd_epochs": (2,),
    "cccp": (1,),
}
OF_ALL |= {
    "r": (3.0,),
    "l2": (0.3,),
    "average_from": (1,),
    "k": (2,),
    "inner": (1,),
    "step_size": (0.3,),
    "shards": (2,),
    "memory": (1,),
    "beam": (1,),
}
OF_ALL |= {"max_iter": (1,), "tol": (0.2,), "period": (1,), "delta": (0.5,), "epsilon_decay": (2.0,), "gamma": (0.7,)}

COMMON = {name: {"epochs": 7} for name in NAMES if name not in ("crf", "memm")}
COMMON["cutting-plane"] = {"epochs": 40}
COMMON["larank"] = {"epochs": 1}
# What goes with another value, to be seen at all; and what is the same thing by another name.
WITH = {"delta": {"period": 1}}
THE_SAME = {
    ("crf", "solver", "sgd-lbfgs"),  # what "auto" takes here
    ("memm", "solver", "sgd-lbfgs"),
    *((name, "solver", f"sgd-{second}") for name in ("crf", "memm") for second in ("owlqn", "proximal")),  # same steps
    ("pa", "restricted", True),  # of one output alone: that with the largest loss loses no less than the prediction
}
# What only says when to look or how long to go on may leave a short run as it is.
NEED_NOT_SHOW = {"tol", "gap_every", "period", "tau", "shards", "memory", "growth", "skip", "projection"}


def oracle():
    """Rows with costs and weights of their own: so many that a CRF begins with stochastic passes."""
    rng = np.random.default_rng(3)
    n = 210
    x = rng.normal(size=(n, 3))
    gold = rng.integers(0, 4, n).astype(np.int32)
    cost = rng.uniform(0.5, 3.0, size=(4, 4)) * (1 - np.eye(4))
    return _core.LabelOracle.dense(x, gold, 4, rng.uniform(0.5, 2.0, n), cost)


def outcome(learner):
    """All that can be seen of a run: the weights after each iteration, and how it ended."""
    seen = []
    trained = learner.train(oracle(), seed=5, on_iteration=lambda done: seen.append(done.weights().tobytes()) and None)
    return seen, trained.weights.tobytes(), trained.message


def others_of(name, parameter, value):
    if (name, parameter) in OTHERS:
        return OTHERS[name, parameter]
    if isinstance(value, bool):
        return (not value,)
    if parameter in OF_ALL:
        return OF_ALL[parameter]
    return (value + 3,) if isinstance(value, int) else (value * 0.5 + 0.1,)


def choices_of(name):
    """The parameters that choose between algorithms, or switch something off, with their other values."""
    defaults = {parameter.name: parameter.default for parameter in learners.parameters_of(name)}
    for choice, default in defaults.items():
        values = others_of(name, choice, default)
        if isinstance(values[0], str | bool) or choice == "lam":
            yield choice, values


def settings_of(name):
    """The learner as it is, and with each other value of each choice that can be made by itself."""
    every = [{choice: value} for choice, values in choices_of(name) for value in values]
    return [{}] + [setting for setting in every if setting != {"restricted": True} or name != "pegasos"]


CASES = [(name, setting) for name in NAMES for setting in settings_of(name)]


@pytest.mark.filterwarnings("ignore::trelliswork.ConvergenceWarning")
@pytest.mark.parametrize(("name", "setting"), CASES, ids=[f"{name}-{setting}" for name, setting in CASES])
def test_every_parameter_has_an_effect_or_is_refused(name, setting):
    common = COMMON.get(name, {})
    plain = outcome(learners.by_name(name, **common, **setting))
    silent = []
    for parameter in learners.parameters_of(name):
        if parameter.name in setting or parameter.name in NEED_NOT_SHOW:
            continue
        for value in others_of(name, parameter.name, parameter.default):
            if (name, parameter.name, value) in THE_SAME:
                continue
            more = WITH.get(parameter.name, {})
            try:
                changed = outcome(learners.by_name(name, **{**common, **setting, parameter.name: value, **more}))
            except InvalidInput:
                continue
            if changed == plain:
                silent.append((parameter.name, value))
    assert not silent


@pytest.mark.parametrize("name", NAMES)
def test_a_parameter_that_would_not_be_looked_at_is_refused_by_name(name):
    kind = type(learners.by_name(name))
    for parameter, only in kind._only.items():
        default = only.default if only.default is not None else 0.5
        for other, values in only.needs.items():
            for wrong in dict(choices_of(name))[other]:
                if wrong in values:
                    continue
                learner = kind().set_params(**{other: wrong})
                learner._check()
                with pytest.raises(InvalidInput, match=rf"{parameter}=.* is looked at only with {other}=") as error:
                    learner.set_params(**{parameter: default}).check()
                assert f"leave {parameter} out" in str(error.value)


def test_the_default_of_k_is_refused_where_no_k_is_looked_at():
    with pytest.raises(InvalidInput, match=r"k=5 is looked at only with loss='k-best' or loss='averaged-sum'"):
        tw.Pegasos(k=5).train(oracle())


def test_what_an_earlier_release_wrote_into_a_model_file_is_still_read():
    made = learners.restored("pegasos", {"loss": "max-margin", "k": 5, "cccp": 5, "alpha": 0.75, "epochs": 3})
    assert made == tw.Pegasos(epochs=3)


# NumPy's scalars


def as_numpy(value):
    """The same number, flag or string as each type of NumPy that can hold it."""
    if isinstance(value, bool):
        return [np.bool_(value)]
    if isinstance(value, int):
        return [np.int64(value), np.int32(value)]
    if isinstance(value, float):
        return [np.float64(value)] + ([np.float32(value)] if float(np.float32(value)) == value else [])
    return [np.str_(value)] if isinstance(value, str) else []


@pytest.mark.filterwarnings("ignore::trelliswork.ConvergenceWarning")
@pytest.mark.parametrize("name", NAMES)
def test_numpy_scalars_give_the_same_bits(name):
    common = {} if name in ("crf", "memm") else {"epochs": 2}
    for parameter in learners.parameters_of(name):
        values = [parameter.default, *others_of(name, parameter.name, parameter.default)]
        for value in values:
            try:
                plain = learners.by_name(name, **{**common, parameter.name: value})
                expected = outcome(plain)
            except InvalidInput:
                continue
            for scalar in as_numpy(value):
                learner = learners.by_name(name, **{**common, parameter.name: scalar})
                assert outcome(learner) == expected, (parameter.name, scalar)
                assert learner == plain
                assert repr(learner) == repr(plain)
                assert (learner.asks, learner.duration, learner.costs) == (plain.asks, plain.duration, plain.costs)
                assert clone(learner) == pickle.loads(pickle.dumps(learner)) == plain


def test_single_precision_is_the_number_that_it_stands_for():
    assert outcome(tw.CRF(l2=np.float32(0.1))) == outcome(tw.CRF(l2=float(np.float32(0.1))))


def test_a_run_with_numpy_scalars_goes_on_from_one_without():
    states = []
    tw.Perceptron(epochs=3, k=2).train(oracle(), on_iteration=lambda done: states.append(done.state()) and None)
    expected = tw.Perceptron(epochs=3, k=2).train(oracle())
    resumed = tw.Perceptron(epochs=np.int64(3), k=np.int32(2)).train(oracle(), state=states[0])
    assert resumed.weights.tobytes() == expected.weights.tobytes()


# Names


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: tw.CRF(c1=0.1), r"CRF has no parameter 'c1': say l1 \(and l2 = 2 c2\)"),
        (lambda: tw.CRF(c2=0.1), r"say l2 = 2 c2 \(and l1 = c1\)"),
        (lambda: tw.CRF().set_params(c1=0.1), r"say l1 \(and l2 = 2 c2\)"),
        (lambda: learners.by_name("crf", c1=0.1), r"say l1 \(and l2 = 2 c2\)"),
        (lambda: tw.CRF(max_iterations=100), "say max_iter"),
        (lambda: tw.Perceptron(max_iterations=100), "say epochs"),
        (lambda: tw.Perceptron(max_iter=100), "say epochs"),
        (lambda: tw.CRF(num_memories=3), "say memory"),
        (lambda: tw.CRF(algorithm="lbfgs"), r"say solver; .*tw\.PassiveAggressive\(\) for pa"),
        (lambda: tw.SequenceLabeler(algorithm="pa"), r"say learner, .*tw\.PassiveAggressive\(\) for pa"),
        (lambda: tw.SequenceLabeler(all_possible_transitions=True), 'say combinations="transitions"'),
        (lambda: tw.CRF(all_possible_transitions=True), r'of the estimator.*say combinations="transitions"'),
        (lambda: tw.CRF(n_jobs=2), r"of the estimator\. In SequenceLabeler\(tw\.CRF\(\.\.\.\), \.\.\.\), say n_jobs"),
        (lambda: tw.SequenceLabeler(c1=0.1), r"of its learner\. In learner=tw\.CRF\(\.\.\.\), say l1"),
        (lambda: tw.SequenceLabeler(lr=0.1), r"has no parameter 'lr'.*It has: learner, features"),
        (lambda: tw.Pegasos(lamb=0.1), "lam is near it"),
        (lambda: tw.HMM(n_state=3), "n_states is near it"),
        (lambda: tw.HMM(n_components=3), "'n_components': say n_states"),
        (lambda: tw.HMM(transmat_prior=2.0), "say transition_pseudo_count = transmat_prior - 1"),
        (lambda: tw.HMM(algorithm="map"), r"predict_marginals\(X\) for 'map'"),
        (lambda: tw.HMM(decoder="mbr"), r"has no parameter 'decoder'\. It has: n_states"),
        (lambda: tw.CRF(rho1=0.5), "say l1"),
        (lambda: tw.CRF(rho2=0.5), "say l2"),
        (lambda: tw.AROW(gamma=1.0), "say r"),
        (lambda: tw.SequenceLabeler(**{"feature.minfreq": 2}), "say min_count"),
        (lambda: tw.CRF(**{"feature.possible_transitions": True}), r'of the estimator.*say combinations="transitions"'),
        (lambda: tw.GraphLabeler(inference_method="ad3"), "say inference"),
        (lambda: tw.GraphLabeler(directed=True), "say symmetric, which is the opposite"),
        (lambda: tw.FrankWolfe(max_iter=100), "say epochs"),
    ],
)
def test_a_name_from_elsewhere_is_answered_with_the_one_it_has_here(call, said):
    with pytest.raises(UnknownParameter, match=said) as error:
        call()
    assert isinstance(error.value, TypeError)
    assert isinstance(error.value, ValueError)


@pytest.mark.parametrize("name", NAMES)
def test_every_answer_names_a_parameter_that_there_is(name):
    """What the table of names says is true of every class that it speaks of."""
    from trelliswork.learners.aliases import _ELSEWHERE

    kind = type(learners.by_name(name))
    own = [parameter.name for parameter in learners.parameters_of(name)]
    for other, ours in itertools.product(_ELSEWHERE, own):
        if other not in own and ours in _ELSEWHERE[other]:
            with pytest.raises(UnknownParameter, match=f"{kind.__name__} has no parameter '{other}': say "):
                kind(**{other: 1})
