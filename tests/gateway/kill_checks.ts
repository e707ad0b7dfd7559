/**
 * Plays sessions while agents, the model server and the gateway's process are killed, and checks that every turn that an
 * agent got is in one row, once, with the ids that were sampled.
 */
import { assert, assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import type { InteractionResult } from "../../src/rollout/interaction.ts";
import { FakeServer } from "../policy/fake_server.ts";
import { TempFolder } from "../temp_folder.ts";
import { tinyTokenizer, tinyTokenizerFiles } from "../tiny_tokenizer.ts";
import { generated } from "./scripted_model.ts";

const [AGENTS, TURNS, KILLS, TOKEN] = [60, 8, 5, "owner-0123456789abcdef"];
const CLI = fileURLToPath(new URL("../../src/cli.ts", import.meta.url));
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** A port that no process listens on now. */
function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return (listener.addr as Deno.NetAddr).port;
}

/** A model server that is killed and started again at the same port. Each reply has another number. */
class MortalModel implements AsyncDisposable {
  readonly sampled = new Map<string, { prompt: readonly number[]; ids: readonly number[] }>();
  readonly port = freePort();
  #server: FakeServer | undefined;

  async start(): Promise<void> {
    const tokenizer = await tinyTokenizer();
    this.#server = new FakeServer(async ({ path, body }) => {
      if (path !== "/generate") return Response.json({});
      await pause(Math.random() * 30);
      const text = `reply ${this.sampled.size + 1}`;
      const ids = tokenizer.encode(`${text}<|im_end|>`);
      this.sampled.set(text, { prompt: body.input_ids, ids });
      return Response.json(generated(text, ids, body.input_ids.length));
    }, { port: this.port });
  }

  async kill(): Promise<void> {
    await this.#server?.kill();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}

/** The process of a gateway that is killed and started again at the same port. */
class MortalGateway implements AsyncDisposable {
  readonly url: string;
  readonly #args: readonly string[];
  #child: Deno.ChildProcess | undefined;
  #read: Promise<void> | undefined;

  /** @param args command and its options, without the address */
  constructor(args: readonly string[]) {
    const port = freePort();
    this.url = `http://127.0.0.1:${port}`;
    this.#args = ["run", "-A", "--quiet", "--no-check", CLI, ...args, "--port", `${port}`, "--token", TOKEN];
  }

  static ofAgents(model: MortalModel, folder: string): MortalGateway {
    const policy = ["--policy", `sglang:http://127.0.0.1:${model.port}`];
    return new MortalGateway(["gateway", ...policy, "--tokenizer", folder, "--state-dir", `${folder}/state`]);
  }

  static withSandboxes(model: MortalModel, folder: string): MortalGateway {
    return new MortalGateway([
      ...["serve", "--max-sessions", "2", "--state-dir", `${folder}/sandboxes`, "--hibernate-after", "1"],
      ...["--gateway-policy", `sglang:http://127.0.0.1:${model.port}`, "--gateway-tokenizer", folder],
      ...["--gateway-state-dir", `${folder}/state`],
    ]);
  }

  async start(): Promise<void> {
    const child = new Deno.Command(Deno.execPath(), { args: [...this.#args], stderr: "piped" }).spawn();
    const listens = Promise.withResolvers<void>();
    this.#child = child;
    this.#read = (async () => {
      let text = "";
      for await (const piece of child.stderr.pipeThrough(new TextDecoderStream())) {
        text += piece;
        if (text.includes("Serving")) listens.resolve();
      }
      listens.reject(new Error(`the gateway has ended: ${text}`));
    })();
    await listens.promise;
  }

  async kill(): Promise<void> {
    this.#child?.kill("SIGKILL");
    await this.#child?.status;
    await this.#read;
    this.#child = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}

/** Sends JSON until there is an answer: a killed process gives none. */
async function send(url: string, body: object, key: string): Promise<Response> {
  for (;;) {
    try {
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
      const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
      const text = await response.text();
      if (response.status < 500) return new Response(text, { status: response.status });
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // the connection broke
    }
    await pause(50);
  }
}

/** What an agent has got. Some agents are killed in the middle of a turn. */
interface Played {
  readonly id: string;
  readonly got: readonly string[];
  readonly isKilled: boolean;
}

async function play(url: string, at: number): Promise<Played> {
  const opened = await send(`${url}/v1/gateway/sessions`, { task: { id: `t${at}` } }, TOKEN);
  const { id, key } = await opened.json();
  const messages = [{ role: "user", content: `CASE-${at}` }];
  const got: string[] = [];
  for (let turn = 0; turn < TURNS; turn++) {
    if (at % 10 === 0 && turn === 3) {
      const leave = AbortSignal.timeout(10);
      const headers = { authorization: `Bearer ${key}` };
      const init = { method: "POST", headers, body: JSON.stringify({ model: "m", messages }), signal: leave };
      await fetch(`${url}/v1/chat/completions`, init).then((response) => response.body?.cancel(), () => {});
      return { id, got, isKilled: true };
    }
    const { choices } = await (await send(`${url}/v1/chat/completions`, { model: "m", messages }, key))
      .json();
    const { content } = choices[0].message;
    got.push(content);
    messages.push({ role: "assistant", content }, { role: "user", content: `more ${turn}` });
  }
  return { id, got, isKilled: false };
}

async function rowsOf(url: string, id: string): Promise<InteractionResult[]> {
  const headers = { authorization: `Bearer ${TOKEN}` };
  const text = await (await fetch(`${url}/v1/gateway/sessions/${id}/rows`, { headers })).text();
  return text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
}

function repliesOf({ messages }: InteractionResult): string[] {
  return messages.filter(({ role }) => role === "assistant").map(({ content }) => String(content));
}

async function tokenizerFolder(): Promise<TempFolder> {
  const { tokenizer, config } = tinyTokenizerFiles();
  return await TempFolder.of({
    "tokenizer.json": JSON.stringify(tokenizer),
    "tokenizer_config.json": JSON.stringify(config),
  });
}

Deno.test("turns survive kills of agents, the model server and the gateway, and count once", async () => {
  await using folder = await tokenizerFolder();
  await using model = new MortalModel();
  await model.start();
  await using gateway = MortalGateway.ofAgents(model, folder.path);
  await gateway.start();
  const playing = Array.from({ length: AGENTS }, (_, at) => play(gateway.url, at));
  for (let kill = 0; kill < KILLS; kill++) {
    await pause(200);
    await gateway.kill();
    if (kill % 2 === 0) await model.kill();
    if (kill % 2 === 0) await model.start();
    await gateway.start();
  }
  const played = await Promise.all(playing);
  let turns = 0;
  for (const { id, got, isKilled } of played) {
    const state = await send(`${gateway.url}/v1/gateway/sessions/${id}/reward`, { reward: 1 }, TOKEN);
    assertEquals((await state.json()).status, "completed");
    const [row, ...others] = await rowsOf(gateway.url, id);
    assert(row !== undefined);
    assertEquals(others, []);
    const replies = repliesOf(row);
    assertEquals(replies.slice(0, got.length), got);
    assert(replies.length - got.length <= (isKilled ? 1 : 0), "a turn that no agent got");
    assertEquals(new Set(replies).size, replies.length);
    const ids = row.turns.map(({ sampled: { start, length } = { start: 0, length: 0 } }) => ({
      prompt: row.tokens.slice(0, start),
      ids: row.tokens.slice(start, start + length),
    }));
    assertEquals(ids, replies.map((reply) => model.sampled.get(reply) ?? { prompt: [], ids: [] }));
    turns += replies.length;
  }
  // deno-lint-ignore no-console -- the figures of this task
  console.log({ agents: AGENTS, kills: KILLS, turns, lost: model.sampled.size - turns });
});

Deno.test("a sandbox that hibernates survives a kill of its server, and any other ends its session as lost", async () => {
  await using folder = await tokenizerFolder();
  await using model = new MortalModel();
  await model.start();
  await using server = MortalGateway.withSandboxes(model, folder.path);
  await server.start();
  const open = async () => {
    const response = await send(
      `${server.url}/v1/gateway/sessions`,
      { task: { id: "t" }, sandbox: {} },
      TOKEN,
    );
    const { id, key, sandbox } = await response.json();
    const run = async (code: string) => {
      const ran = await send(`${server.url}/v1/sessions/${sandbox.id}/exec`, { code }, key);
      return [ran.status, (await ran.json()).value];
    };
    const chat = { model: "m", messages: [{ role: "user", content: "do" }] };
    assertEquals((await send(`${server.url}/v1/chat/completions`, chat, key)).status, 200);
    const test = { tests: { code: "open('note').read() == 'kept'" } };
    const grade = () => send(`${server.url}/v1/gateway/sessions/${id}/reward`, test, TOKEN);
    assertEquals(await run("x = 41; open('note', 'w').write('kept')"), [200, "4"]);
    return { id, run, grade };
  };
  const kept = await open();
  const states = `${folder.path}/sandboxes`;
  const isSaved = () => [...Deno.readDirSync(states)].some(({ name }) => name.endsWith(".session.json"));
  while (!isSaved()) await pause(50);
  const lost = await open();
  await server.kill();
  await server.start();
  assertEquals(await kept.run("x + 1, open('note').read()"), [200, "(42, 'kept')"]);
  assertEquals((await (await kept.grade()).json()).reward, 1);
  assertEquals((await lost.grade()).status, 409);
  const [row] = await rowsOf(server.url, lost.id);
  assertEquals([row?.status, row?.reward, row?.info.sandbox_lost], ["aborted", null, true]);
});
