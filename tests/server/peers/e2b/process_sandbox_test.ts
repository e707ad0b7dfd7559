import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { delay } from "@std/async";
import { loadProfile, SandboxPool } from "../../../../mod.ts";
import { Budgets } from "../../../../src/server/admission/budget.ts";
import { type Served, served } from "../../served.ts";

// deno-lint-ignore no-explicit-any
type Json = any;

/** Calls a method of envd's service `process` as JSON. */
async function call(server: Served, id: string, method: string, body: object): Promise<Json> {
  return (await server.send("POST", `/process.Process/${method}`, body, { "e2b-sandbox-id": id })).body;
}

/** Calls a method that streams its response, and yields the messages. The last one ends the stream. */
async function* stream(server: Served, id: string, method: string, body: object): AsyncGenerator<Json> {
  const text = new TextEncoder().encode(JSON.stringify(body));
  const message = new Uint8Array(5 + text.length);
  new DataView(message.buffer).setUint32(1, text.length);
  message.set(text, 5);
  const headers = {
    "content-type": "application/connect+json",
    "e2b-sandbox-id": id,
    "connect-timeout-ms": "20000",
  };
  const response = await server.app.request(`/process.Process/${method}`, {
    method: "POST",
    headers,
    body: message,
  });
  let bytes = new Uint8Array();
  for await (const piece of response.body ?? []) {
    bytes = Uint8Array.from([...bytes, ...piece]);
    while (bytes.length >= 5) {
      const end = 5 + new DataView(bytes.buffer).getUint32(1);
      if (bytes.length < end) break;
      yield JSON.parse(new TextDecoder().decode(bytes.subarray(5, end)));
      bytes = bytes.slice(end);
    }
  }
}

function bash(command: string, more: object = {}): object {
  return { process: { cmd: "/bin/bash", args: ["-l", "-c", command], ...more }, stdin: false };
}

/** Returns the output of a command and its end. */
async function run(server: Served, id: string, request: object): Promise<Json> {
  const result: Json = { stdout: "", stderr: "" };
  for await (const { event = {}, error } of stream(server, id, "Start", request)) {
    for (const [name, base64] of Object.entries<string>(event.data ?? {})) {
      result[name] += new TextDecoder().decode(Uint8Array.fromBase64(base64));
    }
    Object.assign(result, event.end, error);
  }
  return result;
}

