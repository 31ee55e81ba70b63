/** Draws one chart after the other, those in sight first, and lets clicks pass in between. */

interface Waiting {
  readonly place: HTMLElement;
  readonly draw: () => Promise<unknown>;
}

const waiting = new Set<Waiting>();
let isBusy = false;

/** Draw when it is its turn; what is returned takes it back. */
export function drawInTurn(place: HTMLElement, draw: () => Promise<unknown>): () => void {
  const own = { place, draw };
  waiting.add(own);
  void work();
  return () => {
    waiting.delete(own);
  };
}

/** Wait until all charts are drawn, as for paper. */
export async function allDrawn(): Promise<void> {
  while (isBusy) await pictureShown();
}

async function work(): Promise<void> {
  if (isBusy) return;
  isBusy = true;
  while (waiting.size > 0) {
    await pictureShown();
    const next = [...waiting].find(isInSight) ?? [...waiting][0];
    if (next === undefined) break;
    waiting.delete(next);
    await next.draw();
  }
  isBusy = false;
}

const HIDDEN_MS = 100;

/** After the next picture of the screen; a page that is hidden shows none. */
function pictureShown(): Promise<void> {
  return new Promise((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve));
    setTimeout(resolve, HIDDEN_MS);
  });
}

function isInSight({ place }: Waiting): boolean {
  const { top, bottom } = place.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}
