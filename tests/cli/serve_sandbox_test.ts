import { assertEquals, assertObjectMatch, assertStringIncludes } from "@std/assert";
import { tinyTokenizerFiles } from "../tiny_tokenizer.ts";
import { childrenOf, isAlive } from "../../bench/processes.ts";
import { detectLayers, LAYER_REMEDIES } from "../../src/sandbox/process/layers.ts";
import { LAYERS } from "../../src/sandbox/profile/schema.ts";
import { DENO_VERSION, PADDOCK_VERSION } from "../../src/version.ts";
import { TempFolder } from "../temp_folder.ts";
import { runPaddock } from "./run_paddock.ts";
import { Serving } from "../../bench/serving.ts";

interface Outcome {
  result: { status: string; stdout: string; value?: string };
}

Deno.test("paddock serve runs programs of clients, and leaves no process when SIGTERM stops it", async () => {
  const serving = await Serving.start("--max-sessions", "2");
  const { pid } = serving.child;
  const { results } = await serving.ask("/v1/exec:batch", {
    items: [{ code: "print('x' * 2_000_000)" }, { code: "1 + 1" }],
  }) as { results: Outcome[] };
  assertEquals(results.map(({ result }) => [result.status, result.stdout.length, result.value]), [
    ["ok", 2_000_001, undefined],
    ["ok", 0, "2"],
  ]);
  const { id } = await serving.ask("/v1/sessions", {}) as { id: string };
  await serving.ask(`/v1/sessions/${id}/exec`, {
    code: "import os; os.mkdir('d'); open('d/a', 'w').write('hi')",
  });
  const listing = await fetch(`${serving.url}/v1/sessions/${id}/files`);
  assertObjectMatch(await listing.json(), { files: [{ path: "d/a", bytes: 2, type: "file" }] });
  const leaver = new AbortController();
  const left = serving.ask(`/v1/sessions/${id}/exec`, { code: "while True: pass" }, {
    signal: leaver.signal,
  });
  setTimeout(() => leaver.abort(), 200);
  await left.catch(() => {});
  const after = await serving.ask(`/v1/sessions/${id}/exec`, { code: "7" });
  assertEquals((after as { value: string }).value, "7");
  const sandboxes = await childrenOf(pid);
  const stream = await fetch(`${serving.url}/v1/sessions/${id}/stream`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      code: "import time\nprint('on')\nwhile True: time.sleep(0.01)",
      timeoutMs: 600_000,
    }),
  });
  const events = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
  assertStringIncludes((await events?.read())?.value ?? "", "event: stdout");
  const { code, log } = await serving.end("SIGTERM");
  let rest = "";
  for (let piece = await events?.read(); piece?.value; piece = await events?.read()) rest += piece.value;
  assertStringIncludes(rest, `event: error\ndata: {"type":"unavailable","message":"The server is stopping"}`);
  assertEquals([code, log], [0, ""]);
  assertEquals(await Promise.all(sandboxes.map(isAlive)), sandboxes.map(() => false));
});

Deno.test("paddock serve names the address when its port is in use", async () => {
  using other = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = other.addr as Deno.NetAddr;
  const { code, stderr } = await runPaddock(["serve", "--port", `${port}`, "--max-sessions", "1"]);
  assertEquals(
    stderr,
    `error: Cannot serve at http://127.0.0.1:${port}: the port is in use: give another --port\n`,
  );
  assertEquals(code, 69);
});

Deno.test("paddock serve prints its version, profile, limits, layers and addresses, and logs sessions on request", async () => {
  await using serving = await Serving.start("--max-sessions", "2", "--queue", "7", "--log-level", "info");
  const { startLog, url } = serving;
  const lines = startLog.split("\n").filter((line) =>
    /^(version|profile|limits|layers|addresses) /.test(line)
  );
  assertEquals(lines.length, 5, startLog);
  const [version = "", profile = "", limits = "", layers = "", addresses = ""] = lines;
  assertStringIncludes(version, `Paddock ${PADDOCK_VERSION}, Deno ${DENO_VERSION}`);
  assertStringIncludes(profile, "serve: ");
  assertStringIncludes(limits, "2 sessions (rewound), 7 requests in the queue");
  const works = (await detectLayers()).filter((report) => report.works);
  if (works.some(({ layer }) => layer === "rlimits")) assertStringIncludes(layers, "rlimits");
  assertStringIncludes(addresses, `${url}/docs`);
  const { id } = await serving.ask("/v1/sessions", {}) as { id: string };
  const { log } = await serving.end("SIGTERM");
  const expected = ["info session opened", "info session ended"].map((kind) =>
    `${kind} session=${id.slice(0, 8)} `
  );
  for (const text of expected) assertStringIncludes(log, text);
});

