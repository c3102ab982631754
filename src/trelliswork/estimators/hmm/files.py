"""Hidden Markov models as model files, and as sequence labelers.

The file has the logarithms of all probabilities in double precision, so the answers of a loaded model are bit for bit
the same. Tokens are strings (tensors) or numbers (settings); other hashables are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from trelliswork import _core, models
from trelliswork.errors import InvalidInput, shown
from trelliswork.estimators.hmm.unknown_words import SparseRows, UnseenTokens, WordClasses
from trelliswork.estimators.saving import numbers
from trelliswork.features.inputs import inputs_of
from trelliswork.features.templates import Templates
from trelliswork.models import names
from trelliswork.models.channels import described_chain
from trelliswork.models.json_values import plain

if TYPE_CHECKING:
    from trelliswork.estimators.hmm.hmm import HMM
    from trelliswork.estimators.sequence_labeler import SequenceLabeler

__all__ = ["exported_model", "labeler_of", "restored_model"]

H = TypeVar("H", bound="HMM")

_PARAMETERS = (
    "n_states",
    "use_stop",
    "transition_pseudo_count",
    "emission_pseudo_count",
    "unknown",
    "class_pseudo_count",
    "rare_count",
    "max_suffix",
    "n_iter",
    "tol",
)
_TEMPLATES = "word\nbegin\nend\nbias"


def exported_model(hmm: HMM) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the tensors and the settings of the model file."""
    tensors: dict[str, Any] = {
        "channel.start.weights": hmm.log_start_,
        "channel.transitions.weights": hmm.log_transitions_.ravel(),
        "channel.token.weights": np.ascontiguousarray(hmm.log_emissions_.T).ravel(),
    }
    if hmm.log_stop_ is not None:
        tensors["channel.stop.weights"] = hmm.log_stop_
    classes = names.as_json(hmm.classes_.tolist(), "classes_")
    tokens = names.as_json(list(hmm.vocabulary_), "vocabulary_")
    settings: dict[str, Any] = {
        "kind": "hmm",
        "labels": [str(label) for label in classes],
        "classes": classes,
        "parameters": {name: plain(getattr(hmm, name)) for name in _PARAMETERS},
        "likelihoods": {
            "n_iter": int(getattr(hmm, "n_iter_", 0)),
            "converged": bool(getattr(hmm, "converged_", True)),
            "interrupted": bool(getattr(hmm, "interrupted_", False)),
            "history": [float(value) for value in getattr(hmm, "log_likelihood_history_", [])],
        },
    }
    if all(isinstance(token, str) for token in tokens):
        tensors |= names.as_tensors("channel.token", tokens)
    else:
        settings["tokens"] = tokens
    if hmm._unseen is not None:
        tensors["channel.unseen.weights"] = hmm._unseen.log_mass
        if hmm._unseen.classes is not None:
            tensors |= _exported_classes(hmm._unseen.classes)
    return {name: np.ascontiguousarray(part) for name, part in tensors.items()}, settings


def _exported_classes(classes: WordClasses) -> dict[str, Any]:
    tensors: dict[str, Any] = {
        "channel.classes.prior": classes.prior,
        "channel.classes.size": np.array([classes.n_rare]),
    }
    for name, (ids, rows) in {"classes": classes.classes, "cases": classes.cases}.items():
        tensors |= names.as_tensors(f"channel.{name}", list(ids))
        tensors[f"channel.{name}.rows"] = rows.starts.astype(np.uint64)
        tensors[f"channel.{name}.columns"] = rows.columns.astype(np.uint32)
        tensors[f"channel.{name}.values"] = rows.values
    return tensors


