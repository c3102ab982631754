"""The component in a pipeline: what it writes into documents, what it leaves alone, and how it is moved about."""

import functools
import itertools
import pickle
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("spacy.tokens", reason="spaCy is not installed (the extra `spacy`)")

import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc, DocBin, Span

import trelliswork as tw
from spacy_pipelines import ents, examples_of, ingredient_docs, names_of, tagged_docs, trained
from trelliswork.errors import InvalidInput, InvalidModel

SCHEMES = ["BIO", "IOBES", "BILOU", "BMES"]


@pytest.fixture(scope="module")
def names():
    return trained()


@pytest.fixture(scope="module")
def recipes():
    return trained(ingredient_docs)


def labellings(classes, length, scheme):
    for labels in itertools.product(classes, repeat=length):
        if not tw.corpora.validate_labels(labels, scheme):
            yield list(labels)


# ---- entities ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", SCHEMES)
def test_entities_are_found_with_their_probabilities(scheme):
    nlp = trained(scheme=scheme)
    doc = nlp("Bo hums in La Rochelle .")
    assert ents(doc) == [("Bo", "PER"), ("La Rochelle", "LOC")]
    assert all(0.5 < ent._.probability < 1 for ent in doc.ents)
    assert all(token.ent_iob_ == "O" for token in doc if not token.ent_type)
    assert nlp.get_pipe("trelliswork").labels == ("LOC", "PER")


@functools.cache
def valid(scheme, length):
    """A pipeline whose model does not know all labels of the scheme, and all that it could say of so many words."""
    nlp = trained(scheme=scheme)
    return nlp, list(labellings(nlp.get_pipe("trelliswork").labeler.classes_.tolist(), length, scheme))


@st.composite
def drawn(draw, length):
    """Words, entities of types known and unknown, and blocked tokens."""
    words = [draw(st.sampled_from(["Ann", "Lee", "Bo", "La", "Rochelle", "hums", "Aix", "xyz"])) for _ in range(length)]
    spans = []
    for i in range(length):
        kind, goes_on = draw(st.sampled_from(["", "", "", "", "PER", "LOC", "ODD", "blocked"])), draw(st.booleans())
        if goes_on and spans and kind == spans[-1][0]:
            spans[-1] = (kind, spans[-1][1], i + 1)
        else:
            spans.append((kind, i, i + 1))
    entities = {span for span in spans if span[0] not in ("", "blocked")}
    return words, entities, {i for kind, start, stop in spans if kind == "blocked" for i in range(start, stop)}


def spelled(labels, scheme):
    return {tuple(span) for span in tw.corpora.spans(labels, scheme)}


@pytest.mark.filterwarnings("ignore::trelliswork.errors.UnknownAttributes")
@settings(max_examples=200)
@given(st.integers(1, 4).flatmap(drawn), st.sampled_from(SCHEMES))
def test_what_is_predicted_is_the_best_of_all_that_goes_with_what_is_there(given, scheme):
    words, entities, blocked = given
    nlp, possible = valid(scheme, len(words))
    pipe = nlp.get_pipe("trelliswork")
    doc = Doc(nlp.vocab, words=words)
    there = [Span(doc, start, stop, label=kind) for kind, start, stop in entities]
    doc.set_ents(there, blocked=[doc[i : i + 1] for i in blocked], default="missing")

    labels_of = [set(tw.corpora.labels_from_spans([span], len(words), scheme)) for span in entities]
    sayable = {span for span, own in zip(entities, labels_of, strict=True) if own <= set(pipe.labeler.classes_)}
    shut = blocked | {i for _, start, stop in entities - sayable for i in range(start, stop)}
    going = [
        labels for labels in possible if sayable <= spelled(labels, scheme) and all(labels[i] == "O" for i in shut)
    ]
    scores = pipe.labeler.log_prob(pipe.tokens([doc]) * len(going), going)
    best = [spelled(labels, scheme) for labels, score in zip(going, scores, strict=True) if score > max(scores) - 1e-9]

    after = nlp(doc)
    found = {(ent.label_, ent.start, ent.end): ent._.probability for ent in after.ents}
    assert set(found) in [entities | spans for spans in best]
    assert {span for span, probability in found.items() if probability is None} == entities
    shares = np.exp(scores - np.logaddexp.reduce(scores))
    for span in set(found) - entities:
        expected = sum(share for labels, share in zip(going, shares, strict=True) if span in spelled(labels, scheme))
        np.testing.assert_allclose(found[span], expected, rtol=1e-9, atol=1e-12)
    assert all(after[i].ent_iob == 3 and not after[i].ent_type for i in blocked)


