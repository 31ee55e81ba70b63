/** The frame of all rooms: head, navigation, and the room that the address names. */

import { effect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { Access } from "./access/access";
import { config } from "./common/config";
import { Later } from "./common/later";
import { plain } from "./common/name";
import type { Room } from "./common/question";
import { RunBar } from "./common/run_bar";
import { forgetOthers, resumeFromAddress } from "./common/runs";
import { hrefOf, place, question } from "./common/store";
import { Explore } from "./explore/explore";
import { Row } from "./row/row";
import { Share } from "./share/share";
import { Start } from "./start/start";

const TITLES: Readonly<Record<Room, string>> = {
  start: "Model and table",
  explore: "Explore",
  row: "One row",
  compare: "Compare",
  share: "Share",
};

const loadCompare = () => import("./compare/compare").then(({ Compare }) => Compare);

const LICENCES = document.querySelector<HTMLLinkElement>("link[rel=license]")?.href ?? "";

export function App() {
  const { room, path } = place.value;
  const main = useRef<HTMLElement>(null);
  const where = [room, ...path].join("/");
  const isFirst = useRef(true);
  useEffect(() => {
    // Readers of a screen are told of the new room; the first one is read anyway.
    if (!isFirst.current) main.current?.focus();
    isFirst.current = false;
    scrollTo(0, 0);
  }, [where]);
  useEffect(
    () =>
      effect(() => {
        question.value;
        forgetOthers();
        resumeFromAddress();
      }),
    [],
  );
  const named = question.value.model?.name ?? "";
  const title = `${TITLES[room]}${named === "" ? "" : ` · ${plain(named).slice(0, 80)}`} · onnxplain`;
  useEffect(() => {
    document.title = title;
  }, [title]);
  const isReady = question.value.model !== undefined && question.value.table !== undefined;
  return (
    <>
      <header class="head">
        <a
          class="skip"
          href={hrefOf({})}
          onClick={(event) => {
            event.preventDefault();
            main.current?.focus();
          }}
        >
          Skip to the content
        </a>
        <a class="brand" href={hrefOf({ room: "start", path: [] })}>
          onnxplain
        </a>
        <nav aria-label="Rooms">
          {(Object.keys(TITLES) as Room[])
            .filter((each) => each === "start" || isReady)
            .map((each) => (
              <a
                key={each}
                href={hrefOf({ room: each, path: [] })}
                aria-current={each === room ? "page" : undefined}
              >
                {TITLES[each]}
              </a>
            ))}
        </nav>
      </header>
      <Access />
      <RunBar />
      <main ref={main} tabIndex={-1}>
        {room === "start" && <Start />}
        {room === "explore" && <Explore />}
        {room === "row" && <Row />}
        {room === "compare" && <Later load={loadCompare} />}
        {room === "share" && <Share />}
      </main>
      <footer class="foot note">
        onnxplain {config.value.version} · <a href={LICENCES}>Licences of its parts</a>
      </footer>
    </>
  );
}
