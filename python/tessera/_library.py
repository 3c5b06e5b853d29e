"""The functions of tessera/c.h, and their errors as exceptions."""

import builtins
import ctypes
import os
import pathlib


class Error(Exception):
    """Base class of the library's errors. The text says where and why, and the edits that help."""


class ArgumentError(Error, ValueError):
    """An argument that no program takes: a word that is none, a program that is closed."""


class ShapeError(Error, ValueError):
    """The wrong rank, size or number of arrays."""


class DTypeError(Error, TypeError):
    """An element type that does not fit, or that Python does not have."""


class ShardingError(Error):
    """Ambiguous results, unknown axes, axes that do not divide."""


class TraceError(Error):
    """An array without values is read."""


class RuntimeError(Error, builtins.RuntimeError):
    """Files, malformed text, unsupported operations, memory."""


class InternalError(Error):
    """A bug in the library."""


_ERRORS = {
    1: ArgumentError,
    2: ShapeError,
    3: DTypeError,
    4: ShardingError,
    5: TraceError,
    6: RuntimeError,
    7: InternalError,
}


class Buffer(ctypes.Structure):
    """tessera_buffer."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("bytes", ctypes.c_int64),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
        ("rank", ctypes.c_int32),
        ("dtype", ctypes.c_int32),
    ]


def _path():
    """The library that the environment names, that of the package, or that of the system."""
    if given := os.environ.get("TESSERA_LIBRARY"):
        return given
    own = pathlib.Path(__file__).parent / "lib" / "libtessera_c.so.1"
    return str(own) if own.exists() else "libtessera_c.so.1"


_library = ctypes.CDLL(_path())

_TEXT, _HANDLE, _SIZE, _INT = ctypes.c_char_p, ctypes.c_uint64, ctypes.c_int64, ctypes.c_int32
_OUT_TEXT, _OUT_HANDLE = ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(_HANDLE)
_OUT_SIZE, _OUT_INT = ctypes.POINTER(_SIZE), ctypes.POINTER(_INT)
_SIGNATURES = {
    "load": [_TEXT, _SIZE, _TEXT, _TEXT, _TEXT, _OUT_HANDLE],
    "load_file": [_TEXT, _TEXT, _TEXT, _TEXT, _OUT_HANDLE],
    "check": [_TEXT, _SIZE, _TEXT, _TEXT, _TEXT],
    "close": [_HANDLE],
    "count": [_HANDLE, _INT, _OUT_SIZE],
    "type": [_HANDLE, _INT, _SIZE, _OUT_TEXT],
    "shape": [_HANDLE, _INT, _SIZE, _OUT_INT, _OUT_INT, _OUT_SIZE, _SIZE],
    "input_name": [_HANDLE, _SIZE, _OUT_TEXT],
    "propagate": [_HANDLE, _TEXT, _OUT_TEXT],
    "explain": [_HANDLE, _TEXT, _TEXT, _OUT_TEXT],
    "report": [_HANDLE, _OUT_TEXT],
    "comm": [_HANDLE, _OUT_TEXT],
    "costs_of": [_HANDLE, _OUT_SIZE, _SIZE],
    "lower": [_HANDLE, _TEXT, _OUT_TEXT],
    "html": [_HANDLE, _TEXT, _OUT_TEXT],
    "run": [_HANDLE, ctypes.POINTER(Buffer), _SIZE, _OUT_HANDLE, _SIZE],
    "array_buffer": [_HANDLE, ctypes.POINTER(Buffer)],
    "release": [_HANDLE],
}
for _name, _types in _SIGNATURES.items():
    _function = getattr(_library, "tessera_" + _name)
    _function.argtypes, _function.restype = _types, _INT
_library.tessera_version.argtypes, _library.tessera_version.restype = [], _TEXT
_library.tessera_last_error.argtypes, _library.tessera_last_error.restype = [], _TEXT
_library.tessera_free.argtypes, _library.tessera_free.restype = [ctypes.c_void_p], None


def version():
    """The version of the library: "0.1.0"."""
    return _library.tessera_version().decode()


def call(name, *arguments):
    """Calls a function of the library. Raises the error that it returns."""
    status = getattr(_library, "tessera_" + name)(*arguments)
    if status:
        raise _ERRORS.get(status, Error)(_library.tessera_last_error().decode(errors="replace"))


def text_of(name, *arguments):
    """Calls a function whose last parameter is a text. Returns it without the last line break."""
    text = ctypes.c_void_p()
    call(name, *arguments, ctypes.byref(text))
    try:
        return ctypes.string_at(text).decode(errors="replace").removesuffix("\n")
    finally:
        _library.tessera_free(text)


def encoded(text, what):
    """The text as the library takes it; None stays None. A zero byte would end it."""
    if text is None:
        return None
    if not isinstance(text, str):
        raise ArgumentError(f"{what} is a text, not {type(text).__name__}")
    if "\0" in text:
        raise ArgumentError(f"{text!r} has a zero byte")
    return text.encode()