def test_the_best_that_goes_with_what_is_there_is_predicted(names):
    doc = names.make_doc("Ann Lee sings .")
    doc.set_ents([Span(doc, 1, 2, label="PER")])
    assert ents(names(doc)) == [("Ann", "PER"), ("Lee", "PER")], "Ann Lee would overlap what is there"


def test_an_entity_that_is_there_does_not_grow(names):
    doc = names.make_doc("Ann Lee sings .")
    doc.set_ents([Span(doc, 0, 1, label="PER")])
    found = names(doc)
    assert ents(found)[0] == ("Ann", "PER")
    assert all(ent.start > 0 for ent in found.ents[1:])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_entities_of_types_that_the_model_does_not_know_stay(scheme):
    nlp = trained(scheme=scheme)
    doc = nlp.make_doc("Bo hums in La Rochelle .")
    doc.set_ents([Span(doc, 3, 5, label="PORT", kb_id="Q82185")])
    found = nlp(doc)
    assert ents(found) == [("Bo", "PER"), ("La Rochelle", "PORT")]
    assert found.ents[1].kb_id_ == "Q82185"


def test_blocked_tokens_stay_free_of_entities(names):
    doc = names.make_doc("Bo hums in La Rochelle .")
    doc.set_ents([], blocked=[doc[4:5]], default="missing")
    found = names(doc)
    assert all(not ent.start <= 4 < ent.end for ent in found.ents)
    assert (found[4].ent_iob, found[4].ent_type) == (3, 0), "still blocked"
    assert ents(found)[0] == ("Bo", "PER")


def test_what_is_said_to_be_outside_may_become_an_entity_as_in_spacys_own(names):
    doc = names.make_doc("Bo hums .")
    doc.set_ents([], default="outside")
    assert ents(names(doc)) == [("Bo", "PER")]


def test_overwriting_replaces_what_is_there():
    nlp = trained(overwrite=True)
    doc = nlp.make_doc("Ann Lee sings .")
    doc.set_ents([Span(doc, 2, 3, label="ODD")])
    doc.ents[0]._.probability = 0.5
    found = nlp(doc)
    assert ents(found) == [("Ann Lee", "PER")]
    assert found[2:3]._.probability is None


def test_a_second_time_changes_nothing(names):
    once = names("Bo hums in Aix .")
    before = [(ent.text, ent.label_, ent._.probability) for ent in once.ents]
    again = names.get_pipe("trelliswork")(once)
    assert [(ent.text, ent.label_, ent._.probability) for ent in again.ents] == before


def test_documents_without_words_and_of_one_word(names):
    docs = list(names.pipe(["", "  \n", "Bo", "Ann Lee sings ."], batch_size=3))
    assert [ents(doc) for doc in docs] == [[], [], [("Bo", "PER")], [("Ann Lee", "PER")]]
    assert docs[1][0].ent_iob_ == "O"
    assert names.pipe_names == ["trelliswork"]
    assert list(names.pipe([])) == []


def test_entities_may_go_over_white_space_and_never_end_in_it(names):
    doc = names("\nAnn \n Lee\n sings .\n")
    assert [ent.text for ent in doc.ents] == ["Ann \n Lee"]


def test_a_long_document():
    nlp = trained(probabilities=False)
    doc = Doc(nlp.vocab, words=["Bo", "hums", "in", "Aix", "."] * 20_000)
    assert len(nlp(doc).ents) == 40_000


def test_without_probabilities_the_same_entities_are_found(recipes):
    docs = [doc.text for doc in ingredient_docs(recipes.vocab, "test")]
    plain = trained(ingredient_docs, probabilities=False)
    for doc, other in zip(recipes.pipe(docs), plain.pipe(docs), strict=True):
        assert ents(doc) == ents(other)
        assert all(ent._.probability is None for ent in other.ents)
        assert all(0 < ent._.probability <= 1 for ent in doc.ents)


