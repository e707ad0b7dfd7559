import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { toEntries } from "../../../scripts/docs/api.ts";
import { checkSite, parsePage } from "../../../scripts/docs/check_site.ts";
import { renderPage, renderVersions } from "../../../scripts/docs/layout.ts";
import { SECTIONS } from "../../../scripts/docs/navigation.ts";
import { collectPages, fileLinks } from "../../../scripts/docs/pages.ts";
import { TempFolder } from "../../temp_folder.ts";

const ROOT = new URL("../../../", import.meta.url);

Deno.test("each page of docs/ is in the navigation of the site, once", () => {
  const sources = SECTIONS.flatMap(({ pages }) => pages).flatMap(({ source }) => source ?? []);
  const pages = Array.from(Deno.readDirSync(new URL("docs", ROOT)), ({ name }) => `docs/${name}`)
    .filter((name) => name.endsWith(".md"));
  assertEquals(sources.filter((source) => source.startsWith("docs/")).sort(), pages.sort());
});

Deno.test("fileLinks() returns the links to files, but not those in code or to other servers", () => {
  const markdown =
    "[a](a.md#b) [c](https://c) [d](#d) `[e](e.md)` [a](a.md#b)\n```\n[f](f.md)\n```\n![g](g.svg)";
  assertEquals(fileLinks(markdown), ["a.md#b", "g.svg"]);
});

Deno.test("collectPages() adds a page for each file that a page links to, and refuses a link to no file", async () => {
  await using folder = await TempFolder.of({
    "docs/a.md": "# A\n\n[code](../src/b.ts), [page](../src/c.md#d)\n",
    "src/b.ts": "export {};\n",
    "src/c.md": "# C\n\n## D\n\n[back](../docs/a.md)\n",
    "docs/dead.md": "[gone](none.md)",
  });
  const page = (name: string) => ({ title: name, slug: name, source: `docs/${name}.md` });
  const sections = (name: string) => [{ title: "All", pages: [page(name)] }];
  const pages = await collectPages(folder.path, { sections: sections("a"), generated: {} });
  assertEquals(pages.map(({ slug, links }) => [slug, links]), [
    ["a", { "../src/b.ts": "source/src/b.ts.html", "../src/c.md#d": "src/c.html#d" }],
    ["source/src/b.ts", {}],
    ["src/c", { "../docs/a.md": "a.html" }],
  ]);
  await assertRejects(
    () => collectPages(folder.path, { sections: sections("dead"), generated: {} }),
    Error,
    "Cannot follow a link of docs/dead.md to 'docs/none.md'",
  );
});

Deno.test("checkSite() finds links to missing files and headings, and scripts of other servers", async () => {
  await using folder = await TempFolder.of({
    "index.html": '<a href="a/b.html#x">1</a><a href="a/b.html#y">2</a><a href="c.html">3</a>',
    "a/b.html":
      '<h2 id="x">X</h2><a href="../index.html">1</a><script src="https://example.org/a.js"></script>',
  });
  const { pages, links, faults } = await checkSite(folder.path);
  assertEquals([pages, links], [2, 4]);
  assertEquals(faults.map(({ page, message }) => `${page} ${message}`).sort(), [
    "a/b.html loads a script from https://example.org/a.js",
    "index.html links to 'a/b.html#y', which has no such heading",
    "index.html links to 'c.html', which is no file of the site",
  ]);
});

Deno.test("parsePage() reads attributes with character references, and no text of comments", () => {
  const { links, ids } = parsePage('<!-- <a href="x"> --><a id="i" href="a&amp;b&#x2F;c"></a>');
  assertEquals([links, [...ids]], [["a&b/c"], ["i"]]);
});

Deno.test("renderPage() escapes titles, links relative to its depth, and works without JavaScript", () => {
  const site = { version: "1.0.0", sections: SECTIONS };
  const html = renderPage(site, { title: "<b>", slug: "reference/http", html: "<p>text</p>", headings: [] });
  assertEquals(html.includes("<title>&#60;b&#62; – Paddock</title>"), true);
  assertEquals(html.includes('href="../trainers.html"'), true);
  const { scripts } = parsePage(html);
  assertEquals(scripts, ["../assets/search.js"]); // the navigation and the pages need none
});

Deno.test("renderVersions() lists versions and leads to the newest", () => {
  const html = renderVersions(["1.10.0", "1.9.0"], { forward: true });
  assertEquals(parsePage(html).links, ["1.10.0/assets/style.css", "1.10.0/index.html", "1.9.0/index.html"]);
  assertEquals(html.includes('content="0; url=1.10.0/index.html"'), true);
});

Deno.test("toEntries() returns each exported name of 'deno doc' once, and refuses another form", () => {
  const node = (name: string, url: string) => ({
    name,
    doc: "Doc.",
    file: ".",
    url,
    kind: [{ title: "Class" }],
  });
  const nodes = [
    node("A", "././~/A.html"),
    node("A.prototype.b", "././~/A.b.html"),
    node("A", "./x/~/A.html"),
  ];
  const script = `(function () {\n  window.DENO_DOC_SEARCH_INDEX = ${JSON.stringify({ nodes })};\n})()`;
  assertEquals(toEntries(script), [
    { url: "api/~/A.html", page: "TypeScript: Class of the package", title: "A", text: "Doc." },
  ]);
  assertThrows(() => toEntries("window.other = 1"), SyntaxError, "it has another form");
});