def restored_model(cls: type[H], tensors: Mapping[str, Any], settings: Mapping[str, Any]) -> H:
    """Return the model of a file that may say anything."""
    parameters, likelihoods = settings["parameters"], settings["likelihoods"]
    hmm = cls(**{name: parameters[name] for name in _PARAMETERS})
    hmm._check_parameters()
    classes = settings["classes"]
    tokens = settings["tokens"] if "tokens" in settings else names.from_tensors("channel.token", tensors)
    K, V = len(classes), len(tokens)
    if not K or len(set(classes)) < K or len(set(tokens)) < V:
        raise ValueError("labels or tokens are missing, or there twice")
    hmm.classes_ = np.array([*classes, None], dtype=object)[:-1]
    hmm.vocabulary_ = {token: v for v, token in enumerate(tokens)}
    hmm.log_start_ = numbers(tensors, "channel.start.weights", K)
    hmm.log_transitions_ = numbers(tensors, "channel.transitions.weights", K, K)
    hmm.log_stop_ = numbers(tensors, "channel.stop.weights", K) if "channel.stop.weights" in tensors else None
    hmm.log_emissions_ = numbers(tensors, "channel.token.weights", V, K).T
    hmm._unseen = None
    if "channel.unseen.weights" in tensors:
        found = _restored_classes(tensors, K, hmm.max_suffix) if "channel.classes.prior" in tensors else None
        hmm._unseen = UnseenTokens(numbers(tensors, "channel.unseen.weights", K), found)
    hmm.log_likelihood_history_ = [float(value) for value in likelihoods["history"]]
    hmm.n_iter_, hmm.converged_ = int(likelihoods["n_iter"]), bool(likelihoods["converged"])
    hmm.interrupted_ = bool(likelihoods["interrupted"])
    hmm.metadata_ = dict(settings.get("metadata", {}))
    return hmm


def _restored_classes(tensors: Mapping[str, Any], K: int, max_suffix: int) -> WordClasses:
    parts = []
    for name in ("classes", "cases"):
        ids = {text: i for i, text in enumerate(names.from_tensors(f"channel.{name}", tensors))}
        starts = names.integers(tensors, f"channel.{name}.rows")
        columns = names.integers(tensors, f"channel.{name}.columns")
        values = numbers(tensors, f"channel.{name}.values", len(columns), least=0.0)
        rises = len(starts) == len(ids) + 1 and starts[0] == 0 and (np.diff(starts) >= 0).all()
        if not rises or starts[-1] != len(columns) or (columns >= K).any():
            raise ValueError(f"the rows of {name} of words do not fit")
        parts.append((ids, SparseRows(starts, columns.astype(np.int32), values, K)))
    prior = numbers(tensors, "channel.classes.prior", K, least=0.0)
    (size,) = numbers(tensors, "channel.classes.size", 1, least=0.0)
    if not (prior > 0).all() or not size:
        raise ValueError("the word classes are of no words")
    return WordClasses(max_suffix, parts[0], parts[1], prior, float(size))


# ---- as a sequence labeler -------------------------------------------------------------------------------------------


def labeler_of(hmm: HMM, words: Iterable[str] | None) -> SequenceLabeler:
    """Return a CRF with the same answers.

    An attribute of every token (`bias`) weighs what each label sets aside for unseen tokens, and the attribute of a
    known word what it is worth beyond that; `begin` and `end` weigh START and STOP.
    """
    from trelliswork.estimators.sequence_labeler import SequenceLabeler

    labels = _texts(hmm.classes_.tolist(), "labels")
    emissions = _emissions(hmm, words)
    bias = np.zeros(len(labels)) if hmm._unseen is None else hmm._unseen.log_mass
    stop = np.zeros(len(labels)) if hmm.log_stop_ is None else hmm.log_stop_
    rows = {word: row - bias for word, row in emissions.items()}
    begin, end = (np.where(np.isfinite(part), part, 0.0) for part in (hmm.log_start_, stop))
    tensors = _tensors(rows, begin, end, bias)
    tensors["channel.transitions.weights"] = (
        np.where(np.isfinite(hmm.log_transitions_), hmm.log_transitions_, 0.0).astype(np.float32).ravel()
    )
    limits = {"transitions": hmm.log_transitions_, "start": hmm.log_start_, "end": stop}
    impossible = any(np.isneginf(part).any() for part in limits.values())
    if impossible:
        tensors |= {f"allowed.{name}": np.isfinite(part).astype(np.uint8).ravel() for name, part in limits.items()}
    labeler = SequenceLabeler("crf", Templates(_TEMPLATES), random_state=None)
    training: dict[str, Any] = {
        "n_sequences": 0,
        "n_tokens": 0,
        "n_weights": int(sum(len(tensors[n]) for n in _WEIGHTS)),
    }
    training |= {"n_iter": 0, "best_iteration": 0, "converged": True, "message": "made of a hidden Markov model"}
    settings = {
        "kind": "sequence-labeler",
        "labels": labels,
        "hash_bits": 0,
        "probabilistic": True,
        **described_chain(tensors, len(labels)),
        **inputs_of([["word"]], Templates(_TEMPLATES))[0].as_settings(),
        "learner": {"name": "crf", "parameters": {}},
        "parameters": {**labeler._saved_parameters(), "constraints": "array" if impossible else None},
        "training": {**training, "objective": None, "history": [], "known_share": 0.5},
    }
    return SequenceLabeler.restored(*models.loads(models.dumps(tensors, settings)))


