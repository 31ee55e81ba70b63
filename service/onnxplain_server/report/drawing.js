"use strict";

// How a figure is fitted into its page, for reports and for the page of the server.
globalThis.onnxplainDrawing = (() => {
  const NARROWEST = 180; // pixels of a plot without its labels
  const LARGEST = 1.4; // times the size in which a picture is drawn
  const SMALLEST = 0.7; // times that size, whose text can just be read
  const FRAME = 40; // pixels at both sides of a title
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

  // Draw narrower by what is too much; on a small screen also below each other what stands side by
  // side, except for panels that belong together.
  function narrowed(part, excess, isSmall) {
    const { hconcat, ...rest } = part;
    const made = { ...rest };
    if (hconcat) made[isSmall && !hconcat[0].facet ? "vconcat" : "hconcat"] = hconcat;
    if (isSmall && "columns" in made) made.columns = 1;
    if (typeof made.width === "number") {
      made.width = Math.max(Math.min(made.width, NARROWEST), made.width - excess);
    }
    if (made.spec) made.spec = narrowed(made.spec, excess, isSmall);
    for (const name of ["vconcat", "hconcat", "concat"]) {
      if (made[name]) made[name] = made[name].map((one) => narrowed(one, excess, isSmall));
    }
    return made;
  }

  function retitled(spec, room) {
    const { title, config, usermeta } = spec;
    if (!usermeta || !usermeta.remarks || !title) return spec;
    const look = config.title;
    const text = lines([usermeta.title], `${look.fontWeight} ${look.fontSize}px ${config.font}`, room);
    const remarks = lines(usermeta.remarks, `${look.subtitleFontSize}px ${config.font}`, room);
    return { ...spec, title: { ...title, text, subtitle: remarks } };
  }

  const widthOf = (target) => target.querySelector("svg").viewBox.baseVal.width;

  // Draw into the .plot of a figure, as wide as fits; `embed` draws once, and what it gave last is
  // returned.
  async function draw(figure, given, embed) {
    const target = figure.querySelector(".plot");
    let spec = given;
    const isSmall = window.innerWidth <= 700;
    let drawn = await embed(target, spec);
    // Beyond this, shrinking into one column would make its text too small to read.
    figure.classList.toggle("wide", !isSmall && widthOf(target) > 1.3 * target.clientWidth);
    const tooWide = () => Math.max(0, widthOf(target) - target.clientWidth);
    for (let turn = 0; turn < 2 && tooWide(); turn += 1) {
      // On a small screen the arrangement changes first, then widths are known.
      const keepsSize = spec.usermeta && spec.usermeta.keepsSize; // of labels placed by hand
      if (!keepsSize) spec = narrowed(spec, isSmall && turn === 0 ? 0 : tooWide(), isSmall);
      spec = retitled(spec, target.clientWidth - FRAME);
      drawn = await embed(target, spec);
    }
    const picture = target.querySelector("svg");
    const least = SMALLEST * widthOf(target);
    if (least > target.clientWidth) {
      picture.style.minWidth = `${least}px`;
      target.tabIndex = 0; // what scrolls is reached by keyboard
      target.setAttribute("role", "group");
      target.setAttribute("aria-label", "Picture, wider than the screen");
    }
    if (figure.classList.contains("wide")) {
      // Fills the width of the page, unless its text would become too large.
      picture.style.width = `${Math.min(target.clientWidth, LARGEST * widthOf(target))}px`;
    }
    figure.classList.add("drawn");
    const hint = spec.usermeta && spec.usermeta.hint;
    if (hint) {
      const text = document.createElement("p");
      text.className = "hint";
      text.textContent = hint;
      target.after(text);
    }
    return drawn;
  }

  return { draw };
})();
