/** The page of an onnxplain server. */

import { render } from "preact";
import { receive } from "./access/login";
import { recall } from "./access/tokens";
import { App } from "./app";
import { follow } from "./common/store";
import "./styles/look.css";
import "./styles/page.css";
import "./styles/print.css";

const target = document.getElementById("page");
if (target !== null) {
  // A login that comes back has the place where it began.
  recall();
  await receive();
  follow();
  render(<App />, target);
}
