import { dirname, join, relative } from "node:path";

/** A link that leads nowhere, or a page that loads what it must not. */
export interface SiteFault {
  readonly page: string;
  readonly message: string;
}

interface ParsedPage {
  readonly ids: ReadonlySet<string>;
  readonly links: readonly string[];
  readonly scripts: readonly string[];
}

/** Returns the files below a folder, relative to it. */
export async function listFiles(folder: string, below = ""): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(join(folder, below))) {
    const path = join(below, name);
    if (isDirectory) found.push(...await listFiles(folder, path));
    else found.push(path);
  }
  return found.sort();
}

function unescapeHtml(text: string): string {
  return text.replace(
    /&#(x?)([\da-f]+);/gi,
    (_, hex, digits) => String.fromCodePoint(parseInt(digits, hex ? 16 : 10)),
  )
    .replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&amp;", "&");
}

/** Reads the ids and addresses of a page; the text of comments and scripts is not searched. */
export function parsePage(html: string): ParsedPage {
  const tags = html.replace(/<!--[^]*?-->/g, "").replace(/(<script[^>]*>)[^]*?<\/script>/g, "$1")
    .match(/<[a-z][^>]*>/gi) ?? [];
  const attributes = tags.flatMap((tag) =>
    [...tag.matchAll(/\s(id|name|href|src)\s*=\s*(?:"([^"]*)"|'([^']*)')/gi)].map((
      [, name = "", quoted, single],
    ) => ({ tag, name: name.toLowerCase(), value: unescapeHtml(quoted ?? single ?? "") }))
  );
  const isScript = (tag: string) => /^<script/i.test(tag);
  return {
    ids: new Set(attributes.filter(({ name }) => name === "id" || name === "name").map(({ value }) => value)),
    links: attributes.filter(({ name }) => name === "href" || name === "src").map(({ value }) => value),
    scripts: attributes.filter(({ tag, name }) => isScript(tag) && name === "src").map(({ value }) => value),
  };
}

/**
 * Checks all pages of a site: each link leads to a file of the site and to an id of it, and no script comes from
 * another server.
 */
export async function checkSite(
  folder: string,
): Promise<{ pages: number; links: number; faults: SiteFault[] }> {
  const files = new Set(await listFiles(folder));
  const pages = new Map<string, ParsedPage>();
  for (const file of files) {
    if (file.endsWith(".html")) pages.set(file, parsePage(await Deno.readTextFile(join(folder, file))));
  }
  const faults: SiteFault[] = [];
  let links = 0;
  for (const [page, parsed] of pages) {
    for (const script of parsed.scripts) {
      if (/^(?:[a-z]+:|\/\/)/i.test(script)) faults.push({ page, message: `loads a script from ${script}` });
    }
    for (const link of new Set(parsed.links)) {
      if (/^(?:[a-z]+:|\/\/)/i.test(link)) continue;
      links++;
      const fault = checkLink(page, link, { folder, files, pages });
      if (fault !== undefined) faults.push({ page, message: fault });
    }
  }
  return { pages: pages.size, links, faults };
}

function checkLink(
  page: string,
  link: string,
  { folder, files, pages }: {
    folder: string;
    files: ReadonlySet<string>;
    pages: ReadonlyMap<string, ParsedPage>;
  },
): string | undefined {
  const [path = "", anchor] = link.split("#").map(decodeURIComponent);
  const target = path === "" ? page : relative(folder, join(folder, dirname(page), path.split("?")[0] ?? ""));
  if (!files.has(target)) return `links to '${link}', which is no file of the site`;
  if (anchor === undefined || anchor === "" || !target.endsWith(".html")) return undefined;
  return pages.get(target)?.ids.has(anchor) ? undefined : `links to '${link}', which has no such heading`;
}
