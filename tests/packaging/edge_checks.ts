import { assertEquals, assertMatch } from "@std/assert";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { buildEdgeModule } from "../../packaging/edge/edge_module.ts";
import { run } from "../../packaging/sources.ts";
import { DenoServe } from "../../bench/deno_serve.ts";
import { TempFolder } from "../temp_folder.ts";
import { freePort, install } from "./npm.ts";

const TOKEN = "a-token-of-the-checks";
const MAX_GZIPPED_BYTES = 300_000;
const WORKERD = ["workerd@1.20261117.1"];
const NODE = ["node@22.23.3", "@hono/node-server@2.1.3"];
const BUN = ["bun@1.4.5"];

/** Requests with their responses; the same in all runtimes. */
const GRADES: readonly (readonly [body: object, status: number, response: RegExp])[] = [
  [{ grader: "gsm8k", completion: "<answer>42</answer>", answer: "42" }, 200, /^\{"score":1,/],
  [{ grader: "math", completion: "\\boxed{1/2}", answer: "0.5" }, 200, /^\{"score":1,/],
  [
    { grader: "countdown", completion: "<answer>3*4</answer>", answer: "target=12, numbers=3,4" },
    200,
    /"score":1/,
  ],
  [{ grader: "exact_match", completion: "Rome", answer: "Paris" }, 200, /^\{"score":0\}$/],
  [{ grader: "number_match", completion: "It is 7.", answer: 7 }, 200, /^\{"score":1\}$/],
  [
    {
      grader: "ifeval",
      completion: "Das ist ein kurzer Satz.",
      task: {
        fields: { instruction_id_list: ["language:response_language"], kwargs: [{ language: "de" }] },
      },
    },
    200,
    /^\{"score":1,/,
  ],
  [
    { grader: "gsm8k", completion: "1".repeat(200_000), answer: "1" },
    200,
    /^\{"score":null,"reason":"too large/,
  ],
  [{ grader: "hidden_tests", completion: "x = 1", tests: ["assert x"] }, 422, /hidden_tests runs Python/],
  [{ grader: "none", completion: "x" }, 422, /grader must be one of/],
];

/** Sends the requests, and those that every server must refuse. */
async function check(url: string, { token }: { token: boolean }): Promise<void> {
  const headers: HeadersInit = token ? { authorization: `Bearer ${TOKEN}` } : {};
  const post = (path: string, body: string) => fetch(`${url}${path}`, { method: "POST", headers, body });
  for (const [body, status, response] of GRADES) {
    const graded = await post("/grade", JSON.stringify(body));
    assertMatch(await graded.text(), response);
    assertEquals(graded.status, status);
  }
  const items = GRADES.map(([body]) => body);
  const batch = await (await post("/grade:batch", JSON.stringify({ items }))).json();
  assertEquals(
    batch.results.map(({ status }: { status: number }) => status),
    GRADES.map(([, status]) => status),
  );
  const wrong: [string, number][] = [["no JSON", 400], ["[".repeat(1_000), 400], [
    "1".repeat(5_000_000),
    413,
  ]];
  for (const [body, status] of wrong) {
    const refused = await post("/grade", body);
    await refused.body?.cancel();
    assertEquals(refused.status, status);
  }
  const health = await fetch(`${url}/health`);
  assertEquals((await health.json()).status, "ok");
  if (!token) return;
  const unknown = await fetch(`${url}/grade`, { method: "POST", body: "{}" });
  assertEquals((await unknown.json()).error.type, "unauthorized");
}

/** Starts a server that listens on `port`, checks it, and stops it. */
async function checkServer(
  command: readonly string[],
  { cwd, port, env = {}, token }: { cwd: string; port: number; env?: Record<string, string>; token: boolean },
): Promise<void> {
  const [program = "", ...args] = command;
  const server = new Deno.Command(join(cwd, "node_modules/.bin", program), {
    args,
    cwd,
    env,
    stdout: "null",
    stderr: "inherit",
  }).spawn();
  const url = `http://127.0.0.1:${port}`;
  try {
    let isEnded = false;
    void server.status.then(() => isEnded = true);
    while (
      !await fetch(`${url}/health`).then((response) => response.body?.cancel().then(() => true), () => false)
    ) {
      if (isEnded) throw new Error(`'${command.join(" ")}' ended before it listened`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await check(url, { token });
  } finally {
    server.kill("SIGKILL");
    await server.status;
  }
}

const WORKERD_CONFIG = (port: number) => `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .paddock)],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
const paddock :Workerd.Worker = (
  modules = [
    (name = "edge.js", esModule = embed "edge.js"),
    (name = "edge_languages.js", esModule = embed "edge_languages.js"),
  ],
  compatibilityDate = "2026-01-01",
  bindings = [(name = "PADDOCK_TOKEN", text = "${TOKEN}")],
);
`;
const NODE_SERVER = `
import { serve } from "@hono/node-server";
import { edgeApp } from "./edge.js";
serve({ fetch: edgeApp({ token: process.env.PADDOCK_TOKEN }).fetch, port: Number(process.env.PORT), hostname: "127.0.0.1" });
`;
const TYPES = `
import server, { edgeApp, type EdgeOptions, type Grader, gsm8k, History, rubric } from "./edge.js";
const graders: Record<string, Grader> = { both: rubric([{ grader: gsm8k(), weight: 1 }]) };
const options: EdgeOptions = { token: "at least sixteen characters", graders };
const response: Response | Promise<Response> = edgeApp(options).fetch(new Request("http://localhost/"));
const version: string = server.version;
console.log(response, version, History.fromChats([]));
`;

Deno.test("the edge module grades alike in Deno, Bun, Node and workerd", async (t) => {
  await using temp = await TempFolder.of();
  const folder = async (name: string) => {
    const path = join(temp.path, name);
    await buildOrCopy(path);
    return path;
  };
  const built = join(temp.path, "built");
  const buildOrCopy = async (path: string) => {
    await Deno.mkdir(path);
    for await (const { name } of Deno.readDir(built)) {
      await Deno.copyFile(join(built, name), join(path, name));
    }
  };
  await buildEdgeModule(built);

  await t.step("its size is bounded", async () => {
    const size = gzipSync(await Deno.readFile(join(built, "edge.js")), { level: 9 }).length;
    assertEquals(size <= MAX_GZIPPED_BYTES, true, `it has ${size} bytes`);
  });

  await t.step("Deno, with the permission to listen only", async () => {
    await using server = await DenoServe.start(join(built, "edge.js"));
    await check(server.url, { token: false });
  });

  await t.step("workerd, with the token as a binding", async () => {
    const cwd = await folder("workerd");
    const port = freePort();
    await install(cwd, WORKERD);
    await Deno.writeTextFile(join(cwd, "config.capnp"), WORKERD_CONFIG(port));
    await checkServer(["workerd", "serve", "config.capnp"], { cwd, port, token: true });
  });

  await t.step("Bun, without a token", async () => {
    const cwd = await folder("bun");
    const port = freePort();
    await install(cwd, BUN);
    await checkServer(["bun", "run", "edge.js"], { cwd, port, env: { PORT: `${port}` }, token: false });
  });

  await t.step("Node 22, by @hono/node-server", async () => {
    const cwd = await folder("node");
    const port = freePort();
    await install(cwd, NODE);
    await Deno.writeTextFile(join(cwd, "server.mjs"), NODE_SERVER);
    const env = { PORT: `${port}`, PADDOCK_TOKEN: TOKEN };
    await checkServer(["node", "server.mjs"], { cwd, port, env, token: true });
  });

  await t.step("its types compile", async () => {
    const cwd = await folder("types");
    await install(cwd, ["typescript@5.9.3"]);
    await Deno.writeTextFile(join(cwd, "types.ts"), TYPES);
    const lib = ["--lib", "es2022,dom,dom.iterable,esnext.disposable"];
    const options = ["--strict", "--noEmit", "--module", "nodenext", "--target", "es2022"];
    await run(join(cwd, "node_modules/.bin/tsc"), [...options, ...lib, "types.ts"], { cwd });
  });
});
