import { assertEquals } from "@std/assert";
import { glob } from "node:fs/promises";
import { fileURLToPath } from "node:url";

/** The folders of `src`, lowest layer first. A file imports from its own folder or an earlier one. */
const LAYERS = [
  "async",
  "base",
  "http",
  "chat",
  "datasets",
  "policy",
  "users",
  "sandbox",
  "tools",
  "families",
  "rewards",
  "envs",
  "transforms",
  "plugins",
  "rollout",
  "viewer",
  "wire",
  "client",
  "server",
  "gateway",
  "cluster",
  "cli",
  "bench",
];
/**
 * Folders whose files must not import each other, except the listed contract files and their own sub-folder.
 */
const CONTRACTS: Readonly<Record<string, readonly string[]>> = {
  transforms: ["transform.ts"],
  rewards: [
    "boxes.ts",
    "extract_answer.ts",
    "grader.ts",
    "reply_grader.ts",
    "final_reply.ts",
    "plain_number.ts",
    "tiered_score.ts",
  ],
};

/** Bytes of sources that a program which imports `.` may be checked with. */
const MAX_CHECKED_BYTES = 1_600_000;

interface Import {
  readonly from: string;
  readonly to: string;
}

const root = new URL("../", import.meta.url);
const { exports: entryPoints } = JSON.parse(await Deno.readTextFile(new URL("deno.json", root)));
const imports = await readImports();

Deno.test("a file imports only from its own folder or an earlier layer", () => {
  const upward = imports.filter(({ from, to }) =>
    LAYERS.indexOf(layerOf(to)) > LAYERS.indexOf(layerOf(from))
  );
  assertEquals(upward, []);
});

Deno.test("no file imports itself through a cycle", () => {
  const graph = new Map<string, string[]>();
  for (const { from, to } of imports) graph.set(from, [...graph.get(from) ?? [], to]);
  const cycles = [...graph.keys()].filter((file) => reaches(graph, graph.get(file) ?? [], file));
  assertEquals(cycles, []);
});

Deno.test("a transform imports no other transform, and a grader no other grader", () => {
  const sideways = imports.filter(({ from, to }) => {
    const contracts = CONTRACTS[layerOf(from)];
    const inside = `${from.replace(/\.ts$/, "")}/`;
    const isRegistry = ["src/rewards/registry.ts", "src/rewards/reply_graders.ts"].includes(from); // they list them all
    if (contracts === undefined || isRegistry || layerOf(from) !== layerOf(to)) return false;
    const isContract = contracts.some((name) => to.endsWith(`/${name}`));
    const isOwnPart = to.startsWith(inside) || (isNested(from) && folderOf(from) === folderOf(to));
    return !isContract && !isOwnPart;
  });
  assertEquals(sideways, []);
});

Deno.test("the contract of envs imports no particular env", () => {
  const contract = ["src/envs/env.ts", "src/envs/action.ts"];
  const special = imports.filter(({ from, to }) =>
    contract.includes(from) && to.startsWith("src/envs/") && !contract.includes(to)
  );
  assertEquals(special, []);
});

Deno.test("the guest imports only its own files and the protocol, and the protocol imports nothing", () => {
  const outward = imports.filter(({ from, to }) =>
    from.includes("/guest/") && !to.includes("/guest/") && !to.endsWith("/protocol.ts")
  );
  assertEquals(outward, []);
  assertEquals(imports.filter(({ from }) => from.endsWith("sandbox/protocol.ts")), []);
});

Deno.test("the portable module of the edge uses Web APIs only", async () => {
  const { modules } = await readInfo("src/server/edge/portable.ts");
  const code = new Map(modules.map(({ specifier, dependencies = [] }) => [
    specifier,
    dependencies.filter(({ isDynamic }) => !isDynamic).map(({ code }) => code?.specifier ?? ""),
  ]));
  const reached = new Set([new URL("src/server/edge/portable.ts", root).href]);
  for (const specifier of reached) {
    if (specifier.endsWith("/verified_math.ts")) continue; // another file takes its place in the bundle
    for (const dependency of code.get(specifier) ?? []) reached.add(dependency);
  }
  assertEquals([...reached].filter((specifier) => specifier.startsWith("node:")), []);
  assertEquals(reached.size > 20, true);
});

