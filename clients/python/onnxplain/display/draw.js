(root, spec, sources) => {
  // Whatever a specification asks for beyond its own data is refused.
  const refused = () => Promise.reject(new Error("a plot loads nothing"));
  const loader = { load: refused, sanitize: refused, http: refused, file: refused };

  const draw = (vegaEmbed) => {
    const target = document.createElement("div");
    return vegaEmbed(target, spec, {
      mode: "vega-lite",
      renderer: "svg",
      // An interpreter instead of generated code, which strict pages forbid.
      ast: true,
      loader,
      actions: { export: true, source: false, compiled: false, editor: false },
    }).then(() => root.replaceChildren(target));
  };

  const add = ({ url, integrity }) => new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.onload = resolve;
    script.onerror = () => reject(new Error(`${url} cannot be loaded`));
    Object.assign(script, { src: url, integrity, crossOrigin: "anonymous" });
    document.head.append(script);
  });

  // Other versions on the page stay, and RequireJS, which would take the scripts for its modules.
  const names = ["define", "vega", "vegaLite", "vegaEmbed"];
  const load = async () => {
    const before = names.map((name) => window[name]);
    window.define = undefined;
    try {
      for (const source of sources) await add(source);
      return window.vegaEmbed;
    } finally {
      names.forEach((name, i) => { window[name] = before[i]; });
    }
  };

  const failed = (error) => {
    root.append(document.createElement("br"), `This plot cannot be drawn: ${error.message}`);
  };

  if (!sources.length) {
    draw(window.vegaEmbed).catch(failed);
    return;
  }
  const button = document.createElement("button");
  button.textContent = `Draw here, by Vega from ${new URL(sources[0].url).host}`;
  button.addEventListener("click", () => {
    button.disabled = true;
    window.onnxplainVega ??= load();
    window.onnxplainVega.then(draw).catch((error) => {
      window.onnxplainVega = undefined;
      button.disabled = false;
      failed(error);
    });
  });
  root.append(button);
}
