"""Trainers, taggers and items of python-crfsuite.

State is made in ``__new__``, since subclasses need not call ``super().__init__()``.
"""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn, Self

from trelliswork import _core
from trelliswork.compat.pycrfsuite._dumpparser import ParsedDump
from trelliswork.compat.pycrfsuite._logparser import TrainLogParser
from trelliswork.compat.pycrfsuite._parameters import ALGORITHMS, Value, from_text, means

__all__ = ["CRFSUITE_VERSION", "BaseTrainer", "CRFSuiteError", "ItemSequence", "Tagger", "Trainer"]

CRFSUITE_VERSION = "0.12.2"  # whose files and answers these are


class CRFSuiteError(Exception):
    """What CRFsuite could not do.

    Examples
    --------
    >>> str(CRFSuiteError(-2147483646))
    'Unsupported operation'
    """

    _messages: Mapping[int, str] = {
        -2147483648: "Unknown error occurred",
        -2147483647: "Insufficient memory",
        -2147483646: "Unsupported operation",
        -2147483645: "Incompatible data",
        -2147483644: "Internal error",
        -2147483643: "Overflow",
        -2147483642: "Not implemented",
    }

    def __init__(self, code: int) -> None:
        self.code = code
        super().__init__(self._messages.get(code, "Unexpected error"))

    def __reduce__(self) -> tuple[type[Self], tuple[int]]:
        return type(self), (self.code,)


def _no_pickle(self: object) -> NoReturn:
    raise TypeError(f"cannot pickle {type(self).__name__!r} object")


class ItemSequence:
    """Items that are read once, to be used more often.

    Parameters
    ----------
    pyseq : iterable
        The items. An item is a dict, ``{"name": value}``, where a value is a number or a bool, a string, which becomes
        a part of the name, or a dict, list or set of more; or a list of names.

    Examples
    --------
    >>> ItemSequence([["foo"], {"bar": {"baz": 1}}, {"word": "dog", "title": True}]).items()
    [{'foo': 1.0}, {'bar:baz': 1.0}, {'word:dog': 1.0, 'title': 1.0}]
    """

    _items: _core.Items

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        self = super().__new__(cls)
        self._items = _core.Items()
        return self

    def __init__(self, pyseq: Any) -> None:
        self._items = _core.Items(_read(pyseq))

    def items(self) -> list[dict[str, float]]:
        """Return a dict of values by name for each item."""
        return self._items.dicts()

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"<ItemSequence of size {len(self)}>"

    __reduce__ = _no_pickle


def _read(xseq: Any) -> Any:
    return xseq._items if isinstance(xseq, ItemSequence) else xseq


def _intbool(value: Any) -> bool:
    return bool(int(value))


