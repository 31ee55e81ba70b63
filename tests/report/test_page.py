"""The page is complete in itself, and nothing in an answer can break out of its place."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest
from onnxplain.v1 import explanation_service_pb2 as pb
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.report import page

HOSTILE = "</script><script>alert(1)</script><!--<script>\u2028'\"&"


class Elements(HTMLParser):
    """The elements of a page as a browser finds them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text = ""
        self._inside = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside != "style":
            self.text += data

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.found)


@pytest.fixture
def html(answer: pb.ExplainResponse) -> str:
    return page.of_response(answer, "house.onnx")


def policy(elements: Elements) -> str:
    (found,) = [a["content"] for _, a in elements.found if "http-equiv" in a]
    return str(found)


def test_the_page_shows_warnings_tables_plots_and_receipt(html: str) -> None:
    elements = Elements(html)

    for text in ("What house.onnx has learned", "only labels", "skl2onnx", "1,234", "age × bmi"):
        assert text in elements.text
    assert (elements.count("figure"), elements.count("table")) == (3, 4)


def test_what_only_tells_how_an_answer_was_made_stands_at_the_end(
    answer: pb.ExplainResponse,
) -> None:
    answer.warnings.add(code="ROWS_DRAWN", message="500 of 900 rows")
    text = Elements(page.of_response(answer)).text

    before, made = text.split("How these numbers were made")[1:]
    assert ("LABELS_ONLY" in before, "ROWS_DRAWN" in before) == (True, False)
    assert "500 of 900 rows" in made


def test_the_title_takes_the_name_of_the_model_from_the_answer(answer: pb.ExplainResponse) -> None:
    answer.receipt.model_name = "<houses>"
    assert "<title>What &lt;houses&gt; has learned</title>" in page.of_response(answer, "t.csv")


def test_every_plot_has_its_description_beside_it(html: str) -> None:
    elements = Elements(html)

    labels = [a["aria-label"] for tag, a in elements.found if tag == "figure"]
    assert labels == ["curve-age!", "overall!", "pairwise!"]
    assert elements.text.count("What overall shows.") == 1


def test_the_contents_lead_to_every_section(every_answer: pb.ExplainResponse) -> None:
    elements = Elements(page.of_response(every_answer))
    ids = [a["id"] for tag, a in elements.found if tag == "section"]
    links = [a["href"] for tag, a in elements.found if tag == "a"]

    assert ids == ["section-1", "section-2", "section-3", "section-4", "section-5", "receipt"]
    assert set(links) == {f"#{target}" for target in ids}
    for title in (
        "Interactions",
        "Partial dependence",
        "Curves of single rows, by sex",
        "Permutation importance",
        "Average loss: root mean squared error, by region",
    ):
        assert elements.text.count(title) >= 2


def test_every_method_says_what_it_answers_and_when_not_to_rely_on_it(
    every_answer: pb.ExplainResponse,
) -> None:
    text = Elements(page.of_response(every_answer)).text

    assert text.count(": when not to rely on it") == 5
    assert text.count("How much worse do predictions get") == 1


def test_a_long_list_of_columns_is_folded(answer: pb.ExplainResponse) -> None:
    columns = ", ".join(f"{place} 'feature_{place}'" for place in range(1, 13))
    shares = "; ".join(f"'feature_{place}' 7%, mostly with 'x'" for place in range(1, 6))
    sentence = "The model is no better: R² of y 0, of the constant 0. Its columns are swapped. " * 3
    for message in (
        f"In the model's order: {columns}. Name them.",
        "Taken in their order: 1 'a', 2 'b'.",
        sentence,
        f"Outside the data: {shares}; 4 more. No row tells.",
    ):
        answer.warnings.add(code="COLUMNS_BY_POSITION", message=message)

    html = page.of_response(answer)

    folded = re.findall(r"<li><details><summary>(.*?)</summary>(.*?)</details> (.*?) <", html)
    assert [(head, items.count("feature_"), rest) for head, items, rest in folded] == [
        ("In the model&#39;s order", 12, "Name them."),
        ("Outside the data", 5, "No row tells."),
    ]
    assert f"<li>{sentence}" in html


