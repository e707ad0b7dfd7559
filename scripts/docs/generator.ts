/**
 * Makes the pages of a version with Eleventy. It runs in a process of its own, without the project's configuration:
 * its packages are in the lock file beside it, so that no other command downloads them. Without `--frozen` it writes
 * the lock file, after a version was changed.
 *
 *     deno run --no-config --lock=scripts/docs/deno.lock --frozen scripts/docs/generator.ts INPUT.json
 */
import { escapeHtml, type Heading, type PageContent, pathToRoot, renderPage, type Site } from "./layout.ts";

/** Versions of the packages, which are fetched from npm. */
const ELEVENTY = "npm:@11ty/eleventy@3.1.8";
const HIGHLIGHT = "npm:highlight.js@11.12.0";
const MINISEARCH = "npm:minisearch@7.2.0";
/** The export of its module, which becomes a global: browsers load no modules from files without a server. */
const MINISEARCH_EXPORT = /^export \{ MiniSearch as default \};$[^]*/m;

/** Page to be made from Markdown. */
export interface MarkdownPage {
  readonly title: string;
  readonly slug: string;
  readonly markdown: string;
  /** Addresses of the links to other files of the repository, relative to the folder of the version. */
  readonly links: Readonly<Record<string, string>>;
}

/** Section of a page that can be found by the search. */
export interface SearchEntry {
  readonly url: string;
  readonly page: string;
  readonly title: string;
  readonly text: string;
}

/** Input of the generator. */
export interface GeneratorInput {
  readonly site: Site;
  readonly pages: readonly MarkdownPage[];
  /** Entries of the search that are on no page, such as the symbols of the API. */
  readonly entries: readonly SearchEntry[];
  /** Empty folder that Eleventy reads. */
  readonly input: string;
  /** Folder of the version. */
  readonly output: string;
}

/** The parts of the packages' API that are used; their own types are not fetched for `deno check`. */
interface Token {
  readonly type: string;
  readonly tag: string;
  readonly content: string;
  readonly children: Token[] | null;
  attrGet(name: string): string | null;
  attrSet(name: string, value: string): void;
}
interface State {
  readonly tokens: Token[];
  readonly env: { readonly slug: string };
}
interface Rules {
  [name: string]: (tokens: Token[], index: number, ...more: unknown[]) => string;
}
interface MarkdownIt {
  readonly core: { readonly ruler: { push(name: string, rule: (state: State) => void): void } };
  readonly renderer: { readonly rules: Rules };
  enable(rule: "code"): void;
  set(options: { highlight(text: string, language: string): string }): void;
}
interface EleventyConfig {
  amendLibrary(name: "md", change: (library: MarkdownIt) => void): void;
  addTemplate(path: string, text: string, data: object): void;
  addTransform(name: string, change: (this: { page: { inputPath: string } }, html: string) => string): void;
  setTemplateFormats(formats: string[]): void;
  setQuietMode(quiet: boolean): void;
}
interface Eleventy {
  write(): Promise<unknown>;
}
interface Highlighter {
  getLanguage(name: string): unknown;
  highlight(text: string, options: { language: string }): { value: string };
}

/** Collects headings and search entries of the pages while they are rendered. */
class Pages {
  readonly headings = new Map<string, Heading[]>();
  readonly entries: SearchEntry[] = [];
  readonly #pages: ReadonlyMap<string, MarkdownPage>;

  constructor(pages: readonly MarkdownPage[]) {
    this.#pages = new Map(pages.map((page) => [page.slug, page]));
  }

  /** Gives headings their ids, and links their addresses. */
  readTokens({ tokens, env: { slug } }: State): void {
    const page = this.#pages.get(slug);
    if (page === undefined) throw new Error(`Cannot render '${slug}' as it is no page`);
    const headings: Heading[] = [];
    let [title, text] = [page.title, ""];
    const finish = () => {
      const anchor = headings.length > 1 ? `#${headings.at(-1)?.id}` : "";
      if (text !== "") this.entries.push({ url: `${slug}.html${anchor}`, page: page.title, title, text });
    };
    for (const [index, token] of tokens.entries()) {
      if (token.type === "inline") rewriteLinks(token, page);
      if (token.type !== "heading_open") {
        text += `${token.type === "inline" ? plainText(token) : token.content}\n`.trimStart();
        continue;
      }
      finish();
      [title, text] = [plainText(tokens[index + 1]), ""];
      const id = uniqueId(title, headings);
      token.attrSet("id", id);
      headings.push({ id, level: Number(token.tag.slice(1)), text: title });
    }
    finish();
    this.headings.set(slug, headings);
  }
}

