"""Numbers in JSON: read as they are, or refused, by whichever parser."""

from __future__ import annotations

import math

from hypothesis import example, given
from hypothesis import strategies as st
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.wire.canonical import read_object

NUMBERS = st.from_regex(r"-?[1-9][0-9]{0,320}(\.[0-9]{1,5})?([eE][+-]?[0-9]{1,3})?", fullmatch=True)


@given(NUMBERS)
@example("1e308")
@example("1e309")
@example("1E+999")
@example("1" + 199 * "0" + "e9")
@example(300 * "9" + "e9")
@example(308 * "9" + ".0")
@example(309 * "9" + ".0")
def test_a_number_beyond_a_double_is_refused_and_every_other_is_read(text: str) -> None:
    is_real = bool({".", "e", "E"} & set(text))
    is_readable = not is_real or math.isfinite(float(text))

    try:
        value = read_object(f'{{"a": {text}}}'.encode())["a"]
    except ExplainError:
        assert not is_readable
    else:
        assert is_readable
        assert value == (float(text) if is_real else int(text))
