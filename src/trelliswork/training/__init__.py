"""Training: what every estimator needs on the way from examples to weights."""
