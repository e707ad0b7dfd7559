import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { delay } from "@std/async";
import { join } from "node:path";
import { childrenOf } from "../../../bench/processes.ts";
import { Serving } from "../../../bench/serving.ts";
import { StateDirectory } from "../../../mod/server.ts";
import { HibernationStore } from "../../../src/server/hibernation/hibernation_store.ts";
import { TempFolder } from "../../temp_folder.ts";
import type { Served } from "../served.ts";
import { withPython } from "../with_python.ts";

const NEVER = 3_600_000;

async function withHibernation(
  test: (server: Served, store: HibernationStore) => Promise<void>,
  options: Parameters<typeof withPython>[1] = {},
): Promise<void> {
  const store = new HibernationStore();
  const { maxSessions = 1, ...rest } = options;
  await withPython((server) => test(server, store), {
    maxSessions,
    hibernation: { store, afterMs: NEVER },
    ...rest,
  });
}

async function open(server: Served, body: object = {}): Promise<string> {
  const created = await server.send("POST", "/v1/sessions", body);
  assertEquals(created.status, 201, JSON.stringify(created.body));
  return created.body.id;
}

async function exec(server: Served, id: string, code: string) {
  return (await server.send("POST", `/v1/sessions/${id}/exec`, { code })).body;
}

const START = `
import random, os
def numbers(): yield from range(100)
it = numbers(); next(it)
log = open('log', 'w+'); log.write('first')
thing = object(); seen = id(thing), hash('x')
random.seed(5); draws = random.Random(5)
draws.random()
`;
const LOOK = `
print(next(it), log.tell(), (id(thing), hash('x')) == seen, random.random() == draws.random(), os.getcwd())
log.write('.')
1 / 0`;

Deno.test("a session that hibernated shows its programs nothing of it", async () => {
  await withHibernation(async (server, store) => {
    const always = await open(server);
    await exec(server, always, START);
    const looks = [await exec(server, always, LOOK), await exec(server, always, LOOK)];
    await server.send("DELETE", `/v1/sessions/${always}`);
    const id = await open(server);
    await exec(server, id, START);
    for (const expected of looks) {
      const other = await open(server);
      await exec(server, other, "it = 'of another session'");
      assert(store.count() === 1 || store.count() === 2);
      const { durationMs: _one, peakMemoryBytes: _two, ...result } = await exec(server, id, LOOK);
      const { durationMs: _three, peakMemoryBytes: _four, ...wanted } = expected;
      assertEquals(result, wanted);
    }
    const { body } = await server.send("GET", "/v1/sessions");
    assertEquals(body.sessions.length, 3);
    for (const { id } of body.sessions) {
      assertEquals((await server.send("DELETE", `/v1/sessions/${id}`)).status, 204);
    }
    assertEquals([store.count(), store.bytes("memory")], [0, 0]);
  });
});

Deno.test("files, forks, checkpoints, resets and streams reach a session that hibernates", async () => {
  await withHibernation(async (server) => {
    const id = await open(server, { metadata: { run: "1" } });
    const session = server.sessions.directory.find(id, "");
    await exec(server, id, "x = 41; open('a.txt', 'w').write('a')");
    const asleep = async () => assertEquals(await session.life.hibernate(), true);
    await asleep();
    const { body: { files } } = await server.send("GET", `/v1/sessions/${id}/files`);
    assertEquals(files.map(({ path }: { path: string }) => path), ["a.txt"]);
    await asleep();
    const { body: { id: kept } } = await server.send("POST", `/v1/sessions/${id}/checkpoint`);
    await exec(server, id, "x = 0");
    await asleep();
    assertEquals((await server.send("POST", `/v1/sessions/${id}/restore`, { checkpoint: kept })).status, 204);
    await asleep();
    const { body: streamed } = await server.send("POST", `/v1/sessions/${id}/stream`, { code: "print(x)" });
    assertStringIncludes(streamed, '"text":"41');
    await asleep();
    const { body: { sessions: [copy] } } = await server.send("POST", `/v1/sessions/${id}/fork`, {});
    await asleep();
    assertEquals((await exec(server, copy.id, "x")).value, "41");
    await server.sessions.directory.find(copy.id, "").life.hibernate();
    await server.send("POST", `/v1/sessions/${id}/reset`, { mode: "rewind" });
    assertEquals((await exec(server, id, "'x' in globals()")).value, "False");
    assertEquals((await exec(server, copy.id, "x")).value, "41");
  }, { maxSessions: 2 });
});

Deno.test("a session with a thread, or whose interpreter was lost, stays awake", async () => {
  await withHibernation(async (server) => {
    const id = await open(server);
    const session = server.sessions.directory.find(id, "");
    await exec(
      server,
      id,
      "import threading, time; go = threading.Event(); threading.Thread(target=go.wait).start()",
    );
    assertEquals(await session.life.hibernate(), false);
    assertEquals(session.life.canHibernate(0), false);
    await exec(server, id, "go.set(); time.sleep(0.1)");
    assertEquals(await session.life.hibernate(), true);
    assertEquals((await exec(server, id, "import os; os._exit(1)")).stateKept, false);
    assertEquals(await session.life.hibernate(), false, "its next result must say that its state was lost");
    assertEquals((await exec(server, id, "1")).restarted, true);
    assertEquals(await session.life.hibernate(), true);
    assertEquals((await exec(server, id, "1")).restarted, undefined);
  });
});

