/** The second room: what was found, by method, by feature and by pair. */

import { useSignal } from "@preact/signals";
import { count } from "../common/formats";
import { Name } from "../common/name";
import { answers, compute, overviewOf, run } from "../common/runs";
import { features, hrefOf, place, question } from "../common/store";
import { FeaturePage } from "./feature_page";
import { MethodPage } from "./method_page";
import { about, METHODS } from "./methods";
import { Overview } from "./overview";
import { PairPage } from "./pair_page";

export function Explore() {
  const { model, table } = question.value;
  if (model === undefined || table === undefined) {
    return (
      <>
        <h1>Explore</h1>
        <p>
          <a href={hrefOf({ room: "start", path: [] })}>Choose a model and a table</a> first.
        </p>
      </>
    );
  }
  return (
    <div class="rooms">
      <Contents />
      <div class="content">
        <Page />
      </div>
    </div>
  );
}

function Page() {
  const [kind = "", ...names] = place.value.path;
  const method = about(kind);
  if (method !== undefined) return <MethodPage about={method} key={kind} />;
  if (kind === "feature" && names[0] !== undefined) {
    return <FeaturePage feature={names[0]} key={names[0]} />;
  }
  if (kind === "features" && names.length > 1) {
    return <PairPage features={names} key={names.join("/")} />;
  }
  return overviewOf(answers.value) || run.value ? <Overview /> : <Nothing />;
}

function Nothing() {
  return (
    <>
      <h1>Overview</h1>
      <p>Nothing is computed yet in this page.</p>
      <p>
        <button type="button" class="strong" onClick={() => void compute("Overview", [])}>
          Start the overview
        </button>
      </p>
    </>
  );
}

const LISTED = 30;

/** Links to all pages of this room. */
function Contents() {
  const sought = useSignal("");
  const here = place.value.path;
  const names = features.value;
  const found = names.filter((name) => name.toLowerCase().includes(sought.value.toLowerCase()));
  // Above the content, a list of all features would hide it.
  const isNarrow = matchMedia("(max-width: 52rem)").matches;
  const link = (path: readonly string[]) => ({
    href: hrefOf({ room: "explore", path }),
    "aria-current": path.join("/") === here.join("/") ? ("page" as const) : undefined,
  });
  return (
    <nav class="contents" aria-label="Explore">
      <ul>
        <li>
          <a {...link([])}>Overview</a>
        </li>
        {METHODS.map(({ name, title }) => (
          <li key={name}>
            <a {...link([name])}>{title}</a>
          </li>
        ))}
      </ul>
      {names.length > 0 && (
        <details open={!isNarrow}>
          <summary>Features ({count(names.length)})</summary>
          {names.length > LISTED && (
            <input
              type="search"
              aria-label="Search features"
              placeholder="Search"
              value={sought.value}
              onInput={(event) => {
                sought.value = event.currentTarget.value;
              }}
            />
          )}
          <ul>
            {found.slice(0, LISTED).map((name) => (
              <li key={name}>
                <a {...link(["feature", name])}>
                  <Name text={name} length={40} />
                </a>
              </li>
            ))}
          </ul>
          {found.length > LISTED && (
            <p class="note">{count(found.length - LISTED)} more: search for them.</p>
          )}
        </details>
      )}
    </nav>
  );
}
