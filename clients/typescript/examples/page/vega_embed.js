// vega-embed as a module, for pages without a bundler: its script has made it a global.
export default globalThis.vegaEmbed;
