"""Modules and pages that use an extra are collected where it is installed; `make test-all` installs every one."""

from importlib.util import find_spec

EXTRAS = {
    "src/trelliswork/torch": "torch",
    "src/trelliswork/compat/torchcrf": "torch",
    "docs/torch.md": "torch",
    "docs/torch_trees.md": "torch",
    "docs/migration/pytorch_crf.md": "torch",
    "src/trelliswork/spacy": "spacy",
    "docs/spacy.md": "spacy",
    "tests/spacy_pipelines.py": "spacy",
    "src/trelliswork/arrow": "pyarrow",
    "docs/arrow.md": "pyarrow pandas polars duckdb datasets",
    "src/trelliswork/spark": "pyspark pyarrow",
    "src/trelliswork/serving": "starlette",
    "docs/serving.md": "starlette",
}

lacking = {path: [name for name in needed.split() if find_spec(name) is None] for path, needed in EXTRAS.items()}
left_out = {path: names[0] for path, names in lacking.items() if names}
collect_ignore = list(left_out)


def pytest_terminal_summary(terminalreporter):
    """Say what was left out, and why."""
    for package in sorted(set(left_out.values())):
        paths = ", ".join(path for path, needed in left_out.items() if needed == package)
        terminalreporter.write_line(f"left out, as {package} is not installed: {paths}")
