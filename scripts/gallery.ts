/**
 * Runs the examples of the gallery and writes their code and output into `docs/gallery.md`.
 *
 *     deno task gallery [NAME…]
 *
 * `z3_solver` needs its packages, which `paddock --yes exec --profile reason -e 'import z3'` downloads.
 */
import { join } from "node:path";
import { ROOT, run } from "../packaging/sources.ts";

/** Example of the gallery. */
export interface GalleryExample {
  /** Name of its file, without the extension. */
  readonly name: string;
  readonly code: string;
  readonly output: string;
}

/** Path of the page. */
export const PAGE: string = join(ROOT, "docs/gallery.md");

/** The link to an example, and the two blocks behind it. */
const EXAMPLE =
  /^\[`(?<name>\w+)\.ts`\]\(\.\.\/examples\/gallery\/\w+\.ts\)(?:\n\n(?<first>`{3,})ts ignore\n(?<code>[^]*?)^\k<first>\n\n(?<second>`{3,})text\n(?<output>[^]*?)^\k<second>)?$/gm;

/** Returns the examples of the page. */
export function readExamples(page: string): GalleryExample[] {
  return [...page.matchAll(EXAMPLE)].map(({ groups: { name = "", code = "", output = "" } = {} }) => ({
    name,
    code,
    output,
  }));
}

/** Returns the page with other code and output of an example. */
export function writeExample(page: string, example: GalleryExample): string {
  return page.replace(EXAMPLE, (text, name) => {
    if (name !== example.name) return text;
    const link = text.split("\n")[0];
    return [link, fenced("ts ignore", example.code), fenced("text", example.output)].join("\n\n");
  });
}

/** Returns a block whose fence is longer than those in its text. */
function fenced(language: string, text: string): string {
  const fence = "`".repeat(Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length)) + 1);
  return `${fence}${language}\n${text}${fence}`;
}

/** Reads the code of an example as the page shows it. */
export async function readCode(name: string): Promise<string> {
  const source = await Deno.readTextFile(join(ROOT, `examples/gallery/${name}.ts`));
  return source.replace(/^\/\/ deno-lint-ignore-file .*\n/, "");
}

/** Runs an example and returns what it prints. */
export async function runExample(name: string): Promise<string> {
  const file = join(ROOT, `examples/gallery/${name}.ts`);
  return await run(Deno.execPath(), ["run", "-A", "--quiet", file], { cwd: ROOT, env: { NO_COLOR: "1" } });
}

if (import.meta.main) {
  let page = await Deno.readTextFile(PAGE);
  for (const { name } of readExamples(page)) {
    if (Deno.args.length > 0 && !Deno.args.includes(name)) continue;
    page = writeExample(page, { name, code: await readCode(name), output: await runExample(name) });
  }
  await Deno.writeTextFile(PAGE, page);
}
