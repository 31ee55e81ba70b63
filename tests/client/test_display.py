"""HTML of results: tables, plots with and without a renderer, the overview, pages."""

import base64
import json
import struct
import zlib
from pathlib import Path

import onnxplain
import pyarrow as pa
import pytest
import vl_convert
from onnxplain import Explanations
from onnxplain.display import figure, rendering
from onnxplain.display.tables import to_html
from onnxplain.v1.explanation_service_pb2 import ExplainResponse

BAR = json.dumps(
    {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "data": {"values": [{"a": "</script><b>", "b": 28}]},
        "mark": "bar",
        "encoding": {"x": {"field": "a"}, "y": {"field": "b", "type": "quantitative"}},
    }
)
PNG = "data:image/png;base64,"


@pytest.fixture
def every(every_answer: ExplainResponse) -> Explanations:
    every_answer.explanations[0].plots[0].vega_lite = BAR
    return Explanations(every_answer)


@pytest.fixture
def without_renderer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "_MODULE", "vl_convert_that_is_not_installed")


def bundle_of(plot: onnxplain.Plot):
    bundle, metadata = plot._repr_mimebundle_()
    return bundle, metadata


def test_a_notebook_shows_results_as_tables(every: Explanations) -> None:
    html = every.permutation_importance._repr_html_()

    assert html.count("<tr>") == 5
    assert ">age × bmi<" in html
    assert ">-4<" in html


@pytest.mark.parametrize(("n_rows", "shown", "said"), [(20, 20, False), (2_100, 20, True)])
def test_a_notebook_shows_the_first_rows_and_says_of_how_many(
    n_rows: int, shown: int, said: bool
) -> None:
    html = to_html(pa.table({"value": [1 / 3] * n_rows}))

    assert html.count("<td") == shown
    assert ("20 of 2,100 rows" in html) is said
    assert ">0.3333<" in html


def test_a_table_names_its_empty_columns_instead_of_showing_them() -> None:
    nan = float("nan")
    html = to_html(pa.table({"value": [1.0, 2.0], "lower": [nan, nan], "group": ["", ""]}))

    assert html.count("</th>") == 1
    assert "Empty columns, not shown: lower, group." in html
    assert "nan" not in html


def test_a_number_that_is_missing_in_some_rows_is_shown() -> None:
    html = to_html(pa.table({"value": [1.0, float("nan")]}))

    assert ">nan<" in html
    assert "not shown" not in html


def test_a_plot_is_a_picture_with_words_for_those_who_cannot_see_it(every: Explanations) -> None:
    bundle, _ = bundle_of(every.plots[0])

    assert bundle["text/html"].startswith(f'<img alt="Overall. Two bars." src="{PNG}')
    assert bundle["text/html"].split(PNG)[1].split('"')[0] == bundle["image/png"]
    assert bundle["text/plain"] == "Two bars."
    assert bundle["application/vnd.vegalite.v6+json"] == json.loads(BAR)


def test_a_picture_for_print_is_as_large_as_the_one_on_screen(every: Explanations) -> None:
    bundle, metadata = bundle_of(every.plots[0])
    pixels = struct.unpack(">II", base64.b64decode(bundle["image/png"])[16:24])

    size = metadata["image/png"]
    assert pixels == pytest.approx([rendering.PNG_SCALE * size[k] for k in ("width", "height")])
    assert f"width: {size['width']:g}px" in bundle["text/html"]


def test_a_picture_is_the_one_that_the_renderer_drew(every: Explanations) -> None:
    """Only compressed better: the same pixels, and a program that reads PNG accepts it."""
    small = rendering.png(BAR)
    drawn = vl_convert.vegalite_to_png(BAR, vl_version="6.4", scale=rendering.PNG_SCALE)

    def pixels(content: bytes) -> bytes:
        parts = [data for kind, data in rendering._chunks(content) if kind == b"IDAT"]
        return zlib.decompress(b"".join(parts))

    assert pixels(small) == pixels(drawn)
    assert len(small) < len(drawn)
    assert [kind for kind, _ in rendering._chunks(small)][-1] == b"IEND"


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ('{"mark": "bar"}', "of no version"),
        ('{"$schema": "https://vega.github.io/schema/vega-lite/v99.json"}', "Vega-Lite 99"),
        (BAR.replace('"bar"', '"no mark"'), "cannot be drawn"),
    ],
)
def test_a_plot_that_cannot_be_drawn_says_why(
    every_answer: ExplainResponse, spec: str, reason: str
) -> None:
    every_answer.explanations[0].plots[0].vega_lite = spec
    bundle, _ = bundle_of(Explanations(every_answer).plots[0])

    assert reason in bundle["text/html"]
    assert "image/png" not in bundle
    assert "Two bars." in bundle["text/html"]


