"""The bytes of a model file: what was written comes back, and nothing else is believed."""

import json
import random
import struct

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import example, given
from hypothesis import strategies as st

from reference.models import make_tensors
from trelliswork.errors import InvalidInput, InvalidModel
from trelliswork.models import FORMAT_VERSION, dumps, load, loads, open_model

TYPES = ["uint64", "uint32", "uint16", "uint8", "int8", "float16", "float32"]
SMALL = dumps(
    make_tensors({"a": {0: 1.0, 1: 2.0}, "b": {1: 1.0}}, np.zeros((2, 2))), {"labels": ["A", "B"], "kind": "example"}
)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@st.composite
def tensor_sets(draw):
    names = draw(st.lists(st.text(max_size=8).filter(lambda n: n not in ("__metadata__", "checksum")), unique=True))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    shapes = st.lists(st.integers(0, 5), min_size=1, max_size=3)
    return {
        name: np.frombuffer(rng.bytes(1000), dtype=draw(st.sampled_from(TYPES)))[: np.prod(shape := draw(shapes))]
        .copy()
        .reshape(shape)
        for name in names
    }


def header_of(data):
    size = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + size]), data[8 + size :]


def with_header(header, body):
    """A file with this header, whose checksum is right: only what the header says can be wrong."""
    from trelliswork import _core

    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    data = len(text).to_bytes(8, "little") + text + bytes(body)
    return data[:-8] + _core.checksum(data[:-8]).to_bytes(8, "little") if len(body) >= 8 else data


# ---- there and back --------------------------------------------------------------------------------------------------


free_names = st.text().map(lambda name: f"my {name}")  # some names have rules: see `store.settings`


@given(tensor_sets(), st.dictionaries(free_names, json_values, max_size=4))
def test_what_was_written_is_read(tensors, settings):
    data = dumps(tensors, settings)
    found, found_settings = loads(data)
    assert found_settings == settings
    assert set(found) == set(tensors)
    for name, tensor in tensors.items():
        assert bytes(found[name]) == tensor.tobytes()
        assert np.asarray(found[name]).dtype == (tensor.dtype if tensor.dtype != np.float16 else np.uint16)


@given(tensor_sets())
def test_the_safetensors_package_reads_the_same(tensors):
    found = safetensors.numpy.load(dumps(tensors, {"labels": ["A"]}))
    assert set(found) == {*tensors, "checksum"}
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(found[name].view(np.uint8), tensor.view(np.uint8))
        assert found[name].shape == tensor.shape


@given(tensor_sets())
def test_tensors_lie_on_multiples_of_their_size(tensors):
    data = dumps(tensors, {})
    header, body = header_of(data)
    assert (len(data) - len(body)) % 8 == 0
    for name, tensor in tensors.items():
        assert header[name]["data_offsets"][0] % tensor.itemsize == 0


def test_halves_come_as_their_bits_and_go_back_as_halves():
    tensors = {"channel.token.weights": np.array([1.5, -2.0], dtype=np.float16)}
    data = dumps(tensors, {})
    found, _ = loads(data)
    assert found["channel.token.weights"].format == "H"
    assert dumps(found, {}) == data


def test_the_same_model_gives_the_same_bytes():
    tensors = make_tensors({"a": {0: 1.0}}, np.zeros((2, 2)))
    backwards = dict(reversed(tensors.items()))
    assert dumps(tensors, {"b": 1}) == dumps(backwards, {"b": 1})


def test_the_format_does_not_change():
    """A file of version 2, byte for byte: if this fails, the format needs a new version, not a new test."""
    data = dumps({"x": np.array([1, 2], dtype=np.uint16), "y": np.array([0.5], dtype=np.float32)}, {"labels": ["é"]})
    header = (
        '{"__metadata__":{"format":"trelliswork","version":"2","settings":"{\\"labels\\":[\\"é\\"]}"},'
        '"y":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"x":{"dtype":"U16","shape":[2],"data_offsets":[4,8]},'
        '"checksum":{"dtype":"U8","shape":[8],"data_offsets":[8,16]}}'
    ).encode()
    header += b" " * (-len(header) % 8)
    body = struct.pack("<Q", len(header)) + header + struct.pack("<fHH", 0.5, 1, 2)
    assert data[:-8] == body
    assert data[-8:].hex() == CHECKSUM


CHECKSUM = "d7f91602aa7910b3"


