"""The page docs/studies/seeds.md, from rows and kept results.

python -m bench.seeds.page [--check]

With --check, nothing is written: it fails where the committed page is another.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bench.seeds.kept import Result, read_results
from bench.seeds.rows import METHODS, Row, read_rows, read_seed
from bench.seeds.verdicts import Difference, Kind, Verdict, judge, told_numbers

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "studies" / "seeds.md"
SHOWN = 4  # numbers of a row that stand in its line; more get a table of their own
HEAD = """# The seeds, row by row

Five seeds, four methods: the README of [hstats 1.2.2](#hstats), and the papers on [swarm](#swarm),
on [FIRM](#firm) and on [feature vectors](#feature-vectors), the last in two copies. Each figure,
table, equation and printed number has a row. `make seeds` computes the results again;
`make seeds-page` writes this page from the [rows](../../bench/seeds/entries) and the
[kept results](../../bench/seeds/results), which say how each was made.

Verdicts are computed. *As printed*: equal to all printed digits; or every claim of a picture holds;
or, for a definition, the named test shows it. *Within*: at most 1 % of the printed number away, or
4 standard errors of the difference. *Differs*: further away, and why; also what cannot be had, and
what was looked for.
"""


def written() -> str:
    """Return the text of the page."""
    results = {method: read_results(method) for method in METHODS}
    named = {f"{method}:{key}": one for method in METHODS for key, one in results[method].items()}
    parts, counts = [], {}
    for method in METHODS:
        rows = read_rows(method)
        known = {**named, **results[method]}
        verdicts = [_judged(method, row, known) for row in rows]
        counts[method] = Counter(verdict.kind for verdict in verdicts)
        parts.append("\n".join(_section(method, rows, verdicts, known)))
    return "\n".join([HEAD, *_overview(counts), "", *parts])


def _judged(method: str, row: Row, results: Mapping[str, Result]) -> Verdict:
    try:
        return judge(row, results)
    except (ValueError, KeyError) as error:
        raise SystemExit(f"{method}: {row.id}: {error}") from error


def _overview(counts: Mapping[str, Counter[Kind]]) -> Iterator[str]:
    yield _line(["Seed", "rows", *Kind])
    yield _line(["---", *["---:"] * (len(Kind) + 1)])
    for method, found in counts.items():
        title = read_seed(method).title
        link = f"[{title}](#{_anchor(title)})"
        yield _line([link, str(found.total()), *[str(found[kind]) for kind in Kind]])


def _section(
    method: str, rows: Sequence[Row], verdicts: Sequence[Verdict], results: Mapping[str, Result]
) -> Iterator[str]:
    seed = read_seed(method)
    judged = list(zip(rows, verdicts, strict=True))
    yield from (f"## {seed.title}", "", f"{seed.source}. {seed.about}".strip(), "")
    yield from ("Definitions and encodings, with the tests that show them:", "")
    yield _line(["Row", "What it shows", "Verdict", "Where"])
    yield _line(["---"] * 4)
    for row, verdict in judged:
        if not row.result:
            yield _line([row.id, row.shows, verdict.words, "<br>".join(_places(row))])
    yield from ("", f"Results, by `python -m bench.seeds.{method}` and the key:", "")
    yield _line(["Row", "What it shows", "Verdict", "Seed", "Ours", "Key"])
    yield _line(["---"] * 6)
    for row, verdict in judged:
        if row.result:
            yield _line(_cells(method, row, verdict, results))
    yield ""
    yield from _remarks(judged, results)
    for row, verdict in judged:
        if len(verdict.differences) > SHOWN:
            yield from _table(f"{seed.title}: {row.id}", verdict.differences)


def _cells(method: str, row: Row, verdict: Verdict, results: Mapping[str, Result]) -> Sequence[str]:
    found = verdict.differences
    if len(found) > SHOWN:
        link = f"[{len(found)} numbers](#{_anchor(f'{read_seed(method).title}: {row.id}')})"
        theirs, ours = [link], [f"{sum(one.equal for one in found)} equal"]
    else:
        theirs = [f"{one.name} {one.printed}".strip() for one in found]
        ours = [f"{one.name} {told(one)}" if len(found) > 1 else told(one) for one in found]
    holds = [results[row.result].claims[name] for name in row.claims]
    if holds:
        ours += [f"{sum(holds)} of {len(holds)} hold" if len(holds) > 1 else
                 "holds" if all(holds) else "does not hold"]  # fmt: skip
    claims = [words if results[row.result].claims[name] else f"*not so:* {words}"
              for name, words in row.claims.items()]  # fmt: skip
    return [
        row.id,
        row.shows,
        verdict.words,
        "<br>".join([*theirs, *claims]),
        "<br>".join(ours),
        "<br>".join([f"`{_key(method, row)}`", *_places(row)]),
    ]


def _key(method: str, row: Row) -> str:
    return row.command or row.result.removeprefix(f"{method}:")


def _places(row: Row) -> Iterator[str]:
    """Yield where a row's formula is, and what shows it: code, tests and pictures."""
    for place in row.code:
        yield f"[{Path(place.partition('#')[0]).name}](../../{place})"
    for test in row.tests:
        path, _, name = test.partition("::")
        yield f"[{name.replace('_', '_<wbr>')}](../../{path})"
    for picture in row.pictures:
        yield f"[picture](../images/{picture})"


def _remarks(judged: Sequence[tuple[Row, Verdict]], results: Mapping[str, Result]) -> Iterator[str]:
    """Yield why rows differ, and their notes, as a list."""
    found = [
        (row.id, words)
        for row, verdict in judged
        for words in (verdict.sentence if verdict.reason else "", _note(row, results))
        if words
    ]
    yield from (f"- **{name}**: {words}." for name, words in found)
    if found:
        yield ""


def _note(row: Row, results: Mapping[str, Result]) -> str:
    return row.note.format_map(told_numbers(row, results)) if row.result else row.note


def _table(title: str, found: Sequence[Difference]) -> Iterator[str]:
    yield from (f"### {title}", "", _line(["", "seed", "ours", "difference"]))
    yield _line(["---", "---:", "---:", "---:"])
    for one in found:
        yield _line([one.name, one.printed, told(one), "" if one.equal else one.size])
    yield ""


def told(one: Difference) -> str:
    """Return our number with the printed digits; or, where it is not equal, one more, of six."""
    if one.equal:
        return one.printed
    percent = one.printed.endswith("%")
    digits = sum(letter.isdigit() for letter in one.printed.lower().partition("e")[0].lstrip("0.-"))
    text = f"{one.ours * (100 if percent else 1):.{min(max(digits, 2) + 1, 6)}g}"
    return text + "%" * percent


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _anchor(title: str) -> str:
    kept = [letter for letter in title.lower() if letter.isalnum() or letter in " -_"]
    return "".join(kept).replace(" ", "-")


def main() -> None:
    text = written()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text, encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != text:
        sys.exit("docs/studies/seeds.md is not what rows and results give: run `make seeds-page`")


if __name__ == "__main__":
    main()
