"""Notebooks as Chromium shows them; runs in the environment of requirements/notebook.txt.

Usage: python in_browser.py TASK FOLDER

TASK is a JSON file: `chromium`, a program; `packages`, the folder of npm's packages; and `pages`:
the kind and address of each, by name. FOLDER gets a screenshot of each picture, and found.json: for
each page its pictures, its errors, and the addresses at other hosts that it asked for.
"""

from __future__ import annotations

import base64
import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Locator, Page, Route, sync_playwright

_PATIENCE = 200_000  # milliseconds after which something has certainly failed
_OTHER_HOSTS = re.compile(r"^https?://(?!127\.0\.0\.1[:/])")
_CDN = re.compile(r"^https://cdn\.jsdelivr\.net/npm/([\w-]+)@[\d.]+/([\w./-]+)$")
_OUTPUTS = ".jp-OutputArea-output, .output_area"
_LAST = "No more cells"

# Pixels of a screenshot are counted by the browser, which can read PNG: how many colors there are,
# and the share of pixels that have another color than most.
_COUNT_COLORS = """async (png) => {
  const image = await createImageBitmap(
    new Blob([Uint8Array.from(atob(png), (c) => c.charCodeAt(0))], { type: "image/png" }));
  const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
  context.drawImage(image, 0, 0);
  const pixels = new Uint32Array(context.getImageData(0, 0, image.width, image.height).data.buffer);
  const counts = new Map();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
  return [counts.size, 1 - Math.max(...counts.values()) / pixels.length];
}"""


@dataclass
class Visit:
    """A page of the task."""

    page: Page
    counter: Page
    packages: Path
    asked: list[str] = field(default_factory=list)
    asked_before_click: list[str] = field(default_factory=list)

    def answer(self, route: Route) -> None:
        """Answer for other hosts: with files of npm's packages, or not at all."""
        self.asked.append(route.request.url)
        known = _CDN.match(route.request.url)
        if known:
            headers = {"Access-Control-Allow-Origin": "*"}
            route.fulfill(path=self.packages / known[1] / known[2], headers=headers)
        else:
            route.abort()


def run_in_lab(visit: Visit) -> list[Locator]:
    """JupyterLab: run all cells."""
    page = visit.page
    page.locator(".jp-CodeCell .cm-content").first.click(timeout=_PATIENCE)
    ready = '.jp-Notebook-ExecutionIndicator[data-status="idle"]'
    page.locator(ready).wait_for(timeout=_PATIENCE)
    begun = page.locator(".jp-InputPrompt").filter(has_text=re.compile(r"\[[*\d]+\]")).first
    while not begun.is_visible():
        # Before the kernel listens, the command does nothing.
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.locator('[data-command="runmenu:run-all"]').click()
        page.wait_for_timeout(2_000)
    return pictures(visit)


def still(visit: Visit) -> list[Locator]:
    """Wait for the output of the last cell; return still pictures."""
    outputs = visit.page.locator(_OUTPUTS)
    outputs.filter(has_text=_LAST).first.wait_for(timeout=_PATIENCE)
    return list(outputs.locator("img").all())


def pictures(visit: Visit) -> list[Locator]:
    """Return still pictures, and the interactive one in its frame."""
    images = still(visit)
    frame = visit.page.frame_locator(f":is({_OUTPUTS}) iframe")
    frame.locator("svg.marks").wait_for(timeout=_PATIENCE)
    return [*images, frame.locator("svg.marks")]


def clicked(visit: Visit) -> list[Locator]:
    """Click on the button of each plot."""
    visit.asked_before_click += visit.asked
    buttons = visit.page.get_by_role("button").all()
    for button in buttons:
        button.click()
    for index in range(len(buttons)):
        visit.page.locator("svg.marks").nth(index).wait_for(timeout=_PATIENCE)
    return list(visit.page.locator("svg.marks").all())


KINDS: dict[str, Callable[[Visit], list[Locator]]] = {
    "lab": run_in_lab,
    "opened": pictures,
    "untrusted": still,
    "clicked": clicked,
}


def look(visit: Visit, address: str, kind: str, target: Path) -> dict[str, Any]:
    """Open a page, and return what it shows."""
    errors: list[str] = []
    visit.page.on("pageerror", lambda error: errors.append(str(error)))
    visit.page.route(_OTHER_HOSTS, visit.answer)
    visit.page.goto(address)
    shown = []
    try:
        found = KINDS[kind](visit)
    finally:
        visit.page.screenshot(path=target / "page.png")
    for index, picture in enumerate(found):
        box = picture.bounding_box() or {"width": 0, "height": 0}
        png = picture.screenshot(path=target / f"{index:02}.png", timeout=_PATIENCE)
        colors, ink = visit.counter.evaluate(_COUNT_COLORS, base64.b64encode(png).decode())
        shown.append({**box, "colors": colors, "ink": ink, "alt": picture.get_attribute("alt")})
    before = visit.asked_before_click
    return {"pictures": shown, "errors": errors, "asked": visit.asked, "asked_before_click": before}


def main(task: dict[str, Any], folder: Path) -> None:
    """Visit all pages."""
    with sync_playwright() as playwright:
        browser: Browser = playwright.chromium.launch(
            executable_path=task["chromium"], args=["--no-sandbox"]
        )
        found = {}
        for name, (kind, address) in task["pages"].items():
            (folder / name).mkdir()
            page = browser.new_page(viewport={"width": 1400, "height": 1000})
            visit = Visit(page, browser.new_page(), Path(task["packages"]))
            found[name] = look(visit, address, kind, folder / name)
            page.close()
        browser.close()
    (folder / "found.json").write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2]))
