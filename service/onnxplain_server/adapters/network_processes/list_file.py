"""Lists of prefixes that an operator writes: TOML files of tables of one name."""

from __future__ import annotations

import ipaddress
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

_FILE_KEYS = ("credentials_file", "ca_file")


class ListError(Exception):
    """Fault of the operator's list; the text says where and what to write."""


class Entry(Protocol):
    """Entry of a list."""

    @property
    def prefix(self) -> object:
        """Canonical prefix, by which entries are told apart."""


_Entry = TypeVar("_Entry", bound=Entry)


def read_entries(
    path: Path,
    name: str,
    keys: Mapping[str, type],
    read: Callable[[Mapping[str, Any]], _Entry],
) -> tuple[_Entry, ...]:
    """Read the tables [[name]] of a file.

    Parameters
    ----------
    path : Path
    name : str
    keys : mapping of key to type
        Known keys; `prefix` is required, and files of `credentials_file` and `ca_file` must exist.
    read : callable (table) -> entry
        Raises ValueError with the fault of a table whose keys have these types.

    Raises
    ------
    ListError
        Also for a file without a table, and for a prefix that is listed twice.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ListError(f"{path} cannot be read as TOML: {error}") from None
    tables = document.get(name, [])
    if set(document) - {name} or not isinstance(tables, list) or not tables:
        raise ListError(f"{path} must hold tables [[{name}]], and nothing else")
    entries = []
    for number, table in enumerate(tables, 1):
        try:
            _check_keys(table, keys)
            entries.append(read(table))
        except ValueError as error:
            told = f"{name.replace('_', ' ')} {number}"
            raise ListError(f"{path}, {told}: {error}") from None
    _check_different(path, [entry.prefix for entry in entries])
    return tuple(entries)


def networks(texts: Sequence[Any]) -> tuple[Network, ...]:
    """Return networks in their text form as networks; ValueError."""
    try:
        return tuple(ipaddress.ip_network(text) for text in texts)
    except ValueError:
        raise ValueError('networks must be a list like ["10.96.0.0/12"]') from None


def _check_keys(table: Any, keys: Mapping[str, type]) -> None:
    if not isinstance(table, dict) or "prefix" not in table:
        raise ValueError("the key prefix is missing")
    for key, value in table.items():
        if key not in keys:
            raise ValueError(f"the key {key} is unknown; there are {', '.join(keys)}")
        # A number may be written without a point.
        if type(value) is not keys[key] and not (keys[key] is float and type(value) is int):
            raise ValueError(f"{key} must be of the type {keys[key].__name__}")
    for key in _FILE_KEYS:
        if key in table and not Path(table[key]).is_file():
            raise ValueError(f"{key} = {table[key]} is no file")


def _check_different(path: Path, prefixes: Sequence[object]) -> None:
    for prefix in prefixes:
        if prefixes.count(prefix) > 1:
            raise ListError(f'{path} lists the prefix "{prefix}" twice')
