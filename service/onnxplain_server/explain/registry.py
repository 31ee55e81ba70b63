"""Registry of preparations: for each method the function that makes it a job, and its row rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, cast

from onnxplain_server.explain import methods as room
from onnxplain_server.explain.task import Job, Task
from onnxplain_server.methods.registry import METHODS, SEQUENCES, Method, Options, method_of


@dataclass(frozen=True, slots=True)
class Preparation:
    """Preparation of a method.

    Attributes
    ----------
    method : Method
    rows_once : bool
        Whether it predicts each row once: it then uses all rows and does not merge equal ones.
    is_alone : bool
        Whether it must be the request's only method, as it reads another kind of table.
    """

    method: Method
    rows_once: bool = False
    is_alone: bool = False

    @property
    def prepare(self) -> Callable[[Task, Any], Job[Any]]:
        """Function (Task, Options) -> Job of the method's module in `explain.methods`."""
        return cast("Callable[[Task, Any], Job[Any]]", self.method.module_in(room.__name__).prepare)


PREPARATIONS: Mapping[str, Preparation] = MappingProxyType(
    {name: Preparation(method, rows_once=name == "firm") for name, method in METHODS.items()}
)

_SEQUENCES = Preparation(SEQUENCES, is_alone=True)


def preparation_of(options: Options) -> Preparation:
    """Return the preparation of the method that has these options."""
    method = method_of(options)
    return _SEQUENCES if method is SEQUENCES else PREPARATIONS[method.name]