@pytest.mark.usefixtures("without_renderer")
def test_without_a_renderer_a_plot_asks_before_another_host_is_asked(every: Explanations) -> None:
    bundle, _ = bundle_of(every.plots[0])

    assert "pip install &quot;onnxplain[notebook]&quot;" in bundle["text/html"]
    assert "image/png" not in bundle
    # Addresses stand in the arguments of the script only: nothing that a browser loads by itself.
    words, script = bundle["text/html"].split("<script>")
    assert "http" not in words
    assert script.count("</script>") == 1
    assert all(source["url"] in script for source in figure.SOURCES)


@pytest.mark.usefixtures("without_renderer")
def test_without_a_renderer_an_interactive_plot_says_what_to_install(every: Explanations) -> None:
    with pytest.raises(ImportError, match=r'pip install "onnxplain\[notebook\]"'):
        every.plots[0].interactive()


def test_an_interactive_plot_is_a_page_of_its_own(every: Explanations, tmp_path: Path) -> None:
    page = every.plots[0].to_html(tmp_path / "plot.html")

    assert (tmp_path / "plot.html").read_text(encoding="utf-8") == page
    assert "default-src 'none'" in page
    assert "</script><b>" not in page
    assert page.count("</script>") == 2
    frame = every.plots[0].interactive()._repr_html_()
    assert frame.startswith('<iframe title="Overall"')
    assert "<script>" not in frame


def test_an_overview_has_few_plots_and_names_the_others(every_answer: ExplainResponse) -> None:
    explanation = every_answer.explanations[0]
    explanation.plots[0].vega_lite = BAR
    for name in ("second", "third"):
        explanation.plots.add(name=name, title=name, vega_lite=BAR)
    html = Explanations(every_answer)._repr_html_()

    assert html.count("<img") == 2
    assert '<code>plot("third")</code>' in html.replace("&quot;", '"')
    assert "<h4>Interactions</h4>" in html
    assert "<h4>Individual conditional expectation</h4>" in html
    assert html.endswith("<small>56 rows predicted · engine BLACK_BOX · 2.0 s</small></p>")


def test_an_overview_begins_with_the_sentences_and_escapes_them(
    every_answer: ExplainResponse,
) -> None:
    every_answer.summary[:] = ["m predicts a<b.", "a moves predictions most.", "b is flat."]
    explanation = Explanations(every_answer)

    assert explanation.summary[2] == "b is flat."
    assert explanation._repr_html_().startswith(
        "<p><b>m predicts a&lt;b.</b></p>\n"
        "<ul><li>a moves predictions most.</li><li>b is flat.</li></ul>\n"
    )
    del every_answer.summary[:]
    assert not explanation._repr_html_().startswith(("<p><b>", "<ul>"))


def test_an_overview_has_no_empty_cells(every: Explanations) -> None:
    html = every._repr_html_()

    assert "<h4>Average loss</h4>\n<p>1,600 rows, 1,500 of them used" in html
    assert html.count("of them used") == 1
    assert "standard_error</th>" in html  # of permutation importance, which has no plot here
    assert "numerator" not in html  # of interactions, which has one


def test_an_overview_gets_no_markup_from_names(every_answer: ExplainResponse) -> None:
    every_answer.explanations[4].average_loss.losses[0].group = "<script>"
    every_answer.explanations[0].plots[0].title = "<script>"
    html = Explanations(every_answer)._repr_html_()

    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "⚠ only labels" in html


def test_only_doubts_are_warnings_and_what_was_made_how_stands_at_the_end(
    every_answer: ExplainResponse,
) -> None:
    every_answer.warnings.add(code="ROWS_DRAWN", message="few rows", kind="HOW_IT_WAS_MADE")
    every_answer.warnings.add(code="CORRELATED_FEATURES", message="a and b", kind="SENTENCE")
    answer = Explanations(every_answer)

    html = answer._repr_html_()

    assert [warning.kind for warning in answer.warnings][-2:] == ["HOW_IT_WAS_MADE", "SENTENCE"]
    assert html.count("⚠") == 1
    assert "a and b" not in html
    assert html.index("few rows") > html.rindex("<h4>")


def test_a_page_without_server_and_renderer_has_plots_to_be_drawn(
    every: Explanations, without_renderer: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onnxplain.results.explanations.entry_points", lambda **_: ())
    page = every.to_html()

    assert "Not drawn yet" in page
    assert page.count("<table") == len(every)


def test_a_page_without_the_server_has_every_plot_and_table(
    every: Explanations, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onnxplain.results.explanations.entry_points", lambda **_: ())
    every.message.receipt.model_name = "<forest>"
    page = every.to_html(tmp_path / "page.html")

    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page
    assert "<title>Explanation of &lt;forest&gt;</title>" in page
    assert page.count("<img") == len(every.plots)
    assert page.count("<table") == len(every)
    assert "http" not in page