class BaseTrainer:
    """Keeps a training set, and learns from it.

    Parameters
    ----------
    algorithm : {'lbfgs', 'l2sgd', 'ap', 'pa', 'arow'}, optional
    params : dict, optional
        Its parameters; see `set`.
    verbose : bool, default True
        Whether `message` prints.
    """

    _PARAMETER_TYPES: Mapping[str, Any] = {
        name: _intbool
        if name in ("feature.possible_states", "feature.possible_transitions", "error_sensitive", "averaging")
        else float
        if name == "calibration.samples"
        else type(parameter.default)
        for parameters in ALGORITHMS.values()
        for name, parameter in parameters.items()
    }
    _ALGORITHM_ALIASES: Mapping[str, str] = {"ap": "averaged-perceptron", "pa": "passive-aggressive"}

    verbose: Any
    _corpus: _core.ItemCorpus
    _algorithm: str
    _values: dict[str, Value]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        self = super().__new__(cls)
        self.verbose = None
        self._corpus = _core.ItemCorpus()
        self._choose("lbfgs")
        return self

    def __init__(
        self, algorithm: str | None = None, params: Mapping[str, Any] | None = None, verbose: Any = True
    ) -> None:
        if algorithm is not None:
            self.select(algorithm)
        if params is not None:
            self.set_params(params)
        self.verbose = verbose

    def _choose(self, algorithm: str) -> None:
        self._algorithm = algorithm
        self._values = {name: parameter.default for name, parameter in ALGORITHMS[algorithm].items()}

    def message(self, message: str) -> None:
        """Take the next message of a training; prints it if ``verbose`` is true. To be overridden."""
        if self.verbose:
            print(message, end="")

    def append(self, xseq: Any, yseq: Iterable[str | bytes], group: int = 0) -> None:
        """Add a sequence of items, as `ItemSequence` takes them, with a label each, to the training set.

        Parameters
        ----------
        xseq : ItemSequence, or an iterable of items
        yseq : iterable of str
        group : int, default 0
            A group can be held out of a training.
        """
        self._corpus.append(_read(xseq), yseq, group)

    def select(self, algorithm: str, type: str = "crf1d") -> None:
        """Choose an algorithm: lbfgs, l2sgd, ap, pa or arow. Its parameters get their default values."""
        name = algorithm.lower()
        name = self._ALGORITHM_ALIASES.get(name, name)
        if name not in ALGORITHMS or type != "crf1d":
            raise ValueError(f"Bad arguments: algorithm={name!r}, type={type!r}")
        self._choose(name)

    def train(self, model: str | bytes, holdout: int = -1) -> None:
        """Learn from what was appended, and write a model.

        Parameters
        ----------
        model : str
            The path to write to; if it is empty, nothing is written.
        holdout : int, default -1
            The group to leave out and to evaluate on; -1 for none.
        """
        from trelliswork.compat.pycrfsuite._training import Training, store

        if not isinstance(model, str | bytes):
            raise TypeError(f"model is of type {type(model).__name__}; expected the path of a file, a str.")
        self._before_train()
        corpus = self._corpus
        file = Training(corpus, self._algorithm, dict(self._values), holdout, self.message).run()
        if model:
            store(model, file, corpus.n_attributes, len(corpus.labels()), self.message)

    def params(self) -> list[str]:
        """Return the names of the parameters that the chosen algorithm has."""
        return list(self._values)

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Set several parameters."""
        for name, value in params.items():
            self.set(name, value)

    def get_params(self) -> dict[str, Any]:
        """Return all parameters with their values."""
        return {name: self.get(name) for name in self.params()}

    def set(self, name: str, value: Any) -> None:
        """Set a parameter. As in CRFsuite, a text in which no number can be read is 0, but a warning says so.

        Raises
        ------
        ValueError
            If the algorithm has no such parameter.
        """
        default = self._parameter(name).default
        text = str(int(value) if isinstance(value, bool) else value)
        taken = from_text(text, default)
        if not means(text, taken):
            warnings.warn(f"{name}={value!r} is taken as {taken!r}, as CRFsuite does.", RuntimeWarning, stacklevel=2)
        self._values[name] = taken

    def get(self, name: str) -> Any:
        """Return the value of a parameter."""
        self._parameter(name)
        return self._cast_parameter(name, self._values[name])

    def help(self, name: str) -> str:
        """Return what a parameter is for."""
        return str(self._parameter(name).help)

    def clear(self) -> None:
        """Forget what was appended."""
        self._corpus = _core.ItemCorpus()

    def _parameter(self, name: str) -> Any:
        if name not in self._values:
            raise ValueError(f"Parameter not found: {name}. {self._algorithm} has {', '.join(self._values)}.")
        return ALGORITHMS[self._algorithm][name]

    def _cast_parameter(self, name: str, value: Any) -> Any:
        return self._PARAMETER_TYPES[name](value) if name in self._PARAMETER_TYPES else value

    def _before_train(self) -> None:
        pass

    __reduce__ = _no_pickle


class Trainer(BaseTrainer):
    """A trainer that reads its own messages: ``logparser`` has what they said, and what happens calls a method."""

    logparser: TrainLogParser | None = None

    def _before_train(self) -> None:
        self.logparser = TrainLogParser()

    def message(self, message: str) -> None:
        """Take the next message of a training; calls the method of what it completes, if ``verbose`` is true."""
        parser = self.logparser
        assert parser is not None
        event = parser.feed(message)
        if not self.verbose or event is None:
            return
        log = parser.last_log
        if event == "featgen_progress":
            self.on_featgen_progress(log, parser.featgen_percent)
        elif event == "iteration":
            self.on_iteration(log, parser.last_iteration or {})
        else:
            getattr(self, f"on_{event}")(log)

    def on_start(self, log: str) -> None:
        """Training begins."""
        print(log, end="")

    def on_featgen_progress(self, log: str, percent: int) -> None:
        """Features are being made."""
        print(log, end="")

    def on_featgen_end(self, log: str) -> None:
        """Features are made."""
        print(log, end="")

    def on_prepared(self, log: str) -> None:
        """The first iteration is about to be told of."""
        print(log, end="")

    def on_prepare_error(self, log: str) -> None:
        """There will be no iterations."""
        print(log, end="")

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        """An iteration is over; ``info`` has its numbers."""
        print(log, end="")

    def on_optimization_end(self, log: str) -> None:
        """The last iteration is over."""
        print(log, end="")

    def on_end(self, log: str) -> None:
        """The model is written."""
        print(log, end="")


class Tagger:
    """Labels sequences with a model of CRFsuite.

    Examples
    --------
    >>> Tagger().tag([["w=dog"]])
    Traceback (most recent call last):
    ValueError: The tagger is not opened
    """

    _model: _core.CrfsuiteTagger | None

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        self = super().__new__(cls)
        self._model = None
        return self

    def open(self, name: str | bytes) -> contextlib.closing[Self]:
        """Open a model file. All of it is read, so that it may be written anew while the tagger is in use.

        Raises
        ------
        OSError
            If the file cannot be opened.
        ValueError
            If it is not a model of CRFsuite, or damaged.
        """
        if not isinstance(name, str | bytes):
            raise TypeError(f"name is of type {type(name).__name__}; expected the path of a file, a str.")
        with open(name, "rb", buffering=0) as file:
            data = file.read()
        return self._opened(data, f"Error opening model file {os.fsdecode(name)!r}")

    def open_inmemory(self, value: bytes) -> contextlib.closing[Self]:
        """Open a model that is in memory; the bytes are kept as long as they are needed."""
        if not isinstance(value, bytes):
            raise TypeError(f"value is of type {type(value).__name__}; expected bytes.")
        return self._opened(value, "Error opening model")

    def _opened(self, data: Any, where: str) -> contextlib.closing[Self]:
        try:
            self._model = _core.CrfsuiteTagger(data)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
        return contextlib.closing(self)

    def close(self) -> None:
        """Close the model."""
        self._model = None

    def labels(self) -> list[str]:
        """Return the labels that the model knows."""
        return self._tagger.labels()

    def tag(self, xseq: Any = None) -> list[str]:
        """Return the best labels for a sequence of items, or for the one that was last set."""
        tagger = self._model
        if tagger is None:
            raise ValueError("The tagger is not opened")
        if xseq is None:
            return tagger.best()
        if type(self).set is not Tagger.set:  # overridden, and called by the original
            self.set(xseq)
            return self._tagger.best()
        return tagger.tag(xseq._items if isinstance(xseq, ItemSequence) else xseq)

    def probability(self, yseq: Iterable[str | bytes]) -> float:
        """Return the probability of labels for the sequence that was last set or tagged."""
        return self._tagger.probability(yseq)

    def marginal(self, y: str | bytes, pos: int) -> float:
        """Return the probability of a label at a position of the sequence that was last set or tagged.

        Raises
        ------
        RuntimeError
            If the model has no such label.
        ValueError
            If there is no such position.
        """
        return self._tagger.marginal(y, pos)

    def set(self, xseq: Any) -> None:
        """Set the sequence of items that `tag`, `probability` and `marginal` are about."""
        self._tagger.set(_read(xseq))

    def dump(self, filename: str | None = None) -> None:
        """Write what is in the model as text, to a file or to the standard output."""
        text = self._named_tagger().dump()
        if filename is None:
            sys.stdout.flush()
            try:
                target = sys.stdout.fileno()
            except (OSError, ValueError):  # no file
                sys.stdout.write(text.decode("utf-8", "replace"))
                return
            _write_all(target, text)
        else:
            with open(filename, "wb") as file:
                file.write(text)

    def info(self) -> ParsedDump:
        """Return what is in the model."""
        tagger = self._named_tagger()
        out = ParsedDump()
        labels = tagger.labels()
        header = tagger.header()
        numbers = [int.from_bytes(header[i : i + 4], "little") for i in range(0, 48, 4)]
        out.header = {"magic": "lCRF", "size": str(numbers[1]), "type": "FOMC"}
        for name, number in zip(("version", "num_features", "num_labels", "num_attrs"), numbers[3:7], strict=True):
            out.header[name] = str(number)
        for name, number in zip(("features", "labels", "attrs", "labelrefs", "attrrefs"), numbers[7:], strict=True):
            out.header[f"off_{name}"] = f"0x{number:X}"
        names, starts, codes, weights = tagger.weights()
        out.labels = {name: str(i) for i, name in enumerate(labels)}
        out.attributes = {name: str(i) for i, name in enumerate(names)}
        out.transitions = {(labels[a], labels[b]): float(f"{weight:f}") for a, b, weight in tagger.transitions()}
        places, targets, values = starts.tolist(), codes.tolist(), weights.tolist()
        out.state_features = {
            (name, labels[targets[i]]): float(f"{values[i]:f}")
            for name, begin, end in zip(names, places, places[1:], strict=False)
            for i in range(begin, end)
        }
        return out

    @property
    def _tagger(self) -> _core.CrfsuiteTagger:
        if self._model is None:
            raise ValueError("The tagger is not opened")
        return self._model

    def _named_tagger(self) -> _core.CrfsuiteTagger:
        if self._model is None:
            raise RuntimeError("Tagger is closed")
        return self._model

    __reduce__ = _no_pickle


def _write_all(target: int, text: bytes) -> None:
    left = memoryview(text)
    while left:
        left = left[os.write(target, left) :]
