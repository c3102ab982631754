"""The committee of two models: the estimator, and the stacking features that join the two."""
