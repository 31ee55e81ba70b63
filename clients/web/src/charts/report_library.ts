// What an HTML report draws with: Vega, Vega-Lite and vega-embed, in the versions of the page.
import embed from "vega-embed";

Object.assign(window, { vegaEmbed: embed });
