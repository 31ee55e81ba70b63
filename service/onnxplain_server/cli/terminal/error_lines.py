"""Error line: flags and files in place of fields, and of a long message its first sentence.

`--verbose` asks for the whole message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from onnxplain_server.plots.elements.labels import clean

LONGEST_LINE = 300
"""Characters of a place and a message that are told whole."""

MORE = "; --verbose tells more"

_QUOTED = r"'(?:[^'\\]|\\.)*'|\"[^\"]*\"|“[^”]*”"
_SPLIT = re.compile(rf"({_QUOTED})")
# Atomic groups, so that time grows with the length only.
_LISTED = re.compile(rf" ?\((?=[^()]*['\"“])(?>{_QUOTED}|[^()])*+\)")
_NAMES = re.compile(rf"(?>{_QUOTED})(?:, (?>{_QUOTED}))+(?: and (?:\d+ more|(?>{_QUOTED})))?")
_SENTENCE_END = re.compile(rf"((?>{_QUOTED}|\([^()]*\)|.)*?)(?:;|[.] )")
_METHOD_OPTION = re.compile(r"(?:methods\[\d+\]\.)?([a-z_]+)(?:\.([a-z_.]+).*)?")


_REMOTE = re.compile(r"\bmodel\.remote\.(name|version|inputs|output_names|output|identity)\b")
"""Fields of a model behind an address, which have flags of their names."""


def _remote_flag(field: re.Match[str]) -> str:
    return f"--remote-{field[1].replace('_', '-')}"


@dataclass(frozen=True, slots=True)
class Names:
    """Names by which the user of a command knows fields of the contract.

    Attributes
    ----------
    flags : mapping of field name to flag
        Like "target_column" to "--target-column".
    files : mapping of field name to path
        Like "model" to the path of the model as typed.
    methods : collection of str
        Methods whose options come from --set.
    is_ambiguous : bool
        Whether an option may belong to several methods.
    options : mapping of option to flag
        Flags that stand for an option of the methods.
    """

    flags: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    methods: frozenset[str] = frozenset()
    is_ambiguous: bool = False
    options: Mapping[str, str] = field(default_factory=dict)

    def place(self, path: str) -> str:
        """Name the flag or file of a field: "table.csv" is the path of the table."""
        if remote := _REMOTE.match(path):
            return _remote_flag(remote) + path[remote.end() :]
        top = re.split(r"[.\[]", path, maxsplit=1)[0]
        if top in self.files:
            return self.files[top]
        if top in self.flags:
            return self.flags[top] + path[len(top) :]
        option = _METHOD_OPTION.fullmatch(path)
        if option and option[2] in self.options:
            return self.options[option[2]]
        if option and option[1] in self.methods:
            words = [f"--method {option[1]}"] if self.is_ambiguous or not option[2] else []
            return " ".join([*words, *([f"--set {option[2]}"] if option[2] else [])])
        return path

    def text(self, message: str) -> str:
        """Replace names of fields by flags; except in quotes, and those that may be just words."""
        parts = _SPLIT.split(message)
        parts[::2] = [self._with_flags(part) for part in parts[::2]]
        return "".join(parts)

    def _with_flags(self, text: str) -> str:
        text = _REMOTE.sub(_remote_flag, text)
        names = "|".join(name for name in self.flags if "_" in name)
        if not names:
            return text
        fields = re.compile(rf"\b(?<![-.])({names})\b(?![-.\w])")
        return fields.sub(lambda name: self.flags[name[0]], text)


def error_line(
    message: str, reason: str, path: str = "", names: Names = Names(), *, is_whole: bool = False
) -> str:
    """Format an error in one line that names the place: its first sentence, if it is long.

    Parameters
    ----------
    message : str
        May contain line breaks and terminal escape codes, from names of columns.
    reason : str
    path : str
        Field of the request, like "target_column"; may be empty.
    names : Names
    is_whole : bool
        Whether the line has the whole message, however long.
    """
    place = names.place(path)
    whole = printed(names.text(message))
    if path and whole.startswith(f"{path} "):
        whole = place + whole[len(path) :]
    # Do not repeat a place that the message names.
    prefix = f"{clean(place)}: " if place not in whole else ""
    told = whole if is_whole else shortened(whole, LONGEST_LINE - len(prefix))
    more = "" if told == whole else MORE
    return f"onnxplain: error: {prefix}{told}{more} ({reason})"


def printed(text: str) -> str:
    """Return a text in one line and without terminal escape codes."""
    return clean(" ".join(text.split()))


def _first_name(names: re.Match[str]) -> str:
    first = re.match(_QUOTED, names[0])
    return f"{first[0]}, …" if first else names[0]


def shortened(text: str, longest: int = LONGEST_LINE) -> str:
    """Return a text that fits as it is; of another one, the first sentence without its lists."""
    if len(text) <= longest:
        return text
    without_lists = _NAMES.sub(_first_name, _LISTED.sub("", text))
    sentence = _SENTENCE_END.match(without_lists)
    head = sentence[1] if sentence else without_lists
    if len(head) <= LONGEST_LINE:
        return head
    return f"{head[: LONGEST_LINE - 2].rsplit(' ', 1)[0]} …"
