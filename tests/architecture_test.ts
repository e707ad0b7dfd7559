import { assertEquals } from "@std/assert";
import { glob } from "node:fs/promises";
import { fileURLToPath } from "node:url";

/** From what everything may use to what uses everything; a file imports from its room or one before it. */
const ROOMS = [
  "words",
  "chat",
  "datasets",
  "policy",
  "users",
  "sandbox",
  "tools",
  "rewards",
  "envs",
  "transforms",
  "rollout",
  "wire",
  "client",
  "server",
  "bench",
  "cli",
];
/** In these, a file is one behaviour and knows no other: each stands on the room's contract and its own folder. */
const CONTRACTS: Readonly<Record<string, readonly string[]>> = {
  transforms: ["transform.ts"],
  rewards: ["grader.ts", "final_reply.ts", "tagged_reply.ts", "plain_number.ts", "ladder.ts"],
};

interface Import {
  readonly from: string;
  readonly to: string;
}

const root = new URL("../", import.meta.url);
const imports = await readImports();

Deno.test("a file imports from its own room or from one before it", () => {
  const upward = imports.filter(({ from, to }) => ROOMS.indexOf(room(to)) > ROOMS.indexOf(room(from)));
  assertEquals(upward, []);
});

Deno.test("no room imports in a circle", () => {
  const graph = new Map<string, string[]>();
  for (const { from, to } of imports) graph.set(from, [...graph.get(from) ?? [], to]);
  const circles = [...graph.keys()].filter((file) => reaches(graph, graph.get(file) ?? [], file));
  assertEquals(circles, []);
});

Deno.test("a transform knows no transform, and a grader no grader", () => {
  const sideways = imports.filter(({ from, to }) => {
    const contracts = CONTRACTS[room(from)];
    const inside = `${from.replace(/\.ts$/, "")}/`;
    return contracts && room(from) === room(to) && !contracts.some((name) => to.endsWith(`/${name}`)) &&
      !to.startsWith(inside) && !(isNested(from) && folder(from) === folder(to));
  });
  assertEquals(sideways, []);
});

Deno.test("the guest imports the protocol, itself, and nothing else of the host", () => {
  const outward = imports.filter(({ from, to }) =>
    from.includes("/guest/") && !to.includes("/guest/") && !to.endsWith("/protocol.ts")
  );
  assertEquals(outward, []);
  assertEquals(imports.filter(({ from }) => from.endsWith("sandbox/protocol.ts")), []);
});

Deno.test("no path of a file is taken from a URL undecoded: a clone may lie in a folder with a space", async () => {
  const undecoded: string[] = [];
  for await (const file of glob("{src,examples,tests}/**/*.ts", { cwd: fileURLToPath(root) })) {
    const text = await Deno.readTextFile(new URL(file, root));
    if (/(?<!decodeURIComponent\(\s*)new URL\([^()]*import\.meta\.url\)\.pathname/.test(text)) {
      undecoded.push(file);
    }
  }
  assertEquals(undecoded, []);
});

function room(path: string): string {
  const [, first = "", second] = path.split("/");
  if (second === undefined) return first === "cli.ts" ? "cli" : "words";
  return first;
}

function folder(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}

/** Whether a file is in a folder of its room, where the parts of one behaviour lie. */
function isNested(path: string): boolean {
  return path.split("/").length > 3;
}

function reaches(graph: Map<string, string[]>, from: readonly string[], target: string): boolean {
  const waiting = [...from];
  const seen = new Set<string>();
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (file === target) return true;
    if (seen.has(file)) continue;
    seen.add(file);
    waiting.push(...graph.get(file) ?? []);
  }
  return false;
}

/** Every import between files of `src`, the text of the guest's files not among them. */
async function readImports(): Promise<Import[]> {
  const found: Import[] = [];
  for (
    const entry of [
      "mod.ts",
      "src/cli.ts",
      "src/server/edge.ts",
      "src/sandbox/guest/worker.ts",
      "src/sandbox/guest/supervisor.ts",
    ]
  ) {
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["info", "--json", entry],
      cwd: root,
    }).output();
    found.push(...edges(JSON.parse(new TextDecoder().decode(stdout))));
  }
  const once = new Map(found.map((edge) => [`${edge.from} ${edge.to}`, edge]));
  return [...once.values()];
}

interface InfoModule {
  specifier: string;
  dependencies?: {
    assertionType?: string;
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
      .filter(({ from, to }) => from.startsWith("src/") && to.startsWith("src/"))
  );
}

function inside(specifier: string): string {
  return specifier.startsWith(root.href) ? specifier.slice(root.href.length) : "";
}
