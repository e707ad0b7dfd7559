import type { Section } from "./navigation.ts";

/** Heading of a page. */
export interface Heading {
  readonly id: string;
  readonly level: number;
  readonly text: string;
}

/** What one page is made of. */
export interface PageContent {
  readonly title: string;
  readonly slug: string;
  readonly html: string;
  readonly headings: readonly Heading[];
}

/** What all pages of a version share. */
export interface Site {
  readonly version: string;
  readonly sections: readonly Section[];
}

/** Nothing is loaded from other servers, and no script or style is part of a page. */
const POLICY = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:";

/** Escapes text for HTML. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}

/** Returns the path from a page to the folder of its version, such as `../`. */
export function pathToRoot(slug: string): string {
  return "../".repeat(slug.split("/").length - 1);
}

/** Returns a page as HTML. Its links are relative, so that it can be opened from any folder, also without a server. */
export function renderPage(site: Site, { title, slug, html, headings }: PageContent): string {
  const root = pathToRoot(slug);
  const name = slug === "index" ? "Paddock" : `${escapeHtml(title)} – Paddock`;
  return `<!DOCTYPE html>
<html lang="en" data-root="${root}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<title>${name}</title>
<link rel="stylesheet" href="${root}assets/style.css">
<link rel="icon" href="data:,">
<script src="${root}assets/search.js" defer></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<a class="home" href="${root}index.html">Paddock</a>
<a href="${root}../versions.html">Version ${escapeHtml(site.version)}</a>
<a class="menu" href="#pages">Pages</a>
<div id="search"></div>
</header>
<div class="columns">
<main id="content">
${renderOutline(headings)}
${html}
${renderNeighbours(site, slug)}
</main>
<nav id="pages" aria-label="Pages">
${renderNavigation(site, slug)}
</nav>
</div>
</body>
</html>
`;
}

function renderNavigation({ sections }: Site, current: string): string {
  const root = pathToRoot(current);
  return sections.map(({ title, pages }) => {
    const items = pages.map((page) => {
      const mark = page.slug === current ? ' aria-current="page"' : "";
      return `<li><a href="${root}${page.slug}.html"${mark}>${escapeHtml(page.title)}</a></li>`;
    });
    return `<p>${escapeHtml(title)}</p>\n<ul>\n${items.join("\n")}\n</ul>`;
  }).join("\n");
}

function renderOutline(headings: readonly Heading[]): string {
  const parts = headings.filter(({ level }) => level === 2);
  if (parts.length < 3) return "";
  const items = parts.map(({ id, text }) => `<li><a href="#${id}">${escapeHtml(text)}</a></li>`);
  return `<details class="outline"><summary>On this page</summary>\n<ul>\n${
    items.join("\n")
  }\n</ul>\n</details>`;
}

function renderNeighbours({ sections }: Site, slug: string): string {
  const pages = sections.flatMap((section) => section.pages);
  const at = pages.findIndex((page) => page.slug === slug);
  if (at < 0) return "";
  const root = pathToRoot(slug);
  const link = (page: { slug: string; title: string } | undefined, rel: string, label: string) =>
    page === undefined
      ? "<span></span>"
      : `<a rel="${rel}" href="${root}${page.slug}.html">${label}: ${escapeHtml(page.title)}</a>`;
  return `<p class="neighbours">${link(pages[at - 1], "prev", "Previous")}${
    link(pages[at + 1], "next", "Next")
  }</p>`;
}

/** Returns the page that lists the versions of a folder, newest first. It leads to the newest one. */
export function renderVersions(versions: readonly string[], { forward }: { forward: boolean }): string {
  const items = versions.map((version) =>
    `<li><a href="${encodeURIComponent(version)}/index.html">${escapeHtml(version)}</a></li>`
  );
  const [newest = ""] = versions;
  const refresh = `<meta http-equiv="refresh" content="0; url=${encodeURIComponent(newest)}/index.html">\n`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Versions – Paddock</title>
${forward ? refresh : ""}<link rel="stylesheet" href="${encodeURIComponent(newest)}/assets/style.css">
</head>
<body>
<main>
<h1>Versions of Paddock</h1>
<ul>
${items.join("\n")}
</ul>
</main>
</body>
</html>
`;
}
