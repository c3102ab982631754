"""Learning from examples: what is known only in part, what does not fit, other components, batches, `spacy train`."""

import subprocess
import sys
import warnings
from pathlib import Path

import pytest

pytest.importorskip("spacy.tokens", reason="spaCy is not installed (the extra `spacy`)")

import spacy
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example

import trelliswork as tw
from spacy_pipelines import NAMES, bare, ents, examples_of, ingredient_docs, names_of, tagged_docs, trained
from trelliswork import learners
from trelliswork.errors import InvalidInput
from trelliswork.spacy.targets import Entities, Tags

PAGE = Path(__file__).parents[3] / "docs" / "spacy.md"


@pytest.fixture
def nlp():
    return spacy.blank("en")


# ---- labels ------------------------------------------------------------------------------------------------------


def partly(nlp, text, entities, missing):
    reference = nlp.make_doc(text)
    spans = [reference.char_span(start, end, label=label) for start, end, label in entities]
    unknown = [reference[i : i + 1] for i in missing]
    reference.set_ents(spans, missing=unknown, default="outside")
    return Example(nlp.make_doc(text), reference)


def test_what_is_not_annotated_is_not_known(nlp):
    example = partly(nlp, "Ann Lee sings in Aix", [(0, 7, "PER")], missing=[3, 4])
    assert Entities("BIO", False).gold(example).labels == ["B-PER", "I-PER", "O", None, None]
    assert Entities("BILOU", False).gold(example).labels == ["B-PER", "L-PER", "O", None, None]
    bare_example = Example(nlp.make_doc("Ann sings"), nlp.make_doc("Ann sings"))
    assert Entities("BIO", False).gold(bare_example).labels == [None, None]


def test_a_known_entity_does_not_go_on_in_what_is_not_known(nlp):
    target = Entities("BIO", False)
    labels = target.gold(partly(nlp, "Ann Lee sings", [(0, 3, "PER")], missing=[1])).labels
    assert labels == ["B-PER", None, "O"]
    other = ["B-PER", "I-PER", "B-LOC"]
    assert target.completed([labels, other])[0] == ["B-PER", {"B-PER", "B-LOC", "O"}, "O"]


def test_entities_that_do_not_fit_the_tokens_are_counted_and_not_known(nlp):
    text = "AnnLee sings in Aix"
    reference = Doc(nlp.vocab, words=["Ann", "Lee", "sings", "in", "Aix"], spaces=[False, True, True, True, False])
    reference.set_ents([Span(reference, 0, 1, label="PER"), Span(reference, 4, 5, label="LOC")])
    example = Example(nlp.make_doc(text), reference)
    assert Entities("BIO", False).gold(example) == ([None, "O", "O", "B-LOC"], 1)
    nlp.add_pipe("trelliswork")
    with pytest.warns(UserWarning, match="1 entities do not fit the tokens of 1 documents"):
        nlp.initialize(lambda: [example, *names_of(nlp)])


def test_entities_over_other_tokens_fit(nlp):
    reference = Doc(nlp.vocab, words=["New York", "rains"])
    reference.set_ents([Span(reference, 0, 1, label="LOC")])
    example = Example(nlp.make_doc("New York rains"), reference)
    assert Entities("BIO", False).gold(example) == (["B-LOC", "I-LOC", "O"], 0)


def test_entities_with_white_space_around_them(nlp):
    reference = nlp.make_doc("In  La \n Rochelle .")
    start = next(token.i for token in reference if token.text == "La")
    reference.set_ents([Span(reference, start - 1, start + 3, label="LOC")])
    example = Example(bare(reference), reference)
    assert Entities("BIO", False).gold(example).labels == ["O", "B-LOC", "I-LOC", "O"]


def test_tags_that_are_missing_or_do_not_fit(nlp):
    reference = Doc(nlp.vocab, words=["a", "b", "c", "d"], spaces=[True, False, True, False], tags=["A", "B", "C", ""])
    example = Example(Doc(nlp.vocab, words=["a", "bc", "d"]), reference)
    assert Tags("tag", False).gold(example) == (["A", None, None], 1)


# ---- initialize --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", learners.names())
def test_every_learner_learns_names(name):
    nlp = trained(learner=name)
    doc = nlp("Ann Lee sings .")
    assert ents(doc) == [("Ann Lee", "PER")]
    assert (doc.ents[0]._.probability is not None) == learners.by_name(name).probabilistic