@pytest.mark.parametrize(
    ("tensors", "settings", "match"),
    [
        ({"x": np.zeros(2, dtype=np.complex64)}, {}, "float32"),
        ({"x": np.zeros(2, dtype=np.int32)}, {}, "unsigned"),
        ({"x": np.zeros((4, 4), dtype=np.uint8)[:, ::2]}, {}, "contiguous"),
        ({"x": [1, 2]}, {}, "must be a buffer, found list"),
        ({"checksum": b""}, {}, "name of a tensor"),
        ({"__metadata__": b""}, {}, "name of a tensor"),
        ({}, {"a": {1, 2}}, "JSON"),
        ({}, {"a": float("nan")}, "JSON"),
        ({}, {"a": "\ud800"}, "Unicode"),
        ({"\ud800": b""}, {}, "Unicode"),
    ],
)
def test_what_cannot_be_written_is_refused(tensors, settings, match):
    with pytest.raises(InvalidInput, match=match):
        dumps(tensors, settings)


# ---- damage ----------------------------------------------------------------------------------------------------------


def test_every_flipped_bit_is_noticed():
    for i in range(len(SMALL)):
        for bit in range(8):
            damaged = bytearray(SMALL)
            damaged[i] ^= 1 << bit
            with pytest.raises(InvalidModel):
                loads(damaged)


def test_every_cut_is_noticed():
    for size in range(len(SMALL)):
        with pytest.raises(InvalidModel):
            loads(SMALL[:size])


def test_what_follows_the_end_is_noticed():
    with pytest.raises(InvalidModel, match="1 bytes after the last tensor"):
        loads(SMALL + b"\0")


def test_zeros_in_the_middle_are_noticed():
    for at in range(0, len(SMALL) - 16, 16):
        damaged = SMALL[:at] + bytes(16) + SMALL[at + 16 :]
        if damaged != SMALL:
            with pytest.raises(InvalidModel):
                loads(damaged)


# ---- hostility: the checksum is right, what it covers is not ---------------------------------------------------------

