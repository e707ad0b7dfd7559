import { Validator } from "@cfworker/json-schema";
import { assertEquals } from "@std/assert";
import { parse } from "@std/jsonc";
import DENO from "../../deno.json" with { type: "json" };
import SCHEMA from "../../docs/paddock.schema.json" with { type: "json" };
import { PADDOCK_VERSION } from "../../src/version.ts";
import { block, BLOCKS, PAGES, ROOT, TESTED_ELSEWHERE, TEXTS } from "./pages.ts";

Deno.test("each page of docs/ is listed", async () => {
  const files = await Array.fromAsync(Deno.readDir(new URL("docs", ROOT)));
  const pages = files.map(({ name }) => name).filter((name) => name.endsWith(".md"));
  assertEquals(
    pages.sort(),
    [...PAGES, ...TESTED_ELSEWHERE.map((name) => `docs/${name}.md`)].map((path) => path.slice(5)).sort(),
  );
});

Deno.test("pages name the packages of this version", () => {
  const named = TEXTS.join("").match(/paddock-(?:paddock-)?\d+\.\d+\.\d+(?=[-.])/g) ?? [];
  assertEquals([...new Set(named)].sort(), [
    `paddock-${PADDOCK_VERSION}`,
    `paddock-paddock-${PADDOCK_VERSION}`,
  ]);
});

Deno.test("docs/cli.md, Configuration file: the file has keys of the schema only", () => {
  const validator = new Validator(JSON.parse(JSON.stringify(SCHEMA)));
  const config = parse(block("Configuration file", "jsonc"));
  assertEquals(validator.validate(config).errors, []);
  assertEquals(validator.validate({ serve: { maxSession: 1 } }).valid, false);
});

Deno.test("docs/library.md lists each entry point of the package", async () => {
  const page = await Deno.readTextFile(new URL("docs/library.md", ROOT));
  const listed = [...page.matchAll(/^\| `(\/[\w-]+)` /gm)].map(([, name]) => `.${name}`);
  assertEquals([".", ...listed], Object.keys(DENO.exports));
});

/** Paths in other repositories. */
const FOREIGN_PATHS: ReadonlySet<string> = new Set(["examples/tau-bench"]);

Deno.test("each path of the repository that a page names exists", async () => {
  const pages = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "tests/README.md", ...PAGES];
  for (const page of pages) {
    const text = await Deno.readTextFile(new URL(page, ROOT));
    for (
      const [, path = ""] of text.matchAll(
        /`((?:bench|docs|examples|mod|packaging|sandboxes|scripts|src|tests)\/[\w./-]+)`/g,
      )
    ) {
      if (!FOREIGN_PATHS.has(path)) await Deno.stat(new URL(path, ROOT));
    }
  }
});

Deno.test("each block of README.md and docs/ is run by a test", () => {
  assertEquals(BLOCKS.map(({ section, language }) => `${section}: ${language}`), [
    "Paddock: sh",
    "Paddock: text",
    "Python: python",
    "TypeScript: ts",
    "An episode: ts",
    "An episode: sh",
    // The blocks of Agents but the first and `paddock mcp` run in `deno task trainers`.
    "Agents: sh",
    "Inspect: python",
    "Harbor: sh",
    "smolagents: python",
    "verifiers: toml",
    "verifiers: python",
    "verifiers: toml",
    "OpenEnv: python",
    "MCP: json",
    "MCP: python",
    "MCP: python",
    "MCP: json",
    "Over HTTP: sh",
    "Clients: python",
    "On the command line: json",
    "From scripts: sh",
    "Configuration file: jsonc",
    "Completion: sh",
    "Start: sh", // deno task cluster starts the same processes, and a gateway
    "Start: sh",
    "Access: sh", // deno task cluster starts members with one key
    "Access: text", // deno task cluster starts NATS with these permissions
    "E2B: sh",
    "E2B: sh",
    "E2B: python", // deno task test:e2b
    "tau-bench: sh",
    "Workspace: sh",
    "Harbor: sh", // tests/cli/harbor plays such tasks
    "Recursive language models: sh", // not run: it needs a model; tests/cli/rollout/rlm_sandbox_test.ts plays a script
    "Exact episodes: sh", // tests/cli/replay/exact_sandbox_test.ts
    "Start the gateway: sh", // this block and the next one: deno task test:gateway
    "Play and reward: python",
    "Run it: sh",
    "First result: sh",
    "First result: text",
    "npm: sh", // deno task test:package-npm
    "PyPI: sh", // deno task test:package-python
    "Docker: sh", // not run: it needs an engine
    "systemd: sh", // not run: it needs root and systemd
    "An evaluation without pandas: yaml",
    "An evaluation without pandas: python",
    "Profiles: sh",
    "Your own profile: jsonc",
    "Network: jsonc",
    "Network: jsonc",
    "A grader: python", // this block and the next one: python_parts_sandbox_test.ts
    "A grader: sh",
    "Tools: python", // this block and the next one: python_parts_sandbox_test.ts
    "Tools: sh",
    "An environment: python", // this block and the next one: python_parts_sandbox_test.ts
    "An environment: sh",
    "In your own process: python", // python_parts_sandbox_test.ts
    "The data: jsonl", // this block and the next five: researchers_sandbox_test.ts
    "The grader: python",
    "The episodes: sh",
    "The episodes: sh",
    "The episodes: sh",
    "The training file: sh",
    "Trees: sh",
    "Training: sh",
    "A stream over HTTP: sh",
    "A stream over HTTP: sh",
    "A stream over HTTP: python",
    "Start: sh",
    "Episodes: sh",
    "TypeScript client: ts",
    "Python client: python",
    "Python client: python",
    "Functions of the client: python",
    "The command in any folder: sh",
    "Rollouts from a file: sh",
    "Packages: sh",
    "A server: sh",
    "A server: sh",
    "Check a template: sh", // tests/cli/templates/check_test.ts
    "Before you begin: sh",
    "Before you begin: sh",
    "verl: sh",
    "verl: sh",
    "TRL: python",
    "slime: sh",
    "SkyRL: python", // this block and the next one: deno task trainers
    "NeMo-RL: python",
    "Check a server: sh",
    "GRPO on the CPU: sh",
  ]);
});

Deno.test("each link of README.md and docs/ leads to a file and a heading", async () => {
  const docs = (await Array.fromAsync(Deno.readDir(new URL("docs", ROOT)))).map(({ name }) => `docs/${name}`);
  const others = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "tests/README.md"];
  for (const page of [...others, ...docs.filter((name) => name.endsWith(".md"))]) {
    const text = await Deno.readTextFile(new URL(page, ROOT));
    for (const [, link = ""] of text.matchAll(/\]\((?!https?:)([^)#]*(?:#[^)]*)?)\)/g)) {
      const [path = "", anchor] = link.split("#");
      const target = path === "" ? new URL(page, ROOT) : new URL(path, new URL(page, ROOT));
      const { isFile } = await Deno.stat(target);
      if (!isFile || anchor === undefined) continue;
      const headings = (await Deno.readTextFile(target)).matchAll(/^#+ (.+)$/gm);
      const anchors = [...headings].map(([, title = ""]) =>
        title.toLowerCase().replace(/[^\w\- ]/g, "").replaceAll(" ", "-")
      );
      assertEquals(anchors.includes(anchor), true, `${page}: ${link}`);
    }
  }
});