Deno.test("paddock serve makes its --state-dir, closes an empty one to others, and refuses one with files", async (t) => {
  await using folder = await TempFolder.of({ "open/file": "" });
  const start = (state: string) => ["--max-sessions", "1", "--state-dir", `${folder.path}/${state}`];
  await t.step("made", async () => {
    await using _ = await Serving.start(...start("new/state"));
    assertEquals(((await Deno.stat(`${folder.path}/new/state`)).mode ?? 0) & 0o777, 0o700);
    const { code, stderr } = await runPaddock(["serve", "--port", "0", ...start("new/state")]);
    assertStringIncludes(stderr, "another server uses it");
    assertEquals(code, 69);
  });
  await t.step("empty", async () => {
    await Deno.mkdir(`${folder.path}/empty`);
    await Deno.chmod(`${folder.path}/empty`, 0o755);
    await using _ = await Serving.start(...start("empty"));
    assertEquals(((await Deno.stat(`${folder.path}/empty`)).mode ?? 0) & 0o777, 0o700);
  });
  await t.step("with files of others", async () => {
    await Deno.chmod(`${folder.path}/open`, 0o755);
    const { code, stderr } = await runPaddock(["serve", "--port", "0", ...start("open")]);
    assertStringIncludes(stderr, "its mode is 755; run chmod 700");
    assertEquals(code, 2);
  });
});

Deno.test("paddock serve exits with 74 if it loses a session at its stop", async () => {
  await using folder = await TempFolder.of();
  const state = `${folder.path}/state`;
  const serving = await Serving.start("--max-sessions", "1", "--state-dir", state);
  await serving.ask("/v1/sessions", {});
  await Deno.remove(state, { recursive: true });
  const { code, log } = await serving.end("SIGTERM");
  assertStringIncludes(log, "lost 1 session that could not be saved");
  assertEquals(code, 74);
});

Deno.test("paddock serve --require-layer starts only with the layer", async (t) => {
  const detected = await detectLayers();
  const [present] = detected.filter(({ works }) => works);
  await t.step({
    name: "the host has the layer",
    ignore: present === undefined,
    async fn() {
      await using serving = await Serving.start(
        "--max-sessions",
        "1",
        "--require-layer",
        `${present?.layer}`,
      );
      const { results } = await serving.ask("/v1/exec:batch", { items: [{ code: "6 * 7" }] }) as {
        results: Outcome[];
      };
      assertEquals(results[0]?.result.value, "42");
    },
  });
  const lacking = detected.find(({ works }) => !works)?.layer;
  await t.step({
    name: "the host lacks the layer",
    ignore: lacking === undefined,
    async fn() {
      const { code, stderr } = await runPaddock(["serve", "--port", "0", "--require-layer", `${lacking}`]);
      assertEquals(code, 125);
      assertStringIncludes(stderr, `'${lacking}', required, does not work: `);
      assertStringIncludes(stderr, LAYER_REMEDIES[lacking ?? "rlimits"]);
      assertEquals([stderr.split("\n").length, stderr.includes("Serving at")], [2, false]);
    },
  });
  await t.step("there is no such layer", async () => {
    const { code, stderr } = await runPaddock(["serve", "--port", "0", "--require-layer", "nope"]);
    assertEquals(code, 2);
    for (const name of ["nope", "all", ...LAYERS]) assertStringIncludes(stderr, name);
  });
});

Deno.test("paddock serve rejects a public address without a token", async () => {
  const { code, stderr } = await runPaddock(["serve", "--host", "0.0.0.0", "--port", "0"]);
  assertEquals(code, 2);
  assertStringIncludes(stderr, "needs a token");
});

