"""Reports of every method for a regression and for two and three classes, in Chromium."""

import json
import re
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path

import onnxplain
import pytest
from onnxplain_server.report import page

from examples import reports

pytestmark = pytest.mark.slow

# Writes what is wrong into the page itself, where `--dump-dom` finds it: texts that overlap by more
# than a pixel, each told with the figure; pictures that are not drawn; and what is too wide.
CHECK = """
<script>
const overlaps = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1.5
  && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1.5;
// The box of a text has room above its capitals and below its line.
const inner = (text) => {
  const { left, right, top, bottom } = text.getBoundingClientRect();
  const spare = 0.24 * (bottom - top);
  return { left, right, top: top + spare, bottom: bottom - spare };
};
const isLevel = (text) => !/rotate\\(-?(?!0\\))/.test(text.getAttribute("transform") ?? "");
const wait = setInterval(() => {
  const figures = [...document.querySelectorAll("figure")];
  if (!figures.every((figure) => figure.classList.contains("drawn"))) return;
  clearInterval(wait);
  const problems = [];
  for (const figure of figures) {
    const texts = [...figure.querySelectorAll(".plot svg.marks text")].filter(
      (text) => text.textContent.trim() && text.getAttribute("opacity") !== "0" && isLevel(text));
    const boxes = texts.map(inner);
    for (let i = 0; i < texts.length; i += 1) {
      for (let k = 0; k < i; k += 1) {
        if (overlaps(boxes[i], boxes[k])) {
          problems.push(`${figure.id}: ${texts[k].textContent} overlaps ${texts[i].textContent}`);
        }
      }
      const frame = figure.querySelector("svg.marks").getBoundingClientRect();
      if (boxes[i].right > frame.right + 1 || boxes[i].left < frame.left - 1) {
        problems.push(`${figure.id}: ${texts[i].textContent} leaves the picture`);
      }
    }
  }
  if (document.documentElement.scrollWidth > window.innerWidth) {
    problems.push(`the page is ${document.documentElement.scrollWidth} pixels wide`);
  }
  const told = document.createElement("pre");
  told.id = "told";
  told.textContent = JSON.stringify({ figures: figures.length, problems });
  document.body.append(told);
}, 50);
</script>
"""
TASKS = reports.tasks()
METHODS = tuple(reports.methods(TASKS["binary"]))


@pytest.fixture(scope="module")
def client() -> Iterator[onnxplain.Client]:
    with onnxplain.local() as made:
        yield made


@pytest.fixture(scope="module")
def rendered(
    client: onnxplain.Client, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    """Write the report of all methods for a task, once."""
    folder = tmp_path_factory.mktemp("reports")

    def written(name: str) -> Path:
        target = folder / f"{name}.html"
        if not target.exists():
            task = TASKS[name]
            asked = [one for several in reports.methods(task).values() for one in several]
            target.write_text(page.of_response(reports.answer(client, task, asked)))
        return target

    return written


def checked(html: str) -> str:
    """Add the check to a page, whose policy would forbid it."""
    without_policy = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", html)
    head, _, tail = without_policy.rpartition("</body>")  # the library has others
    return f"{head}{CHECK}</body>{tail}"


def told(source: Path, target: Path, width: int) -> tuple[int, list[str]]:
    target.write_text(checked(source.read_text()))
    found = re.search(r'<pre id="told">(.*?)</pre>', reports.document(target, width), re.DOTALL)
    assert found, "not all plots were drawn"
    answer = json.loads(unescape(found[1]))
    return answer["figures"], answer["problems"]


@pytest.mark.parametrize("width", [reports.WIDE, reports.NARROW])
@pytest.mark.parametrize("name", TASKS)
def test_all_plots_are_drawn_and_can_be_read(
    program: Callable[[str], str],
    rendered: Callable[[str], Path],
    tmp_path: Path,
    name: str,
    width: int,
) -> None:
    program("chromium")

    figures, problems = told(rendered(name), tmp_path / "checked.html", width)

    assert problems == []
    assert figures == rendered(name).read_text().count("<figure") > len(METHODS)


def test_the_check_finds_labels_that_overlap(
    program: Callable[[str], str], rendered: Callable[[str], Path], tmp_path: Path
) -> None:
    program("chromium")
    broken = tmp_path / "broken.html"
    html = rendered("three classes").read_text()
    broken.write_text(re.sub(r'"height": \{"step": \d+', '"height": {"step": 1', html))

    _, problems = told(broken, tmp_path / "checked.html", reports.WIDE)

    assert any("petal_length overlaps" in problem for problem in problems)


@pytest.mark.parametrize("name", TASKS)
def test_a_report_can_be_printed(
    program: Callable[[str], str], rendered: Callable[[str], Path], tmp_path: Path, name: str
) -> None:
    program("chromium")
    target = tmp_path / "report.pdf"

    reports.printed(rendered(name), target)

    content = target.read_bytes()
    assert content.startswith(b"%PDF-")
    assert len(re.findall(rb"/Type\s*/Page\b", content)) >= len(METHODS)