def test_batches_give_what_single_documents_give(recipes):
    docs = ingredient_docs(recipes.vocab, "test", 60)
    texts = [doc.text for doc in docs]
    together = [[(*e, ent._.probability) for e, ent in zip(ents(d), d.ents, strict=True)] for d in recipes.pipe(texts)]
    alone = [[(*e, ent._.probability) for e, ent in zip(ents(d), d.ents, strict=True)] for d in map(recipes, texts)]
    assert together == alone


def test_scores_that_are_no_probabilities_are_not_given_out_unless_asked():
    nlp = trained(learner="perceptron")
    doc = nlp("Ann Lee sings .")
    assert ents(doc) == [("Ann Lee", "PER")]
    assert doc.ents[0]._.probability is None
    asked = trained(learner="perceptron", probabilities=True)
    with pytest.warns(tw.UncalibratedScores):
        assert asked("Ann Lee sings .").ents[0]._.probability > 0.5


# ---- tags --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("factory", "target"), [("trelliswork_tagger", "tag"), ("trelliswork_pos", "pos")])
def test_tags_are_set(factory, target):
    nlp = trained(tagged_docs, factory=factory, probabilities=True)
    assert nlp.get_pipe(factory).target == target
    doc = nlp("The dog \n barks .")
    space = {"tag": "_SP", "pos": "SPACE"}[target]
    wanted = [
        space if token.is_space else {"tag": f"{p}_", "pos": p}[target]
        for token, p in zip(doc, ["DET", "NOUN", "X", "VERB", "PUNCT"], strict=True)
    ]
    assert [getattr(token, f"{target}_") for token in doc] == wanted
    assert [token._.probability is None for token in doc] == [token.is_space for token in doc]
    assert all(0 < token._.probability <= 1 for token in doc if not token.is_space)
    scores = nlp.evaluate(examples_of(tagged_docs(nlp.vocab)))
    assert scores[f"{target}_acc"] > 0.95
    assert nlp.config["training"]["score_weights"] == {f"{target}_acc": 1.0}


def test_probabilities_of_tags_are_marginals():
    nlp = trained(tagged_docs, target="pos", probabilities=True)
    pipe = nlp.get_pipe("trelliswork")
    doc = nlp("The dog barks .")
    rows = pipe.labeler.predict_marginals(pipe.tokens([doc]))[0]
    columns = [pipe.labeler.classes_.tolist().index(token.pos_) for token in doc]
    np.testing.assert_allclose([token._.probability for token in doc], rows[range(len(doc)), columns], rtol=1e-12)


def test_tags_have_no_probability_unless_asked():
    doc = trained(tagged_docs, target="pos")("The dog barks .")
    assert [token._.probability for token in doc] == [None] * 4


def test_tags_that_are_there_stay_and_count():
    nlp = trained(tagged_docs, target="pos", probabilities=True)
    doc = Doc(nlp.vocab, words=["The", "dog", "barks", "."], pos=["", "VERB", "", ""])
    found = nlp(doc)
    assert found[1].pos_ == "VERB"
    assert found[1]._.probability is None
    (x,) = nlp.get_pipe("trelliswork").tokens([doc])
    labels = nlp.get_pipe("trelliswork").labeler.predict([x], fixed=[{1: "VERB"}])[0]
    assert [token.pos_ for token in found] == labels
    anew = trained(tagged_docs, target="pos", overwrite=True)
    assert [token.pos_ for token in anew(doc)] == ["DET", "NOUN", "VERB", "PUNCT"]


def test_tags_that_the_model_does_not_know_stay():
    nlp = trained(tagged_docs, target="tag")
    doc = Doc(nlp.vocab, words=["The", "dog", "barks", "."], tags=["", "ODD", "", ""])
    assert [token.tag_ for token in nlp(doc)] == ["DET_", "ODD", "VERB_", "PUNCT_"]


# ---- pipelines ---------------------------------------------------------------------------------------------------


def test_before_initialize_the_error_says_what_to_do():
    nlp = spacy.blank("en")
    pipe = nlp.add_pipe("trelliswork")
    with pytest.raises(InvalidInput, match="Did you forget to call `initialize\\(\\)`"):
        nlp("Ann sings .")
    with pytest.raises(InvalidInput, match="initialize"):
        list(nlp.pipe(["Ann sings ."]))
    with pytest.raises(InvalidInput, match="initialize"):
        nlp.update(names_of(nlp))
    assert pipe.labels == ()


