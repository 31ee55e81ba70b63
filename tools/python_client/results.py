"""Results of the Python client by method: how each is read, and its property of `Explanations`."""

from __future__ import annotations

from tools.python_client.contract import Contract
from tools.python_client.source import head

_MODULE = '''
from abc import abstractmethod
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias, TypeVar

{imports}
from onnxplain.v1.explanation_service_pb2 import Explanation

Result: TypeAlias = {union}
"""Result of any method."""

READERS: Mapping[str, Callable[[Explanation], Result]] = MappingProxyType({{{readers}}})
"""Functions that read the result of a message, by method."""

_ResultType = TypeVar("_ResultType", bound=Result)


class ResultsByMethod:
    """A property for each method."""

    @abstractmethod
    def _only(self, kind: type[_ResultType]) -> _ResultType:
        """Return the only result of a class; LookupError unless there is exactly one."""
{properties}'''

_PROPERTY = '''
    @property
    def {name}(self) -> {kind}:
        """The result of `{options}`; LookupError unless exactly one."""
        return self._only({kind})
'''


def module(contract: Contract) -> str:
    """Write the module: the classes are those of results/, called as their messages."""
    fields = contract.message("Explanation").oneofs_by_name["result"].fields
    kinds = {field.name: field.message_type.name for field in fields}
    source = _MODULE.format(
        imports="\n".join(f"from onnxplain.results.{n} import {k}" for n, k in kinds.items()),
        union="(" + " | ".join(kinds.values()) + ")",
        readers=", ".join(f'"{name}": {kind}.from_message' for name, kind in kinds.items()),
        properties="".join(
            _PROPERTY.format(name=name, kind=kind, options=kind.removesuffix("Result"))
            for name, kind in kinds.items()
        ),
    )
    return head("explanation_service.proto", "Results by method.") + source
