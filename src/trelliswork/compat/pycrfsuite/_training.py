"""One call of `Trainer.train`: CRFsuite's five algorithms on this library's learners, told in CRFsuite's words.

What is CRFsuite's: which features there are (`feature.minfreq` and the like), the numbers of labels, the objective and
its penalties, the steps of the algorithms, when they end, what is kept (weights that are not 0) and the messages. What
is not: the order in which examples are visited at random, and the way to the minimum of a convex objective, which is
the same minimum.

    lbfgs   CRF: stochastic passes, then L-BFGS or OWL-QN; l2 is 2 c2, since c2 multiplies |w|^2 and not its half
    l2sgd   CRF by stochastic gradient descent
    ap      the averaged perceptron
    pa      passive-aggressive, from predictions (not from the best by score and cost)
    arow    AROW, from predictions, not averaged
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from trelliswork import _core
from trelliswork.atomic_files import replacing
from trelliswork.errors import ConvergenceWarning
from trelliswork.learners.crf import CRF
from trelliswork.learners.training import Iteration

__all__ = ["Training"]

FloatArray = npt.NDArray[np.float64]
Message = Callable[[str], None]

_FULLY = 1e-6  # of the objective: how near to the minimum training goes where no threshold says when to stop
_NEAR = 50.0  # times `delta`, what CRFsuite itself is away from the minimum when it stops, and often more
_SOONER = 3.0  # times `delta`: steps here are longer, and what they no longer gain is less than CRFsuite leaves
_FIRST_PASSES = 5  # stochastic, before the first iteration


class Training:
    """What one call trains, and how far it got.

    Parameters
    ----------
    corpus : ItemCorpus
        What was appended.
    algorithm : str
        Its full name.
    values : mapping
        Its parameters.
    holdout : int
        The group that is held out, or -1.
    message : callable
        Told everything.
    """

    def __init__(
        self, corpus: _core.ItemCorpus, algorithm: str, values: Mapping[str, Any], holdout: int, message: Message
    ) -> None:
        self._corpus, self._algorithm, self._values = corpus, algorithm, values
        self._holdout, self._tell = max(holdout, -1), message
        self._labels = corpus.labels()
        self._n_jobs = _processors()
        self._oracle: _core.ChainOracle | None = None
        self._dev: _Dev | None = None

    def run(self) -> tuple[bytes, int, int, int]:
        """Train; return the model file, and how many features it has, attributes it has and features there were."""
        if self._holdout >= 0:
            self._tell(f"Holdout group: {self._holdout + 1}\n")
            self._tell("\n")
        source, n_features = self._features()
        n_examples = source.n_sequences
        began = time.perf_counter()
        train = {
            "lbfgs": self._lbfgs,
            "l2sgd": self._l2sgd,
            "averaged-perceptron": self._perceptron,
            "passive-aggressive": self._passive_aggressive,
            "arow": self._arow,
        }[self._algorithm]
        weights = train(max(n_examples, 1))
        self._tell(f"Total seconds required for training: {time.perf_counter() - began:.3f}\n")
        self._tell("\n")
        return *self._file(weights), n_features

    def _features(self) -> tuple[Any, int]:
        """Make the oracle; return the training data and how many features CRFsuite would have."""
        values = self._values
        least = values["feature.minfreq"]
        states, transitions = (bool(values[f"feature.possible_{name}"]) for name in ("states", "transitions"))
        self._tell("Feature generation\n")
        self._tell("type: CRF1d\n")
        self._tell(f"feature.minfreq: {least:f}\n")
        self._tell(f"feature.possible_states: {values['feature.possible_states']}\n")
        self._tell(f"feature.possible_transitions: {values['feature.possible_transitions']}\n")
        began = time.perf_counter()
        n_features, has_features, also_keys, also_labels = self._corpus.features(
            self._holdout, least, states, transitions
        )
        source = self._corpus.selection(self._holdout, False, has_features)
        codes = source.labels()
        for percent in range(0, 102, 2):
            self._tell(str(percent // 10) if percent % 10 == 0 else ".")
        self._tell("\n")
        if n_features and len(codes):
            examples = _core.Examples(0, True)
            examples.add(source, codes, n_jobs=self._n_jobs)
            combinations = {(0, 0): "seen", (0, 1): "transitions", (1, 0): "states", (1, 1): "all"}
            sums = self._algorithm in ("lbfgs", "l2sgd")
            self._oracle = _core.ChainOracle(
                examples,
                len(self._labels),
                np.arange(len(self._labels), dtype=np.int32),
                combinations=combinations[states, transitions],
                use="fast" if sums else "rounded",
                n_jobs=self._n_jobs,
                by_member=not sums,
                min_frequency=least,
                also_keys=also_keys,
                also_labels=also_labels,
            )
            if self._holdout >= 0:
                held = self._corpus.selection(self._holdout, True)
                self._dev = _Dev(self._oracle, held, self._labels, self._n_jobs)
        self._tell(f"Number of features: {n_features}\n")
        self._tell(f"Seconds required: {time.perf_counter() - began:.3f}\n")
        self._tell("\n")
        return source, n_features

    def _file(self, weights: FloatArray | None) -> tuple[bytes, int, int]:
        if self._oracle is not None and weights is not None:
            return self._oracle.crfsuite(weights, self._labels)
        none = np.zeros(0, dtype=np.uint32)
        n_pairs = len(self._labels) ** 2
        return _core.crfsuite_bytes(
            self._labels, [], np.zeros(1, dtype=np.uint32), none, np.zeros(0), np.zeros(n_pairs)
        )

    # ---- algorithms --------------------------------------------------------------------------------------------------

    def _lbfgs(self, n_examples: int) -> FloatArray | None:
        values = self._values
        self._tell("L-BFGS optimization\n")
        self._tell_parameters("c1", "c2", "num_memories", "max_iterations", "epsilon")
        self._tell(f"stop: {values['period']}\n")
        self._tell_parameters("delta", "linesearch")
        self._tell(f"linesearch.max_iterations: {values['max_linesearch']}\n")
        self._tell("\n")
        if self._oracle is None:
            self._tell("L-BFGS terminated with error code (-1020)\n")
            return None
        delta = max(values["delta"], 0.0) if values["period"] > 0 else 0.0
        most = max(values["max_iterations"], 1)
        learner = CRF(
            l2=2.0 * max(values["c2"], 0.0),
            l1=max(values["c1"], 0.0),
            max_iter=min(most + _FIRST_PASSES, 2**31 - 1),
            tol=_NEAR * delta or _FULLY,
            memory=max(values["num_memories"], 1),
            sgd_epochs=_FIRST_PASSES,
            period=max(values["period"], 1),
            delta=_SOONER * delta,
        )
        end = "L-BFGS terminated with the stopping criteria\n"
        told = _Iterations(self, "Iteration", line_search=True)

        def on_iteration(iteration: Iteration) -> bool:
            nonlocal end
            if iteration.phase == "sgd":  # prepares the first iteration
                return False
            error = float(iteration.facts.get("gradient_norm", np.inf))
            norm = told(iteration.objective, iteration.weights(), error)
            if error < values["epsilon"] * max(1.0, norm):
                end = "L-BFGS resulted in convergence\n"
            elif told.count >= most:
                end = "L-BFGS terminated with the maximum number of iterations\n"
            else:
                return False
            return True

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # said in CRFsuite's words
            trained = learner.train(self._oracle, n_jobs=self._n_jobs, on_iteration=on_iteration)
        if told.count == 0:
            told(trained.objective, trained.weights)
        self._tell(end)
        return trained.weights

    def _l2sgd(self, n_examples: int) -> FloatArray | None:
        values = self._values
        self._tell("Stochastic Gradient Descent (SGD)\n")
        self._tell_parameters("c2", "max_iterations", "period", "delta")
        self._tell("\n")
        began = time.perf_counter()
        self._tell("Calibrating the learning rate (eta)\n")
        self._tell_parameters(*(f"calibration.{n}" for n in ("eta", "rate", "samples", "candidates", "max_trials")))
        self._tell(f"Seconds required: {time.perf_counter() - began:.3f}\n")
        self._tell("\n")
        if self._oracle is None:
            self._tell("SGD terminated with error code (-1)\n")
            return None
        learner = CRF(l2=2.0 * max(values["c2"], 0.0), solver="sgd", max_iter=max(values["max_iterations"], 1), tol=0.0)
        told = _Iterations(self, "Epoch")
        period = max(values["period"], 1)
        losses: list[float] = []
        best: list[Any] = [np.inf, None]

        def on_iteration(iteration: Iteration) -> bool:
            weights, loss = iteration.weights(), iteration.objective
            if loss < best[0]:
                best[:] = loss, weights
            told(loss, weights)
            losses.append(loss)
            return len(losses) > period and bool(losses[-1 - period] - loss < values["delta"] * loss)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            trained = learner.train(self._oracle, n_jobs=self._n_jobs, on_iteration=on_iteration)
        most = trained.n_iter >= learner.max_iter
        self._tell(f"SGD terminated with the {'maximum number of iterations' if most else 'stopping criteria'}\n")
        self._tell(f"Loss: {best[0]:f}\n")
        return trained.weights if best[1] is None else best[1]

    def _perceptron(self, n_examples: int) -> FloatArray | None:
        self._tell("Averaged perceptron\n")
        self._tell_parameters("max_iterations", "epsilon")
        self._tell("\n")
        if self._oracle is None:
            return None
        solver = _core.Perceptron(
            self._oracle,
            np.zeros(self._oracle.n_weights),
            k=1,
            averaged=True,
            shuffle=True,
            seed=0,
            until_settled=False,
        )
        # The share of wrong labels of each sequence, had all the same length.
        length = self._n_items / n_examples
        return self._online(solver, n_examples, lambda: solver.facts["cost"] / length)

    def _passive_aggressive(self, n_examples: int) -> FloatArray | None:
        values = self._values
        self._tell("Passive Aggressive\n")
        self._tell_parameters("type", "c", "error_sensitive", "averaging", "max_iterations", "epsilon")
        self._tell("\n")
        if self._oracle is None:
            return None
        solver = _core.PassiveAggressive(
            self._oracle,
            np.zeros(self._oracle.n_weights),
            C=values["c"] if values["c"] > 0 else 1e-300,
            k=1,
            augmented=False,
            restricted=False,
            averaged=bool(values["averaging"]),
            shuffle=True,
            seed=0,
            aggressiveness={1: "at most", 2: "shortened"}.get(values["type"], "any"),
            margin="root" if values["error_sensitive"] else "one",
            until_settled=False,
        )
        return self._online(solver, n_examples, lambda: solver.objective)

    def _arow(self, n_examples: int) -> FloatArray | None:
        values = self._values
        self._tell("Adaptive Regularization of Weights (AROW)\n")
        self._tell_parameters("variance", "gamma", "max_iterations", "epsilon")
        self._tell("\n")
        if self._oracle is None:
            return None
        solver = _core.Arow(
            self._oracle,
            np.zeros(self._oracle.n_weights),
            variant="arow",
            r=values["gamma"] if values["gamma"] > 0 else 1e-300,
            phi=1.0,
            C=1.0,
            variance=values["variance"] if values["variance"] > 0 else 1e-300,
            k=1,
            averaged=False,
            shuffle=True,
            seed=0,
            augmented=False,
            inverse=True,
            until_settled=False,
        )
        return self._online(solver, n_examples, lambda: solver.objective)

    def _online(self, solver: Any, n_examples: int, loss_of: Callable[[], float]) -> FloatArray:
        """Let a learner that goes from example to example make its passes."""
        told = _Iterations(self, "Iteration")
        for _ in range(max(self._values["max_iterations"], 1)):
            solver.step(1)
            loss = loss_of()
            told(loss, solver.weights())
            mean, least = loss / n_examples, self._values["epsilon"]
            if mean < least or (self._algorithm == "arow" and mean == least):
                self._tell("Terminated with the stopping criterion\n")
                self._tell("\n")
                break
        weights: FloatArray = solver.weights()
        return weights

    # ---- what is told ------------------------------------------------------------------------------------------------

    @property
    def _n_items(self) -> int:
        return int(self._corpus.selection(self._holdout, False).lengths().sum())

    def _tell_parameters(self, *names: str) -> None:
        for name in names:
            value = self._values[name]
            self._tell(f"{name}: {value:f}\n" if isinstance(value, float) else f"{name}: {value}\n")


class _Iterations:
    """Tells of one iteration after the other; called with its loss and weights, it returns their norm."""

    def __init__(self, training: Training, word: str, line_search: bool = False) -> None:
        self._training, self._word, self._line_search = training, word, line_search
        self._last = time.perf_counter()
        self.count = 0

    def __call__(self, loss: float, weights: FloatArray, error_norm: float = 0.0) -> float:
        training, tell = self._training, self._training._tell
        oracle, dev = training._oracle, training._dev
        assert oracle is not None
        self.count += 1
        n_active, norm = oracle.extent(weights)
        now = time.perf_counter()
        tell(f"***** {self._word} #{self.count} *****\n")
        tell(f"Loss: {loss:f}\n")
        tell(f"Feature {'norm' if self._word == 'Iteration' else 'L2-norm'}: {norm:f}\n")
        if self._line_search:
            tell(f"Error norm: {error_norm:f}\n")
            tell(f"Active features: {n_active}\n")
            tell("Line search trials: 1\n")
            tell("Line search step: 1.000000\n")
        tell(f"Seconds required for this iteration: {now - self._last:.3f}\n")
        if dev is not None:
            for line in dev.lines(weights):
                tell(line)
        tell("\n")
        self._last = time.perf_counter()
        return norm


class _Dev:
    """The group that is held out, and how well weights label it."""

    def __init__(self, oracle: _core.ChainOracle, source: Any, labels: list[bytes], n_jobs: int) -> None:
        self._set, self._n_jobs = oracle.dev(source, n_jobs), n_jobs
        self._gold, self._lengths = source.labels(), source.lengths()
        self._names = [label.decode("utf-8", "surrogateescape") for label in labels]

    def lines(self, weights: FloatArray) -> Iterator[str]:
        """Yield what CRFsuite says of an evaluation."""
        n = len(self._names)
        guess = self._set.argmax(weights, self._n_jobs)
        right = guess == self._gold
        match, model, ref = (np.bincount(x, minlength=n) for x in (self._gold[right], guess, self._gold))
        with np.errstate(all="ignore"):
            precision, recall = np.where(model > 0, match / model, 0.0), np.where(ref > 0, match / ref, 0.0)
            f1 = np.where(precision + recall > 0, 2 * precision * recall / (precision + recall), 0.0)
        yield "Performance by label (#match, #model, #ref) (precision, recall, F1):\n"
        for i, name in enumerate(self._names):
            scores = f"{precision[i]:.4f}, {recall[i]:.4f}, {f1[i]:.4f}" if ref[i] else "******, ******, ******"
            yield f"    {name}: ({match[i]}, {model[i]}, {ref[i]}) ({scores})\n"
        there = ref > 0
        means = (float(x[there].sum()) / max(n, 1) for x in (precision, recall, f1))
        yield "Macro-average precision, recall, F1: ({:f}, {:f}, {:f})\n".format(*means)
        ends = np.cumsum(self._lengths)
        wrong = np.concatenate([[0], np.cumsum(~right)])
        whole = int((wrong[ends] == wrong[ends - self._lengths]).sum())
        for what, count, total in (("Item", int(right.sum()), len(right)), ("Instance", whole, len(ends))):
            yield f"{what} accuracy: {count} / {total} ({count / max(total, 1):.4f})\n"


def store(
    path: str | bytes, file: tuple[bytes, int, int, int], n_attributes: int, n_labels: int, tell: Message
) -> None:
    """Write a model file, telling of it; where that cannot be, a warning says so, and nothing is raised."""
    data, features, attributes, all_features = file
    began = time.perf_counter()
    tell("Storing the model\n")
    tell(f"Number of active features: {features} ({all_features})\n")
    tell(f"Number of active attributes: {attributes} ({n_attributes})\n")
    tell(f"Number of active labels: {n_labels} ({n_labels})\n")
    for what in ("labels", "attributes", "feature references for transitions", "feature references for attributes"):
        tell(f"Writing {what}\n")
    try:
        with replacing(os.fsdecode(path)) as target:
            target.write(data)
    except OSError as error:
        # CRFsuite says nothing at all; programs that go on must be able to.
        warnings.warn(f"the model was not written: {error}", RuntimeWarning, stacklevel=3)
    tell(f"Seconds required: {time.perf_counter() - began:.3f}\n")
    tell("\n")


def _processors() -> int:
    """Return how many threads may work: as many as there are processors, or as OMP_NUM_THREADS allows."""
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(here, int(limit) if limit.isdigit() else here))
