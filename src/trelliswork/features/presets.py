"""Ready sets of templates; docs/features.md says what each is for and what it reaches."""

__all__ = [
    "ABOUT_SPANS",
    "ABOUT_TOKENS",
    "CHUNKING",
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