Deno.test("envd's process runs commands of the session's shell", async (t) => {
  const budgets = new Budgets();
  await using pool = new SandboxPool({
    profile: await loadProfile("workspace"),
    size: 1,
    resetMode: "rewind",
  });
  await using server = served({ pool, maxSessions: 1, budgets });
  const { body: { sandboxID: id } } = await server.send("POST", "/sandboxes", {
    timeout: 60,
    envVars: { A: "1" },
  });

  await t.step("a command has output, an exit code, a directory and variables", async () => {
    const result = await run(
      server,
      id,
      bash("echo $A $B; pwd; echo no >&2; exit 3", { cwd: "/tmp", envs: { B: "it's" } }),
    );
    assertEquals(result, {
      stdout: "1 it's\n/tmp\n",
      stderr: "no\n",
      exitCode: 3,
      exited: true,
      status: "exit status 3",
    });
    const next = await run(server, id, bash("echo $A$B; pwd"));
    assertEquals([next.stdout, next.status], ["1\n/home/user\n", "exit status 0"]);
    const failed = await run(server, id, bash("nope\n# a comment\nno-such", { envs: { B: "1" } }));
    assertEquals(
      failed.stderr,
      "bash: line 1: nope: command not found\nbash: line 3: no-such: command not found\n",
    );
    assertEquals((await run(server, id, bash("true", { envs: { "A;ls": "1" } }))).code, "invalid_argument");
    assertEquals(
      (await run(server, id, { process: { cmd: "echo", args: ["$A", "it's"] } })).stdout,
      "$A it's\n",
    );
  });

  await t.step("a cell in Bash, or of one line for the shell, runs with the same variables", async () => {
    const headers = { "e2b-sandbox-id": id };
    for (
      const body of [{ code: "echo $A$B", language: "bash", env_vars: { B: "2" } }, { code: "!echo ${A}2" }]
    ) {
      const { body: lines } = await server.send("POST", "/execute", body, headers);
      assertStringIncludes(lines, '"text":"12\\n"');
    }
  });

  await t.step("a command reads the input that was sent until it is closed", async () => {
    const events = stream(server, id, "Start", { ...bash("cat"), stdin: true });
    const { value: { event: { start: { pid } } } } = await events.next();
    const input = { stdin: new TextEncoder().encode("hello").toBase64() };
    assertEquals(await call(server, id, "SendInput", { process: { pid }, input }), {});
    assertEquals(await call(server, id, "CloseStdin", { process: { pid } }), {});
    const { value: { event: { data } } } = await events.next();
    assertEquals(data, input as Json && { stdout: input.stdin });
    assertEquals((await events.next()).value.event.end.status, "exit status 0");
    await events.return(undefined);
    assertEquals((await call(server, id, "SendInput", { process: { pid }, input })).code, "not_found");
  });

  await t.step("commands are listed, joined and killed", async () => {
    const one = stream(server, id, "Start", bash("echo go; sleep 20"));
    const { value: { event: { start: { pid } } } } = await one.next();
    const two = stream(server, id, "Start", { ...bash("echo two"), tag: "second" });
    await two.next();
    const { processes } = await call(server, id, "List", {});
    assertEquals(processes.map((one: Json) => [one.pid === pid, one.tag]), [[true, undefined], [
      false,
      "second",
    ]]);
    const joined = stream(server, id, "Connect", { process: { pid } });
    assertEquals((await joined.next()).value.event.start.pid, pid);
    const signal = { process: { pid }, signal: "SIGNAL_SIGKILL" };
    assertEquals(await call(server, id, "SendSignal", signal), {});
    for await (const { event } of joined) if (event?.end) assertEquals(event.end.status, "signal: killed");
    for await (const { event } of two) if (event?.end) assertEquals(event.end.status, "exit status 0");
    assertEquals((await call(server, id, "SendSignal", signal)).code, "not_found");
    assertEquals(await call(server, id, "List", {}), {});
    await one.return(undefined);
  });

  await t.step("a command whose client does not read is held back", async () => {
    const events = stream(
      server,
      id,
      "Start",
      bash("for i in $(seq 20000); do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done; sleep 9"),
    );
    const { value: { event: { start: { pid } } } } = await events.next();
    await delay(500);
    assert(budgets.waiting.used() < 4 * 1024 * 1024, `${budgets.waiting.used()}`);
    await call(server, id, "SendSignal", { process: { pid }, signal: "SIGNAL_SIGTERM" });
    await events.return(undefined);
  });

  await t.step("terminals are refused, and the number of commands is bounded", async () => {
    assertEquals(
      (await run(server, id, { ...bash("true"), pty: { size: { cols: 1, rows: 1 } } })).code,
      "unimplemented",
    );
    const waiting = [];
    for (let n = 0; n < 64; n++) {
      const events = stream(server, id, "Start", bash("sleep 20"));
      await events.next();
      waiting.push(events);
    }
    assertEquals((await run(server, id, bash("true"))).code, "resource_exhausted");
    const { body: health } = await server.send("DELETE", `/sandboxes/${id}`);
    assertEquals(health, "");
    const [first] = waiting;
    await assertRejects(async () => await first?.next()); // clients then ask whether the sandbox runs
    for (const events of waiting) await events.return(undefined);
  });
  assertEquals(budgets.waiting.used(), 0);
});

Deno.test("envd's process is unimplemented where the profile has no shell", async () => {
  await using pool = new SandboxPool({ profile: await loadProfile("serve"), size: 1 });
  await using server = served({ pool, maxSessions: 1 });
  const { body: { sandboxID: id } } = await server.send("POST", "/sandboxes", { timeout: 60 });
  const { code, message } = await run(server, id, bash("true"));
  assertEquals(code, "unimplemented");
  assertStringIncludes(message, "the profile workspace");
});
