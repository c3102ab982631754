"""Ready-made sets of templates; docs/features.md says what each is for, with its scores."""

import re

__all__ = [
    "ABOUT_ARCS",
    "ABOUT_CONSTITUENTS",
    "ABOUT_SPANS",
    "ABOUT_TOKENS",
    "CHUNKING",
    "CONSTITUENCY",
    "CONSTITUENCY_WORDS",
    "DEPENDENCY",
    "DEPENDENCY2",
    "FIRST_PASS",
    "NER",
    "POS",
    "SEGMENTS",
    "SEGMENT_WORDS",
    "SPANS_OF_TAGS",
    "SPANS_OF_WORDS",
    "THESIS",
    "WORDS",
]

# The names of the sets, as Templates has them.
ABOUT_TOKENS = ("words", "chunking", "ner", "pos", "thesis")
ABOUT_SPANS = ("segments", "segment_words")
ABOUT_ARCS = ("dependency", "dependency2")
ABOUT_CONSTITUENTS = ("constituency", "constituency_words")

WORDS = """
columns: word
word[-2..2]
ngram(word[-1..1], 2)
lower(word)[-1..1]
prefix(word, 1..4)
suffix(word, 1..4)
shape(word, 1)[-1..1]
case(word)
begin
end
"""

CHUNKING = """
word[-2..2]
ngram(word[-1..1], 2)
pos[-2..2]
ngram(pos[-2..2], 2..3)
bag(pos[-6..-1])
bag(pos[1..6])
lower(word)[-1..1]
prefix(word, 1..4)
suffix(word, 1..4)
shape(word, 1)[-1..1]
word & pos[-1..1]
word[-1] & pos
word[1] & pos
begin
end
"""

NER = """
word[-2..2]
lower(word)[-2..2]
ngram(lower(word)[-1..1], 2)
bag(lower(word)[-7..-1])
bag(lower(word)[1..7])
prefix(word, 1..4)
suffix(word, 1..4)
prefix(word, 3)[-1]
prefix(word, 3)[1]
suffix(word, 3)[-1]
suffix(word, 3)[1]
shape(word)
shape(word, 1)[-2..2]
ngram(shape(word, 1)[-1..1], 2..3)
lower(word)[-1] & shape(word, 1)
shape(word, 1) & lower(word)[1]
pos[-2..2]
begin
end
"""

POS = """
columns: word
word[-2..2]
ngram(word[-1..1], 2)
lower(word)
prefix(word, 1..4)
suffix(word, 1..4)
shape(word, 1)
characters(word)
begin
end
"""

# a_t of the table is the tag, and the lexical characteristics beside it.
THESIS = """
word
pos
case(word)
characters(word)
pair: word
pair: pos
pair: word & word[-1]
pair: word & pos[-1]
pair: pos & word[-1]
pair: pos & pos[-1]
"""

# What only a segment can see, of words and of tags.
SPANS_OF_WORDS = """
span: size
span: lower(whole.word)
span: shape(whole.word, 1)
span: outline(shape(word, 1))
span: lower(first.word)
span: lower(last.word)
span: lower(before.word)
span: lower(after.word)
"""

SPANS_OF_TAGS = """
span: first.pos
span: last.pos
span: before.pos & first.pos
span: last.pos & after.pos
span: whole.pos
span: outline(pos)
"""

SEGMENT_WORDS = (
    WORDS
    + SPANS_OF_WORDS
    + """
span: suffix(first.word, 2..3)
span: suffix(last.word, 2..3)
span: suffix(before.word, 2..3)
span: suffix(after.word, 2..3)
span: shape(first.word, 1)
span: shape(last.word, 1)
span: shape(before.word, 1) & shape(first.word, 1)
span: shape(last.word, 1) & shape(after.word, 1)
"""
)

SEGMENTS = CHUNKING + SPANS_OF_WORDS + SPANS_OF_TAGS

# Columns of CoNLL-U. After McDonald, Crammer & Pereira 2005, table 1, with lemmas, universal tags and morphology.
DEPENDENCY = """
columns: form lemma upos xpos feats
with: direction, direction & distance
head.lemma
head.xpos
head.lemma & head.xpos
mod.lemma
mod.xpos
mod.lemma & mod.xpos
head.xpos & mod.xpos
head.upos & mod.upos
head.lemma & mod.lemma
head.lemma & mod.xpos
head.xpos & mod.lemma
head.form & head.xpos & mod.xpos
head.xpos & mod.form & mod.xpos
head.lemma & head.xpos & mod.lemma
head.lemma & mod.lemma & mod.xpos
head.lemma & head.xpos & mod.lemma & mod.xpos
head.upos & head.feats & mod.upos & mod.feats
head.lemma & mod.upos & mod.feats
head.upos & head.feats & mod.lemma
head.xpos & between(xpos) & mod.xpos
head.upos & between(upos) & mod.upos
head.xpos & head.xpos[1] & mod.xpos[-1] & mod.xpos
head.xpos[-1] & head.xpos & mod.xpos[-1] & mod.xpos
head.xpos & head.xpos[1] & mod.xpos & mod.xpos[1]
head.xpos[-1] & head.xpos & mod.xpos & mod.xpos[1]
head.xpos & head.xpos[1] & mod.xpos
head.xpos[-1] & head.xpos & mod.xpos
head.xpos & mod.xpos[-1] & mod.xpos
head.xpos & mod.xpos & mod.xpos[1]
head.upos[-1] & head.upos & head.upos[1] & mod.upos[-1] & mod.upos & mod.upos[1]
with: direction
label: head.lemma
label: head.xpos
label: head.xpos & head.feats
label: mod.lemma
label: mod.form & mod.xpos
label: mod.xpos & mod.feats
label: mod.xpos[-1] & mod.xpos & mod.xpos[1]
label: head.xpos[-1] & head.xpos & head.xpos[1]
label: head.xpos & mod.xpos
label: head.lemma & mod.xpos
label: head.xpos & mod.lemma
label: head.xpos & mod.xpos & distance
label: head.upos & between(upos) & mod.upos
label: head.xpos & mod.xpos & mod.xpos[1]
label: mod.upos & mod.lemma[-1]
label: mod.upos & mod.lemma[1]
label: mod.upos[-2] & mod.upos[-1] & mod.upos
label: mod.upos & mod.upos[1] & mod.upos[2]
label: head.lemma & mod.upos & mod.lemma[-1]
label: head.upos & head.feats & mod.upos & mod.feats
label: suffix(mod.form, 3) & mod.upos
"""

