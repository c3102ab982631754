"""The hidden Markov model: the estimator, its counts, Baum-Welch, unknown words."""
