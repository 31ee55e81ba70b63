"""Token file: bearer tokens by their digests."""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path

import pytest
from onnxplain_server.adapters.access.tokens import TokenFile, new_token, token_line
from onnxplain_server.adapters.access.watched_files import FileError


def digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tokens"


def test_a_token_names_its_caller(path: Path) -> None:
    path.write_text(f"# ours\n\nann {digest('a')}\n  bob\t{digest('b').upper()}  \n")

    file = TokenFile(path)

    assert [file.verify(token) for token in ("a", "b", "c", "")] == [
        "token:ann",
        "token:bob",
        None,
        None,
    ]


def test_a_caller_may_have_several_tokens(path: Path) -> None:
    path.write_text(f"ann {digest('old')}\nann {digest('new')}\n")

    file = TokenFile(path)

    assert file.verify("old") == file.verify("new") == "token:ann"


def test_a_digest_is_no_token(path: Path) -> None:
    path.write_text(f"ann {digest('a')}\n")

    assert TokenFile(path).verify(digest("a")) is None


def test_each_token_is_compared_with_all_in_constant_time(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_text("".join(f"c{number} {digest(str(number))}\n" for number in range(5)))
    file = TokenFile(path)
    compared: list[str] = []
    compare = hmac.compare_digest

    def counted(known: str, given: str) -> bool:
        compared.append(known)
        return compare(known, given)

    monkeypatch.setattr(hmac, "compare_digest", counted)

    for token in ("0", "4", "none"):
        compared.clear()
        file.verify(token)
        assert len(compared) == 5


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("", "names no token"),
        ("# nothing\n", "names no token"),
        ("ann\n", "line 1: has 1 words and needs two"),
        ("\nann {a} {a}\n", "line 2: has 3 words"),
        ("ann hunter2\n", "line 1: the second word is no SHA-256"),
        ("ann {a}0\n", "line 1: the second word is no SHA-256"),
        ("-ann {a}\n", "line 1: the name needs"),
        ("a\x07nn {a}\n", "line 1: the name needs"),
        ("änn {a}\n", "line 1: the name needs"),
        ("ann {a}\nbob {a}\n", "line 2: the token is in line 1 already"),
    ],
)
def test_a_bad_file_is_refused_by_line_and_rule_without_its_content(
    path: Path, content: str, fault: str
) -> None:
    path.write_text(content.replace("{a}", digest("a")))

    with pytest.raises(FileError) as caught:
        TokenFile(path)

    assert str(path) in str(caught.value)
    assert fault in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert digest("a") not in str(caught.value)


def test_a_new_token_is_known_by_its_line(path: Path) -> None:
    tokens = [new_token() for _ in range(3)]
    path.write_text("\n".join(token_line(f"c{i}", token) for i, token in enumerate(tokens)))

    file = TokenFile(path)

    assert len({token for token in tokens if len(token) == 64}) == 3
    assert [file.verify(token) for token in tokens] == ["token:c0", "token:c1", "token:c2"]
