"""Pipelines and examples for the tests of the component, from the corpora that ship with the library."""

import spacy
from spacy.tokens import Doc, Span
from spacy.training import Example

import trelliswork as tw

NAMES = {
    "Ann Lee sings .": [(0, 7, "PER")],
    "Bo hums in Aix .": [(0, 2, "PER"), (11, 14, "LOC")],
    "In La Rochelle rain falls .": [(3, 14, "LOC")],
    "Rain falls .": [],
}


def gold_doc(vocab, words, labels):
    """A document whose entities are those that labels spell."""
    doc = Doc(vocab, words=words)
    doc.set_ents([Span(doc, start, stop, label=kind) for kind, start, stop in tw.corpora.spans(labels)])
    return doc


def bare(doc):
    return Doc(doc.vocab, words=[token.text for token in doc], spaces=[bool(token.whitespace_) for token in doc])


def ingredient_docs(vocab, part="train", n=None):
    corpus = tw.corpora.ingredients()
    X, y = (corpus.X_train, corpus.y_train) if part == "train" else (corpus.X_test, corpus.y_test)
    return [gold_doc(vocab, words, labels) for words, labels in zip(X[:n], y[:n], strict=True)]


def tagged_docs(vocab):
    treebank = tw.corpora.sentences()
    docs = []
    for sentence in treebank:
        words, pos = [word.form for word in sentence.words], [word.upos for word in sentence.words]
        docs.append(Doc(vocab, words=words, pos=pos, tags=[f"{tag}_" for tag in pos]))
    return docs


def examples_of(docs):
    return [Example(bare(doc), doc) for doc in docs]


def names_of(nlp, texts=NAMES):
    return [Example.from_dict(nlp.make_doc(text), {"entities": ents}) for text, ents in texts.items()]


def trained(examples=None, factory="trelliswork", **config):
    """A pipeline of one component, trained: on names unless examples are made otherwise."""
    nlp = spacy.blank("en")
    config.setdefault("learner_parameters", {"l2": 0.1} if config.get("learner", "crf") == "crf" else {})
    nlp.add_pipe(factory, config=config)
    made = names_of(nlp) if examples is None else examples_of(examples(nlp.vocab))
    nlp.initialize(lambda: made)
    return nlp


def ents(doc):
    return [(ent.text, ent.label_) for ent in doc.ents]
