"""Arrow's C structs made by hand, so that they can be as wrong as one likes; no library is needed."""

import ctypes
import struct

SCHEMA, ARRAY, STREAM = b"arrow_schema", b"arrow_array", b"arrow_array_stream"


class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


class Stream(ctypes.Structure):
    pass


RELEASE_SCHEMA = ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))
RELEASE_ARRAY = ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))
RELEASE_STREAM = ctypes.CFUNCTYPE(None, ctypes.POINTER(Stream))
GET_SCHEMA = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Schema))
GET_NEXT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Array))
GET_ERROR = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(Stream))

Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(Schema))),
    ("dictionary", ctypes.POINTER(Schema)),
    ("release", RELEASE_SCHEMA),
    ("private_data", ctypes.c_void_p),
]
Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(Array))),
    ("dictionary", ctypes.POINTER(Array)),
    ("release", RELEASE_ARRAY),
    ("private_data", ctypes.c_void_p),
]
Stream._fields_ = [
    ("get_schema", GET_SCHEMA),
    ("get_next", GET_NEXT),
    ("get_last_error", GET_ERROR),
    ("release", RELEASE_STREAM),
    ("private_data", ctypes.c_void_p),
]

new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

kept = []  # whatever the structs point at, for as long as the tests run


def keep(thing):
    kept.append(thing)
    return thing


def pointers(kind, values):
    found = [ctypes.POINTER(kind)() if value is None else ctypes.pointer(value) for value in values]
    return keep((ctypes.POINTER(kind) * len(values))(*found))


class Released:
    """Counts how often a struct was released; a second time would be an error of the reader."""

    def __init__(self):
        self.count = 0

    def __call__(self, value):
        self.count += 1
        value.contents.release = type(value.contents.release)()


def schema(format, name=b"", children=(), dictionary=None, **fields):
    released = Released()
    made = keep(Schema(format=format, name=name, flags=2, n_children=len(children), release=RELEASE_SCHEMA(released)))
    made.released = released
    if children:
        made.children = pointers(Schema, children)
    if dictionary is not None:
        made.dictionary = ctypes.pointer(dictionary)
    for field, value in fields.items():
        setattr(made, field, value)
    return made


def array(length, buffers=(), children=(), dictionary=None, **fields):
    released = Released()
    memory = [None if data is None else keep(ctypes.create_string_buffer(data, len(data) + 64)) for data in buffers]
    addresses = [None if one is None else ctypes.addressof(one) for one in memory]
    made = keep(
        Array(
            length=length,
            n_buffers=len(buffers),
            buffers=keep((ctypes.c_void_p * max(1, len(buffers)))(*addresses)),
            n_children=len(children),
            release=RELEASE_ARRAY(released),
        )
    )
    made.released = released
    if children:
        made.children = pointers(Array, children)
    if dictionary is not None:
        made.dictionary = ctypes.pointer(dictionary)
    for field, value in fields.items():
        setattr(made, field, value)
    return made


def ints(*values, size="i"):
    return struct.pack(f"<{len(values)}{size}", *values)


class Offer:
    """An object with Arrow's C interface."""

    def __init__(self, schema, array):
        self.schema, self.array = schema, array

    def __arrow_c_array__(self, requested_schema=None):
        return (
            new_capsule(ctypes.addressof(self.schema), SCHEMA, None),
            new_capsule(ctypes.addressof(self.array), ARRAY, None),
        )


class OfferedStream:
    """A stream of batches, or of errors (numbers)."""

    def __init__(self, schema, batches, error=b"the disk is gone"):
        left = iter(batches)

        def get_schema(_, out):
            if isinstance(schema, int):
                return schema
            ctypes.pointer(out.contents)[0] = schema
            return 0

        def get_next(_, out):
            batch = next(left, None)
            if isinstance(batch, int):
                return batch
            out.contents.release = RELEASE_ARRAY()
            if batch is not None:
                ctypes.memmove(out, ctypes.byref(batch), ctypes.sizeof(Array))
            return 0

        message = None if error is None else keep(ctypes.create_string_buffer(error))
        self.released = Released()
        self.stream = keep(
            Stream(
                get_schema=GET_SCHEMA(get_schema),
                get_next=GET_NEXT(get_next),
                get_last_error=GET_ERROR(lambda _: None if message is None else ctypes.addressof(message)),
                release=RELEASE_STREAM(self.released),
            )
        )

    def __arrow_c_stream__(self, requested_schema=None):
        return new_capsule(ctypes.addressof(self.stream), STREAM, None)


def text(*values, offset=0):
    """A valid column of text, and its type."""
    data = [value.encode() for value in values]
    ends = [sum(map(len, data[:i])) for i in range(len(data) + 1)]
    return schema(b"u", b"text"), array(len(data) - offset, [None, ints(*ends), b"".join(data)], offset=offset)


def lists(*values):
    """A valid column of lists of text, and its type."""
    kind, child = text(*[token for tokens in values for token in tokens])
    ends = [sum(map(len, values[:i])) for i in range(len(values) + 1)]
    return schema(b"+l", b"words", [kind]), array(len(values), [None, ints(*ends)], [child])


def table(**columns):
    """A valid table of columns."""
    for name, (kind, _) in columns.items():
        kind.name = keep(name.encode())
    kinds, arrays = [kind for kind, _ in columns.values()], [one for _, one in columns.values()]
    return schema(b"+s", b"", kinds), array(arrays[0].length if arrays else 0, [None], arrays)
