import { readmeBlocks } from "./readme_blocks.ts";

/** Folder of the clone. */
export const ROOT = new URL("../../", import.meta.url);
const README = await Deno.readTextFile(new URL("README.md", ROOT));
/** Pages with blocks that have tests of their own: `edge_examples_sandbox_test.ts` and `gallery_sandbox_test.ts`. */
export const TESTED_ELSEWHERE = ["edge", "gallery"];
/** The other pages, whose blocks run here, or in the task that the list of blocks names. */
export const PAGES = [
  "agents",
  "architecture",
  "benchmarks",
  "checkpoints",
  "choosing",
  "cli",
  "cluster",
  "code_mode",
  "concepts",
  "e2b",
  "envs",
  "exact",
  "extend",
  "gateway",
  "hardening",
  "index",
  "install",
  "library",
  "mlgym",
  "packages",
  "profiles",
  "python",
  "python_parts",
  "researchers",
  "rollouts",
  "security",
  "server",
  "start",
  "templates",
  "trainers",
  "truth",
  "upgrades",
  "viewer",
]
  .map((name) => `docs/${name}.md`);
/** Their texts. */
export const TEXTS = await Promise.all(PAGES.map((page) => Deno.readTextFile(new URL(page, ROOT))));
/** Titles of sections whose TypeScript blocks also run in a folder of their own. */
const TYPESCRIPT_SECTIONS: ReadonlySet<string> = new Set(["TypeScript", "TypeScript client", "An episode"]);
/** Blocks that `deno test --doc` does not run, and the TypeScript blocks of these sections. */
export const BLOCKS = [README, ...TEXTS].flatMap(readmeBlocks).filter(({ language, section }) =>
  language !== "ts" || TYPESCRIPT_SECTIONS.has(section)
);

/** Returns the only block of a section in a language that contains a text. */
export function block(section: string, language: string, holds = ""): string {
  const found = BLOCKS.filter((block) =>
    block.section === section && block.language === language && block.text.includes(holds)
  );
  const [only] = found;
  if (only === undefined || found.length > 1) {
    throw new Error(`Cannot find one block of ${language} in '${section}': found ${found.length}`);
  }
  return only.text;
}

/** Address of the server in the pages. */
export const SERVED = "127.0.0.1:8471";