Deno.test("a session with checkpointEvery recovers after it woke", async () => {
  await withHibernation(async (server, store) => {
    const id = await open(server, { checkpointEvery: 3600 });
    await exec(server, id, START);
    await server.sessions.directory.find(id, "").life.hibernate();
    assertEquals(store.count(), 1);
    assertEquals((await exec(server, id, "next(it)")).value, "1");
    const lost = await exec(server, id, "os._exit(1)");
    assertEquals([lost.stateKept, lost.restoredFrom.lostCalls], [true, 1]);
    assertEquals((await exec(server, id, "next(it)")).value, "1");
  });
});

Deno.test("a session whose files hibernate in a directory wakes from them", async () => {
  await using folder = await TempFolder.of();
  using directory = await StateDirectory.open(join(folder.path, "state"));
  const store = new HibernationStore({ bytes: 4097, directory });
  await withPython(async (server) => {
    const id = await open(server);
    await exec(server, id, START);
    await open(server);
    assert(store.bytes("directory") > 0);
    assertEquals(store.bytes("memory"), 0);
    assertEquals((await exec(server, id, "next(it), log.tell()")).value, "(1, 5)");
    const other = await open(server); // `id` hibernates again
    await Deno.writeFile(join(directory.path, `${id}.checkpoint`), new Uint8Array(100));
    const { status, body } = await server.send("POST", `/v1/sessions/${id}/exec`, { code: "1" });
    assertEquals([status, body.error.reason], [422, "checkpoint_damaged"]);
    assertEquals((await server.send("GET", `/v1/sessions/${id}`)).body.unusable, "checkpoint_damaged");
    assertEquals((await server.send("DELETE", `/v1/sessions/${id}`)).status, 204);
    assertEquals((await exec(server, other, "1")).value, "1");
  }, { maxSessions: 1, hibernation: { store, afterMs: NEVER } });
});

const [ADA, EVE] = ["ada-0123456789abcdef", "eve-0123456789abcdef"];

