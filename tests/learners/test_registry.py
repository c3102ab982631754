"""Learners by their names: what the command line and estimators ask about them."""

import inspect

import pytest

from trelliswork import learners
from trelliswork.errors import InvalidInput
from trelliswork.learners import crf
from trelliswork.learners.parameters import Parameters


class Sleeper(Parameters):
    """Learn nothing, for some time.

    More is said here, and no word of it is a parameter.

    Parameters
    ----------
    first, second : float, default 1.0
        Two that are alike,
        told of in two lines.
    limit : int, optional
        No ``more`` than this.
    name : str
        Without a default in words.

    Examples
    --------
    >>> Sleeper()
    Sleeper()
    """

    def __init__(self, first=1.0, second=2.0, *, limit=None, name="x", silent=True):
        self.first, self.second, self.limit, self.name, self.silent = first, second, limit, name, silent

    def _check(self):
        if self.first < 0:
            raise InvalidInput("first must not be below 0")


@pytest.fixture
def sleeper(monkeypatch):
    monkeypatch.setitem(learners._LEARNERS, "sleeper", ("crf", "Sleeper"))
    monkeypatch.setattr(crf, "Sleeper", Sleeper, raising=False)


@pytest.mark.parametrize("name", learners.names())
def test_every_learner_is_documented_parameter_by_parameter(name):
    kind = type(learners.by_name(name))
    told = learners.parameters_of(name)
    assert [parameter.name for parameter in told] == list(inspect.signature(kind).parameters)
    assert all(parameter.type and parameter.description for parameter in told)
    assert learners.summary(name).endswith(".")


@pytest.mark.parametrize("name", learners.names())
def test_a_learner_made_by_its_name_has_that_name(name):
    assert learners.name_of(learners.by_name(name)) == name


@pytest.mark.parametrize("name", learners.names())
def test_the_defaults_are_those_of_the_learner(name):
    assert {each.name: each.default for each in learners.parameters_of(name)} == learners.by_name(name).get_params()


@pytest.mark.parametrize("name", learners.names())
def test_one_name_says_how_long_training_goes_on(name):
    """Whoever sets ``epochs`` of several learners sets the same thing of all of them."""
    known = {each.name for each in learners.parameters_of(name)}
    assert len(known & {"epochs", "max_iter"}) == 1
    assert learners.by_name(name).duration in {*known & {"epochs", "max_iter"}, None}


@pytest.mark.usefixtures("sleeper")
def test_documentation_is_read_as_numpydoc_writes_it():
    assert learners.names() == [*learners.names()[:-1], "sleeper"]
    assert learners.summary("sleeper") == "Learn nothing, for some time."
    assert learners.parameters_of("sleeper") == [
        ("first", "float", 1.0, "Two that are alike, told of in two lines."),
        ("second", "float", 2.0, "Two that are alike, told of in two lines."),
        ("limit", "int", None, "No more than this."),
        ("name", "str", "x", "Without a default in words."),
        ("silent", "", True, ""),
    ]


@pytest.mark.usefixtures("sleeper")
def test_parameters_are_checked_when_a_learner_is_made():
    assert learners.by_name("sleeper", first=3.0) == Sleeper(3.0)
    with pytest.raises(InvalidInput, match="first must not be below 0"):
        learners.by_name("sleeper", first=-1.0)
    with pytest.raises(InvalidInput, match="no parameter 'third'"):
        learners.by_name("sleeper", third=1)


@pytest.mark.parametrize("ask", [learners.by_name, learners.parameters_of, learners.summary])
def test_a_name_that_nobody_has_lists_those_there_are(ask):
    with pytest.raises(InvalidInput, match=r"no learner 'magic'; there is: .*crf"):
        ask("magic")


def test_a_learner_of_ones_own_goes_by_its_class():
    assert learners.name_of(Sleeper()) == "sleeper"