def test_no_heading_stands_twice(every_answer: pb.ExplainResponse) -> None:
    every_answer.explanations.append(all_rows("SQUARED_ERROR", 4, 16))
    every_answer.explanations.append(all_rows("ABSOLUTE_ERROR", 1.5, 3))
    content, _, _ = page.of_response(every_answer).partition("<footer>")
    headings = re.findall(r"<(?:h[1-3]|caption><b)>(.*?)</", content)

    assert len(headings) > 12
    assert [text for text in headings if headings.count(text) > 1] == []


def all_rows(loss: str, value: float, constant: float) -> pb.Explanation:
    """The loss of all rows together, with its plot of one bar."""
    return pb.Explanation(
        average_loss={
            "output_names": ["price"],
            "losses": [{"values": [value], "weight": 9}],
            "constant_losses": [constant],
        },
        options={"average_loss": {"loss": loss}},
        plots=[{"name": loss, "title": loss, "vega_lite": "{}"}],
    )


def test_losses_of_all_rows_are_key_figures_beside_those_of_the_best_constant(
    every_answer: pb.ExplainResponse,
) -> None:
    del every_answer.warnings[:]
    every_answer.explanations.insert(0, all_rows("SQUARED_ERROR", 4, 16))
    every_answer.explanations.insert(1, all_rows("ABSOLUTE_ERROR", 1.5, 3))
    elements = Elements(page.of_response(every_answer))
    text = "".join(elements.text.split())

    assert "R²0.751isperfect,0themeanalone" in text
    assert "Rootmeansquarederror2unitsofpricethebestconstant:4" in text
    assert "Meanabsoluteerror1.5unitsofpricethebestconstant:3" in text
    labels = [a["aria-label"] for tag, a in elements.found if tag == "figure"]
    assert not {"SQUARED_ERROR", "ABSOLUTE_ERROR"} & set(labels)
    assert elements.text.count("On rows used in training the loss is too small.") == 1


def test_tables_are_folded_beside_pictures_and_open_alone(answer: pb.ExplainResponse) -> None:
    def folds() -> list[bool]:
        found = Elements(page.of_response(answer)).found
        return ["open" in attributes for tag, attributes in found if tag == "details"]

    assert folds() == [False, False, False]  # the last is the receipt
    del answer.explanations[0].plots[:]
    assert folds() == [False, True, False]


def test_further_pictures_of_a_section_among_others_are_folded(answer: pb.ExplainResponse) -> None:
    def parts() -> list[int]:
        html = page.of_response(answer)
        section = next(part for part in html.split("<section")[1:] if "Picture 4" in part)
        return [part.count("<figure") for part in section.partition("more pictures</summary>")[::2]]

    answer.explanations[1].ClearField("plots")
    for number in range(5):
        answer.explanations[1].plots.add(title=f"Picture {number}", vega_lite="{}")
    assert parts() == [3, 2]
    del answer.explanations[0]
    assert parts() == [5, 0]


def test_a_table_whose_numbers_are_key_figures_is_folded(every_answer: pb.ExplainResponse) -> None:
    def before_the_last_table() -> str:
        html = page.of_response(every_answer)
        return html[: html.rindex("<summary>Numbers")]

    every_answer.explanations.append(all_rows("ABSOLUTE_ERROR", 1.5, 3))
    assert before_the_last_table().endswith("<details>\n")
    del every_answer.explanations[:-1]
    assert before_the_last_table().endswith("<details open>\n")


def test_the_receipt_has_the_options_of_each_method(every_answer: pb.ExplainResponse) -> None:
    text = Elements(page.of_response(every_answer)).text
    assert '{"averageLoss": {"loss": "SQUARED_ERROR", "groupColumn": "region"}}' in text


def test_sections_of_one_method_are_told_apart(answer: pb.ExplainResponse) -> None:
    answer.explanations.append(answer.explanations[1])
    assert "Partial dependence (2)" in Elements(page.of_response(answer)).text


def test_the_library_is_inside_once_however_many_plots(html: str) -> None:
    *plots, library, own = Elements(html).scripts

    assert [json.loads(plot)["mark"] for plot in plots] == ["bar"] * 3
    assert 500_000 < len(library) < 1_500_000
    assert len(own) < 20_000