def test_error_handlers_hear_of_it():
    nlp = spacy.blank("en")
    nlp.add_pipe("trelliswork")
    heard = []
    nlp.set_error_handler(lambda name, pipe, docs, error: heard.append((name, len(docs), type(error))))
    assert list(nlp.pipe(["Ann sings .", "Bo hums ."])) == []
    assert heard == [("trelliswork", 2, InvalidInput)]


def test_components_can_be_switched_off(names):
    assert ents(names("Bo hums .")) == [("Bo", "PER")]
    with names.select_pipes(disable=["trelliswork"]):
        assert ents(names("Bo hums .")) == []
    assert [ents(doc) for doc in names.pipe(["Bo hums ."], disable=["trelliswork"])] == [[]]
    assert ents(names("Bo hums .")) == [("Bo", "PER")]


def test_two_of_them_in_one_pipeline():
    nlp = spacy.blank("en")
    nlp.add_pipe("trelliswork_pos")
    nlp.add_pipe("trelliswork")
    docs = tagged_docs(nlp.vocab)
    docs += ingredient_docs(nlp.vocab, n=200)
    nlp.initialize(lambda: examples_of(docs))
    doc = nlp("2 cups flour")
    assert doc.ents
    assert all(token.pos_ for token in doc)
    assert (
        nlp.config["training"]["score_weights"]["ents_f"] == nlp.config["training"]["score_weights"]["pos_acc"] == 0.5
    )


def test_components_are_sourced_from_other_pipelines(names):
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    copied = nlp.add_pipe("trelliswork", source=names, name="people")
    assert nlp.pipe_names == ["sentencizer", "people"]
    assert ents(nlp("Bo hums .")) == [("Bo", "PER")]
    assert copied.labels == ("LOC", "PER")


def test_several_processes_give_the_same(recipes):
    texts = [doc.text for doc in ingredient_docs(recipes.vocab, "test", 40)]
    one = [[(*e, ent._.probability) for e, ent in zip(ents(d), d.ents, strict=True)] for d in recipes.pipe(texts)]
    two = recipes.pipe(texts, n_process=2, batch_size=10)
    assert [[(*e, ent._.probability) for e, ent in zip(ents(d), d.ents, strict=True)] for d in two] == one


def test_probabilities_travel_with_documents(names):
    doc = names("Bo hums in Aix .")
    box = DocBin(store_user_data=True, docs=[doc])
    (again,) = DocBin().from_bytes(box.to_bytes()).get_docs(names.vocab)
    assert [ent._.probability for ent in again.ents] == [ent._.probability for ent in doc.ents]


def test_extensions_are_set_once_and_those_of_others_respected():
    assert Span.has_extension("probability")
    spacy.blank("en").add_pipe("trelliswork")
    default = Span.get_extension("probability")
    try:
        Span.set_extension("probability", getter=lambda span: 0.0, force=True)
        with pytest.raises(InvalidInput, match="getter"):
            spacy.blank("en").add_pipe("trelliswork")
    finally:
        Span.set_extension("probability", default=default[0], force=True)


# ---- files -------------------------------------------------------------------------------------------------------


def same(first, second, texts=("Bo hums in Aix .", "Ann Lee sings .", "")):
    for text in texts:
        one, other = first(text), second(text)
        assert ents(one) == ents(other)
        assert [ent._.probability for ent in one.ents] == [ent._.probability for ent in other.ents]
    return True


def test_folders_bytes_pickles_and_copies(names, tmp_path):
    names.to_disk(tmp_path / "pipeline")
    assert same(names, spacy.load(tmp_path / "pipeline"))
    blank = spacy.blank("en")
    blank.add_pipe("trelliswork")
    assert same(names, blank.from_bytes(names.to_bytes()))
    assert same(names, pickle.loads(pickle.dumps(names)))
    pipe = pickle.loads(pickle.dumps(names.get_pipe("trelliswork")))
    assert ents(pipe(names.make_doc("Bo hums ."))) == [("Bo", "PER")]
    assert isinstance(tw.load(tmp_path / "pipeline" / "trelliswork" / "model.tw"), tw.SequenceLabeler)


