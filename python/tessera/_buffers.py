"""Arrays as buffers of the library, and back, without copies of their elements.

NumPy's arrays if NumPy is there; if not, anything with Python's buffer protocol, and memoryviews.
"""

import ctypes

from tessera._library import Buffer, DTypeError, call

try:
    import numpy
except ImportError:
    numpy = None

# NumPy's name of each dtype by its number in tessera/c.h, and its format in memoryviews.
_NAMES = {
    1: "bool", 2: "int2", 3: "int4", 4: "int8", 5: "int16", 6: "int32", 7: "int64",
    8: "uint2", 9: "uint4", 10: "uint8", 11: "uint16", 12: "uint32", 13: "uint64",
    14: "float8_e3m4", 15: "float8_e4m3", 16: "float8_e4m3b11fnuz", 17: "float8_e4m3fn",
    18: "float8_e4m3fnuz", 19: "float8_e5m2", 20: "float8_e5m2fnuz", 21: "float16",
    22: "bfloat16", 23: "float32", 24: "float64", 25: "complex64", 26: "complex128",
}  # fmt: skip
_CODES = {name: code for code, name in _NAMES.items()}
_FORMATS = {
    1: "?", 4: "b", 5: "h", 6: "i", 7: "q", 10: "B", 11: "H", 12: "I", 13: "Q", 21: "e", 23: "f",
    24: "d",
}  # fmt: skip
_KINDS = (
    dict.fromkeys("bhilq", "int") | dict.fromkeys("BHILQ", "uint") | dict.fromkeys("efd", "float")
)


def _numpy_dtype(code, what):
    """NumPy's dtype of this number; those that NumPy lacks are of ml_dtypes."""
    name = _NAMES[code]
    try:
        return numpy.dtype(name)
    except TypeError:
        pass
    try:
        import ml_dtypes
    except ImportError:
        raise DTypeError(
            f"{what} has elements {name}, which NumPy has with ml_dtypes alone: "
            "pip install ml_dtypes"
        ) from None
    return numpy.dtype(getattr(ml_dtypes, name))


def _filled(data, count, dims, code):
    buffer = Buffer(data, count, (ctypes.c_int64 * len(dims))(*dims), len(dims), code)
    buffer._kept = []  # what must live as long as the buffer
    return buffer


def _of_numpy(x, code, what):
    if hasattr(x, "__dlpack__") and not hasattr(x, "__array__"):
        x = numpy.from_dlpack(x)
    # A plain number has no dtype of its own, as in JAX.
    if isinstance(x, (bool, int, float, complex)):
        x = numpy.asarray(x, _numpy_dtype(code, what) if code else None)
    x = numpy.asarray(x, order="C")
    if not x.dtype.isnative:
        x = x.astype(x.dtype.newbyteorder("="))
    if x.dtype.name not in _CODES:
        raise DTypeError(f"{what} has elements {x.dtype.name}, which no program has")
    buffer = _filled(x.ctypes.data, x.nbytes, x.shape, _CODES[x.dtype.name])
    buffer._kept.append(x)
    return buffer


def _of_memory(x, what):
    view = memoryview(x)
    format = view.format.lstrip("@=")
    name = "bool" if format == "?" else f"{_KINDS.get(format, format)}{8 * view.itemsize}"
    if name not in _CODES or not view.c_contiguous:
        raise DTypeError(
            f"{what} has elements {view.format!r}, or gaps between them: without NumPy "
            "a program takes buffers of plain numbers in C's order"
        )
    if view.readonly or view.nbytes == 0:
        memory = ctypes.create_string_buffer(view.tobytes(), max(view.nbytes, 1))
    else:
        memory = (ctypes.c_char * view.nbytes).from_buffer(view.cast("B"))
    buffer = _filled(ctypes.addressof(memory), view.nbytes, view.shape, _CODES[name])
    buffer._kept += [memory, view]
    return buffer


def buffer_of(x, code, what):
    """An array as a buffer that shares its elements. Plain numbers get the dtype `code`."""
    return _of_numpy(x, code, what) if numpy else _of_memory(x, what)


class Owner:
    """An array of a run, which is released with the last view of its elements."""

    def __init__(self, handle):
        self._handle = handle
        self.buffer = Buffer()
        call("array_buffer", handle, ctypes.byref(self.buffer))
        self.dims = tuple(self.buffer.dims[: self.buffer.rank])

    @property
    def __array_interface__(self):
        # ml_dtypes have no type text, so the elements are bytes until numpy_array's view.
        return {
            "version": 3,
            "shape": (self.buffer.bytes,),
            "typestr": "|u1",
            "data": (self.buffer.data, True),
        }

    def __del__(self):
        call("release", self._handle)


def array_of(owner, what):
    """A read-only numpy array, or without NumPy a memoryview, that owns the library's buffer."""
    code, dims = owner.buffer.dtype, owner.dims
    if numpy:
        dtype = _numpy_dtype(code, what)
        if owner.buffer.bytes == 0:
            return numpy.empty(dims, dtype)
        return numpy.asarray(owner).view(dtype).reshape(dims)
    if code not in _FORMATS:
        raise DTypeError(f"{what} has elements {_NAMES[code]}: install NumPy and ml_dtypes")
    memory = (ctypes.c_char * owner.buffer.bytes).from_address(owner.buffer.data or 0)
    memory._owner = owner
    view = memoryview(memory).toreadonly().cast("B")
    return view.cast(_FORMATS[code], dims) if 0 not in dims else view.cast(_FORMATS[code])