Deno.test("a program that imports '.' is checked with few of Paddock's sources", async () => {
  const { modules } = await readInfo("mod.ts");
  const found = new Map(modules.map((module) => [module.specifier, module]));
  const read = new Set([new URL("mod.ts", root).href]);
  for (const specifier of read) {
    for (const { assertionType, type, code } of found.get(specifier)?.dependencies ?? []) {
      const dependency = (type ?? code)?.specifier; // the checker reads types in place of code
      if (assertionType !== "text" && dependency?.startsWith("file:")) read.add(dependency);
    }
  }
  const bytes = [...read].map((specifier) => found.get(specifier)?.size ?? 0).reduce((sum, size) =>
    sum + size
  );
  // docs/decisions/hand_written_types.md says what to do when the sources grow
  assertEquals(bytes > 1_000_000 && bytes < MAX_CHECKED_BYTES, true, `${bytes} bytes in ${read.size} files`);
});

Deno.test("every file path taken from a URL is decoded, so that a clone may be in a folder with a space", async () => {
  const undecoded: string[] = [];
  for await (const file of glob("{bench,src,examples,tests}/**/*.ts", { cwd: fileURLToPath(root) })) {
    const text = await Deno.readTextFile(new URL(file, root));
    if (/(?<!decodeURIComponent\(\s*)new URL\([^()]*import\.meta\.url\)\.pathname/.test(text)) {
      undecoded.push(file);
    }
  }
  assertEquals(undecoded, []);
});

function layerOf(path: string): string {
  const [top, first = "", second] = path.split("/");
  if (top === "bench") return "bench";
  if (first === "numbers") return "base";
  if (second === undefined) return first === "cli.ts" ? "cli" : "base";
  return first;
}

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}

/** True for a file in a sub-folder, which holds the parts of one behaviour. */
function isNested(path: string): boolean {
  return path.split("/").length > 3;
}

function reaches(graph: Map<string, string[]>, from: readonly string[], target: string): boolean {
  const pending = [...from];
  const seen = new Set<string>();
  for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
    if (file === target) return true;
    if (seen.has(file)) continue;
    seen.add(file);
    pending.push(...graph.get(file) ?? []);
  }
  return false;
}

/** Reads all imports between files of `src` and `bench`, except guest files imported as text. */
async function readImports(): Promise<Import[]> {
  const found: Import[] = [];
  for (
    const entry of [
      ...Object.values<string>(entryPoints),
      "bench/main.ts",
      "bench/tau_bench/main.ts",
      "src/sandbox/guest/worker.ts",
      "src/sandbox/guest/supervisor/supervisor.ts",
    ]
  ) {
    found.push(...edges(await readInfo(entry)));
  }
  const once = new Map(found.map((edge) => [`${edge.from} ${edge.to}`, edge]));
  return [...once.values()];
}

async function readInfo(entry: string): Promise<{ modules: InfoModule[] }> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", entry],
    cwd: root,
  }).output();
  return JSON.parse(new TextDecoder().decode(stdout));
}

interface InfoModule {
  specifier: string;
  size?: number;
  dependencies?: {
    assertionType?: string;
    isDynamic?: boolean;
    code?: { specifier?: string };
    type?: { specifier?: string };
  }[];
}

function edges({ modules }: { modules: InfoModule[] }): Import[] {
  return modules.flatMap(({ specifier, dependencies = [] }) =>
    dependencies
      .filter(({ assertionType }) => assertionType !== "text")
      .flatMap(({ code, type }) => [code?.specifier, type?.specifier])
      .map((to) => ({ from: inside(specifier), to: inside(to ?? "") }))
      .filter(({ from, to }) => isOwn(from) && isOwn(to))
  );
}

/** True for a file of Paddock or of its benchmark. */
function isOwn(path: string): boolean {
  return path.startsWith("src/") || path.startsWith("bench/");
}

function inside(specifier: string): string {
  return specifier.startsWith(root.href) ? specifier.slice(root.href.length) : "";
}
