// Search of the site. The index is loaded when the field is used for the first time.
const place = document.querySelector("#search");
const root = document.documentElement.dataset.root;
const MAX_RESULTS = 12;

/** Loads a script once. It is no module, as those do not load from files without a server. */
function load(path) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = root + path;
    script.onload = resolve;
    script.onerror = () => reject(new Error(`Cannot load ${path}`));
    document.head.append(script);
  });
}

let loading;
/** Returns the index of all sections. */
function loadIndex() {
  return loading ??= (async () => {
    await load("assets/minisearch.js");
    await load("assets/search-index.js");
    return globalThis.MiniSearch.loadJS(globalThis.PADDOCK_SEARCH.index, globalThis.PADDOCK_SEARCH.options);
  })();
}

const input = document.createElement("input");
input.type = "search";
input.placeholder = "Search (press /)";
input.setAttribute("aria-label", "Search the documentation");
const list = document.createElement("ol");
list.hidden = true;
list.setAttribute("aria-live", "polite");
place.append(input, list);

/** Guides come before names of the API and files of the source that have the same words. */
function boostGuides(_id, _term, { url }) {
  return /^(?:api|source|examples|tests)\//.test(url) ? 0.3 : 1;
}
const SEARCH = {
  prefix: true,
  fuzzy: 0.15,
  combineWith: "AND",
  boost: { title: 4, page: 2 },
  boostDocument: boostGuides,
};

function show(results) {
  list.replaceChildren(
    ...results.slice(0, MAX_RESULTS).map(({ url, title, page }) => {
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = root + url;
      link.textContent = title;
      const where = document.createElement("small");
      where.textContent = page;
      link.append(where);
      item.append(link);
      return item;
    }),
  );
  if (results.length === 0) {
    const item = document.createElement("li");
    item.textContent = "Nothing found";
    list.append(item);
  }
  list.hidden = false;
}

input.addEventListener("focus", () => void loadIndex());
input.addEventListener("input", async () => {
  const query = input.value.trim();
  if (query === "") {
    list.hidden = true;
    return;
  }
  const index = await loadIndex();
  if (query !== input.value.trim()) return;
  show(index.search(query, SEARCH));
});

/** Moves through the results with the arrow keys. */
place.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    list.hidden = true;
    input.focus();
    return;
  }
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined) return;
  const stops = [input, ...list.querySelectorAll("a")];
  const next = stops[stops.indexOf(document.activeElement) + step];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || /^(?:INPUT|TEXTAREA)$/.test(document.activeElement?.tagName ?? "")) return;
  event.preventDefault();
  input.focus();
});
document.addEventListener("click", (event) => {
  if (!place.contains(event.target)) list.hidden = true;
});