_WEIGHTS = ("channel.token.weights", "channel.transitions.weights")


def _texts(found: list[Any], what: str) -> list[str]:
    for name in found:
        if not isinstance(name, str):
            raise InvalidInput(f"the {what} of a SequenceLabeler are texts; this model has {shown(name)}.")
    return found


def _emissions(hmm: HMM, words: Iterable[str] | None) -> dict[str, Any]:
    """Return log o(word | label) of the words that the labeler will know."""
    known = dict(zip(_texts(list(hmm.vocabulary_), "tokens"), hmm.log_emissions_.T, strict=True))
    if words is None and hmm._unseen is not None and hmm._unseen.classes is not None:
        raise InvalidInput(
            "this model judges unseen words by their endings (unknown='suffix'), which a SequenceLabeler does not: "
            "pass words=..., those that it is to know, or () if all unseen words may be alike; or fit with "
            "unknown='uniform'."
        )
    new = [word for word in dict.fromkeys(_texts(list(words or ()), "words")) if word not in known]
    if new and hmm._unseen is None:
        raise InvalidInput(f"words has {new[0]!r}, which is unknown to this model, and it has no unknown words.")
    found = known | (dict(zip(new, hmm._unseen.log_prob(new), strict=True)) if hmm._unseen is not None and new else {})
    for word, row in found.items():
        if np.isneginf(row).any():
            raise InvalidInput(
                f"{word!r} has probability zero with the label {hmm.classes_[int(np.argmin(row))]!r}, and weights are "
                "finite: fit with emission_pseudo_count above 0."
            )
    return found


def _tensors(rows: dict[str, Any], begin: Any, end: Any, bias: Any) -> dict[str, Any]:
    """Return the channel of tokens: an attribute for every word, and for `begin`, `end` and `bias`."""
    inputs, X = inputs_of([[word] for word in rows], Templates(_TEMPLATES))
    (source,) = inputs.sources(X, names=True)
    starts, keys, _ = source.attributes(0, source.n_sequences)[0]
    if (np.diff(starts) != 4).any():
        word = list(rows)[int(np.argmax(np.diff(starts) != 4))]
        raise InvalidInput(f"the token {word!r} cannot be a word of a SequenceLabeler.")
    keys = np.asarray(keys).reshape(-1, 4)
    weights = np.concatenate([np.stack(list(rows.values())), [begin, end, bias]])
    K = weights.shape[1]
    table, slots = _core.key_table(np.concatenate([keys[:, 0], keys[0, 1:]]))
    codes = np.tile(np.arange(K), len(weights))
    return {
        "channel.token.keys": table,
        "channel.token.slots": slots,
        "channel.token.starts": (np.arange(len(weights) + 1) * K).astype(np.uint32),
        "channel.token.codes": codes.astype(np.uint8 if K <= 256 else np.uint16 if K <= 65536 else np.uint32),
        "channel.token.weights": weights.astype(np.float32).ravel(),
        **names.as_tensors("channel.token", [*(f"word[0]={word}" for word in rows), "begin", "end", "bias"]),
    }
