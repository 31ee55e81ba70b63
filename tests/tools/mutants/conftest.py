"""A checkout of a few lines, with tests that find some of the faults in it."""

import subprocess
from pathlib import Path

import pytest

FILES = {
    "service/shop/__init__.py": "",
    "service/shop/price.py": """
def total(price: int, count: int) -> int:
    return price * count


def label() -> str:
    return "price"


def currency() -> str:
    return "EUR"
""",
    "service/shop/order.lua": "call('DEL', id) -- gone\nreturn 1\n",
    "clients/python/__init__.py": "",
    "tests/price/test_total.py": """
from shop.price import total


def test_fails_without_any_fault() -> None:
    assert total(2, 3) == 7


def test_price_times_count() -> None:
    assert total(2, 3) == 6
""",
    "tests/label/test_label.py": """
from shop.price import label


def test_label() -> None:
    assert label() == "price"
""",
    ".gitignore": "/.venv/\n__pycache__/\n",
}


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout; only to be read."""
    root = tmp_path_factory.mktemp("toy")
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    subprocess.run(["git", "add", "--all"], cwd=root, check=True)
    return root
