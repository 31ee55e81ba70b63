"use strict";

// Whatever a specification asks for beyond its own data is refused.
const refused = () => Promise.reject(new Error("this page loads nothing"));
const loader = { load: refused, sanitize: refused, http: refused, file: refused };

for (const figure of document.querySelectorAll("figure")) {
  const target = figure.querySelector(".plot");
  const spec = JSON.parse(figure.querySelector("script").textContent);
  vegaEmbed(target, spec, {
    mode: "vega-lite",
    renderer: "svg",
    // An interpreter instead of generated code, which the page's policy forbids.
    ast: true,
    loader,
    actions: { export: true, source: false, compiled: false, editor: false },
    downloadFileName: figure.id,
  }).then(() => {
    figure.classList.add("drawn");
    // Beyond this, shrinking into one column would make its text too small to read.
    const drawn = target.querySelector("svg");
    figure.classList.toggle("wide", drawn.viewBox.baseVal.width > 1.3 * target.clientWidth);
  }).catch((error) => {
    target.textContent = `This plot cannot be drawn: ${error.message}`;
  });
}
