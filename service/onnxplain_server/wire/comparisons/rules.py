"""Rules of a gate, from a TOML file."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping
from typing import Any

from onnxplain.v1 import explanation_comparison_pb2 as comparison_pb2

from onnxplain_server.core.contract_limits import ComparisonOptions
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.limits import within
from onnxplain_server.language import Expression, Scope, ValueKind, parse
from onnxplain_server.methods.changes.rules import NAMES, GateRule, is_condition

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
_CONDITIONS = ("holds", "max_change", "new_leading_features")
_KINDS = tuple(name.lower() for name in comparison_pb2.ReplicatedStatistic.Kind.keys()[1:])
_RANKINGS = ("importance", "firm_importance", "mean_absolute_attribution")
_SCOPE = Scope(
    "a rule is over {known}, and there is no {name}",
    "a rule is over reference, value or change, and names none of them",
    Reason.INVALID_OPTION,
)


def read_rules(content: bytes) -> list[GateRule]:
    """Read the rules of a file.

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
    return [_rule(each, f"rule[{i}]") for i, each in enumerate(rules)]


def _rule(given: Any, path: str) -> GateRule:
    if not isinstance(given, dict):
        raise _fault("a rule is a table, [[rule]]", path)
    _check_fields(given, path)
    asked = [name for name in _CONDITIONS if name in given]
    if len(asked) != 1:
        raise _fault(f"a rule has one of {', '.join(_CONDITIONS)}", path)
    is_ranking = asked == ["new_leading_features"]
    kind = _kind(given, path, is_ranking=is_ranking)
    if is_ranking:
        _check_ranking(given, path, _name(given, kind))
    level = float(given.get("level", ComparisonOptions.confidence_level.default))
    within(level, ComparisonOptions.confidence_level, f"{path}.level")
    condition = None if is_ranking else _condition(given, path)
    features = frozenset(map(str, given.get("features", ())))
    own = features, given.get("group", ""), given.get("output", "")
    return GateRule(_name(given, kind), kind, *own, condition, level)


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


def _check_ranking(given: Mapping[str, Any], path: str, name: str) -> None:
    if given["new_leading_features"]:
        raise _fault("new_leading_features can only be false", f"{path}.new_leading_features")
    for field in ("features", "group"):
        if field in given:
            message = f"the rule {name!r} is about a whole ranking, and cannot have {field}"
            raise _fault(message, f"{path}.{field}")


def _kind(given: Mapping[str, Any], path: str, *, is_ranking: bool) -> str:
    """Return the kind of the statistics, or of the ranking, as the contract names it."""
    field, other = ("ranking", "statistic") if is_ranking else ("statistic", "ranking")
    known = _RANKINGS if is_ranking else _KINDS
    if other in given or given.get(field) not in known:
        raise _fault(f"this rule has a {field}, one of {', '.join(known)}", f"{path}.{field}")
    return str(given[field]).upper()


def _condition(given: Mapping[str, Any], path: str) -> Expression:
    if "max_change" in given:
        if not 0 <= given["max_change"] < float("inf"):
            raise _fault("max_change must be 0 or more, and finite", f"{path}.max_change")
        text = f"abs(change) <= {float(given['max_change'])!r}"
    else:
        text = given["holds"]
    kinds = dict.fromkeys(NAMES, ValueKind.NUMBER)
    condition = parse(text, kinds, f"{path}.holds", _SCOPE)
    if not is_condition(condition):
        raise _fault("holds is one comparison by <, <=, > or >=", f"{path}.holds")
    return condition


def _name(given: Mapping[str, Any], kind: str) -> str:
    """Name a rule by what it says, unless it has a name."""
    if given.get("name"):
        return str(given["name"])
    about = [kind.lower(), *(str(each) for each in given.get("features", ()))]
    about += [given[name] for name in ("group", "output") if name in given]
    says = given.get("holds") or "no new leading features"
    if "max_change" in given:
        says = f"max_change {given['max_change']:g}"
    return f"{' '.join(about)}: {says}"


def _fault(message: str, path: str) -> ExplainError:
    return ExplainError(Reason.INVALID_OPTION, message, path)
