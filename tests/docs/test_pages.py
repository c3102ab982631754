"""Pages of the documentation: what Markdown makes of them."""

from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if not {"_build", "reference"} & set(path.parts))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(DOCS)))
def test_examples_stand_in_blocks_of_code(path):
    """Outside of one, Markdown takes ``>>>`` for a quotation in a quotation in a quotation."""
    inside = False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("```"):
            inside = not inside
        assert inside or not line.startswith(">>>"), f"line {number}"
    assert not inside
