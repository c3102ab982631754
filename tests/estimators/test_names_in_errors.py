"""Errors about a call name the class that was called, whichever class its methods come from."""

import inspect

import numpy as np
import pytest

import trelliswork as tw

CLASSES = [
    name
    for name in tw.__all__
    if inspect.isclass(getattr(tw, name)) and not issubclass(getattr(tw, name), BaseException) and name != "Structure"
]


@pytest.mark.parametrize("name", CLASSES)
def test_an_argument_that_is_not_known_names_the_class(name):
    with pytest.raises((TypeError, ValueError), match=rf"^{name}\b.*no_such_argument"):
        getattr(tw, name)(no_such_argument=1)


BASES = ("Estimator", "LinearEstimator", "Multiclass", "SavesModel", "SavesWeights", "_request_setter")


@pytest.mark.parametrize("name", ["SequenceLabeler", "Committee", "HMM", "MulticlassClassifier", "StructuredPredictor"])
def test_methods_of_estimators_name_the_class(name):
    for method, function in inspect.getmembers(getattr(tw, name), inspect.isfunction):
        own = not method.startswith("_") and function.__module__.startswith("trelliswork")
        inherited = function.__qualname__.split(".")[0] in BASES
        if own and not inherited:
            assert function.__qualname__ == f"{name}.{method}"


@pytest.mark.parametrize("estimator", [tw.SequenceLabeler(), tw.HMM(), tw.MulticlassClassifier()], ids=repr)
def test_an_estimator_that_is_not_fitted_names_its_class(estimator):
    with pytest.raises(ValueError, match=f"This {type(estimator).__name__} instance is not fitted yet"):
        estimator.predict(np.zeros((1, 1)) if isinstance(estimator, tw.MulticlassClassifier) else [["a"]])
