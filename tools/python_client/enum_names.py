"""Table of the names that others have for values of enumerations."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Mapping

from google.protobuf.descriptor_pb2 import FileDescriptorSet

from tools.contract.enum_names import read_foreign_names, read_other_names
from tools.python_client.source import head

_MODULE = '''
from collections.abc import Mapping, Sequence

OTHER_NAMES: Mapping[str, Mapping[str, str]] = {{{other}}}
"""Values by enumeration, and by a name that others have for them."""

FOREIGN_NAMES: Mapping[str, Sequence[tuple[str, str]]] = {{{foreign}}}
"""Names that mean no value, with blanks between, and the end of a sentence that begins so."""
'''
_WIDTH = 80


def module(files: FileDescriptorSet) -> str:
    """Write the module."""
    other = {
        kind: "".join(f'"{name}": "{value}",' for value, names in values.items() for name in names)
        for kind, values in read_other_names(files).items()
    }
    foreign = {kind: _pairs(pairs) for kind, pairs in read_foreign_names(files).items()}
    about = "Names that others have for values of enumerations."
    source = _MODULE.format(other=_entries(other, "{}"), foreign=_entries(foreign, "[]"))
    return head("average_loss.proto", about) + source


def _entries(values: Mapping[str, str], around: str) -> str:
    return "".join(f'"{kind}": {around[0]}{text}{around[1]},' for kind, text in values.items())


def _pairs(pairs: Iterable[tuple[str, str]]) -> str:
    return "".join(f"(({_text(names)}), ({_text(advice)}))," for names, advice in pairs)


def _text(text: str) -> str:
    """Write a text as adjacent literals of a line each."""
    lines = textwrap.wrap(text, _WIDTH, break_on_hyphens=False, drop_whitespace=False)
    return "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