META = {"format": "trelliswork", "version": str(FORMAT_VERSION), "settings": "{}"}
END = {"dtype": "U8", "shape": [8], "data_offsets": [4, 12]}
X = {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}
HOSTILE = {
    "no header": b"",
    "no object": b"[]",
    "no JSON": b"{",
    "deep JSON": b'{"a":' * 100_000,
    "deep lists": b'{"a":' + b"[" * 100_000,
    "no UTF-8": b'{"\xff":1}',
    "NaN": b'{"a":NaN}',
    "a number too long": b'{"a":' + b"9" * 5000 + b"}",
    "a name twice": b'{"__metadata__":{},"__metadata__":{}}',
    "no metadata": {"x": X, "checksum": END},
    "metadata of another program": {"__metadata__": {"format": "pt"}, "x": X, "checksum": END},
    "metadata no object": {"__metadata__": [], "x": X, "checksum": END},
    "version missing": {"__metadata__": {"format": "trelliswork"}, "x": X, "checksum": END},
    "version no number": {"__metadata__": META | {"version": "one"}, "x": X, "checksum": END},
    "version a digit of another script": {"__metadata__": META | {"version": "\u0661"}, "x": X, "checksum": END},
    "version 0": {"__metadata__": META | {"version": "0"}, "x": X, "checksum": END},
    "settings missing": {"__metadata__": {"format": "trelliswork", "version": "1"}, "x": X, "checksum": END},
    "settings no text": {"__metadata__": META | {"settings": 1}, "x": X, "checksum": END},
    "settings no object": {"__metadata__": META | {"settings": "[]"}, "x": X, "checksum": END},
    "settings deep": {"__metadata__": META | {"settings": "[" * 100_000}, "x": X, "checksum": END},
    "tensor no object": {"__metadata__": META, "x": 1, "checksum": END},
    "tensor without shape": {"__metadata__": META, "x": {"dtype": "U8", "data_offsets": [0, 4]}, "checksum": END},
    "tensor with more": {"__metadata__": META, "x": X | {"more": 1}, "checksum": END},
    "unknown type": {"__metadata__": META, "x": X | {"dtype": "F64"}, "checksum": END},
    "type no text": {"__metadata__": META, "x": X | {"dtype": ["U8"]}, "checksum": END},
    "negative shape": {"__metadata__": META, "x": X | {"shape": [-4]}, "checksum": END},
    "two negatives": {"__metadata__": META, "x": X | {"shape": [-2, -2]}, "checksum": END},
    "fractional shape": {"__metadata__": META, "x": X | {"shape": [4.0]}, "checksum": END},
    "true shape": {"__metadata__": META, "x": X | {"shape": [True, 4]}, "checksum": END},
    "shape too long": {"__metadata__": META, "x": X | {"shape": [1] * 9 + [4]}, "checksum": END},
    "shape too large": {"__metadata__": META, "x": X | {"shape": [2**64 + 4]}, "checksum": END},
    "size and shape differ": {"__metadata__": META, "x": X | {"shape": [3]}, "checksum": END},
    "one offset": {"__metadata__": META, "x": X | {"data_offsets": [0]}, "checksum": END},
    "offsets backwards": {"__metadata__": META, "x": X | {"data_offsets": [4, 0]}, "checksum": END},
    "negative offset": {"__metadata__": META, "x": X | {"data_offsets": [-4, 0]}, "checksum": END},
    "offsets beyond the end": {"__metadata__": META, "x": X | {"data_offsets": [96, 100]}, "checksum": END},
    "a hole": {"__metadata__": META, "x": X | {"shape": [3], "data_offsets": [0, 3]}, "checksum": END},
    "overlap": {"__metadata__": META, "x": X, "y": X, "checksum": END},
    "misaligned": {
        "__metadata__": META,
        "x": X | {"shape": [1], "data_offsets": [0, 1]},
        "y": {"dtype": "U16", "shape": [1], "data_offsets": [1, 3]},
        "z": X | {"shape": [1], "data_offsets": [3, 4]},
        "checksum": END,
    },
    "no checksum": {"__metadata__": META, "x": X | {"shape": [12], "data_offsets": [0, 12]}},
    "checksum of another shape": {"__metadata__": META, "x": X, "checksum": END | {"shape": [2, 4]}},
    "checksum first": {
        "__metadata__": META,
        "checksum": {"dtype": "U8", "shape": [8], "data_offsets": [0, 8]},
        "x": {"dtype": "U8", "shape": [4], "data_offsets": [8, 12]},
    },
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_headers_are_refused(what):
    with pytest.raises(InvalidModel):
        loads(with_header(HOSTILE[what], bytes(12)))


def test_the_hostile_headers_differ_from_a_good_one_in_one_thing():
    tensors, settings = loads(with_header({"__metadata__": META, "x": X, "checksum": END}, bytes(12)))
    assert list(tensors) == ["x"]
    assert settings == {}


@pytest.mark.parametrize("size", [0, 7, 2**63, 2**64 - 1, 100_000_001, len(SMALL) - 7])
def test_header_sizes_are_bounded(size):
    with pytest.raises(InvalidModel):
        loads(size.to_bytes(8, "little") + SMALL[8:])


def test_a_later_version_says_what_to_do():
    data = with_header({"__metadata__": META | {"version": "3"}, "x": X, "checksum": END}, bytes(12))
    with pytest.raises(InvalidModel, match=r"version 3 .* Install a later release"):
        loads(data)


def test_another_programs_file_is_named_as_such():
    with pytest.raises(InvalidModel, match="a safetensors file, but no model of trelliswork"):
        loads(safetensors.numpy.save({"x": np.zeros(3)}))


@given(st.binary(max_size=300))
@example(b"\x00" * 8)
@example(b"\x02" + b"\x00" * 7 + b"{}")
def test_any_bytes_are_read_or_refused(data):
    with pytest.raises(InvalidModel):
        loads(data)


def test_damage_behind_a_right_checksum_is_refused_or_harmless():
    """Random changes of tensors and header, the checksum made right again: the model is refused or it works."""
    rng = random.Random(1)
    header, body = header_of(SMALL)
    refused = 0
    for _ in range(600):
        changed, tensors = json.loads(json.dumps(header)), bytearray(body)
        for _ in range(rng.randint(1, 3)):
            tensors[rng.randrange(len(tensors))] = rng.choice([0, 1, 2, 127, 128, 255, rng.randrange(256)])
        if rng.random() < 0.3:
            entry = changed[rng.choice([name for name in changed if name not in ("__metadata__", "checksum")])]
            entry["dtype"] = rng.choice(["U8", "U16", "U32", "U64", "F32", "F16", "I8"])
        try:
            model = open_model(with_header(changed, tensors), expand=rng.choice(["now", "never"])).model
        except InvalidModel:
            refused += 1
            continue
        for number in range(model.n_attributes):
            model.name(number)
    assert 100 < refused < 600


def test_only_bytes_are_loaded():
    for wrong in ("text", 3, None, ["a"]):
        with pytest.raises(InvalidInput):
            loads(wrong)
    with pytest.raises(InvalidInput):
        load(3)