def test_the_page_asks_the_network_for_nothing(html: str) -> None:
    elements = Elements(html)

    attributes = [
        value for _, a in elements.found for name, value in a.items() if name != "content"
    ]
    assert not [value for value in attributes if value and "//" in value]
    assert all(a["href"].startswith("#") for tag, a in elements.found if tag == "a" and a["href"])
    assert elements.count("link") == elements.count("img") == elements.count("iframe") == 0
    style = html[html.index("<style>") : html.index("</style>")]
    assert not re.search(r"url\(|@import", style)
    assert policy(elements).startswith("default-src 'none'; ")


def test_only_the_scripts_of_the_page_may_run(html: str) -> None:
    elements = Elements(html)
    digests = [hashlib.sha256(script.encode()).digest() for script in elements.scripts[-2:]]
    allowed = re.search(r"script-src ([^;]*);", policy(elements))

    assert allowed
    assert allowed[1].split() == [f"'sha256-{base64.b64encode(d).decode()}'" for d in digests]


def test_the_library_does_not_end_its_own_element(html: str) -> None:
    assert html.count("</script>") == 5


def hostile(answer: pb.ExplainResponse) -> pb.ExplainResponse:
    """Put markup wherever an answer has text."""
    result = answer.explanations[0].interactions
    result.output_names[0] = HOSTILE
    result.overall[0].features[0] = HOSTILE
    curve = answer.explanations[1].partial_dependence.curves[1]
    curve.group = curve.grid[1].strings[0] = HOSTILE
    plot = answer.explanations[0].plots[0]
    plot.name = plot.title = plot.description = HOSTILE
    plot.vega_lite = json.dumps({"mark": "bar", "title": HOSTILE}, ensure_ascii=False)
    answer.model.digest = answer.model.producer = answer.receipt.engine_reason = HOSTILE
    answer.explanations[1].options.partial_dependence.group_column = HOSTILE
    answer.receipt.server_version = answer.receipt.library_versions[HOSTILE] = HOSTILE
    answer.MergeFrom(pb.ExplainResponse(warnings=[{"code": HOSTILE, "message": HOSTILE}]))
    return answer


def test_names_cannot_break_out_of_their_place(html: str, answer: pb.ExplainResponse) -> None:
    safe = Elements(html)
    attacked = Elements(page.of_response(hostile(answer), HOSTILE))

    assert json.loads(attacked.scripts[1]) == {"mark": "bar", "title": HOSTILE}
    assert [tag for tag, _ in attacked.found if tag == "script"] == ["script"] * 5
    assert attacked.scripts[-2:] == safe.scripts[-2:]
    assert not [name for _, a in attacked.found for name in a if name.startswith("on")]


def test_specifications_stand_in_the_page_without_any_angle_bracket(
    answer: pb.ExplainResponse,
) -> None:
    data = re.findall(
        r'<script type="application/json">(.*?)</script>',
        page.of_response(hostile(answer)),
        re.DOTALL,
    )
    assert len(data) == 3
    assert not re.search("[<>&\u2028]", "".join(data))
    assert not re.search('": |, "', "".join(data)), "spaces that nobody reads"


@pytest.mark.parametrize("text", ["alert(1)", '{"data": NaN}', "[]"])
def test_a_specification_that_is_no_json_is_refused(answer: pb.ExplainResponse, text: str) -> None:
    answer.explanations[0].plots[0].vega_lite = text
    with pytest.raises(ExplainError, match="plot overall: the JSON"):
        page.of_response(answer)


def test_a_page_of_one_plot_has_nothing_else(answer: pb.ExplainResponse) -> None:
    elements = Elements(page.of_plot(answer.explanations[0].plots[0]))
    assert (elements.count("figure"), elements.count("table"), elements.count("dl")) == (1, 0, 0)


def test_an_answer_without_results_has_a_page_without_contents() -> None:
    elements = Elements(page.of_response(pb.ExplainResponse()))

    assert (elements.count("h1"), elements.count("nav")) == (1, 0)


def test_each_section_tells_the_rows_that_its_numbers_are_computed_on(html: str) -> None:
    text = Elements(html).text

    assert text.count("Computed on") == 1
    assert "Computed on 16,281 rows, 16,000 of them used, total weight 20,481.5 (seed 0)." in text
