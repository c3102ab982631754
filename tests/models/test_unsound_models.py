"""Whatever is wrong in a model file is found when it is loaded: by every reader, before anything is used."""

import io
import json
import subprocess
import sys

import numpy as np
import pytest

import trelliswork as tw
from trelliswork import _core, models
from trelliswork.cli.main import main
from trelliswork.errors import InvalidInput, InvalidModel

X, Y = [["the", "dog", "barks"], ["a", "cat"]] * 3, [["D", "N", "V"], ["D", "N"]] * 3


def parts_of(estimator, calibrated=False):
    file = io.BytesIO()
    estimator.fit(X, Y)
    if calibrated:
        estimator.calibrate(X, Y)
    estimator.save(file)
    tensors, settings = models.loads(file.getvalue())
    return {name: np.array(tensor) for name, tensor in tensors.items()}, settings


MODELS = {
    "crf": parts_of(tw.SequenceLabeler()),
    "memm": parts_of(tw.SequenceLabeler("memm")),
    "mbr": parts_of(tw.SequenceLabeler(decoder="mbr", constraints=lambda before, label: True)),
    "calibrated": parts_of(tw.SequenceLabeler("perceptron"), calibrated=True),
    "parts": parts_of(tw.SequenceLabeler(label_parts=lambda label: [label, "any"], beam=2)),
    "committee": parts_of(tw.Committee(tw.SequenceLabeler("perceptron"), tw.SequenceLabeler(), folds=2)),
}


def places(value, path=()):
    """Every place in settings: the way to it."""
    if path:
        yield path
    entries = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for name, part in entries:
        yield from places(part, (*path, name))


def with_value(settings, path, value):
    out = json.loads(json.dumps(settings))
    owner = out
    for name in path[:-1]:
        owner = owner[name]
    owner[path[-1]] = value
    return out


def raw(tensors, settings):
    """A file that `dumps` would refuse to write may still come from elsewhere; its checksum is right."""
    data = models.dumps(tensors, {})
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    header["__metadata__"]["settings"] = json.dumps(settings)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    out = len(text).to_bytes(8, "little") + text + data[8 + size : -8]
    return out + _core.checksum(out).to_bytes(8, "little")


def every_reader(path, capfd):
    """Run whatever reads a model; return how many refused it. None may end in any other way."""
    refused = 0
    for command in (["tag", path], ["tag", path, "--json"], ["inspect", path], ["eval", path]):
        code = main([*command, *(["-"] if command[0] == "eval" else [])])
        err = capfd.readouterr().err
        assert code in (0, 2), (command, code, err)
        assert "Traceback" not in err
        refused += code == 2
    for read in (tw.load, models.open_model):
        try:
            model = read(path)
            if read is tw.load:
                model.predict(X)
                model.weights()
        except InvalidInput:  # or, in place of `InvalidModel`: this X is not what such a model looks at
            refused += 1
    return refused


@pytest.fixture
def stdin(monkeypatch):
    def give(text="the D\ndog N\n"):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8"))

    give()
    return give


WRONG = [5, "x", None, [], {}, [1], {"a": 1}, True, -1, 1e999, 10**30, "\ud800", [["x"]]]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", MODELS)
def test_any_setting_may_be_anything(kind, tmp_path, capfd, monkeypatch):
    """Every place in the settings with every kind of value: the model is refused or works, in every reader."""
    tensors, settings = MODELS[kind]
    path = str(tmp_path / "m.tw")
    rng = np.random.default_rng(0)
    tried = refused = 0
    for place in places(settings):
        for value in rng.choice(len(WRONG), 1) if len(place) > 1 else range(0, len(WRONG), 2):
            with open(path, "wb") as file:
                file.write(raw(tensors, with_value(settings, place, WRONG[value])))
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"the D\ndog N\n"), encoding="utf-8"))
            tried += 1
            refused += every_reader(path, capfd) > 0
    assert tried > 80
    assert refused > 40


BROKEN_TENSORS = {
    "offsets that do not ascend": {"channel.token.starts": lambda t: t[::-1].copy()},
    "a broken key table": {"channel.token.slots": lambda t: np.zeros_like(t)},
    "labels of two dimensions": {"channel.token.codes": lambda t: t.reshape(1, -1)},
    "weights of two dimensions": {"channel.token.weights": lambda t: t.reshape(-1, 1)},
    "names of two dimensions": {"channel.token.names.ends": lambda t: t.reshape(1, -1)},
    "transitions as a table": {"channel.transitions.weights": lambda t: t.reshape(3, 3)},
    "a label out of range": {"channel.token.codes": lambda t: t + 100},
    "weights that are not numbers": {"channel.token.weights": lambda t: t * np.nan},
    "no transitions": {"channel.transitions.weights": None},
    "names that do not ascend": {"channel.token.names.ends": lambda t: t[::-1].copy()},
}


@pytest.mark.parametrize("kind", ["crf", "memm", "committee"])
@pytest.mark.parametrize("what", BROKEN_TENSORS)
def test_every_reader_refuses_broken_tensors(what, kind, tmp_path, capfd, stdin):
    tensors, settings = MODELS[kind]
    prefix = "first." if kind == "committee" else ""
    changed = dict(tensors)
    for name, change in BROKEN_TENSORS[what].items():
        if change is None:
            del changed[prefix + name]
        else:
            changed[prefix + name] = change(changed[prefix + name])
    (tmp_path / "m.tw").write_bytes(models.dumps(changed, settings))
    assert every_reader(str(tmp_path / "m.tw"), capfd) == 6


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"labels": ["D", 5, "V"]}, "labels"),
        ({"parameters": 5}, "parameters is 5"),
        ({"learner": {"name": "crf", "parameters": 5}}, "learner.parameters is 5"),
        ({"training": {"n_tokens": "many"}}, "training.n_tokens is 'many'"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(change, told, tmp_path, capfd):
    tensors, settings = MODELS["crf"]
    (tmp_path / "m.tw").write_bytes(models.dumps(tensors, {**settings, **change}))
    assert main(["inspect", str(tmp_path / "m.tw")]) == 2
    err = capfd.readouterr().err
    assert err.startswith(f"error: {tmp_path / 'm.tw'}: ")
    assert told in err


def test_a_name_of_a_tensor_that_is_no_text_is_refused():
    """JSON can say what UTF-8 cannot: half of a character."""
    tensors, settings = MODELS["crf"]
    data = models.dumps({**tensors, "@@@@@@": b""}, settings)
    hostile = data[:-8].replace(b'"@@@@@@"', b'"\\ud800"')
    with pytest.raises(InvalidModel, match="half of a character"):
        tw.load(hostile + _core.checksum(hostile).to_bytes(8, "little"))
    with pytest.raises(ValueError, match="names of tensors must be text"):
        _core.Model({"\ud800": b""}, 1)


def test_inspect_reads_the_model_once_and_from_a_pipe(tmp_path):
    tensors, settings = MODELS["memm"]
    (tmp_path / "m.tw").write_bytes(models.dumps(tensors, settings))
    command = f"{sys.executable} -m trelliswork inspect <(cat {tmp_path / 'm.tw'}) --json"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["bytes"] == (tmp_path / "m.tw").stat().st_size
