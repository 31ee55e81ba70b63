"""Rules of a gate: from a TOML file into messages, and of messages to judge; findings back."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from onnxplain.v1 import explanation_comparison_pb2 as comparison_pb2
from onnxplain.v1.explanation_comparison_pb2 import ComparisonRule, RuleFinding

from onnxplain_server.core.contract_limits import ComparisonRule as ComparisonRuleLimits
from onnxplain_server.core.contract_limits import Reference
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.limits import within
from onnxplain_server.language import Expression, Scope, ValueKind, parse
from onnxplain_server.methods.changes.rules import NAMES, GateFinding, GateRule, is_condition
from onnxplain_server.wire import message_fields
from onnxplain_server.wire.message_fields import Values, WriteExceptions

_FIELDS = {
    "name": str,
    "statistic": str,
    "ranking": str,
    "features": list,
    "group": str,
    "output": str,
    "holds": str,
    "max_change": float,
    "new_leading_features": bool,
    "level": float,
}
_OF_STATISTICS = ("features", "group")
_CONDITIONS = ("holds", "max_change", "new_leading_features")
_KIND = comparison_pb2.ReplicatedStatistic.Kind
_KINDS = _KIND.keys()[1:]
_RANKINGS = ("IMPORTANCE", "FIRM_IMPORTANCE", "MEAN_ABSOLUTE_ATTRIBUTION")
_SCOPE = Scope(
    "a rule is over {known}, and there is no {name}",
    "a rule is over reference, value or change, and names none of them",
    Reason.INVALID_OPTION,
)


def read_rules(content: bytes) -> list[ComparisonRule]:
    """Read the rules of a file, and check them.

    Raises
    ------
    ExplainError
        INVALID_OPTION, with the place.
    """
    try:
        document = tomllib.loads(content.decode())
    except ValueError as error:  # of text, of TOML, and of whole numbers of thousands of digits
        raise _fault(f"the rules are no TOML: {error}", "rules") from None
    except RecursionError:
        raise _fault("the rules cannot be read: they are nested too deeply", "rules") from None
    rules = document.get("rule")
    if set(document) != {"rule"} or not isinstance(rules, list) or not rules:
        raise _fault(
            "the rules are a list of [[rule]] tables, one or more, and nothing else", "rules"
        )
    messages = [_message(each, f"rule[{i}]") for i, each in enumerate(rules)]
    gate_rules(messages, "rule")
    return messages


def _message(given: Any, path: str) -> ComparisonRule:
    """Write a table of the file as a message, whose fields have the same names."""
    if not isinstance(given, dict):
        raise _fault("a rule is a table, [[rule]]", path)
    _check_fields(given, path)
    rule = ComparisonRule()
    for name, value in given.items():
        if name in {"statistic", "ranking"}:
            known = _KINDS if name == "statistic" else _RANKINGS
            if value.upper() not in known or value != value.lower():
                raise _unknown_kind(name, path)
            setattr(rule, name, _KIND.Value(value.upper()))
        elif name == "features":
            rule.features.extend(map(str, value))
        else:
            setattr(rule, name, value)
    for field in _OF_STATISTICS:  # also an empty one, which a message does not tell
        if rule.ranking and field in given:
            raise _whole_ranking(_name(rule, _KIND.Name(rule.ranking)), field, path)
    return rule


def _check_fields(given: Mapping[str, Any], path: str) -> None:
    for name, value in given.items():
        if name not in _FIELDS:
            raise _fault(f"a rule has no {name!r}; it has {', '.join(_FIELDS)}", path)
        kind = _FIELDS[name]
        is_number = kind is float and isinstance(value, int) and not isinstance(value, bool)
        if not isinstance(value, kind) and not is_number:
            raise _fault(f"{name} must be of the type {kind.__name__}", f"{path}.{name}")
        if is_number and abs(value) > sys.float_info.max:
            raise _fault(f"{name} is too large for a number", f"{path}.{name}")


def gate_rules(messages: Sequence[ComparisonRule], path: str) -> list[GateRule]:
    """Read rules to judge.

    Parameters
    ----------
    path : str
        Of the list, for errors.

    Raises
    ------
    ExplainError
        INVALID_OPTION, with the place.
    """
    limit = Reference.rules.max_items
    if len(messages) > limit:
        raise _fault(f"there are {len(messages):,} rules, at most {limit:,} are taken", path)
    return [_rule(each, f"{path}[{i}]") for i, each in enumerate(messages)]


def _rule(given: ComparisonRule, path: str) -> GateRule:
    asked = [name for name in _CONDITIONS if _is_given(given, name)]
    if len(asked) != 1:
        raise _fault(f"a rule has one of {', '.join(_CONDITIONS)}", path)
    is_ranking = asked == ["new_leading_features"]
    kind = _kind(given, path, is_ranking=is_ranking)
    if is_ranking:
        _check_ranking(given, path, _name(given, kind))
    default = ComparisonRuleLimits.level.default
    level = given.level if given.HasField("level") else default
    within(level, ComparisonRuleLimits.level, f"{path}.level")
    condition = None if is_ranking else _condition(given, path)
    own = frozenset(given.features), given.group, given.output
    return GateRule(_name(given, kind), kind, *own, condition, level)


def _is_given(given: ComparisonRule, name: str) -> bool:
    return bool(given.holds) if name == "holds" else given.HasField(name)


def _check_ranking(given: ComparisonRule, path: str, name: str) -> None:
    if given.new_leading_features:
        raise _fault("new_leading_features can only be false", f"{path}.new_leading_features")
    for field in _OF_STATISTICS:
        if getattr(given, field):
            raise _whole_ranking(name, field, path)


def _whole_ranking(name: str, field: str, path: str) -> ExplainError:
    message = f"the rule {name!r} is about a whole ranking, and cannot have {field}"
    return _fault(message, f"{path}.{field}")


def _kind(given: ComparisonRule, path: str, *, is_ranking: bool) -> str:
    """Return the kind of the statistics, or of the ranking, as the contract names it."""
    field, other = ("ranking", "statistic") if is_ranking else ("statistic", "ranking")
    kind = message_fields.enum(given, field, f"{path}.{field}")
    if getattr(given, other) or kind not in (_RANKINGS if is_ranking else _KINDS):
        raise _unknown_kind(field, path)
    return kind


def _unknown_kind(field: str, path: str) -> ExplainError:
    known = ", ".join(_RANKINGS if field == "ranking" else _KINDS).lower()
    return _fault(f"this rule has a {field}, one of {known}", f"{path}.{field}")


def _condition(given: ComparisonRule, path: str) -> Expression:
    text = given.holds
    if given.HasField("max_change"):
        if not 0 <= given.max_change < float("inf"):
            raise _fault("max_change must be 0 or more, and finite", f"{path}.max_change")
        text = f"abs(change) <= {given.max_change!r}"
    kinds = dict.fromkeys(NAMES, ValueKind.NUMBER)
    condition = parse(text, kinds, f"{path}.holds", _SCOPE)
    if not is_condition(condition):
        raise _fault("holds is one comparison by <, <=, > or >=", f"{path}.holds")
    return condition


def _name(given: ComparisonRule, kind: str) -> str:
    """Name a rule by what it says, unless it has a name."""
    if given.name:
        return given.name
    about = [kind.lower(), *given.features]
    about += [name for name in (given.group, given.output) if name]
    says = given.holds or "no new leading features"
    if given.HasField("max_change"):
        says = f"max_change {given.max_change:g}"
    return f"{' '.join(about)}: {says}"


def write_finding(finding: GateFinding, given: ComparisonRule) -> RuleFinding:
    """Write what is known of a rule that was given as a message."""
    written = message_fields.write(RuleFinding, finding, _EXCEPTIONS)
    written.rule.CopyFrom(given)
    written.rule.name, written.rule.level = finding.rule.name, finding.rule.level
    return written


def _finding(finding: GateFinding) -> Values:
    own = finding.subject
    names = ("explanation_index", "kind", "features", "group", "output_name")
    subject = {name: getattr(own, name) if own else None for name in names}
    return {"rule": None, **subject}


_EXCEPTIONS: WriteExceptions = {"RuleFinding": _finding}


def _fault(message: str, path: str) -> ExplainError:
    return ExplainError(Reason.INVALID_OPTION, message, path)
