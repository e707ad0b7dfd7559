/* Keys of an episode's page, the choice of two runs, and the updates of a live run. Without this script, every page works
 * except that it does not follow a file. */

const isTyping = ({ target }) =>
  target instanceof Element && target.closest("input, select, textarea") !== null;

/** Goes to the next or previous turn. */
function moveByTurn(step) {
  const turns = [...document.querySelectorAll(".message[id]")];
  const above = turns.filter((turn) => turn.getBoundingClientRect().top < 8).length;
  const isAtTurn = turns[above - 1]?.getBoundingClientRect().top > -8;
  const target = turns[step > 0 ? above : above - (isAtTurn ? 2 : 1)];
  if (target === undefined) return;
  target.tabIndex = -1;
  target.focus({ preventScroll: true });
  target.scrollIntoView({ block: "start" });
}

const KEYS = {
  ArrowLeft: () => document.querySelector("a[rel=prev]")?.click(),
  ArrowRight: () => document.querySelector("a[rel=next]")?.click(),
  j: () => moveByTurn(1),
  k: () => moveByTurn(-1),
  r: () => document.querySelector("#raw")?.click(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || isTyping(event)) return;
  const isScrollable = event.target instanceof Element && event.target.closest("[tabindex='0']") !== null;
  if (isScrollable && event.key.startsWith("Arrow")) return; // they move the region
  if (Object.hasOwn(KEYS, event.key)) KEYS[event.key]();
});

/** Two runs can be compared: a third cannot be selected. */
document.addEventListener("change", ({ target }) => {
  if (!(target instanceof HTMLInputElement) || target.name !== "run") return;
  const boxes = [...document.querySelectorAll("input[name=run]")];
  const isFull = boxes.filter((box) => box.checked).length >= 2;
  for (const box of boxes) box.disabled = isFull && !box.checked;
});

const LIVE_PARTS = ["#live .figures", "#live .plots", "#live-episodes"];
let isLoading = false;
let isOutdated = false;

/** Loads the page again and replaces the parts that changed. What the reader has opened or focused stays. */
async function update() {
  isOutdated = true;
  if (isLoading) return;
  isLoading = true;
  try {
    while (isOutdated) {
      isOutdated = false;
      const response = await fetch(location.href);
      if (!response.ok) return;
      const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
      for (const selector of LIVE_PARTS) {
        replace(document.querySelector(selector), fresh.querySelector(selector));
      }
    }
  } finally {
    isLoading = false;
  }
}

function replace(old, fresh) {
  if (old === null || fresh === null || old.innerHTML === fresh.innerHTML) return;
  if (old.contains(document.activeElement) || old.querySelector("details[open]") !== null) return;
  old.replaceChildren(...fresh.childNodes);
}

const live = document.querySelector("#live[data-live=true]");
if (live instanceof HTMLElement && typeof EventSource === "function") {
  const status = document.querySelector("#live-status");
  let start;
  const events = new EventSource(live.dataset.events ?? "");
  events.addEventListener("progress", (event) => {
    const { episodes, mean, failed } = JSON.parse(event.data);
    const now = performance.now();
    const isFirst = start === undefined;
    start ??= { episodes, now };
    const rate = (episodes - start.episodes) / ((now - start.now) / 1000);
    const parts = [
      `Live: ${episodes} episodes`,
      ...(mean === null ? [] : [`mean reward ${+mean.toFixed(4)}`]),
      `${failed} errors`,
      ...(rate > 0 ? [`${rate.toFixed(1)} episodes/s`] : []),
    ];
    if (status !== null) status.textContent = `${parts.join(", ")}.`;
    if (!isFirst) update().catch(() => {}); // the page is loaded again at the next event
  });
  addEventListener("pagehide", () => events.close());
}
