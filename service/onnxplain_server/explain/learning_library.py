"""scikit-learn, which only some worker processes have."""

from __future__ import annotations


def require_learning_library() -> None:
    """Import scikit-learn while a method is prepared, before anything is predicted.

    A worker without it hands the whole request over to one that has it. Later, what the first one
    had predicted would be missing in the receipt's count.

    Raises
    ------
    ModuleNotFoundError
        In workers without it.
    """
    import sklearn  # noqa: F401 - only some workers have it
