"""The component: trained from the examples of a pipeline, it writes entities or tags into its documents.

It is no `TrainablePipe`, which is one around a model of Thinc; it has the methods that spaCy asks of a component.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from spacy import Language
from spacy.errors import Errors
from spacy.tokens import Doc
from spacy.training import Example, validate_examples, validate_get_examples
from spacy.util import minibatch, raise_error
from spacy.vocab import Vocab

from trelliswork import learners
from trelliswork.arguments import callers_level
from trelliswork.errors import InvalidInput, InvalidModel
from trelliswork.estimators.loading import load
from trelliswork.estimators.sequence_labeler import SequenceLabeler
from trelliswork.features.templates import Templates
from trelliswork.spacy.columns import Columns, templates_of
from trelliswork.spacy.targets import target_of

__all__ = ["LabelerPipe"]

# One pass after the other over whatever comes: what they learned so far is all that they need to go on.
ONLINE = ("perceptron", "pa", "mira", "arow")
_WHOLE = {"parts", "local"}  # learners that ask for these need one label for every token
_FILE = "model.tw"


class LabelerPipe:
    """A component of a spaCy pipeline around a `SequenceLabeler`.

    Made by `nlp.add_pipe("trelliswork", config={...})`, or by a section ``[components.NAME]`` of a config file. A
    document is one sequence; white space is not shown to the model.

    Parameters
    ----------
    vocab : Vocab
        That of the pipeline.
    name : str
        Of the component.
    target : {"ents", "tag", "pos"}
        What is learned and predicted: ``doc.ents``, ``token.tag_`` or ``token.pos_``.
    columns : list of str
        What is seen of a token: ``orth``, ``norm``, ``lower``, ``shape``, ``prefix``, ``suffix``; ``lemma``, ``tag``,
        ``pos``, ``morph``, ``dep``, ``ent_type``, set by other components; flags (``is_title``); ``_.name``.
    features : str or list of str
        ``"auto"``; the name of a ready set, whose columns are then the first of ``columns``; or lines of templates, in
        which columns go by their names. ``lower``, ``shape``, ``prefix`` and ``suffix`` are functions there, and
        columns of that name are called ``lower_`` and so on.
    scheme : {"BIO", "IOBES", "BILOU", "BMES"}
        How labels spell entities; only valid sequences are predicted.
    learner : str
        By name.
    learner_parameters : dict
        Its parameters.
    labeler_parameters : dict
        Further parameters of `SequenceLabeler`, such as ``min_count``, ``order`` and ``n_jobs``.
    learn_in : {"initialize", "update"}
        Where learning takes place. In ``initialize``, from all examples until the learner is done; `update` then does
        nothing. Or in `update`, too: `initialize` makes one pass over all examples, `update` one over each batch; for
        the online learners, ``perceptron``, ``pa``, ``mira`` and ``arow``.
    overwrite : bool
        Whether annotation that is in a document already is replaced. If not, it stays, and what is predicted is the
        best that goes with it. Blocked tokens then stay free of entities.
    probabilities : bool, optional
        Whether to set ``_.probability`` of predicted spans, or of tagged tokens. None is yes for entities of a learner
        whose scores are log-probabilities.
    scorer : callable, optional
        What `score` calls.

    Examples
    --------
    >>> import spacy
    >>> from spacy.training import Example
    >>> nlp = spacy.blank("en")
    >>> pipe = nlp.add_pipe("trelliswork", config={"learner_parameters": {"l2": 0.1}})
    >>> texts = {"Ann Lee sings": [(0, 7, "PER")], "Bo hums": [(0, 2, "PER")], "rain falls": []}
    >>> examples = [Example.from_dict(nlp.make_doc(text), {"entities": ents}) for text, ents in texts.items()]
    >>> _ = nlp.initialize(lambda: examples)
    >>> [(ent.text, ent.label_, round(ent._.probability, 1)) for ent in nlp("Ann Lee hums").ents]
    [('Ann Lee', 'PER', 0.9)]
    """

    model: ClassVar[None] = None  # of Thinc's: spaCy asks before it would hand the optimizer to it

    def __init__(
        self,
        vocab: Vocab,
        name: str = "trelliswork",
        *,
        target: str = "ents",
        columns: Sequence[str] = ("orth",),
        features: str | Sequence[str] = "auto",
        scheme: str = "BIO",
        learner: str = "crf",
        learner_parameters: Mapping[str, Any] | None = None,
        labeler_parameters: Mapping[str, Any] | None = None,
        learn_in: str = "initialize",
        overwrite: bool = False,
        probabilities: bool | None = None,
        scorer: Callable[..., dict[str, Any]] | None = None,
    ) -> None:
        self.vocab, self.name, self.scorer = vocab, name, scorer
        self.target, self.learn_in, self.probabilities = target, learn_in, probabilities
        self._target = target_of(target, scheme, overwrite)
        self._columns = Columns(columns, self._target.column)
        self._features = templates_of(features, self._columns.names)
        self._settings = dict(labeler_parameters or {})
        self._learner: Any = learners.by_name(learner, **dict(learner_parameters or {}))
        if learn_in not in ("initialize", "update"):
            raise InvalidInput(f"learn_in is {learn_in!r}; expected 'initialize' or 'update'.")
        if learn_in == "update" and learner not in ONLINE:
            raise InvalidInput(
                f"learn_in='update' is for the learners {', '.join(ONLINE)}; {learner} needs all examples at once."
            )
        self._new_labeler(self._features)  # refuses what makes no sense before there are data
        self._labeler: SequenceLabeler | None = None
        self._loaded = False

    # ---- learning ------------------------------------------------------------------------------------------------

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        templates: str | None = None,
    ) -> None:
        """Learn from examples.

        Columns that other components set are read from the predicted documents, after the pipeline's annotating
        components, and else from the references.

        Parameters
        ----------
        get_examples : callable
            Returns all examples to learn from.
        nlp : Language, optional
            The pipeline.
        templates : str, optional
            The path of a file of templates, in place of ``features``. The model keeps its contents, and those of the
            gazetteers that it names.
        """
        validate_get_examples(get_examples, f"{type(self).__name__}.initialize")
        self._warn_of_streams(nlp)
        features = self._features if templates is None else Templates.load(templates)
        labeler = self._new_labeler(features)
        X, y = self._training_data(list(get_examples()), nlp)
        if not self._target.labels({label for labels in y for label in labels if isinstance(label, str)}):
            raise InvalidInput(
                f"component {self.name!r}: no example has {self._target.told} to learn from. Pass annotated examples, "
                "nlp.initialize(lambda: examples), or check what the corpus is annotated with."
            )
        self._columns.require_filled(X)
        self._labeler = labeler.fit(X, self._target.completed(y))
        self._loaded = False

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Any = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Learn from a batch of examples if ``learn_in`` says so; else nothing is left to learn.

        Parameters
        ----------
        examples : iterable of Example
        drop, sgd
            Passed by spaCy to every component; dropout and optimizers are for networks.
        losses : dict, optional
            The learner's objective on the batch is added under the name of the component, 0 where nothing is learned.
        """
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples = list(examples)
        validate_examples(examples, f"{type(self).__name__}.update")
        labeler = self._ready()
        if self.learn_in == "initialize":
            self._warn_of_no_learning()
            return losses
        X, y = self._training_data(examples)
        if X:
            labeler.partial_fit(X, self._target.completed(y))
            losses[self.name] += float(labeler.history_[-1]["objective"])
        return losses

    @property
    def is_trainable(self) -> bool:
        """Whether `update` learns, and losses are worth a column of the log."""
        return self.learn_in == "update"

    def _new_labeler(self, features: str | Templates) -> SequenceLabeler:
        taken = {"learner", "features", "constraints"} & set(self._settings)
        if taken:
            raise InvalidInput(f"labeler_parameters has {sorted(taken)[0]!r}, which is a setting of the component.")
        learner = self._fresh_learner()
        return SequenceLabeler(learner, features, constraints=self._target.constraints, **self._settings)

    def _fresh_learner(self) -> Any:
        """Return the learner; one that makes a pass at a time, if it goes on in `update`."""
        passes = {"epochs": 1} if self.learn_in == "update" else {}
        return learners.restored(learners.name_of(self._learner), {**self._learner.get_params(), **passes})

    def _training_data(self, examples: Sequence[Example], nlp: Language | None = None) -> tuple[list[Any], list[Any]]:
        """Return tokens and labels of all examples that something can be learned from."""
        docs = self._annotated([example.predicted for example in examples], nlp)
        X = self._columns.of_examples(examples, docs)
        gold = [self._target.gold(example) for example in examples]
        self._warn_of_misaligned([g.misaligned for g in gold])
        needs_all = bool(_WHOLE & set(self._learner.asks))
        kept, skipped = [], 0
        for x, (labels, _) in zip(X, gold, strict=True):
            known = sum(label is not None for label in labels)
            if known and (known == len(labels) or not needs_all):
                kept.append((x, labels))
            else:
                skipped += known > 0
        if skipped:
            warnings.warn(
                f"component {self.name!r}: {skipped} of {len(examples)} documents are annotated only in part and were "
                f"left out. The learner {learners.name_of(self._learner)!r} needs a label for every token; most others "
                "do not.",
                stacklevel=callers_level(),
            )
        return [x for x, _ in kept], [labels for _, labels in kept]

    def _annotated(self, docs: list[Doc], nlp: Language | None) -> list[Doc]:
        """Return documents as the components before this one annotate them, those that the pipeline lets do so."""
        if nlp is None:
            return docs
        names = nlp.config["training"]["annotating_components"]
        for name, pipe in nlp.components:
            if pipe is self:
                break
            if name in names:
                docs = [pipe(doc) for doc in (doc.copy() for doc in docs)]
        return docs

    def _warn_of_misaligned(self, counts: list[int]) -> None:
        if sum(counts):
            what = "entities do" if self.target == "ents" else "tokens do"
            warnings.warn(
                f"component {self.name!r}: {sum(counts)} {what} not fit the tokens of {sum(map(bool, counts))} "
                "documents, as the pipeline's tokenizer splits them. Their labels are taken as not known.",
                stacklevel=callers_level(),
            )

    def _warn_of_streams(self, nlp: Language | None) -> None:
        if nlp is not None and nlp.config["training"]["max_epochs"] == -1 and self.learn_in == "initialize":
            warnings.warn(
                f"component {self.name!r} learns in initialize, and [training] max_epochs = -1 streams the corpus: "
                "`spacy train` then passes 100 examples to initialize, and only these are learned from.",
                stacklevel=callers_level(),
            )

    def _warn_of_no_learning(self) -> None:
        if self._loaded:
            self._loaded = False  # once is enough
            warnings.warn(
                f"component {self.name!r} was loaded, and learns in initialize, not in update: it stays as it is. List "
                "it in [training] frozen_components, or do not source it, and it is trained anew.",
                stacklevel=callers_level(),
            )

    # ---- answers -------------------------------------------------------------------------------------------------

    def __call__(self, doc: Doc) -> Doc:
        """Annotate one document."""
        try:
            self._annotate([doc])
        except Exception as error:
            self.get_error_handler()(self.name, self, [doc], error)
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Annotate documents, ``batch_size`` of them in one call of the engine."""
        for docs in minibatch(stream, size=batch_size):
            docs = list(docs)
            try:
                self._annotate(docs)
            except Exception as error:
                self.get_error_handler()(self.name, self, docs, error)
            else:
                yield from docs

    def score(self, examples: Iterable[Example], **options: Any) -> dict[str, Any]:
        """Return what the scorer says of examples whose documents have been predicted."""
        return {} if self.scorer is None else self.scorer(examples, target=self.target, labels=self.labels, **options)

    @property
    def labels(self) -> tuple[str, ...]:
        """The types of entities, or the tags, that can be predicted."""
        return () if self._labeler is None else self._target.labels(self._labeler.classes_.tolist())

    @property
    def labeler(self) -> SequenceLabeler:
        """The estimator, once the component is initialized: to ask it what no document has a place for."""
        return self._ready()

    def tokens(self, docs: Iterable[Doc]) -> list[list[Any]]:
        """Return documents as `labeler` takes them."""
        return self._columns.of(docs)

    def set_error_handler(self, error_handler: Callable[..., Any]) -> None:
        """Let a function deal with documents that fail."""
        self._error_handler = error_handler

    def get_error_handler(self) -> Callable[..., Any]:
        """Return what deals with documents that fail; by default, the error is raised."""
        found: Callable[..., Any] = getattr(self, "_error_handler", raise_error)
        return found

    def _annotate(self, docs: Sequence[Doc]) -> None:
        labeler = self._ready()
        X = self._columns.of(docs)
        asked = [i for i, x in enumerate(X) if x]  # documents may have no words
        classes = labeler.classes_.tolist()
        limits = [self._target.given(docs[i], classes) for i in asked]
        given = limits if any(limit is not None for limit in limits) else None
        answers = self._target.ask(labeler, [X[i] for i in asked], given, self._gives_probabilities) if asked else []
        found = dict(zip(asked, answers, strict=True))
        for i, doc in enumerate(docs):
            self._target.write(doc, found.get(i, []))

    @property
    def _gives_probabilities(self) -> bool:
        if self.probabilities is None:
            return self.target == "ents" and bool(self._learner.probabilistic)
        return self.probabilities

    def _ready(self) -> SequenceLabeler:
        if self._labeler is None:
            raise InvalidInput(Errors.E109.format(name=self.name))
        return self._labeler

    # ---- files ---------------------------------------------------------------------------------------------------

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Return the model file, or nothing if there is no model yet."""
        file = io.BytesIO()
        if self._labeler is not None and "model" not in exclude:
            self._labeler.save(file, metadata={"spacy": self._facts()})
        return file.getvalue()

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> Self:
        """Take over the model that `to_bytes` returned."""
        if data and "model" not in exclude:
            self._take(load(data))
        return self

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write the model file into a folder, which is made."""
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        if self._labeler is not None and "model" not in exclude:
            self._labeler.save(folder / _FILE, metadata={"spacy": self._facts()})

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> Self:
        """Take over the model of a folder that `to_disk` wrote."""
        file = Path(path) / _FILE
        if file.exists() and "model" not in exclude:
            self._take(load(file))
        return self

    def _facts(self) -> dict[str, Any]:
        """What the settings of a component must agree on with its model."""
        return {
            "target": self.target,
            "columns": self._columns.names,
            "scheme": self._target.constraints,
            "learner": learners.name_of(self._learner),
        }

    def _take(self, labeler: Any) -> None:
        saved = getattr(labeler, "metadata_", {}).get("spacy")
        if not isinstance(labeler, SequenceLabeler) or not isinstance(saved, dict):
            raise InvalidModel(f"component {self.name!r}: this is no model of a component of a spaCy pipeline.")
        for name, value in self._facts().items():
            if saved.get(name) != value:
                raise InvalidModel(
                    f"component {self.name!r}: the model was trained with {name}={saved.get(name)!r}, and the config "
                    f"says {value!r}. Load it with what it was trained with."
                )
        threads = {name: value for name, value in self._settings.items() if name in ("n_jobs", "verbose")}
        self._labeler, self._loaded = labeler.set_params(learner=self._fresh_learner(), **threads), True
