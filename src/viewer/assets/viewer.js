/* Keys of an episode's page, the choice of two runs, and the updates of live runs. Without this script, every page works
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

/** Copies the text of the turn that has the focus, or of the first one on the screen. */
async function copyTurn() {
  const turns = [...document.querySelectorAll(".message")];
  const turn = document.activeElement?.closest(".message") ??
    turns.find((element) => element.getBoundingClientRect().bottom > 8);
  const status = document.querySelector("#key-status");
  if (turn === undefined || status === null) return;
  try {
    await navigator.clipboard.writeText(turn.innerText);
    status.textContent = `Copied ${turn.id ? turn.id.replace("-", " ") : "a message"}.`;
  } catch {
    status.textContent = "The browser does not allow pages to copy."; // it asks, or the address is not secure
  }
}

/** Opens all parts that can be unfolded, or closes them if all are open. */
function toggleAll() {
  const parts = [...document.querySelectorAll("main details")];
  const isOpen = parts.every(({ open }) => open);
  for (const part of parts) part.open = !isOpen;
}

const KEYS = {
  ArrowLeft: () => document.querySelector("a[rel=prev]")?.click(),
  ArrowRight: () => document.querySelector("a[rel=next]")?.click(),
  j: () => moveByTurn(1),
  k: () => moveByTurn(-1),
  c: copyTurn,
  e: toggleAll,
  r: () => document.querySelector("#raw")?.click(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || isTyping(event)) return;
  const isScrollable = event.target instanceof Element && event.target.closest("[tabindex='0']") !== null;
  if (isScrollable && event.key.startsWith("Arrow")) return; // they move the region
  if (Object.hasOwn(KEYS, event.key)) KEYS[event.key]();
});

/** Two runs can be compared: a third cannot be selected. */
function limitSelection() {
  const boxes = [...document.querySelectorAll("input[name=run]")];
  const isFull = boxes.filter((box) => box.checked).length >= 2;
  for (const box of boxes) box.disabled = isFull && !box.checked;
}

document.addEventListener("change", ({ target }) => {
  if (target instanceof HTMLInputElement && target.name === "run") limitSelection();
});

const LIVE_PARTS = ["#live-figures", "#live .plots", "#live-episodes", "#live-runs"];
let isLoading = false;
let isOutdated = false;

/** Loads the page again and replaces the parts that changed. What the reader has opened, selected or focused stays. */
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
  const selected = new Set([...old.querySelectorAll("input:checked")].map(({ value }) => value));
  old.replaceChildren(...fresh.childNodes);
  if (fresh.dataset.live !== undefined) old.dataset.live = fresh.dataset.live;
  for (const box of old.querySelectorAll("input[name=run]")) box.checked = selected.has(box.value);
  limitSelection();
}

const live = document.querySelector("#live[data-live=true]");
if (live instanceof HTMLElement && typeof EventSource === "function") {
  const status = document.querySelector("#live-status");
  let start;
  const events = new EventSource(live.dataset.events ?? "");
  events.addEventListener("progress", (event) => {
    const { episodes, text } = JSON.parse(event.data);
    const now = performance.now();
    const isFirst = start === undefined;
    start ??= { episodes, now };
    const rate = (episodes - start.episodes) / ((now - start.now) / 1000);
    const pace = rate > 0 ? `, ${rate.toFixed(1)} episodes/s` : "";
    if (status !== null) status.textContent = `Live: ${text}${pace}.`;
    if (!isFirst) update().catch(() => {}); // the page is loaded again at the next event
  });
  addEventListener("pagehide", () => events.close());
}

/** Milliseconds between two looks at the list of runs while one of them is live. */
const LIST_MS = 3_000;

setInterval(() => {
  const runs = document.querySelector("#live-runs");
  if (runs?.dataset.live === "true" && !document.hidden) update().catch(() => {}); // it is tried again
}, LIST_MS);