def test_what_is_known_in_part_is_learned_from(nlp):
    nlp.add_pipe("trelliswork", config={"learner_parameters": {"l2": 0.1}})
    examples = [example for example in names_of(nlp) if "Rochelle" not in example.reference.text]
    examples.append(partly(nlp, "In Nantes rain falls .", [(3, 9, "LOC")], missing=[0, 3]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nlp.initialize(lambda: examples)
    assert ents(nlp("In Nantes rain falls .")) == [("Nantes", "LOC")]


@pytest.mark.parametrize("learner", ["memm", "eg"])
def test_learners_that_need_all_labels_leave_documents_out_and_say_how_many(nlp, learner):
    nlp.add_pipe("trelliswork", config={"learner": learner})
    examples = [*names_of(nlp), partly(nlp, "Ann Lee sings in Aix", [(0, 7, "PER")], missing=[4])]
    with pytest.warns(UserWarning, match="1 of 5 documents are annotated only in part and were left out"):
        nlp.initialize(lambda: examples)
    assert ents(nlp("Ann Lee sings .")) == [("Ann Lee", "PER")]


def test_without_annotation_there_is_an_error(nlp):
    nlp.add_pipe("trelliswork")
    with pytest.raises(InvalidInput, match="no example has entities to learn from"):
        nlp.initialize()
    with pytest.raises(InvalidInput, match="no example has entities to learn from"):
        nlp.initialize(lambda: names_of(nlp, {"Rain falls .": []}))
    tagger = spacy.blank("en")
    tagger.add_pipe("trelliswork_tagger")
    with pytest.raises(InvalidInput, match="no example has tags to learn from"):
        tagger.initialize(lambda: names_of(tagger))


def test_a_failed_initialize_loses_nothing():
    nlp = trained()
    with pytest.raises(InvalidInput, match="no example"):
        nlp.get_pipe("trelliswork").initialize(lambda: names_of(nlp, {"Rain falls .": []}), nlp=nlp)
    assert ents(nlp("Ann Lee sings .")) == [("Ann Lee", "PER")]


def test_examples_without_words_are_passed_over(nlp):
    nlp.add_pipe("trelliswork")
    examples = [*names_of(nlp), *names_of(nlp, {"": [], "  ": []})]
    nlp.initialize(lambda: examples)
    assert nlp.get_pipe("trelliswork").labels == ("LOC", "PER")


def test_the_model_is_that_of_the_estimator():
    corpus = tw.corpora.ingredients()
    nlp = trained(ingredient_docs, learner_parameters={})
    labeler = tw.SequenceLabeler(constraints="BIO").fit(corpus.X_train, corpus.y_train)
    assert nlp.get_pipe("trelliswork").labeler.weights() == labeler.weights()
    scores = nlp.evaluate(examples_of(ingredient_docs(nlp.vocab, "test")))
    assert scores["ents_f"] == pytest.approx(labeler.score(corpus.X_test, corpus.y_test), abs=1e-12)


def test_parameters_reach_learner_and_estimator():
    nlp = trained(learner_parameters={"l2": 3.0}, labeler_parameters={"min_count": 2, "n_jobs": 1})
    labeler = nlp.get_pipe("trelliswork").labeler
    assert (labeler.learner.l2, labeler.min_count, labeler.n_jobs) == (3.0, 2, 1)


def test_columns_of_other_components_come_from_the_reference_or_from_those_that_annotate(nlp):
    docs = tagged_docs(nlp.vocab)
    for doc in docs:
        doc.set_ents([Span(doc, i, i + 1, label="THING") for i, token in enumerate(doc) if token.pos_ == "NOUN"])
    pipe = nlp.add_pipe("trelliswork", config={"columns": ["orth", "pos"], "features": ["pos"]})
    nlp.initialize(lambda: examples_of(docs))
    assert {weight.attribute for weight in pipe.labeler.weights()} >= {"pos[0]=NOUN", "pos[0]=VERB"}
    other = spacy.blank("en")
    other.add_pipe("always_x")
    pipe = other.add_pipe("trelliswork", config={"columns": ["orth", "pos"], "features": ["pos"]})
    other.config["training"]["annotating_components"] = ["always_x"]
    examples = examples_of(docs)
    other.initialize(lambda: examples)
    assert {weight.attribute for weight in pipe.labeler.weights()} == {None, "pos[0]=X"}
    assert not examples[0].predicted.has_annotation("POS"), "examples stay as they are"


@spacy.Language.component("always_x")
def always_x(doc):
    for token in doc:
        token.pos_ = "X"
    return doc


def test_columns_that_nothing_sets_are_refused(nlp):
    nlp.add_pipe("trelliswork", config={"columns": ["orth", "tag"]})
    with pytest.raises(InvalidInput, match="'tag' is empty in all examples"):
        nlp.initialize(lambda: names_of(nlp))


def test_templates_may_be_a_file_and_the_model_keeps_them(nlp, tmp_path):
    (tmp_path / "towns.txt").write_text("Aix\nNantes\n")
    (tmp_path / "names.tpl").write_text('word[-1..1]\ngazetteer("towns.txt", word)\n')
    nlp.add_pipe("trelliswork", config={"learner_parameters": {"l2": 0.01}})
    nlp.config["initialize"]["components"]["trelliswork"] = {"templates": str(tmp_path / "names.tpl")}
    examples = names_of(nlp)
    nlp.initialize(lambda: examples)
    nlp.to_disk(tmp_path / "model")
    (tmp_path / "towns.txt").unlink()
    (tmp_path / "names.tpl").unlink()
    assert ents(spacy.load(tmp_path / "model")("Rain in Nantes .")) == [("Nantes", "LOC")]


def test_streamed_corpora_are_warned_of(nlp):
    nlp.add_pipe("trelliswork")
    nlp.config["training"]["max_epochs"] = -1
    with pytest.warns(UserWarning, match="passes 100 examples to initialize"):
        nlp.initialize(lambda: names_of(nlp))


# ---- update ------------------------------------------------------------------------------------------------------


def test_update_does_nothing_after_initialize(nlp):
    pipe = nlp.add_pipe("trelliswork")
    nlp.initialize(lambda: names_of(nlp))
    before = pipe.labeler.weights()
    assert nlp.update(names_of(nlp), drop=0.3) == {"trelliswork": 0.0}
    assert pipe.labeler.weights() == before
    assert not pipe.is_trainable


def test_a_loaded_component_that_is_updated_in_vain_says_so(tmp_path):
    trained().to_disk(tmp_path)
    nlp = spacy.load(tmp_path)
    with pytest.warns(UserWarning, match="learns in initialize, not in update"):
        nlp.update(names_of(nlp))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nlp.update(names_of(nlp))


@pytest.mark.parametrize("learner", ["perceptron", "pa", "mira", "arow"])
def test_online_learners_go_on_in_update(learner):
    nlp = trained(ingredient_docs, learner=learner, learn_in="update")
    pipe = nlp.get_pipe("trelliswork")
    assert pipe.is_trainable
    held_out = examples_of(ingredient_docs(nlp.vocab, "test"))
    first = nlp.evaluate(held_out)["ents_f"]
    examples = examples_of(ingredient_docs(nlp.vocab))
    losses = {}
    for _ in range(2):
        for begin in range(0, len(examples), 256):
            nlp.update(examples[begin : begin + 256], losses=losses)
    assert losses["trelliswork"] > 0
    assert nlp.evaluate(held_out)["ents_f"] > first


def test_update_learns_labels_that_are_new(tmp_path):
    trained(learner="pa", learn_in="update").to_disk(tmp_path)
    nlp = spacy.load(tmp_path)
    pipe = nlp.get_pipe("trelliswork")
    for _ in range(5):
        nlp.update(names_of(nlp, {"the Trio plays .": [(4, 8, "ORG")], **NAMES}))
    assert pipe.labels == ("LOC", "ORG", "PER")
    assert ents(nlp("the Trio plays .")) == [("Trio", "ORG")]
    assert ents(nlp("Ann Lee sings .")) == [("Ann Lee", "PER")]


def test_batches_with_nothing_in_them_change_nothing():
    nlp = trained(learner="pa", learn_in="update")
    pipe = nlp.get_pipe("trelliswork")
    before = pipe.labeler.weights()
    doc = nlp.make_doc("Ann sings")
    assert pipe.update([Example(doc, doc.copy())]) == {"trelliswork": 0.0}
    assert pipe.update([]) == {"trelliswork": 0.0}
    assert pipe.labeler.weights() == before


# ---- spacy train -------------------------------------------------------------------------------------------------


def config_of_the_page():
    """The config file that docs/spacy.md shows."""
    return PAGE.read_text().partition("```ini\n")[2].partition("```")[0]


def run(*command, cwd):
    done = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_spacy_trains_saves_and_another_process_loads(tmp_path):
    vocab = spacy.blank("en").vocab
    for part, name in (("train", "train"), ("test", "dev")):
        DocBin(docs=ingredient_docs(vocab, part)).to_disk(tmp_path / f"{name}.spacy")
    (tmp_path / "config.cfg").write_text(config_of_the_page())
    paths = ["--paths.train", "train.spacy", "--paths.dev", "dev.spacy"]
    run("-m", "spacy", "train", "config.cfg", "--output", "out", *paths, cwd=tmp_path)
    meta = spacy.load(tmp_path / "out" / "model-best").meta
    assert meta["performance"]["ents_f"] > 0.9
    code = (
        "import spacy\nnlp = spacy.load('out/model-best')\n"
        "for ent in nlp('2 large onions, finely chopped').ents: print(ent.text, ent.label_, ent._.probability)"
    )
    found = [line.rsplit(" ", 2) for line in run("-c", code, cwd=tmp_path).splitlines()]
    wanted = [("2", "QTY"), ("large", "SIZE"), ("onions", "NAME"), ("finely chopped", "PREP")]
    assert [(text, label) for text, label, _ in found] == wanted
    assert all(0 < float(probability) < 1 for _, _, probability in found)