DEPENDENCY2 = (
    DEPENDENCY
    + """
with: direction
sibling: head.xpos & sibling.xpos & mod.xpos
sibling: head.upos & sibling.upos & mod.upos
sibling: sibling.xpos & mod.xpos
sibling: head.lemma & sibling.xpos & mod.xpos
sibling: head.xpos & sibling.lemma & mod.xpos
sibling: head.xpos & sibling.xpos & mod.lemma
sibling: sibling.lemma & mod.lemma
sibling: sibling.lemma & mod.xpos
sibling: sibling.xpos & mod.lemma
grandparent: grand.xpos & head.xpos & mod.xpos
grandparent: grand.upos & head.upos & mod.upos
grandparent: grand.xpos & mod.xpos
grandparent: grand.lemma & head.xpos & mod.xpos
grandparent: grand.xpos & head.lemma & mod.xpos
grandparent: grand.xpos & head.xpos & mod.lemma
grandparent: grand.lemma & mod.lemma
grandparent: grand.lemma & mod.xpos
grandparent: grand.xpos & mod.lemma
"""
)

# What decides which heads a word may have at all.
FIRST_PASS = """
columns: form lemma upos xpos feats
with: direction, direction & distance
head.xpos & mod.xpos
head.upos & mod.upos
head.lemma & mod.xpos
head.xpos & mod.lemma
head.upos & between(upos) & mod.upos
head.xpos & mod.xpos[-1] & mod.xpos & mod.xpos[1]
"""

# After Hall, Durrett & Klein 2014: the ends of a span and what surrounds it, alone and with its length; its outline;
# the words between which children meet.
CONSTITUENCY = """
span: bias
span: size(1,2,3,4,5,6,8,11,21)
span: first.pos
span: last.pos
span: before.pos
span: after.pos
span: first.word
span: last.word
span: before.word
span: after.word
span: suffix(first.word, 3)
span: suffix(last.word, 3)
span: first.pos & size(1,2,3,4,5,6,8,11,21)
span: last.pos & size(1,2,3,4,5,6,8,11,21)
span: before.pos & size(1,2,3,4,5,6,8,11,21)
span: after.pos & size(1,2,3,4,5,6,8,11,21)
span: first.word & size(1,2,3,4,5,6,8,11,21)
span: last.word & size(1,2,3,4,5,6,8,11,21)
span: before.word & size(1,2,3,4,5,6,8,11,21)
span: after.word & size(1,2,3,4,5,6,8,11,21)
span: first.pos & last.pos
span: before.pos & after.pos
span: before.pos & first.pos
span: last.pos & after.pos
span: before.pos & first.pos & last.pos & after.pos
span: first.pos & last.pos & size(1,2,3,4,5,6,8,11,21)
span: before.pos & after.pos & size(1,2,3,4,5,6,8,11,21)
span: first.word & last.pos
span: first.pos & last.word
span: first.word & last.word
span: before.word & first.pos
span: last.pos & after.word
span: before.word & first.word
span: last.word & after.word
span: before.word & after.pos
span: before.pos & after.word
span: first.pos[0] & first.pos[1]
span: last.pos[-1] & last.pos[0]
span: before.pos[-1] & before.pos[0]
span: after.pos[0] & after.pos[1]
span: before.pos & first.pos & last.pos
span: first.pos & last.pos & after.pos
span: begin
span: end
span: begin & end
span: begin & first.pos
span: last.pos & end
span: begin & after.pos
span: before.pos & end
span: begin & first.pos & last.pos & after.pos
span: before.pos & first.pos & last.pos & end
span: outline(pos)
span: outline(pos) & before.pos & after.pos
span: outline(shape(word, 1))
rule: bias
rule: split.pos[-1]
rule: split.pos
rule: split.pos[-1] & split.pos
rule: split.word[-1]
rule: split.word
rule: split.word[-1] & split.pos
rule: split.pos[-1] & split.word
rule: split.word[-1] & split.word
rule: split.pos[-2] & split.pos[-1] & split.pos
rule: split.pos[-1] & split.pos & split.pos[1]
rule: split.pos[-2] & split.pos[-1] & split.pos & split.pos[1]
rule: split.pos[-2] & split.pos[-1]
rule: split.pos & split.pos[1]
rule: split.pos[-1] & split.word[-1] & split.pos
rule: split.pos[-1] & split.pos & split.word
rule: suffix(split.word[-1], 3)
rule: suffix(split.word, 3)
"""

CONSTITUENCY_WORDS = "columns: word\n" + re.sub(
    r"outline\(pos\)",
    "outline(suffix(word, 2))",
    re.sub(r"(\w+)\.pos(\[[-\d]+\])?", r"suffix(\1.word, 2)\2", CONSTITUENCY),
)
