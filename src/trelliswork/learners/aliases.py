"""Names of parameters in other libraries: an error for one of them says what the parameter is called here."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Sequence

from trelliswork.errors import UnknownParameter

__all__ = ["unknown_parameter"]

_OF_CRFSUITE = (
    "tw.CRF() for lbfgs, tw.CRF(solver='sgd') for l2sgd, tw.Perceptron() for ap, tw.PassiveAggressive() for pa, "
    "tw.AROW() for arow"
)
_PASSES = {"max_iter": "max_iter", "epochs": "epochs"}
_STEP = {"step_size": "step_size", "gamma": "gamma"}
_PENALTY = {"l2": "l2", "lam": "lam"}
_MIN_COUNT = {"min_count": "min_count"}
_ALL_STATES = {"combinations": 'combinations="all"'}
_ALL_TRANSITIONS = {"combinations": 'combinations="transitions"'}

# What others say -> our name, if a class has it, and how to say it. docs/migration has the same names side by side.
_ELSEWHERE: dict[str, dict[str, str]] = {
    "algorithm": {"solver": f"solver; the algorithms of CRFsuite are learners: {_OF_CRFSUITE}"}
    | {"learner": f"learner, the algorithms of CRFsuite being {_OF_CRFSUITE}"}
    | {"n_states": "predict(X) for 'viterbi', the best of predict_marginals(X) for 'map'"},
    "all_possible_states": _ALL_STATES,
    "all_possible_transitions": _ALL_TRANSITIONS,
    "average": {"averaged": "averaged"},
    "averaging": {"averaged": "averaged"},
    "c": {"C": "C", "l2": "l2 = 1 / C"},
    "C": {"l2": "l2 = 1 / C", "lam": "lam = 1 / (C * number of examples)"},
    "c1": {"l1": "l1 (and l2 = 2 c2)"},
    "c2": {"l2": "l2 = 2 c2 (and l1 = c1)"},
    "directed": {"symmetric": "symmetric, which is the opposite"},
    "emissionprob_prior": {"emission_pseudo_count": "emission_pseudo_count = emissionprob_prior - 1"},
    "epsilon": {"tol": "tol"},
    "eta0": _STEP,
    "feature.minfreq": _MIN_COUNT,
    "feature.possible_states": _ALL_STATES,
    "feature.possible_transitions": _ALL_TRANSITIONS,
    "feature_minfreq": _MIN_COUNT,
    "gamma": {"r": "r"},
    "histsz": {"memory": "memory"},
    "inference_method": {"inference": "inference"},
    "learning_rate": _STEP,
    "max_iter": _PASSES,
    "max_iterations": _PASSES,
    "maxiter": _PASSES,
    "min_freq": _MIN_COUNT,
    "minfreq": _MIN_COUNT,
    "n_components": {"n_states": "n_states"},
    "n_epochs": _PASSES,
    "n_iter": _PASSES,
    "nthread": {"n_jobs": "n_jobs"},
    "num_memories": {"memory": "memory"},
    "regularization": _PENALTY,
    "rho1": {"l1": "l1"},
    "rho2": {"l2": "l2"},
    "seed": {"random_state": "random_state"},
    "stopeps": {"tol": "tol"},
    "threads": {"n_jobs": "n_jobs"},
    "tolerance": {"tol": "tol"},
    "transmat_prior": {"transition_pseudo_count": "transition_pseudo_count = transmat_prior - 1"},
}


# The parameters of `SequenceLabeler`, for whoever gives one of them to a learner. Learners know no estimator; a test
# compares.
OF_THE_LABELER = [
    "learner",
    "features",
    "min_count",
    "hash_bits",
    "combinations",
    "order",
    "histories",
    "automaton",
    "automaton_weights",
    "constraints",
    "at_most",
    "at_least",
    "tag_dictionary",
    "dictionary_attribute",
    "beam",
    "label_parts",
    "class_weight",
    "cost",
    "decoder",
    "scoring",
    "patience",
    "n_jobs",
    "random_state",
    "warm_start",
    "memory",
    "scratch_folder",
    "verbose",
]


def unknown_parameter(kind: str, name: str, known: Sequence[str]) -> UnknownParameter:
    """Return the error for a parameter that a class does not have.

    Parameters
    ----------
    kind : str
        The name of the class.
    name : str
        The unknown name.
    known : sequence of str
        The parameters of the class.

    Examples
    --------
    >>> print(unknown_parameter("CRF", "c1", ["l2", "l1"]))
    CRF has no parameter 'c1': say l1 (and l2 = 2 c2). It has: l2, l1
    """
    return UnknownParameter(f"{kind} has no parameter {name!r}{_advice(kind, name, known)}. It has: {', '.join(known)}")


def _advice(kind: str, name: str, known: Sequence[str]) -> str:
    if own := _said(name, known):
        return f": say {own}"
    learners = _of_learners()
    of_estimators = {"SequenceLabeler": OF_THE_LABELER} if kind in learners else {}  # none of one without learner
    others = learners if "learner" in known else of_estimators
    for other, parameters in others.items():
        if said := _said(name, parameters):
            owner = "its learner" if "learner" in known else "the estimator"
            example = f"learner=tw.{other}(...)" if "learner" in known else f"SequenceLabeler(tw.{kind}(...), ...)"
            return f": it is a parameter of {owner}. In {example}, say {said}"
    close = difflib.get_close_matches(name, known, 1)
    return f": {close[0]} is near it" if close else ""


def _said(name: str, known: Sequence[str]) -> str:
    """How to say what others call ``name``, to a class with these parameters; nothing if it has no such thing."""
    if name in known:
        return name
    return next((words for ours, words in _ELSEWHERE.get(name, {}).items() if ours in known), "")


def _of_learners() -> dict[str, list[str]]:
    from trelliswork import learners

    kinds = [type(learners.by_name(name)) for name in learners.names()]
    return {kind.__name__: list(inspect.signature(kind).parameters) for kind in kinds}
