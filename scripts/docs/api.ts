import { join } from "node:path";
import { ROOT, run } from "../../packaging/sources.ts";
import config from "../../deno.json" with { type: "json" };
import type { SearchEntry } from "./generator.ts";
import { listFiles } from "./check_site.ts";

/** Entry points without an API of their own. */
const COMMANDS: readonly string[] = ["./cli"];

const INDEX_SCRIPT = /^\s*\(function \(\) \{\s*window\.DENO_DOC_SEARCH_INDEX = ([^]*?);?\s*\}\)\(\)\s*;?\s*$/;

interface Node {
  readonly name: string;
  readonly doc: string;
  readonly file: string;
  readonly url: string;
  readonly kind: readonly { readonly title: string }[];
}

/**
 * Writes the pages of the exported names with `deno doc` to a folder. Returns the names as entries of the search.
 */
export async function writeApi(folder: string): Promise<SearchEntry[]> {
  const entryPoints = Object.entries(config.exports).filter(([name]) => !COMMANDS.includes(name));
  const args = ["doc", "--html", "--name=Paddock", `--output=${folder}`];
  await run(Deno.execPath(), [...args, ...entryPoints.map(([, path]) => path)], { cwd: ROOT });
  for (const file of await listFiles(folder)) {
    if (file.endsWith(".html")) await linkToSite(join(folder, file), "../".repeat(file.split("/").length));
  }
  return toEntries(await Deno.readTextFile(join(folder, "search_index.js")));
}

/** Adds a link from a page of the API to the site, and names the files of links to folders. */
async function linkToSite(path: string, root: string): Promise<void> {
  const html = await Deno.readTextFile(path);
  const link = `<p style="margin:0.5rem 1rem"><a href="${root}index.html">Paddock's documentation</a></p>`;
  const pages = html.replaceAll(/(\shref=")((?:\.{1,2}(?:\/|&#x2F;))+|)"/g, '$1$2index.html"');
  await Deno.writeTextFile(path, pages.replace("<body>", `<body>\n${link}`));
}

/** Reads the index of `deno doc`: exported names, without members and repeated names. */
export function toEntries(script: string): SearchEntry[] {
  const [, json] = INDEX_SCRIPT.exec(script) ?? [];
  if (json === undefined) throw new SyntaxError("Cannot read the index of 'deno doc': it has another form");
  const { nodes }: { nodes: readonly Node[] } = JSON.parse(json);
  const entries = new Map<string, SearchEntry>();
  for (const { name, doc, file, url, kind } of nodes) {
    if (name.includes(".") || entries.has(name)) continue;
    const page = `TypeScript: ${kind.map(({ title }) => title).join(", ")} of ${
      file === "." ? "the package" : file
    }`;
    entries.set(name, { url: `api/${url.replace(/^(?:\.\/)+/, "")}`, page, title: name, text: doc });
  }
  return [...entries.values()];
}