function plainText(token: Token | undefined): string {
  return token?.children?.map(({ type, content }) => type === "softbreak" ? " " : content).join("") ?? "";
}

/** Returns the id of a heading as GitHub makes it. */
function uniqueId(title: string, before: readonly Heading[]): string {
  const id = title.toLowerCase().replace(/[^\p{L}\p{N}_\- ]/gu, "").replaceAll(" ", "-");
  const same = before.filter(({ id: other }) => other.replace(/-\d+$/, "") === id).length;
  return same === 0 ? id : `${id}-${same}`;
}

function rewriteLinks(token: Token, { slug, links }: MarkdownPage): void {
  for (const child of token.children ?? []) {
    const name = child.type === "link_open" ? "href" : child.type === "image" ? "src" : undefined;
    const value = name === undefined ? null : child.attrGet(name);
    if (name === undefined || value === null || /^(?:[a-z]+:|#)/.test(value)) continue;
    const target = links[decodeURI(value)];
    if (target === undefined) throw new Error(`Cannot follow the link '${value}' of page '${slug}'`);
    child.attrSet(name, pathToRoot(slug) + target);
  }
}

function configure(config: EleventyConfig, { site, pages: list }: GeneratorInput, hljs: Highlighter): Pages {
  const pages = new Pages(list);
  const bySlug = new Map(list.map((page) => [page.slug, page]));
  config.setQuietMode(true);
  config.setTemplateFormats(["md"]);
  config.amendLibrary("md", (markdown) => {
    markdown.enable("code"); // Eleventy disables blocks that are indented
    markdown.core.ruler.push("site", (state) => pages.readTokens(state));
    const { rules } = markdown.renderer;
    rules.table_open = () => '<div class="table" tabindex="0"><table>\n';
    rules.table_close = () => "</table></div>\n";
    rules.heading_close = (tokens, index) => {
      const id = escapeHtml(tokens[index - 2]?.attrGet("id") ?? "");
      return ` <a class="anchor" href="#${id}" aria-label="Link to this section">#</a></${
        tokens[index]?.tag
      }>\n`;
    };
    markdown.set({
      highlight: (text, language) =>
        hljs.getLanguage(language) ? hljs.highlight(text, { language }).value : escapeHtml(text),
    });
  });
  for (const { slug, markdown } of list) {
    const data = { slug, permalink: `${slug}.html`, templateEngineOverride: "md" };
    config.addTemplate(`${slug}.md`, markdown, data);
  }
  config.addTransform("layout", function (html) {
    const slug = this.page.inputPath.replace(/^.*?\/input\//, "").replace(/\.md$/, "");
    const page: PageContent = {
      title: bySlug.get(slug)?.title ?? slug,
      slug,
      html,
      headings: pages.headings.get(slug) ?? [],
    };
    return renderPage(site, page);
  });
  return pages;
}

/** Writes the index of the search as a script, and the library that reads it. */
async function writeSearch(output: string, entries: readonly SearchEntry[]): Promise<void> {
  const { default: MiniSearch } = await import(MINISEARCH);
  const { default: source }: { default: string } = await import(MINISEARCH, { with: { type: "text" } });
  if (!MINISEARCH_EXPORT.test(source)) throw new Error(`Cannot use ${MINISEARCH}: it has another export`);
  const script = `{\n${source.replace(MINISEARCH_EXPORT, "globalThis.MiniSearch = MiniSearch;")}\n}\n`;
  const options = { fields: ["title", "page", "text"], storeFields: ["url", "title", "page"] };
  const index = new MiniSearch(options);
  index.addAll(entries.map((entry, id) => ({ id, ...entry })));
  const text = `globalThis.PADDOCK_SEARCH = ${JSON.stringify({ options, index })};\n`;
  await Deno.writeTextFile(`${output}/assets/minisearch.js`, script);
  await Deno.writeTextFile(`${output}/assets/search-index.js`, text);
}

async function generate(input: GeneratorInput): Promise<void> {
  const { default: Site } = await import(ELEVENTY);
  const { default: hljs } = await import(HIGHLIGHT);
  let pages: Pages | undefined;
  const site: Eleventy = new Site(input.input, input.output, {
    quietMode: true,
    config: (config: EleventyConfig) => void (pages = configure(config, input, hljs)),
  });
  await site.write();
  await writeSearch(input.output, [...pages?.entries ?? [], ...input.entries]);
}

const [path] = Deno.args;
if (path === undefined) throw new TypeError("Cannot make the site as the path of its input is missing");
await generate(JSON.parse(await Deno.readTextFile(path)));