def test_a_pipeline_is_loaded_by_a_process_that_imports_spacy_alone(names, tmp_path):
    names.to_disk(tmp_path)
    code = (
        "import sys, spacy; nlp = spacy.load(sys.argv[1]); doc = nlp('Bo hums in Aix .')\n"
        "print([(e.text, e.label_, round(e._.probability, 6)) for e in doc.ents])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    doc = names("Bo hums in Aix .")
    assert eval(done.stdout) == [(e.text, e.label_, round(e._.probability, 6)) for e in doc.ents]


def test_what_is_not_trained_is_saved_and_loaded_as_that(tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("trelliswork")
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path).from_bytes(nlp.to_bytes())
    with pytest.raises(InvalidInput, match="initialize"):
        loaded("Bo hums .")


def test_a_model_with_other_settings_is_refused(names, tmp_path):
    names.to_disk(tmp_path)
    for setting, value in (("columns", ["lower"]), ("scheme", "BILOU"), ("target", "tag"), ("learner", "memm")):
        changed = {"components": {"trelliswork": {setting: value, "learner_parameters": {}}}}
        with pytest.raises(InvalidModel, match=f"trained with {setting}="):
            spacy.load(tmp_path, config=changed)
    changed = {"components": {"trelliswork": {"probabilities": False, "labeler_parameters": {"n_jobs": 2}}}}
    loaded = spacy.load(tmp_path, config=changed)
    assert loaded("Bo hums .").ents[0]._.probability is None
    assert loaded.get_pipe("trelliswork").labeler.n_jobs == 2


def test_damaged_files_are_refused(names, tmp_path):
    names.to_disk(tmp_path)
    file = tmp_path / "trelliswork" / "model.tw"
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(InvalidModel):
        spacy.load(tmp_path)
    tw.SequenceLabeler().fit([["a"]], [["X"]]).save(file)
    with pytest.raises(InvalidModel, match="no model of a component"):
        spacy.load(tmp_path)


def test_the_model_can_be_left_out(names, tmp_path):
    pipe = names.get_pipe("trelliswork")
    assert pipe.to_bytes(exclude=["model"]) == b""
    pipe.to_disk(tmp_path / "x", exclude=["model"])
    assert list((tmp_path / "x").iterdir()) == []


# ---- settings ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"target": "lemma"}, "target is 'lemma'"),
        ({"scheme": "IOB1"}, "IOB1"),
        ({"scheme": "IOE2"}, "IOE2"),
        ({"columns": ["ent_type"]}, "predicts"),
        ({"learner": "svm"}, "no learner 'svm'"),
        ({"learner_parameters": {"l3": 1}}, "l3"),
        ({"labeler_parameters": {"colour": 1}}, "colour"),
        ({"labeler_parameters": {"features": "ner"}}, "'features', which is a setting of the component"),
        ({"learn_in": "sleep"}, "learn_in"),
        ({"learn_in": "update"}, "crf needs all examples at once"),
        ({"features": ["tag[-1]"]}, "features"),
    ],
)
def test_settings_that_make_no_sense_are_refused(config, told):
    with pytest.raises(InvalidInput, match=told):
        spacy.blank("en").add_pipe("trelliswork", config=config)


def test_spacy_itself_checks_types_and_names():
    from spacy.util import ConfigValidationError

    for config in ({"columns": 3}, {"overwrite": "perhaps"}, {"colour": "red"}):
        with pytest.raises(ConfigValidationError):
            spacy.blank("en").add_pipe("trelliswork", config=config)


def test_ready_sets_look_at_the_first_columns():
    nlp = spacy.blank("en")
    nlp.add_pipe("trelliswork", config={"features": "ner", "columns": ["orth", "shape"]})
    examples = names_of(nlp)
    nlp.initialize(lambda: examples)
    assert ents(nlp("Ann Lee sings .")) == [("Ann Lee", "PER")]


def test_what_is_assigned_is_declared():
    nlp = spacy.blank("en")
    nlp.add_pipe("trelliswork")
    nlp.add_pipe("trelliswork_tagger")
    summary = nlp.analyze_pipes()["summary"]
    assert "doc.ents" in summary["trelliswork"]["assigns"]
    assert "token.tag" in summary["trelliswork_tagger"]["assigns"]


def test_without_a_scorer_there_are_no_scores():
    nlp = trained(scorer=None)
    assert "ents_f" not in nlp.evaluate(names_of(nlp))
    assert trained().evaluate(names_of(nlp))["ents_f"] == 1.0