Deno.test({
  name: "paddock serve survives more connections than its limit of open files",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const command = 'ulimit -n 128; exec "$0" run -A --quiet src/cli.ts serve --port 0 --max-sessions 1';
    const child = new Deno.Command("sh", {
      args: ["-c", command, Deno.execPath()],
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const serving = await Serving.over(child);
    const { port } = new URL(serving.url);
    const connections: Deno.TcpConn[] = [];
    for (let at = 0; at < 150; at++) {
      const connection = await Deno.connect({ hostname: "127.0.0.1", port: Number(port) }).catch(() => {});
      if (connection) connections.push(connection);
    }
    let answer: unknown;
    while (!answer) answer = await serving.ask("/run_code", { code: "print(1)" }).catch(() => undefined);
    assertEquals((answer as { status: string }).status, "Success", JSON.stringify(answer));
    for (const connection of connections) connection.close();
    const { code, log } = await serving.end("SIGTERM");
    assertEquals(code, 0);
    assertStringIncludes(log, "the limit of connections is 44");
  },
});

Deno.test("paddock serve offers tools to envs, and OpenEnv's chat env with a tokenizer", async () => {
  const directory = await Deno.makeTempDir();
  const { tokenizer, config } = tinyTokenizerFiles();
  await Deno.writeTextFile(`${directory}/tokenizer.json`, JSON.stringify(tokenizer));
  await Deno.writeTextFile(`${directory}/tokenizer_config.json`, JSON.stringify(config));
  await Deno.writeTextFile(
    `${directory}/double.ts`,
    `export const parameters = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
     export const run = ({ n }: { n: number }) => 2 * n;`,
  );
  await Deno.writeTextFile(
    `${directory}/count.py`,
    'n = 0\ndef count(by: int) -> int:\n    "Counts."\n    global n\n    n += by\n    print("by", by)\n    return n\n' +
      'def other() -> str:\n    "Other."\n    return "o"\n',
  );
  try {
    const serving = await Serving.start(
      "--max-sessions",
      "2",
      "--tool",
      `${directory}/double.ts`,
      "--tool",
      `${directory}/count.py`,
      "--openenv",
      "chat",
      "--tokenizer",
      directory,
    );
    const { id } = await serving.ask("/v1/envs", { env: "tools" }) as { id: string };
    await serving.ask(`/v1/envs/${id}/reset`, { task: { query: "21?" } });
    const { observation } = await serving.ask(`/v1/envs/${id}/step`, {
      reply: '<tool>double\n{"n": 21}</tool>',
    }) as { observation: { messages: { content: string }[] } };
    assertStringIncludes(observation.messages.at(-1)?.content ?? "", "42");
    const count = async (id: string, by: number) => {
      const step = { reply: `<tool>count\n{"by": ${by}}</tool>` };
      const { observation } = await serving.ask(`/v1/envs/${id}/step`, step) as typeof result;
      return observation.messages.at(-1)?.content;
    };
    const result = { observation: { messages: [{ content: "" }], tools: [{ name: "" }] } };
    assertStringIncludes(await count(id, 2) ?? "", "2");
    assertStringIncludes(await count(id, 3) ?? "", "5");
    const config = { env: "tools", tools: ["count"] };
    const { id: second } = await serving.ask("/v1/envs", config) as { id: string };
    const reset = await serving.ask(`/v1/envs/${second}/reset`, { task: { query: "?" } }) as typeof result;
    assertEquals(reset.observation.tools.map(({ name }) => name), ["count"]);
    assertStringIncludes(await count(second, 7) ?? "", "7");
    assertStringIncludes(await count(id, 1) ?? "", "6");
    assertEquals(await serving.ask("/reset", {}), {
      observation: { messages: [], tokens: [] },
      reward: null,
      done: false,
    });
    const { code, log } = await serving.end("SIGTERM");
    assertEquals([code, log.split("\n").sort()], [
      0,
      ["count.py: by 1", "count.py: by 2", "count.py: by 3", "count.py: by 7"],
    ]);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("paddock serve rejects OpenEnv's chat env without a tokenizer, and a tokenizer without that env", async () => {
  for (const flags of [["--openenv", "chat"], ["--tokenizer", "."]]) {
    const { code, stderr } = await runPaddock(["serve", "--port", "0", ...flags]);
    assertEquals(code, 2);
    assertStringIncludes(stderr, "Cannot serve OpenEnv's");
  }
});

interface OtlpSpan {
  name: string;
  spanId: string;
  parentSpanId?: string;
}

Deno.test("paddock serve sends spans to an OpenTelemetry collector, with execs as children of requests", async () => {
  const spans: OtlpSpan[] = [];
  await using collector = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { resourceSpans = [] } = await request.json();
    for (const { scopeSpans } of resourceSpans) {
      spans.push(...scopeSpans.flatMap(({ spans }: { spans: OtlpSpan[] }) => spans));
    }
    return Response.json({});
  });
  const serving = await Serving.startWith({
    OTEL_DENO: "true",
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.addr.port}`,
  }, ["--max-sessions", "1"]);
  const { results } = await serving.ask("/v1/exec:batch", { items: [{ code: "1 + 1" }] }) as {
    results: Outcome[];
  };
  assertEquals(results[0]?.result.value, "2");
  assertEquals((await serving.end("SIGTERM")).code, 0);
  const named = (name: string) => spans.find((span) => span.name === name);
  const request = named("POST /v1/exec:batch");
  const below = ["paddock.acquire", "paddock.exec"].map((name) => named(name)?.parentSpanId);
  assertEquals(below, [request?.spanId, request?.spanId]);
});
