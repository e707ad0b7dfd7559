import { dirname, join, normalize } from "node:path";
import type { MarkdownPage } from "./generator.ts";
import type { Section } from "./navigation.ts";

/** A page, and the file of the repository that it shows. */
export interface SourcePage {
  readonly title: string;
  readonly slug: string;
  readonly markdown: string;
  /** Path in the repository; left out for a generated page. */
  readonly source?: string;
}

/** Links of a Markdown text to other files, without those in code. */
export function fileLinks(markdown: string): string[] {
  const prose = markdown.replace(/^(`{3,})[^]*?^\1$/gm, "").replace(/`[^`\n]*`/g, "");
  const links = [...prose.matchAll(/\]\((?![a-z]+:|#)([^)\s]+)\)/g)].map(([, link = ""]) => link);
  return [...new Set(links)];
}

const LANGUAGES: Readonly<Record<string, string>> = { jsonc: "json", jsonl: "json", tsx: "ts", yml: "yaml" };

/** Returns a page that shows a file of the repository. */
function showFile(path: string, text: string): SourcePage {
  if (path.endsWith(".md")) {
    return { title: path, slug: path.replace(/\.md$/, ""), markdown: text, source: path };
  }
  const extension = path.split(".").at(-1) ?? "";
  const fence = "`".repeat(Math.max(3, ...[...text.matchAll(/^`+/gm)].map(([ticks]) => ticks.length + 1)));
  const markdown = `# ${path}\n\n${fence}${LANGUAGES[extension] ?? extension}\n${text.trimEnd()}\n${fence}\n`;
  return { title: path, slug: `source/${path}`, markdown };
}

/**
 * Returns the pages of the navigation, and one for each file of the repository that they link to.
 *
 * @param generated The Markdown of pages without a source, by their slugs.
 * @throws {Deno.errors.NotFound} if a link leads to no file.
 */
export async function collectPages(
  root: string,
  { sections, generated }: { sections: readonly Section[]; generated: Readonly<Record<string, string>> },
): Promise<MarkdownPage[]> {
  const queue: SourcePage[] = await Promise.all(
    sections.flatMap((section) => section.pages).map(async ({ title, slug, source }) => {
      if (source === undefined) return { title, slug, markdown: generated[slug] ?? "" };
      return { title, slug, source, markdown: await Deno.readTextFile(join(root, source)) };
    }),
  );
  const slugs = new Map(queue.map(({ source, slug }) => [source ?? "", slug]));
  const pages: MarkdownPage[] = [];
  for (const page of queue) { // files that are found are appended
    const links: Record<string, string> = {};
    for (const link of fileLinks(page.markdown)) {
      const [path = "", anchor] = decodeURI(link).split("#");
      const target = page.source === undefined ? path : normalize(join(dirname(page.source), path));
      if (/\.(?:png|svg)$/.test(target)) {
        links[decodeURI(link)] = `assets/${target.split("/").at(-1)}`;
        continue;
      }
      if (page.source === undefined && path.endsWith(".html")) {
        links[decodeURI(link)] = path + (anchor === undefined ? "" : `#${anchor}`);
        continue;
      }
      if (!slugs.has(target)) {
        const found = showFile(target, await readLinked(root, target, page));
        slugs.set(target, found.slug);
        queue.push(found);
      }
      links[decodeURI(link)] = `${slugs.get(target)}.html${anchor === undefined ? "" : `#${anchor}`}`;
    }
    pages.push({ title: page.title, slug: page.slug, markdown: page.markdown, links });
  }
  return pages;
}

async function readLinked(root: string, path: string, page: SourcePage): Promise<string> {
  if (path.startsWith("..")) throw new Error(`Cannot follow '${path}' of ${page.slug}: it is outside`);
  return await Deno.readTextFile(join(root, path)).catch((cause) => {
    throw new Error(`Cannot follow a link of ${page.source ?? page.slug} to '${path}': no such file`, {
      cause,
    });
  });
}
