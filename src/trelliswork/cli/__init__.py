"""Programs for the shell, each a thin layer over functions that can be imported."""
