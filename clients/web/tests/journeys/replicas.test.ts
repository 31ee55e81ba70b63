import assert from "node:assert/strict";
import { test } from "node:test";
import { ADDRESS, accessible, choose, file, open } from "./browser";

/** Processes of the replicas, with the ports of their metrics. */
const REPLICAS: readonly (readonly [number, number])[] = JSON.parse(
  process.env.ONNXPLAIN_REPLICAS ?? "[]",
);

/** The process of the replica that computes; there is one after a while. */
async function computing(): Promise<number> {
  for (;;) {
    for (const [process, port] of REPLICAS) {
      const reply = await fetch(`http://127.0.0.1:${port}/metrics`);
      if (/^onnxplain_running_requests [1-9]/m.test(await reply.text())) return process;
    }
  }
}

test("an overview whose replica is killed is ended by the other, and shown", async () => {
  const page = await open();
  await choose(page, file("neighbours.onnx"), file("neighbours.csv"));
  const plan = page.getByText(/^The overview takes/);
  const first = await plan.textContent();
  await page.getByLabel("Seconds that an overview may take").fill("20");
  await page.getByLabel("Seconds that an overview may take").press("Tab");
  await plan.filter({ hasNotText: first ?? "" }).waitFor();
  await page.getByRole("button", { name: "Start the overview" }).click();
  await page.waitForURL(/operation=/);
  process.kill(await computing(), "SIGKILL");

  await page.getByRole("heading", { name: "How these numbers were made" }).waitFor();
  await page.locator("figure.drawn").first().waitFor();
  await accessible(page);
  const [, name = ""] = /operation=([^&]+)/.exec(page.url()) ?? [];
  const reply = await fetch(`${ADDRESS}v1/${decodeURIComponent(name)}`);
  assert.equal((await reply.json()).metadata.attemptCount, 2);
  await page.close();
});
