"""gdb pretty-printers for Tessera: types, and the first elements of concrete arrays.

The library is pretty-printed by its own functions (src/api/inspect/debugger.cc), which work
without debug information of the library, but need a running process: a core file shows the raw
members. Installed beside the library as libtessera.so.X-gdb.py, gdb loads this by itself; else
`source share/gdb/tessera.py`.
"""

import re

import gdb
import gdb.printing

# The function that makes the text of each type.
FUNCTIONS = {
    "Array": "tessera_debugger_array",
    "ArrayType": "tessera_debugger_type",
    "PartitionSpec": "tessera_debugger_spec",
    "Sharding": "tessera_debugger_sharding",
    "Mesh": "tessera_debugger_mesh",
    "Program": "tessera_debugger_program",
}


def text_of(value, function):
    """Calls the function of the library on the value. The process stands still but for this call."""
    if value.address is None:
        raise gdb.error("the value is not in memory")
    thread = gdb.parameter("scheduler-locking")
    unwind = gdb.parameter("unwindonsignal")
    gdb.execute("set scheduler-locking on", to_string=True)
    gdb.execute("set unwindonsignal on", to_string=True)
    try:
        call = "((const char *(*)(const void *)){})((const void *){})"
        return gdb.parse_and_eval(call.format(function, int(value.address))).string()
    finally:
        gdb.execute("set scheduler-locking " + thread, to_string=True)
        gdb.execute("set unwindonsignal " + ("on" if unwind else "off"), to_string=True)


class Printer:
    def __init__(self, value, function):
        self.value = value
        self.function = function

    def to_string(self):
        try:
            return text_of(self.value, self.function)
        except gdb.error as error:
            return "<no text: {}>".format(error)


def lookup(value):
    name = value.type.strip_typedefs().unqualified().tag
    match = re.fullmatch(r"tessera::(\w+)", name or "")
    if not match or match.group(1) not in FUNCTIONS:
        return None
    return Printer(value, FUNCTIONS[match.group(1)])


lookup.name = "tessera"
lookup.enabled = True
gdb.pretty_printers[:] = [p for p in gdb.pretty_printers if getattr(p, "name", "") != "tessera"]
gdb.pretty_printers.insert(0, lookup)
