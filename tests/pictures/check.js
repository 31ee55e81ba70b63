// Writes what is wrong with the pictures of a page into the page, where `--dump-dom` finds it: texts
// that overlap, leave their picture or are cut without a sign, are small or pale; pictures that are
// not drawn, or leave their card empty; tables whose numbers cannot be seen; and what is wider than the page.
// Beside these, where the first bar and the first curve stand.
const LEAST_LETTERS = 12; // pixels
const LEAST_SHARE = 0.85; // of the width of its card that a picture fills
const LEAST_OWN_SHARE = 2 / 3; // the same of a picture that keeps its size, with room for its labels
const LEAST_CONTRAST = 4.5; // of text on its ground, as WCAG 2.2 asks for

const overlaps = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1.5
  && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1.5;

// The corners of a text in the page, without the room above its capitals and below its line.
function corners(text) {
  const { x, y, width, height } = text.getBBox();
  const spare = 0.24 * height;
  const map = text.getScreenCTM();
  return [[x, y + spare], [x + width, y + spare], [x + width, y + height - spare], [x, y + height - spare]]
    .map(([left, top]) => new DOMPoint(left, top).matrixTransform(map));
}

// Whether two turned rectangles share more than a pixel along each of their sides.
function share(one, other) {
  for (const own of [one, other]) {
    for (const [a, b] of [[0, 1], [1, 2]]) {
      const side = { x: own[b].x - own[a].x, y: own[b].y - own[a].y };
      const length = Math.hypot(side.x, side.y);
      if (!length) return false;
      const along = (points) => points.map((p) => (p.x * side.x + p.y * side.y) / length);
      const [first, second] = [along(one), along(other)];
      const common = Math.min(Math.max(...first), Math.max(...second))
        - Math.max(Math.min(...first), Math.min(...second));
      if (common <= 1.5) return false;
    }
  }
  return true;
}

const channels = (colour) => (colour.match(/[\d.]+/g) ?? []).map(Number);

function light(colour) {
  const [red, green, blue] = channels(colour).map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one, other) {
  const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

// The colour below the middle of a text: of the topmost filled shape there, or the paper.
function ground(svg, text, points) {
  const middle = { x: (points[0].x + points[2].x) / 2, y: (points[0].y + points[2].y) / 2 };
  let found = "rgb(255, 255, 255)";
  for (const shape of svg.querySelectorAll(".mark-rect path, .mark-rect rect")) {
    const box = shape.getBoundingClientRect();
    const isBelow = box.left <= middle.x && middle.x <= box.right && box.top <= middle.y && middle.y <= box.bottom;
    const fill = getComputedStyle(shape).fill;
    if (isBelow && fill.startsWith("rgb") && !fill.endsWith(" 0)")) found = fill;
  }
  return found;
}

function ofFigure(figure, add) {
  const svg = figure.querySelector(".plot svg.marks");
  const texts = [...svg.querySelectorAll("text")].filter(
    (text) => text.textContent.trim() && text.getAttribute("opacity") !== "0"
      && text.getAttribute("display") !== "none");
  const boxes = texts.map(corners);
  const frame = svg.getBoundingClientRect();
  texts.forEach((text, i) => {
    const name = text.textContent;
    for (let k = 0; k < i; k += 1) {
      if (share(boxes[i], boxes[k])) add(`${texts[k].textContent} overlaps ${name}`);
    }
    for (const { x, y } of boxes[i]) {
      if (x > frame.right + 1 || x < frame.left - 1 || y > frame.bottom + 1 || y < frame.top - 1) {
        add(`${name} leaves the picture`);
        break;
      }
    }
    const size = parseFloat(getComputedStyle(text).fontSize) * (frame.width / svg.viewBox.baseVal.width);
    if (size < LEAST_LETTERS - 0.1) add(`${name} has letters of ${size.toFixed(1)} pixels`);
    const { fill, fillOpacity } = getComputedStyle(text);
    const found = contrast(fill, ground(svg, text, boxes[i]));
    if (found < LEAST_CONTRAST || Number(fillOpacity) < 1) add(`${name} has a contrast of ${found.toFixed(1)}`);
  });
  const plot = figure.querySelector(".plot");
  const isCut = plot.scrollWidth > plot.clientWidth + 1;
  if (isCut && !figure.querySelector(".hint")) add("is cut without a sign");
  if (figure.closest("details")) return; // drawn while it was folded, and had no width
  const shown = [...svg.querySelectorAll(".root > g > g > :not(.role-title)")];
  const right = Math.max(...shown.map((each) => each.getBoundingClientRect().right));
  const filled = (right - frame.left) / plot.clientWidth;
  const least = figure.classList.contains("own-size") ? LEAST_OWN_SHARE : LEAST_SHARE;
  if (filled < least) add(`fills only ${Math.round(100 * filled)} % of its card`);
}

// Numbers of tables, which must be in sight without scrolling.
function ofTables(add) {
  for (const table of document.querySelectorAll(".table")) {
    const frame = table.getBoundingClientRect();
    const numbers = [...table.querySelectorAll("td.number")];
    const first = numbers.find((cell) => cell.textContent.trim());
    if (first && first.getBoundingClientRect().right > frame.right + 1) {
      add(`the numbers of ${table.querySelector("caption b")?.textContent} are out of sight`);
    }
  }
}

const wait = setInterval(() => {
  const figures = [...document.querySelectorAll("figure")];
  if (!figures.every((figure) => figure.classList.contains("drawn"))) return;
  clearInterval(wait);
  const top = (mark) => document.querySelector(mark)?.getBoundingClientRect().top + scrollY;
  const firsts = { bar: top("figure .mark-rect"), curve: top("figure .mark-line") };
  for (const folded of document.querySelectorAll("details")) folded.open = true;
  const problems = [];
  for (const figure of figures) ofFigure(figure, (text) => problems.push(`${figure.id}: ${text}`));
  if (document.documentElement.scrollWidth > window.innerWidth) {
    problems.push(`the page is ${document.documentElement.scrollWidth} pixels wide`);
  }
  ofTables((text) => problems.push(text));
  const told = parent.document.createElement("pre");
  told.id = "told";
  told.textContent = JSON.stringify({ figures: figures.length, problems, firsts });
  parent.document.body.append(told);
}, 50);
