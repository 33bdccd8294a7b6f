"""Reads results by Arrow's C data interface with pyarrow: the values and addresses are those of the views, and outlive the result.

usage: arrow.py LIBRARY HOW FILE TOML GEOMETRY, where HOW is mdf, tpx3 or cylinder (a file of columns).
"""

import ctypes as c
import sys

import pyarrow as pa

LIBRARY, HOW, FILE, TOML, GEOMETRY = sys.argv[1:6]
lib = c.CDLL(LIBRARY)
lib.peloton_last_error.restype = c.c_char_p


class Column(c.Structure):
    """peloton_column."""

    _fields_ = [
        ("size", c.c_size_t),
        ("values", c.c_void_p),
        ("count", c.c_size_t),
        ("type", c.c_int32),
        ("depth", c.c_uint32),
        ("lists", c.c_uint32),
        ("reserved", c.c_uint32),
        ("name", c.c_char_p),
        ("unit", c.c_char_p),
        ("meaning", c.c_char_p),
    ]


class CylinderHits(c.Structure):
    """peloton_cylinder_hits."""

    _fields_ = [(name, c.c_size_t) for name in ("size", "events", "hits")] + [
        (name, c.c_void_p) for name in "x y z var_r var_rphi var_z layer_start status_or_null".split()
    ]


def call(name, *arguments):
    """Calls a function that answers with a code."""
    code = getattr(lib, name)(*arguments)
    assert code == 0, f"{name}: {code} {lib.peloton_last_error().decode()}"


def made(name, *arguments):
    """Calls a function that makes an object."""
    handle = c.c_void_p()
    call(name, *arguments, c.byref(handle))
    return handle


def flat(array):
    """The innermost values of nested lists."""
    while pa.types.is_list(array.type):
        array = array.values
    return array


def address(array):
    """Where the values of an array lie."""
    return array.buffers()[1].address


toml = TOML.encode()
engine = made("peloton_engine_new", toml, c.c_size_t(len(toml)), GEOMETRY.encode() if GEOMETRY != "-" else None)
result = made("peloton_result_new", engine)
data = open(FILE, "rb").read()
if HOW == "mdf":
    batch = made("peloton_batch_new")
    call("peloton_batch_mdf", batch, data, c.c_size_t(len(data)), None, None)
    workspace = made("peloton_workspace_new", engine)
    call("peloton_run_banks", engine, workspace, batch, result, None)
elif HOW == "cylinder":
    buffer = c.create_string_buffer(data)
    events, hits = (int.from_bytes(data[at : at + 8], "little") for at in (0, 8))
    columns = [c.addressof(buffer) + 16 + 4 * hits * i for i in range(7)]
    view = CylinderHits(c.sizeof(CylinderHits), events, hits, *columns, None)
    workspace = made("peloton_workspace_new", engine)
    call("peloton_run_cylinder", engine, workspace, c.byref(view), result, None)
else:
    stream = made("peloton_stream_new", engine, None)
    call("peloton_stream_tpx3", stream, data, c.c_size_t(len(data)))
    call("peloton_stream_end", stream)
    call("peloton_stream_clusters", stream, result, None, None)

count = c.c_size_t()
call("peloton_result_columns", result, c.byref(count))
views, copies = {}, {}
for index in range(count.value):
    view = Column(size=c.sizeof(Column))
    call("peloton_result_column_at", result, c.c_size_t(index), c.byref(view))
    width = [2, 4, 1, 2, 4, 8, 8, 4][view.type]
    views[view.name.decode()] = view
    copies[view.name.decode()] = c.string_at(view.values, view.count * width)

schema, array = (c.c_uint8 * 72)(), (c.c_uint8 * 80)()
call("peloton_result_arrow", result, c.byref(schema), c.byref(array))
lib.peloton_result_free.argtypes = [c.c_void_p]
lib.peloton_result_free(result)
table = pa.RecordBatch._import_from_c(c.addressof(array), c.addressof(schema))
table.validate(full=True)

shared = 0
for name in table.schema.names:
    if name in ("event_id", "run_number", "event_number"):
        continue
    view, values = views[name], flat(table.column(name))
    if view.type == 1 or values.type == pa.float64():
        continue  # Several lists an event, or in the unit of files.
    found = values.buffers()[1].to_pybytes()[: len(copies[name])]
    assert found == copies[name], name
    if view.type != 0 and view.count > 0:
        assert address(values) == view.values, name
        shared += 1
assert table.num_rows > 0 and shared >= 3, (table.num_rows, shared)
print(f"{table.num_rows} rows, {shared} columns shared")
