/** Draws charts; loaded when the first one is shown. */

import embed from "vega-embed";
import "../../../../service/onnxplain_server/report/drawing.js";

/** What drawing a chart gave. */
export type Drawn = Awaited<ReturnType<typeof embed>>;

type Embed = (target: HTMLElement, spec: object) => Promise<Drawn>;

/** The drawing that reports share. */
interface Drawing {
  draw(
    figure: HTMLElement,
    spec: object,
    embed: Embed,
    shown: (drawn: Drawn) => void,
  ): Promise<Drawn>;
}

// Whatever a specification asks for beyond its own data is refused.
const refused = () => Promise.reject(new Error("charts load nothing"));
const loader = { load: refused, sanitize: refused, http: refused, file: refused, options: {} };

const OPTIONS = {
  mode: "vega-lite",
  renderer: "svg",
  // An interpreter instead of generated code, which the server's policy forbids.
  ast: true,
  loader,
  actions: false,
  // Styles are the page's own: the policy forbids those that a script puts in.
  defaultStyle: false,
  logLevel: 1, // errors
} as const;

/** Draw a chart into the .plot of a figure, anew at each width; `shown` gets each drawing. */
export function draw(
  figure: HTMLElement,
  spec: object,
  shown: (drawn: Drawn) => void,
): Promise<Drawn> {
  const { onnxplainDrawing } = globalThis as unknown as { onnxplainDrawing: Drawing };
  const once: Embed = async (target, fitted) => {
    const tooltip = { disableDefaultStyle: true };
    const drawn = await embed(target, fitted as never, { ...OPTIONS, tooltip });
    // Its description and its table say the same in words; hundreds of marks would not.
    target.querySelector("svg")?.setAttribute("aria-hidden", "true");
    return drawn;
  };
  return onnxplainDrawing.draw(figure, spec, once, shown);
}

/** Draw a chart as SVG, without showing it. */
export async function pictureOf(spec: object): Promise<string> {
  const target = document.createElement("div");
  const { view, finalize } = await embed(target, spec as never, { ...OPTIONS, tooltip: false });
  try {
    return await view.toSVG();
  } finally {
    finalize();
  }
}
