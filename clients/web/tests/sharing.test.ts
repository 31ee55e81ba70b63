import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import type { Explanation } from "onnxplain/rest";
import { plotsOf } from "../src/charts/plots";
import type { Answer } from "../src/common/runs";
import { picked } from "../src/explore/links";
import { type Asked, programOf } from "../src/explore/programs";
import { cardOf } from "../src/share/card";
import { type Contents, contentsOf, keyFiguresOf, slim, withPictures } from "../src/share/contents";
import { LARGEST, reportOf, roomOf } from "../src/share/report";

const HOSTILE = `</title></script><script>x</script><img src=x onerror="y">'`;

const CONTENTS: Contents = {
  title: HOSTILE,
  notes: HOSTILE,
  summary: [HOSTILE, HOSTILE],
  keyFigures: [{ name: HOSTILE, value: HOSTILE, unit: HOSTILE, comparison: HOSTILE }] as never,
  warnings: [HOSTILE],
  receipt: [HOSTILE],
  sections: [
    {
      title: HOSTILE,
      question: HOSTILE,
      limits: [HOSTILE],
      leftOut: 3,
      pictures: [{ description: HOSTILE, svg: `<svg><text>${HOSTILE}</text></svg>` }],
      tables: [
        {
          title: HOSTILE,
          note: HOSTILE,
          columns: [HOSTILE],
          rows: [[HOSTILE], [0.123456]],
          features: [[HOSTILE], []],
          isPoints: false,
        },
      ],
    },
  ],
};

test("a report has nothing of what is in names but their text", () => {
  const report = reportOf(CONTENTS);
  assert.doesNotMatch(report, /<script|<img src=x/);
  assert.equal(report.match(/<\/title>/g)?.length, 1);
  assert.doesNotMatch(report, /alt="[^"]*<|onerror="y"/);
  assert.match(report, /&lt;script&gt;x/);
});

const TOLD = ["m.onnx predicts y.", "It is a tree.", "a_b leads.", "a_b moves it most."];

function told(...summaries: readonly (readonly string[])[]): Answer[] {
  const found = (summary: readonly string[]) => ({ all: [], warnings: [], message: { summary } });
  return summaries.map((summary) => ({ methods: [], found: found(summary) })) as never;
}

