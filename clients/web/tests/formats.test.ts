import assert from "node:assert/strict";
import { test } from "node:test";
import { between, number, seconds } from "../src/common/formats";
import { clipped, plain } from "../src/common/name";
import { toCsv } from "../src/tables/csv";

test("a number has four digits that count", () => {
  const shown = [
    0,
    0.123456789,
    12.99999,
    12345.678,
    4e-7,
    2.5e-5,
    1.70126e10 + 0.5,
    1.5e15,
    -2.34567,
    0.99982,
    -0.99997,
    1 - 1e-9,
    1 - 1e-13,
  ];
  const expected = [
    "0",
    "0.1235",
    "13",
    "12,346",
    "4.00e−7",
    "0.000025",
    "17,010,000,000",
    "1.50e15",
    "−2.346",
    "0.9998",
    "−0.99997",
    "almost 1",
    "1",
  ];
  assert.deepEqual(shown.map(number), expected);
});

test("a whole number keeps its digits, since it may be a name", () => {
  assert.equal(number(622280070620), "622,280,070,620");
  assert.equal(number(2026), "2026");
});

test("what is no number is shown as missing", () => {
  assert.equal(number(undefined), "–");
  assert.equal(number(Number.NaN), "–");
});

test("times have the unit that suits them", () => {
  assert.deepEqual([0.2, 45, 600, 7_200].map(seconds), ["under 1 s", "45 s", "10 min", "2 h"]);
  assert.equal(between(0.1, 0.2), "under 1 s");
  assert.equal(between(2, 90), "2 s to 2 min");
});

test("signs that cannot be seen, or turn a text around, are shown", () => {
  assert.equal(plain("a\u202eb\u0000c\u2066"), "a\ufffdb\ufffdc\ufffd");
});

test("a long name is cut between its signs", () => {
  assert.equal(clipped("x".repeat(10_000), 5), "xxxxx…");
  assert.equal(clipped("😀😀😀", 2), "😀😀…");
  assert.equal(clipped("short"), "short");
});

test("CSV has all digits, and quotes what would end a cell", () => {
  const rows = [
    [0.1234567890123, 'say "a,b"'],
    [undefined, "line\nbreak"],
  ];
  const text = 'x,y\r\n0.1234567890123,"say ""a,b"""\r\n,"line\nbreak"\r\n';
  assert.equal(toCsv(["x", "y"], rows), text);
});

test("no text of CSV is a formula for a spreadsheet, and numbers stay numbers", () => {
  const hostile = [
    '=HYPERLINK("http://x","y")',
    "+1+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(1)",
    "\t=1+1",
    "\r=1+1",
    "\n=1+1",
    "  =1+1",
    "\ufeff=1+1",
    "＝1+1",
  ];
  for (const text of hostile) {
    for (const written of [toCsv([text], []), toCsv([], [[text]])]) {
      assert.match(written, /(^|\n)"?'/, JSON.stringify(written));
    }
  }
  assert.equal(
    toCsv(["-1.5", "a;b", "+1e3"], [[-1.5, "a-b", "x=1"]]),
    '-1.5,"a;b",+1e3\r\n-1.5,a-b,x=1\r\n',
  );
});
