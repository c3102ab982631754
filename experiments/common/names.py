"""The experiments, in the order of the thesis, ours behind them."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1]
EXPERIMENTS = (
    "table_3_1",
    "table_3_2",
    "figure_3_2",
    "figure_3_3",
    "table_4_2",
    "table_5_1",
    "figure_5_2",
    "figure_5_3",
    "table_6_1",
    "figure_6_1",
    "figure_6_2",
    "figure_6_3",
    "figure_6_4",
    "figure_6_5",
    "figure_6_6",
    "figure_6_7",
    "epochs_by_c",
    "confidence",
    "active_learning",
    "best_chunking",
    "best_ner",
    "letters",
    "orders",
    "constituency",
    "parsing",
    "snakes",
)
