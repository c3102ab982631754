"""`trelliswork bench`: what it prints; how fast anything is, is not tested."""

import json

from trelliswork.cli import bench


def test_this_library_is_measured(run, monkeypatch):
    monkeypatch.setattr(bench, "COPIES", 1)
    code, out, _ = run("bench", "--json")
    results = json.loads(out)
    assert code == 0
    for name in ("trelliswork", "trelliswork, words"):
        assert results[name]["tokens_per_second"] > 0
        assert results[name]["span_f1"] > 0.8
    assert len({round(row["span_f1"], 1) for row in results.values()}) <= 2
