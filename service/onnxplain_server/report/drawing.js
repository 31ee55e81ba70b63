"use strict";

// How a figure is fitted into its page, for reports and for the page of the server. A picture is
// drawn anew at each width, never scaled: its letters keep their size.
globalThis.onnxplainDrawing = (() => {
  const NARROWEST = 180; // pixels of a plot without its labels
  const NARROWEST_THERE = 110; // on a small screen
  const NARROWEST_CELL = 15; // pixels of a cell of a matrix, whose label is one line high
  const WIDEST_NAME = 120; // pixels of a name beside a plot on a small screen
  const LINE = 15; // pixels of a line of a name
  const HALF_LINE = 7; // pixels from the middle of a line to its end
  const NAME_GAP = 6; // pixels between names of several lines
  const NUMBER_GAP = 4; // pixels between a number and the sides of its cell
  const PADDING = 8; // pixels around a picture there
  const SMALL = 700; // pixels of a screen up to which parts stand below each other
  const FRAME = 40; // pixels at both sides of a title
  const BUTTON = 24; // pixels more of the button beside a title
  const BELOW_TITLE = 60; // pixels from a plot to its legend, where a title stands between
  const LEGEND_BELOW = {
    orient: "bottom", direction: "horizontal", columns: 1, labelOverlap: "greedy", labelSeparation: 6,
    layout: { bottom: { direction: "vertical", anchor: "start" } },
  };
  const TURNS = 4; // in which a picture gets narrower, or wider
  const CROWDED = 1.3; // times the width of a card, from which on plots side by side would crowd it
  const SPARE = 0.02; // of the width of a card, which a picture may leave empty
  const ink = document.createElement("canvas").getContext("2d");

  // Break texts into lines that fit, between words only.
  function lines(texts, font, room) {
    ink.font = font;
    return texts.flatMap((text) => {
      const found = [];
      for (const word of text.split(" ")) {
        const longer = found.length ? `${found[found.length - 1]} ${word}` : word;
        if (found.length && ink.measureText(longer).width <= room) found[found.length - 1] = longer;
        else found.push(word);
      }
      return found;
    });
  }

  const parts = ["vconcat", "hconcat", "concat", "layer"];

  function mapped(part, change) {
    const made = { ...part };
    if (made.spec) made.spec = change(made.spec);
    for (const name of parts) if (made[name]) made[name] = made[name].map(change);
    return made;
  }

  // On a small screen parts stand below each other, except for panels that belong together.
  function stacked(part) {
    const { hconcat, ...rest } = mapped(part, stacked);
    if (hconcat) rest[hconcat[0].facet ? "hconcat" : "vconcat"] = hconcat;
    if ("columns" in rest) rest.columns = 1;
    return rest;
  }

  // There, legends stand below, long names end in "…", and titles break their lines.
  function arranged(spec) {
    const { config = {} } = spec;
    const { legend = {}, axisY = {} } = config;
    const names = {
      ...stacked(spec),
      config: {
        ...config,
        padding: PADDING,
        legend: { ...legend, ...LEGEND_BELOW, offset: spec.params ? BELOW_TITLE : 18 },
        axisY: { ...axisY, labelLimit: WIDEST_NAME },
      },
    };
    return withShortNames(names, linesOfPairs(labelsOf(spec)));
  }

  // Names that act together stand below each other, in so many lines.
  function withShortNames(part, count) {
    const made = mapped(part, (inner) => withShortNames(inner, count));
    if (made.height && made.height.step && !made.height.for) {
      made.height = { step: Math.max(made.height.step, count > 1 ? count * LINE + NAME_GAP : 0) };
    }
    if (!made.encoding) return made;
    const { x, y } = made.encoding;
    if (y && y.axis && "labelLimit" in y.axis) {
      const axis = { ...y.axis, labelLimit: WIDEST_NAME };
      if (count > 1) {
        axis.labelExpr = "split(replace(datum.label, regexp(' × ', 'g'), ' ×\\n'), '\\n')";
        axis.labelOffset = (1 - count) * HALF_LINE; // the middle of all lines, not of the first
      }
      made.encoding = { ...made.encoding, y: { ...y, axis } };
    }
    if (x && x.axis && typeof x.axis.title === "string") {
      const axis = { ...x.axis, title: lines([x.axis.title], "12px Arial, sans-serif", NARROWEST) };
      made.encoding = { ...made.encoding, x: { ...x, axis } };
    }
    return made;
  }

  // The names of rows of a chart.
  function labelsOf(part) {
    const own = part.data && Array.isArray(part.data.values) ? part.data.values : [];
    const inner = part.spec ? [part.spec] : parts.flatMap((name) => part[name] || []);
    return [...own.map(({ label }) => label), ...inner.flatMap(labelsOf)];
  }

  // The lines of names that act together, one for each; 1 where all have room in a line.
  function linesOfPairs(all) {
    const labels = all.filter((label) => typeof label === "string" && / ×[ \n]/.test(label));
    ink.font = "12px Arial, sans-serif";
    const isWide = labels.some((label) => ink.measureText(label).width > WIDEST_NAME);
    return isWide ? Math.max(...labels.map((label) => label.split(/ ×[ \n]/).length)) : 1;
  }

  // The number of categories that run to the right.
  function columnsOf(part) {
    const x = part.encoding && part.encoding.x;
    if (x && Array.isArray(x.sort)) return x.sort.length;
    for (const inner of part.layer || []) {
      const count = columnsOf(inner);
      if (count) return count;
    }
    return 0;
  }

  // Pixels of the widest number in cells; 0 without any.
  function numberWidth(part) {
    ink.font = "12px Arial, sans-serif";
    const own = part.data && Array.isArray(part.data.values) ? part.data.values : [];
    const texts = own.filter(({ text }) => typeof text === "string").map(({ text }) => text);
    const inner = (part.layer || []).map(numberWidth);
    return Math.max(0, ...texts.map((text) => ink.measureText(text).width), ...inner);
  }

  // Narrower cells may have no room for their numbers.
  function withoutNumbers(part) {
    if (!part.layer) return part;
    const kept = part.layer.filter((inner) => !inner.mark || inner.mark.style !== "cell-number");
    return { ...part, layer: kept.map(withoutNumbers) };
  }

  // Names that are wider than their cell would overlap.
  function slanted(part, step) {
    const made = mapped(part, (inner) => slanted(inner, step));
    const x = made.encoding && made.encoding.x;
    if (!x || !Array.isArray(x.sort) || !x.axis || x.axis.labelAngle !== 0) return made;
    ink.font = "12px Arial, sans-serif";
    if (!x.sort.some((name) => ink.measureText(name).width > step)) return made;
    return { ...made, encoding: { ...made.encoding, x: { ...x, axis: { ...x.axis, labelAngle: -45 } } } };
  }

  // Draw narrower by what is too much, or wider by what is left.
  function resized(part, excess, least) {
    const made = mapped(part, (inner) => resized(inner, excess, least));
    if (typeof made.width === "number") {
      made.width = Math.max(Math.min(made.width, least), made.width - excess);
    } else if (made.width && made.width.step) {
      const step = Math.floor(made.width.step - excess / (columnsOf(made) || 1));
      const width = { step: Math.max(Math.min(made.width.step, NARROWEST_CELL), step) };
      if (excess < 0) return { ...made, width };
      const narrow = slanted({ ...made, width }, width.step);
      return numberWidth(narrow) + NUMBER_GAP > width.step ? withoutNumbers(narrow) : narrow;
    }
    return made;
  }

  function retitled(spec, room) {
    const { title, config, usermeta } = spec;
    if (!usermeta || !usermeta.remarks || !title) return spec;
    const look = config.title;
    const text = lines([usermeta.title], `${look.fontWeight} ${look.fontSize}px ${config.font}`, room - BUTTON);
    const remarks = lines(usermeta.remarks, `${look.subtitleFontSize}px ${config.font}`, room);
    return { ...spec, title: { ...title, text, subtitle: remarks } };
  }

  const widthOf = (target) => target.querySelector("svg").viewBox.baseVal.width;

  // Pixels of what is drawn below the title, whose lines may be longer.
  function drawnWidth(target, { padding = 0 } = {}) {
    const svg = target.querySelector("svg");
    const shown = [...svg.querySelectorAll(".root > g > g > :not(.role-title)")];
    const right = Math.max(...shown.map((each) => each.getBoundingClientRect().right));
    return shown.length ? right - svg.getBoundingClientRect().left + padding : widthOf(target);
  }

  // The widest plot of a picture whose width is a number; 0 without one.
  function widestOf(part) {
    const inner = part.spec ? [part.spec] : parts.flatMap((name) => part[name] || []);
    return Math.max(typeof part.width === "number" ? part.width : 0, 0, ...inner.map(widestOf));
  }

  // Whether a picture of this width needs a row of its own: half a row would cut it, or crowd it.
  function needsRow(figure, spec, width) {
    figure.classList.remove("wide");
    const room = figure.querySelector(".plot").clientWidth;
    const spare = Math.max(0, widestOf(spec) - NARROWEST) * sideBySide(spec);
    return width > CROWDED * room || (widestOf(spec) > 0 && width - spare > room);
  }

  // Draw as wide as fits; `embed` draws once.
  async function fitted(figure, given, embed) {
    const target = figure.querySelector(".plot");
    const isSmall = window.innerWidth <= SMALL;
    const keepsSize = given.usermeta && given.usermeta.keepsSize; // of labels placed by hand
    const least = isSmall ? NARROWEST_THERE : NARROWEST;
    let spec = isSmall ? arranged(given) : given;
    let drawn = await embed(target, spec);
    if (!target.clientWidth) { // folded: it is fitted when it is unfolded
      figure.classList.add("drawn");
      return { drawn, room: 0 };
    }
    figure.classList.toggle("wide", !isSmall && needsRow(figure, spec, widthOf(target)));
    figure.classList.toggle("own-size", Boolean(keepsSize)); // its card is as wide as the picture
    // Neighbours may change it while this is drawn.
    const room = figure.clientWidth;
    const again = async (next) => {
      drawn.finalize();
      spec = next;
      drawn = await embed(target, spec);
    };
    const excess = () => {
      const all = widthOf(target) - target.clientWidth;
      return all > 1 ? all : drawnWidth(target, spec.config) - target.clientWidth;
    };
    // Plots get narrower or wider, as long as that helps: a legend or a name may be what is wide.
    const resize = async () => {
      let best = { spec, left: excess() };
      let change = best.left;
      for (let turn = 0; turn < TURNS && !fits(best.left, target); turn += 1) {
        await again(resized(best.spec, change / sideBySide(best.spec), least));
        const left = excess();
        if (isBetter(left, best.left)) best = { spec, left: change = left };
        else if (best.left > 1) break;
        else change = Math.min(change / 2, change + left + 2); // too wide by some letters of an axis
      }
      if (spec !== best.spec) await again(best.spec);
    };
    // Titles first; then plots; then fewer of these side by side.
    if (excess() !== 0) await again(retitled(spec, target.clientWidth - FRAME));
    const whole = spec;
    if (!keepsSize) await resize();
    for (let next = folded(whole); !keepsSize && excess() > 1 && next; next = folded(next)) {
      await again(next);
      await resize();
    }
    told(figure, target, given);
    return { drawn, room };
  }

  // A picture with fewer plots side by side; undefined where each has a row of its own.
  function folded(spec) {
    if (spec.columns > 1) return { ...spec, columns: spec.columns - 1 };
    return spec.hconcat && !spec.hconcat[0].facet ? stacked(spec) : undefined;
  }

  // Whether one excess is better than another: cut the least, then the least empty.
  const isBetter = (one, other) => one > 1 || other > 1 ? one < other : one > other;

  // Whether a picture is neither cut nor leaves much of its card empty.
  const fits = (excess, target) => excess <= 1 && excess > -SPARE * target.clientWidth;

  // How many plots of a picture stand side by side, and share what is too much.
  function sideBySide(spec) {
    if (spec.hconcat) return spec.hconcat.length;
    if (spec.concat) return Math.min(spec.columns || spec.concat.length, spec.concat.length);
    return spec.facet && !spec.facet.row ? spec.columns || 1 : 1;
  }

  // Say what cannot be seen: that a picture goes on beyond the edge, and how to use it.
  function told(figure, target, { usermeta }) {
    const isCut = widthOf(target) > target.clientWidth + 1;
    target.style.overflowX = isCut ? "" : "hidden"; // no bar for a fraction of a pixel
    const hints = [];
    if (isCut) hints.push("Wider than the screen: scroll it sideways.");
    if (usermeta && usermeta.hint) hints.push(usermeta.hint);
    for (const old of figure.querySelectorAll(".hint")) old.remove();
    if (isCut) {
      target.tabIndex = 0; // what scrolls is reached by keyboard
      target.setAttribute("role", "group");
      target.setAttribute("aria-label", "Picture, wider than the screen");
    }
    for (const hint of hints.reverse()) {
      const text = document.createElement("p");
      text.className = "hint";
      text.textContent = hint;
      target.after(text);
    }
    figure.classList.add("drawn");
  }

  // Draw into the .plot of a figure, and anew when its width changes; `shown` gets each drawing.
  async function draw(figure, given, embed, shown = () => {}) {
    let { drawn, room } = await fitted(figure, given, embed);
    let waiting = 0;
    let turn = Promise.resolve();
    shown(drawn);
    const again = async () => {
      if (!figure.isConnected || !figure.clientWidth) return;
      if (Math.abs(figure.clientWidth - room) < 8) return;
      drawn.finalize();
      ({ drawn, room } = await fitted(figure, given, embed));
      shown(drawn);
    };
    // A figure gets another width by the window, by its neighbours, and when it is unfolded.
    new ResizeObserver(() => {
      clearTimeout(waiting);
      waiting = setTimeout(() => { turn = turn.then(again); }, 250);
    }).observe(figure);
    return drawn;
  }

  return { draw };
})();
