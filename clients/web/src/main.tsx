/** The page of an onnxplain server. */

import { render } from "preact";
import { receive } from "./access/login";
import { isAsking, recall } from "./access/tokens";
import { App } from "./app";
import { token } from "./common/asking";
import { config } from "./common/config";
import { follow } from "./common/store";
import "./styles/look.css";
import "./styles/page.css";
import "./styles/print.css";

const target = document.getElementById("page");
if (target !== null) {
  // A login that comes back has the place where it began.
  recall();
  if (await receive()) {
    close();
    target.textContent = "The login goes on in the window where it began: close this one.";
  } else {
    if (config.value.needsToken && token.value.text === "") isAsking.value = true;
    follow();
    render(<App />, target);
  }
}
