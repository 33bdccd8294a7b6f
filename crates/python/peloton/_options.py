"""Converts the keyword arguments of all jobs for the native module."""

import json
import os
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np

from peloton.errors import ConfigError

Path_ = str | os.PathLike[str]
Config = Mapping[str, Any] | str | os.PathLike[str]


class Options(TypedDict, total=False):
    """Options of every job. Every option may be omitted.

    sequence: velo, velo-ut, scifi, long, long-ut (tracks), ut, scifi-hits (hits), own (algorithms of config), timepix (clusters), cylinder (tracks), cylinder-fit (states);
        if omitted, the sequence that fits the input, else velo.
    preset: best, fast (velo, velo-ut, scifi, long, long-ut), two-pass (velo, velo-ut, long, long-ut), paper (velo, velo-ut, cylinder),
        paper-literal, forwarding (velo), hlt1 (velo-ut, scifi, long, long-ut),
        hlt1-unrestricted (velo-ut).
    isa, gang, threads, slice_events: how the CPU computes; results never depend on these options. If omitted or "auto":
        the best instruction set and gang size for this CPU, and one thread per core.
    geometry: folder of the detector's geometry files, for raw banks. "nominal" uses the ideal detector instead, and accepts
        only simulated events; "nominal-forced" uses the ideal detector for all events.
    velo_banks: kind of Velo banks to decode: auto, retina, superpixel.
    bad_banks: what happens to an event with a damaged raw bank: event (it is lost), bank (it is reconstructed without the bank,
        with the status partial).
    checksum: treatment of checksums of MDF records: verify (an event with a wrong checksum is lost), skip (no check).
    config: the configuration: a dictionary, TOML text, or the path of a TOML file (`peloton run --print-config` prints one).
    columns: names of the columns to write to a Parquet `output`; if omitted, all columns.
    compression: compression of a Parquet `output`: zstd, zstd:N with N from 1 to 22, lz4, none.
    format: format of the inputs; if omitted, it is recognised from their content.
    events: the events to read: slice(first, end), or a pair of first and count.
    strict: whether the job ends at the first event that fails.
    max_bad: largest number of lost events (or pixel hits) with which the job succeeds, or their largest share, such as "1%";
        "100%" allows the loss of all.
    mask_hot: number of hits; drops all hits of pixels that have more than this number among the first million hits.
    trigger: edge of a trigger input; each pixel hit is paired with the latest such edge before it: rise1, fall1, rise2, fall2.
    time_unit: unit of times in NumPy and Parquet files without a unit: ticks, clocks, ps, ns, us, ms, s.
    """

    sequence: str | None
    preset: str | None
    isa: str | None
    gang: int | str | None
    threads: int | str | None
    slice_events: int | None
    geometry: Path_ | None
    velo_banks: str | None
    bad_banks: str | None
    checksum: str | None
    config: Config | None
    columns: Iterable[str] | None
    compression: str | None
    format: str | None
    events: slice | tuple[int, int] | None
    strict: bool
    max_bad: int | str | None
    mask_hot: int | None
    trigger: str | None
    time_unit: str | None


KEYS = frozenset(Options.__annotations__)


def request(inputs: Path_ | Iterable[Path_], **options: Unpack[Options]) -> dict[str, Any]:
    """Returns the request of a job, with every key that the native module needs."""
    unknown = sorted(set(options) - KEYS)
    if unknown:
        raise TypeError(f"unknown argument {', '.join(unknown)}: choose from {', '.join(sorted(KEYS))}")
    first, count = _events(options.get("events"))
    geometry = options.get("geometry")
    return {
        "inputs": _inputs(inputs),
        "format": options.get("format"),
        "first": first,
        "count": count,
        "strict": bool(options.get("strict", False)),
        "max_bad": max_bad_text(options.get("max_bad")),
        "geometry": None if geometry is None else os.fspath(geometry),
        "velo_banks": options.get("velo_banks"),
        "bad_banks": options.get("bad_banks"),
        "checksum": options.get("checksum"),
        "sequence": options.get("sequence"),
        "preset": options.get("preset"),
        "isa": options.get("isa"),
        "gang": _number("gang", options.get("gang")),
        "threads": _number("threads", options.get("threads")),
        "slice_events": _number("slice_events", options.get("slice_events")),
        "config": toml(options.get("config")),
        "columns": list(options.get("columns") or ()),
        "compression": options.get("compression"),
        "mask_hot": options.get("mask_hot"),
        "trigger": options.get("trigger"),
        "time_unit": options.get("time_unit"),
        "command": " ".join(sys.argv),
    }


def _inputs(inputs: Path_ | Iterable[Path_]) -> list[str]:
    if isinstance(inputs, str | os.PathLike):
        return [os.fspath(inputs)]
    return [os.fspath(one) for one in inputs]


def max_bad_text(value: int | str | None) -> str | None:
    """Returns the value of `max_bad` as text: a number or a share."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigError(f'max_bad: {value!r} is neither a whole number nor a share such as "1%"')
    return str(value)


def _number(name: str, value: int | str | None) -> int | None:
    if value is None or value == "auto":
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ConfigError(f"{name}: {value!r} is neither a number nor 'auto'")
    return value


def _events(events: slice | tuple[int, int] | None) -> tuple[int, int | None]:
    if events is None:
        return 0, None
    if isinstance(events, slice):
        first, end = events.start or 0, events.stop
        if events.step not in (None, 1) or first < 0 or (end is not None and end < first):
            raise ConfigError(f"events: {events} is not slice(first, end) with 0 <= first <= end")
        return first, None if end is None else end - first
    first, count = events
    if first < 0 or count < 0:
        raise ConfigError(f"events: {events} is not a pair of first and count")
    return first, count


def toml(config: Config | None) -> str:
    """Returns a configuration as TOML."""
    if config is None:
        return ""
    if isinstance(config, Mapping):
        return "\n".join(_table(config, ""))
    if isinstance(config, str) and ("\n" in config or "=" in config or not config):
        return config
    try:
        return Path(config).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"config: {error}") from error


def _table(values: Mapping[str, Any], name: str) -> list[str]:
    """Returns the lines of a TOML table: first its values, then its nested tables."""
    lines = [f"[{name}]"] if name else []
    tables = {key: value for key, value in values.items() if isinstance(value, Mapping)}
    for key, value in values.items():
        if key in tables or value is None:
            continue
        try:
            lines.append(f"{_key(key)} = {_value(value)}")
        except (TypeError, ValueError) as error:
            raise ConfigError(f"config: {key}: {error}") from error
    for key, table in tables.items():
        lines.extend(_table(table, f"{name}.{_key(key)}" if name else _key(key)))
    return lines


def _key(key: object) -> str:
    """Returns the key of a TOML table, in quotes if TOML needs quotes."""
    if not isinstance(key, str):
        raise ConfigError(f"config: the key {key!r} is no text")
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _string(key)


def _value(value: Any) -> str:
    """Returns a value as TOML."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, Mapping):
        pairs = (f"{_key(key)} = {_value(one)}" for key, one in value.items() if one is not None)
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, list | tuple | np.ndarray):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value, allow_nan=False)


def _string(text: str) -> str:
    """Returns text in quotes. JSON and TOML escape the same characters, except for 0x7f."""
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ConfigError(f"config: {text!r} is no Unicode text")
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
