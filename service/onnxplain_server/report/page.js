"use strict";

// Whatever a specification asks for beyond its own data is refused.
const refused = () => Promise.reject(new Error("this page loads nothing"));
const loader = { load: refused, sanitize: refused, http: refused, file: refused };

const embed = (figure) => (target, spec) => vegaEmbed(target, spec, {
  mode: "vega-lite",
  renderer: "svg",
  // An interpreter instead of generated code, which the page's policy forbids.
  ast: true,
  loader,
  actions: { export: true, source: false, compiled: false, editor: false },
  downloadFileName: figure.id,
});

for (const figure of document.querySelectorAll("figure")) {
  const spec = JSON.parse(figure.querySelector("script").textContent);
  onnxplainDrawing.draw(figure, spec, embed(figure)).catch((error) => {
    figure.querySelector(".plot").textContent = `This plot cannot be drawn: ${error.message}`;
  });
}

// Paper cannot be unfolded.
addEventListener("beforeprint", () => {
  for (const folded of document.querySelectorAll("details")) folded.open = true;
});