test("the sentences of the answers stand first in a report and in a card, each once", () => {
  const answers = told(TOLD, [TOLD[0] ?? "", "a_b does most harm."]);
  const report = reportOf(contentsOf("m", "my notes", answers));
  const header = report.slice(report.indexOf("<header>"), report.indexOf("</header>"));
  const inside = (tag: string) =>
    [...header.matchAll(new RegExp(`<${tag}><bdi>([^<]*)<`, "g"))].map(([, text]) => text);
  assert.deepEqual(inside('p class="found"'), TOLD.slice(0, 3));
  assert.deepEqual(inside("li"), ["a_b moves it most.", "a_b does most harm."]);
  const card = cardOf("m", "", answers);
  assert.match(card, /^## m\.?\n\n- m\.onnx predicts y\.\n- It is a tree\.\n- a\\_b leads\./);
  assert.doesNotMatch(reportOf(contentsOf("m", "", told([]))), /<p class="found">/);
});

function measured(counts: readonly number[], ...figures: readonly string[][]): Answer {
  const keyFigures = figures.map(([name, value, comparison = ""]) => {
    return { name, value, unit: "", comparison };
  });
  const all = counts.map((usedRowCount) => ({ message: { rows: { usedRowCount } } }));
  return { methods: [], found: { all, warnings: [], message: { keyFigures } } } as never;
}

test("figures of several answers are those of one: each once, and the rows of all last", () => {
  const rows = ["Rows", "500", "too good if trained on"];
  const first = measured([500], ["Accuracy", "0.9"], ["Accuracy", "0.8"], rows);
  const second = measured([16281, 5000], ["Accuracy", "0.9"], ["AUC", "0.7"], ["Rows", "16,281"]);
  const told = (answers: Answer[]) => keyFiguresOf(answers).map((each) => Object.values(each));
  assert.deepEqual(told([first, second, measured([7])]), [
    ["Accuracy", "0.9", "", ""],
    ["Accuracy", "0.8", "", ""],
    ["AUC", "0.7", "", ""],
    ["Rows", "16,281", "", "500 in some parts; too good if trained on"],
  ]);
  assert.deepEqual(told([first]).at(-1), ["Rows", "500", "", "too good if trained on"]);
  assert.deepEqual(told([measured([7])]), []);
});

test("figures beyond those of a page are counted", () => {
  const many = Array.from({ length: 10 }, (_, place) => ["Accuracy", `${place}`]);
  const report = reportOf({ ...CONTENTS, keyFigures: keyFiguresOf([measured([], ...many)]) });
  assert.equal(report.match(/<dt>/g)?.length, 8);
  assert.match(report, /2 more key figures stand in the last section\./);
});

test("a report loads nothing, and tells what it leaves out", () => {
  const report = reportOf(CONTENTS);
  assert.match(report, /default-src 'none'/);
  assert.doesNotMatch(report, /(src|href)="(?!data:)/);
  assert.match(report, /3 more charts are left out/);
});

test("pictures lose what nobody sees, and no text", () => {
  const svg =
    '<path role="x" aria-label="a: 1.25" d="M1.2345,6.789L-0.5,3" opacity="1"/>' +
    '<text class="y" transform="translate(0.123)">1.2345 &lt;</text>';
  const short = '<path d="M1.2,6.7L-0.5,3"/><text transform="translate(0.1)">1.2345 &lt;</text>';
  assert.equal(slim(svg), short);
});

test("attributes that neighbours repeat stand once, where none overlaps otherwise than before", () => {
  const font = ' font-family="Arial, sans-serif"';
  const mark = (at: number, style: string) => `<path d="M${at},0h1v8h-1Z"${style}/>`;
  const [rug, line] = [' fill="#3c4043" opacity="0.4"', ' stroke="#3c4043" opacity="0.4"'];
  const texts = `<text${font}>a</text><text font-family="serif">b</text><text${font}>c</text>`;
  const marks = mark(1, rug) + mark(2, rug) + mark(3, line) + mark(4, line) + mark(5, rug);

  assert.equal(
    slim(`<svg width="9">${texts}${marks}</svg>`),
    `<svg${font} width="9"><text>a</text><text font-family="serif">b</text><text>c</text>` +
      `<g fill="#3c4043" fill-opacity="0.4">${mark(1, "")}${mark(2, "")}</g>` +
      `${mark(3, line)}${mark(4, line)}${mark(5, rug)}</svg>`,
  );
});

test("charts that find no room are left out and told, of all methods in turn", async () => {
  const chart = (index: number) => ({
    name: "",
    title: "",
    description: `${index}`,
    vegaLite: "{}",
  });
  const many = Array.from({ length: 60 }, (_, index) => chart(index));
  const explanation = (plots: object[]) => ({ method: "firm", message: { plots, result: {} } });
  const all = [explanation(many), explanation([chart(0)])];
  const found = { all, warnings: [], message: { summary: [] } };
  const answers = [{ methods: [], found }] as unknown as Answer[];
  const text = contentsOf("title", "é".repeat(100_000), answers);
  const draw = async () => `<svg><text>${"é".repeat(20_000)}</text></svg>`;
  const whole = await withPictures(text, answers, draw, roomOf(text));

  const bytes = new TextEncoder().encode(reportOf(whole)).length;
  assert.ok(bytes < LARGEST && bytes > 0.95 * LARGEST, `${bytes} bytes`);
  const [first, second] = whole.sections;
  assert.equal((first?.leftOut ?? 0) + (first?.pictures.length ?? 0), 60);
  assert.equal(second?.leftOut, 0);
  assert.match(reportOf(whole), new RegExp(`${first?.leftOut} more charts are left out`));
});

test("a chart is read when it is drawn, and each drawing reads it anew", () => {
  const plots = ['{"mark": "bar"}', "not JSON"].map((vegaLite) => ({ vegaLite }));
  const [bars, broken] = plotsOf({ message: { plots } } as unknown as Explanation);
  assert.deepEqual(bars?.spec(), { mark: "bar" });
  assert.notEqual(bars?.spec(), bars?.spec());
  assert.throws(() => broken?.spec(), SyntaxError);
});

const NAME = `it's "$(touch x)" \`y\` \\`;
const ADDRESS = new URL("http://localhost:8080/");
const ASKED: Asked = {
  model: { kind: "id", value: `sha256:${"0".repeat(64)}`, name: NAME },
  table: { kind: "uri", value: `s3://lake/${NAME}`, name: NAME },
  options: { targetColumn: NAME, seed: 0 },
  methods: [{ partialDependence: { features: [{ names: [NAME] }, { names: ["a", "b"] }] } }],
};

test("a shell passes the request of curl on as it is", () => {
  const program = programOf("curl", ASKED, ADDRESS);
  const shown = program.replace(/^curl/, "printf '%s\\n'");
  const { stdout } = spawnSync("sh", ["-c", shown], { encoding: "utf8" });
  const body = stdout.slice(stdout.indexOf("{"));
  assert.deepEqual(JSON.parse(body), JSON.parse(programOf("JSON", ASKED, ADDRESS)));
});

test("Python reads the program and its texts as they are", () => {
  const reader =
    "import ast, json, sys\n" +
    "calls = [n for n in ast.walk(ast.parse(sys.stdin.read())) if isinstance(n, ast.Call)]\n" +
    "explain = next(c for c in calls if getattr(c.func, 'attr', '') == 'explain')\n" +
    "print(json.dumps({k.arg: ast.literal_eval(k.value) for k in explain.keywords}))\n";
  const { stdout, stderr } = spawnSync("python3", ["-c", reader], {
    input: programOf("Python", ASKED, ADDRESS),
    encoding: "utf8",
  });
  assert.equal(stderr, "");
  assert.deepEqual(JSON.parse(stdout), { target_column: NAME, seed: 0 });
});

test("a raw text of Go is not ended by a name", () => {
  const program = programOf("Go", ASKED, ADDRESS);
  assert.equal(program.match(/`/g)?.length, 2);
});

test("a bar, a cell and a curve lead to what they are about", () => {
  const known = [["a", "b"], ["a"]];
  assert.deepEqual(picked({ feature: "a × b" }, known), ["a", "b"]);
  assert.deepEqual(picked({ label: "a" }, known), ["a"]);
  assert.deepEqual(picked({ row: "b", column: "a" }, known), ["a", "b"]);
  assert.deepEqual(picked({ feature: "other" }, known), []);
});