Deno.test("paddock serve --state-dir continues the sessions of an earlier server for the same tokens", async () => {
  await using folder = await TempFolder.of();
  const state = join(folder.path, "state");
  const args = ["--state-dir", state, "--token", ADA, EVE, "--max-sessions", "4"];
  const ids: string[] = [];
  {
    await using serving = await Serving.start(...args);
    for (let at = 0; at < 5; at++) {
      const response = await fetch(`${serving.url}/v1/sessions`, {
        method: "POST",
        headers: { authorization: `Bearer ${ADA}` },
      });
      const { id } = await response.json();
      ids.push(id);
      await post(serving, ADA, `/v1/sessions/${id}/exec`, { code: `${START}\nmine = ${at}` });
    }
    const endless = await fetch(`${serving.url}/v1/sessions/${ids[0]}/stream`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${ADA}` },
      body: JSON.stringify({ code: "print(next(it), flush=True)\nwhile True: pass" }),
    });
    const reader = endless.body?.getReader();
    await reader?.read(); // it runs
    const { code, log } = await serving.end("SIGTERM");
    await reader?.cancel().catch(() => {}); // the connection has ended
    assertEquals(code, 0);
    assertStringIncludes(log, `Stopping: sessions are saved in ${state}; a second Ctrl-C loses them\n`);
    assertStringIncludes(log, `Saved 5 sessions in ${state}`);
    assertEquals(await childrenOf(serving.child.pid), []);
  }
  await using serving = await Serving.start(...args);
  const look = { code: "next(it), mine, log.tell()" };
  for (const [at, id] of ids.entries()) {
    const foreign = await post(serving, EVE, `/v1/sessions/${id}/exec`, look);
    assertEquals(foreign.error.type, "not_found");
    const { value } = await post(serving, ADA, `/v1/sessions/${id}/exec`, look);
    assertEquals(value, `(${at === 0 ? 2 : 1}, ${at}, 5)`);
  }
  const cached = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      "--quiet",
      new URL("../../../src/cli.ts", import.meta.url).href,
      "cache",
      "list",
      "--json",
    ],
  }).output();
  const { entries } = JSON.parse(new TextDecoder().decode(cached.stdout));
  assert(
    entries.some(({ inUse, profiles }: { inUse: boolean; profiles: string[] }) =>
      inUse && profiles.includes("serve")
    ),
  );
});

Deno.test("paddock serve --state-dir continues sessions that hibernated when an earlier server was killed", async () => {
  await using folder = await TempFolder.of();
  const state = join(folder.path, "state");
  const args = ["--state-dir", state, "--hibernate-after", "1", "--token", ADA, "--max-sessions", "2"];
  let id = "";
  {
    await using serving = await Serving.start(...args);
    const headers = { authorization: `Bearer ${ADA}` };
    id = (await (await fetch(`${serving.url}/v1/sessions`, { method: "POST", headers })).json()).id;
    await post(serving, ADA, `/v1/sessions/${id}/exec`, { code: START });
    const isSaved = async () =>
      (await Array.fromAsync(Deno.readDir(state))).some(({ name }) => name === `${id}.session.json`);
    while (!await isSaved()) await delay(50);
    await serving.end("SIGKILL");
  }
  await using serving = await Serving.start(...args);
  assertEquals((await post(serving, ADA, `/v1/sessions/${id}/exec`, { code: "next(it)" })).value, "1");
});

Deno.test("paddock serve --state-dir keeps the sessions of another profile or key until a server can continue them", async () => {
  await using folder = await TempFolder.of();
  const [state, key] = [join(folder.path, "state"), join(folder.path, "key")];
  await Deno.writeFile(key, crypto.getRandomValues(new Uint8Array(32)), { mode: 0o600 });
  const args = ["--state-dir", state, "--token", ADA, "--max-sessions", "2"];
  let [id, paused] = ["", ""];
  {
    await using serving = await Serving.start(...args);
    const headers = { authorization: `Bearer ${ADA}` };
    id = (await (await fetch(`${serving.url}/v1/sessions`, { method: "POST", headers })).json()).id;
    await post(serving, ADA, `/v1/sessions/${id}/exec`, { code: START });
    paused = (await post(serving, ADA, "/v2/sandboxes", { timeout: 600 })).sandboxID;
    await fetch(`${serving.url}/sandboxes/${paused}/pause`, { method: "POST", headers });
    await serving.end("SIGTERM");
  }
  const others: [string, string[], string][] = [
    [
      "checkpoint_other_profile",
      ["--profile", "python"],
      "had profile 'serve': start the server with the profile",
    ],
    [
      "checkpoint_foreign",
      ["--checkpoint-key-file", key],
      "start the server with the cache folder or the checkpoint key",
    ],
  ];
  for (const [reason, options, remedy] of others) {
    await using serving = await Serving.start(...args, ...options);
    assertStringIncludes(
      serving.startLog,
      `This server cannot continue 2 sessions of '${state}' (2 with ${reason}`,
    );
    assertStringIncludes(serving.startLog, remedy);
    const { error } = await post(serving, ADA, `/v1/sessions/${id}/exec`, { code: "1" });
    assertEquals(error.reason, reason);
    const { log } = await serving.end("SIGTERM");
    assertStringIncludes(
      log,
      `Saved 0 sessions in ${state}, beside 2 sessions that this server could not continue`,
    );
  }
  await using serving = await Serving.start(...args);
  assertStringIncludes(serving.startLog, `2 sessions continue from ${state}`);
  assertEquals((await post(serving, ADA, `/v1/sessions/${id}/exec`, { code: "next(it)" })).value, "1");
  assertEquals((await post(serving, ADA, `/sandboxes/${paused}/connect`, {})).sandboxID, paused);
});

// deno-lint-ignore no-explicit-any
async function post(serving: Serving, token: string, path: string, body: unknown): Promise<any> {
  const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
  return await serving.ask(path, body, { headers });
}

const DRAWN = "import random, os, secrets; [random.random(), os.urandom(4), secrets.token_hex(4)]";

async function fork(server: Served, id: string, body: object): Promise<string[]> {
  const { status, body: { sessions } } = await server.send("POST", `/v1/sessions/${id}/fork`, body);
  assertEquals(status, 201);
  return sessions.map(({ id }: { id: string }) => id);
}

Deno.test("copies that hibernate continue their parent's state, each with random numbers of its own", async () => {
  await withHibernation(async (server, store) => {
    const id = await open(server);
    await exec(server, id, "import random; it = iter('abc'); next(it); random.seed(1)");
    const ids = await fork(server, id, { count: 12 });
    assertEquals(store.count(), 12);
    const drawn = new Set<string>();
    for (const copy of ids) {
      const { value } = await exec(server, copy, "next(it), random.random(), __import__('os').urandom(4)");
      assert(value.startsWith("('b', "), value);
      drawn.add(value);
    }
    assertEquals(drawn.size, ids.length);
    assertEquals((await exec(server, id, "next(it)")).value, "'b'");
  });
});

Deno.test("a copy of a seed draws the same numbers whether it hibernates at first or not", async () => {
  await withHibernation(async (server, store) => {
    const id = await open(server);
    const [awake = ""] = await fork(server, id, { count: 1, seed: 7 });
    const isAwake = store.count() === 0;
    const asleep = await fork(server, id, { count: 3, seed: 6 });
    const values = [];
    for (const copy of [awake, ...asleep]) values.push((await exec(server, copy, DRAWN)).value);
    assertEquals([isAwake, values[2]], [true, values[0]]);
    assertEquals(new Set(values).size, 3);
    await server.send("POST", `/v1/sessions/${id}/exec`, { code: "1" }); // the copies hibernate again
    const next = (await exec(server, asleep[0] ?? "", DRAWN)).value;
    assertEquals(values.includes(next), false);
  }, { maxSessions: 2 });
});
