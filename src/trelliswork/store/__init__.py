"""The model file: saving, loading, shrinking."""
