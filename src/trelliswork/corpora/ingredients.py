"""Ingredient lines of recipes, each token labelled: the corpus of the demonstration.

The lines were written for this library, one by one. The split is random, four fifths for training and one fifth for
testing. Labels are BIO over six types and follow these guidelines:

- Tokens: punctuation stands alone. ``1/2``, ``1½``, ``2-3``, ``200g``, ``14-oz``, ``all-purpose`` and ``tsp.`` stay
  whole.
- QTY: numbers, fractions, ranges (``2 to 3``, ``1 or 2``) and words of amount (``a``, ``half a``, ``a few``, ``some``,
  ``2 dozen``). A number glued to its unit is QTY when it is the amount: ``200g flour``.
- UNIT: measures, containers and pieces (``cup``, ``can``, ``pinch``, ``clove``, ``slice``) before the name. After the
  name the same word is part of NAME: ``2 cloves garlic`` has a UNIT, ``2 garlic cloves`` has none.
- SIZE: ``large``, ``heaped``, ``scant``, ``thin``, whether of the ingredient or of its measure; every length
  (``2-inch``, ``3 cm thick``); a weight or volume that follows a count and describes one piece or container
  (``1 14-oz can``, ``2 x 400g tins``).
- Brackets and alternatives: a separate number and unit keep QTY and UNIT, ``1 (14 oz) can``, ``1 cup / 240 ml``; a
  remark that names another ingredient is all NOTE, ``(from 2 limes)``.
- NAME: the ingredient with its defining words, brand, and the state in which it is bought: ``ground cumin``, ``dried
  mint``, ``fresh basil``, ``canned pumpkin``, ``ripe bananas``. A synonym is a NAME too, and so are the two parts of
  ``juice of 1 lemon``.
- PREP: what the cook does, before the name or after it, and temperature: ``freshly ground``, ``cooked``, ``boiling``,
  ``at room temperature``, ``skin on``, ``seeds only``. Numbers inside stay PREP: ``cut into 1-inch cubes``.
- NOTE: purpose, choice and remarks (``to taste``, ``optional``, ``for serving``, ``plus more for dusting``, ``such
  as ...``) and headings (``For the dough``).
- O: punctuation, ``of``, ``about``, ``each``, ``x``, and ``or``, ``and``, ``plus`` between two names or two amounts.
- Spans do not nest, and punctuation ends every span: ``peeled, cored and sliced`` is two PREP.
"""

from __future__ import annotations

from typing import NamedTuple

from trelliswork.errors import InvalidInput

__all__ = ["LABELS", "Corpus", "ingredients"]

TYPES = ("QTY", "UNIT", "SIZE", "NAME", "PREP", "NOTE")
LABELS = ("O", *(f"{prefix}-{kind}" for kind in TYPES for prefix in "BI"))


class Corpus(NamedTuple):
    """Token sequences and their labels, split into a training and a test part.

    Examples
    --------
    >>> corpus = Corpus([["2", "eggs"]], [["B-QTY", "B-NAME"]], [["salt"]], [["B-NAME"]])
    >>> corpus.X_test
    [['salt']]
    """

    X_train: list[list[str]]
    y_train: list[list[str]]
    X_test: list[list[str]]
    y_test: list[list[str]]


def ingredients() -> Corpus:
    """Return the ingredient lines and their BIO labels, split into train and test.

    Returns
    -------
    Corpus
        ``X_train``, ``y_train``, ``X_test``, ``y_test``: lists of lists of str, read afresh at each call.
        ``X_train[i]`` are the tokens of one line and ``y_train[i]`` their labels, of the same length.

    Examples
    --------
    >>> corpus = ingredients()
    >>> len(corpus.X_train), len(corpus.X_test)
    (1154, 289)
    >>> for token, label in zip(corpus.X_train[0], corpus.y_train[0], strict=True):
    ...     print(token, label)
    Scant B-SIZE
    1/4 B-QTY
    teaspoon B-UNIT
    ground B-NAME
    cloves I-NAME
    """
    return Corpus(*_read("ingredients.train.tsv"), *_read("ingredients.test.tsv"))


def _read(name: str) -> tuple[list[list[str]], list[list[str]]]:
    """Return the tokens and the labels of a file of this package."""
    from importlib.resources import files  # here, because it takes longer to import than the rest of the package

    return _parse((files("trelliswork.corpora") / "data" / name).read_text(encoding="utf-8"), name)


def _parse(text: str, source: str) -> tuple[list[list[str]], list[list[str]]]:
    """Return the tokens and the labels of ``token TAB label`` lines, sequences parted by one blank line."""
    X: list[list[str]] = [[]]
    y: list[list[str]] = [[]]
    # Not str.splitlines: it also breaks at form feeds and the like, and the line numbers would be off.
    for number, line in enumerate(text.rstrip("\n").split("\n"), 1):
        if line:
            token, label = _row(line, source, number)
            X[-1].append(token)
            y[-1].append(label)
        elif X[-1]:
            X.append([])
            y.append([])
        else:
            raise InvalidInput(
                f"{source}, line {number}: found a blank line where a token was expected. "
                "One blank line parts two sequences: remove the others."
            )
    return X, y


def _row(line: str, source: str, number: int) -> tuple[str, str]:
    """Return the token and the label of one line."""
    columns = line.split("\t")
    if len(columns) != 2:
        raise InvalidInput(
            f"{source}, line {number}: expected 2 columns, found {len(columns)} in {line!r}. "
            "Columns are separated by one tab, and a blank line ends a sequence."
        )
    token, label = columns
    if token.split() != [token]:
        raise InvalidInput(
            f"{source}, line {number}: the token {token!r} is empty or has white space in it. Write one token per line."
        )
    if label not in LABELS:
        raise InvalidInput(
            f"{source}, line {number}: the label {label!r} is not one of {', '.join(LABELS)}. Check its spelling."
        )
    return token, label
