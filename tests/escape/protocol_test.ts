import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { parseCall, parseResult } from "../../src/sandbox/guest_frames.ts";
import { parseProfile, type Profile } from "../../src/sandbox/profile/profile.ts";
import {
  encodeFrame,
  encodeLost,
  FrameKind,
  FrameSplitter,
  MAX_FRAME_BYTES,
} from "../../src/sandbox/protocol.ts";
import { Session } from "../../src/sandbox/session.ts";
import {
  concat,
  frame,
  HostileSource,
  outcomeOf,
  result,
  resultPayload,
  shellResult,
} from "./hostile_source.ts";

const OUTPUT_BYTES = 4096;
const encoder = new TextEncoder();

function profile(): Profile {
  const limits = { outputBytes: OUTPUT_BYTES, graceMs: 100, hostToolCalls: 5 };
  return parseProfile(JSON.stringify({ limits, hostTools: true, shell: true, layers: { watchdog: "off" } }), {
    source: "hostile",
  });
}

function head(payloadBytes: number, kind: number): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setUint32(0, payloadBytes, true);
  bytes[4] = 1;
  bytes[6] = kind;
  return bytes;
}

const call = (body: unknown) => frame("call", typeof body === "string" ? body : JSON.stringify(body));
const [ERROR, INTERRUPTED, EXITED] = [1, 3, 4];
const HAS_VALUE = 2;
const OK = { flag: HAS_VALUE, texts: ["forged"] };
const TEXTS = ["E", "m", "t"];

/** Responses of a child to an exec, none of which is a valid result. */
const BREACHES: Record<string, Uint8Array> = {
  "a frame larger than the cap": head(MAX_FRAME_BYTES + 1, FrameKind.result),
  "a frame of 4 GiB": head(0xffffffff, FrameKind.stdout),
  "a kind that there is not": frame(255),
  "a kind of the host's own": frame("exec", "{}"),
  "an 'image' frame": frame("image", "x"),
  "a 'done' that answers nothing": frame("done", "\x01"),
  "an empty result": frame("result"),
  "a result of text": frame("result", "not JSON"),
  "a result whose head is cut short": frame("result", new Uint8Array(8)),
  "a result without an outcome": frame("result", resultPayload(new Uint8Array(0))),
  "a result with unknown flags": result(OK, { flags: 4 }),
  "a note that is longer than its result": result(OK, { noteBytes: 10_000 }),
  "a note of 4 GiB": result(OK, { noteBytes: 0xffffffff }),
  "a note that is no JSON": result(OK, { note: "{" }),
  "a note of invalid UTF-8": frame(
    "result",
    concat(new Uint8Array([0, 3, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xfe, 0x80]), outcomeOf(OK)),
  ),
  "a note that is no object": result(OK, { note: "null" }),
  "a note with a further key": result(OK, { note: '{"durationMs":0}' }),
  "a note of a million brackets": result(OK, { note: "[".repeat(30_000) + "]".repeat(30_000) }),
  "a note of a megabyte": result(OK, { note: `"${"x".repeat(1_000_000)}"` }),
  "a note of a thousand values": result(OK, { note: `{"denied":[${"[],".repeat(1_000)}[]]}` }),
  "a status that there is not": result({ ...OK, status: 5 }),
  "half of an outcome": frame("result", resultPayload(outcomeOf(OK).slice(0, 10))),
  "a value that is longer than its outcome": result({ ...OK, lengths: [7, 0, 0] }),
  "a value of 4 GiB": result({ ...OK, lengths: [0xffffffff, 0, 0] }),
  "texts whose lengths overflow": result({ ...OK, lengths: [6, 0xffffffff, 1] }),
  "a value longer than the runner sends": result({
    flag: HAS_VALUE,
    texts: ["x".repeat(2 * OUTPUT_BYTES + 1)],
  }),
  "the JSON of a value that is no JSON": result({ ...OK, texts: ["forged", "{"] }),
  "an exit code of 0": result({ status: EXITED }),
  "an error with a message of a megabyte": result({
    status: ERROR,
    texts: ["E", "m".repeat(1_000_000), "t"],
  }),
  "counts that are no JSON": result({ ...OK, denied: "{" }),
  "a call that is no JSON": call("{"),
  "a call without a name": call({ call: 1, arguments: {} }),
  "a call whose number is negative": call({ call: -1, name: "f", arguments: {} }),
  "a call whose number is a fraction": call({ call: 1.5, name: "f", arguments: {} }),
  "a call whose number is no number": call('{"call":1e999,"name":"f","arguments":{}}'),
  "a call whose arguments are a list": call({ call: 1, name: "f", arguments: [1] }),
  "a call with a further key": call({ call: 1, name: "f", arguments: {}, session: 2 }),
  "a call with a name of a kilobyte": call({ call: 1, name: "f".repeat(1_000), arguments: {} }),
  "a call whose arguments nest a hundred deep": call(
    `{"call":1,"name":"f","arguments":{"a":${"[".repeat(100)}${"]".repeat(100)}}}`,
  ),
  "a call whose arguments nest a million deep": call(
    `{"call":1,"name":"f","arguments":{"a":${"[".repeat(1e6)}${"]".repeat(1e6)}}}`,
  ),
  "a call made twice": concat(
    call({ call: 7, name: "f", arguments: {} }),
    call({ call: 7, name: "f", arguments: {} }),
  ),
  "more stdout than the limit": frame("stdout", "x".repeat(OUTPUT_BYTES + 1)),
  "more output than the limit, in pieces": concat(
    ...Array.from({ length: 70 }, () => frame("stderr", "x".repeat(64))),
  ),
};

for (const [name, answer] of Object.entries(BREACHES)) {
  Deno.test(`Session.exec() calls it a crash when the child answers with ${name}`, async () => {
    await using source = await HostileSource.create(profile(), answer);
    await using session = new Session(source);
    const ended = await session.exec("1", { timeoutMs: 20_000 });
    assertEquals(ended.status, "crashed", JSON.stringify(ended).slice(0, 500));
    assertEquals(ended.stateKept, false);
    assertEquals((await source.firstEnd()).signal, "SIGKILL");
  });
}

const SHELL_OK = { exitCode: 0, cwd: "/" };

/** Responses of a child to a command line. */
const SHELL_BREACHES: Record<string, Uint8Array> = {
  "a result of Python": result(OK),
  "an exit code of 256": shellResult({ ...SHELL_OK, exitCode: 256 }),
  "an exit code below 0": shellResult({ ...SHELL_OK, exitCode: -1 }),
  "an exit code that is a fraction": shellResult({ ...SHELL_OK, exitCode: 0.5 }),
  "a directory that is no path": shellResult({ ...SHELL_OK, cwd: "C:" }),
  "a directory of a megabyte": shellResult({ ...SHELL_OK, cwd: `/${"d".repeat(1_000_000)}` }),
  "no directory": shellResult({ exitCode: 0 }),
  "a further key": shellResult({ ...SHELL_OK, stdout: "forged" }),
  "a 'done' frame": frame("done", "\x01"),
  "more output than the limit": frame("stdout", "x".repeat(OUTPUT_BYTES + 1)),
};

for (const [name, answer] of Object.entries(SHELL_BREACHES)) {
  Deno.test(`Session.shell() calls it a crash when the child answers with ${name}`, async () => {
    await using source = await HostileSource.create(profile(), answer);
    await using session = new Session(source);
    const ended = await session.shell("ls", { timeoutMs: 20_000 });
    assertEquals([ended.status, ended.stateKept, ended.cwd], ["crashed", false, "/home/pyodide"]);
    assertEquals((await source.firstEnd()).signal, "SIGKILL");
  });
}

Deno.test("Session.exec() returns 'crashed' if the child sends the result of a shell command", async () => {
  await using source = await HostileSource.create(profile(), shellResult(SHELL_OK));
  await using session = new Session(source);
  assertEquals((await session.exec("1", { timeoutMs: 20_000 })).status, "crashed");
});

Deno.test("Session.exec() times out if the child sends half a frame", async () => {
  await using source = await HostileSource.create(profile(), head(1_000, FrameKind.result));
  await using session = new Session(source);
  const ended = await session.exec("1", { timeoutMs: 100 });
  assertEquals([ended.status, ended.stateKept], ["timeout", false]);
  assertEquals((await source.firstEnd()).signal, "SIGKILL");
});

Deno.test("Session.exec() uses no result of a guest that sends two", async () => {
  const answer = concat(frame("stdout", "text"), result(OK), result({ flag: HAS_VALUE, texts: ["second"] }));
  await using source = await HostileSource.create(profile(), answer);
  await using session = new Session(source);
  const first = await session.exec("1");
  assertEquals([first.status, first.stdout, first.stateKept], ["crashed", "text", false]);
  await session.exec("2");
  assertEquals(source.started, 3);
});

Deno.test("Session.exec() does not accept an early 'opened' frame as a result", async () => {
  await using source = await HostileSource.create(
    profile(),
    concat(frame("opened"), frame("opened", "{}"), frame("lost", encodeLost("over"))),
  );
  await using session = new Session(source);
  const ended = await session.exec("1");
  assert(ended.status === "crashed");
  assertStringIncludes(ended.error.message, `frame ${FrameKind.opened} is not one of an exec`);
});

Deno.test("Session.exec() does not trust the cause of a crash that a guest reports", async () => {
  await using source = await HostileSource.create(profile(), frame("lost", encodeLost("out of memory")));
  await using session = new Session(source);
  const ended = await session.exec("1");
  assert(ended.status === "crashed" && ended.error.message === "out of memory");
});

Deno.test("Session.exec() returns 'error', not 'ok', for a forged interrupt", async () => {
  await using source = await HostileSource.create(profile(), result({ status: INTERRUPTED, texts: TEXTS }));
  await using session = new Session(source);
  assertEquals((await session.exec("1")).status, "error");
});

Deno.test("Session.exec() runs only granted tools, whatever the child sends", async () => {
  const calls = [1, 2, 3].map((number) => call({ call: number, name: "__proto__", arguments: {} }));
  const answer = concat(
    ...calls,
    call({ call: 4, name: "constructor", arguments: { toString: 1 } }),
    result(OK),
  );
  await using source = await HostileSource.create(profile(), answer);
  await using session = new Session(source);
  assertEquals((await session.exec("1")).status, "ok");
});

Deno.test("Session.readFile() rejects if the child responds with a result, a call or output", async (t) => {
  const answers = {
    result: result(OK),
    call: call({ call: 1, name: "f", arguments: {} }),
    stdout: frame("stdout", "x"),
  };
  for (const [name, answer] of Object.entries(answers)) {
    await t.step(name, async () => {
      await using source = await HostileSource.create(profile(), answer);
      await using session = new Session(source);
      const failure = await assertRejects(() => session.readFile("a.txt"), Error);
      assertStringIncludes(failure.message, "violated the protocol");
      assertEquals((await source.firstEnd()).signal, "SIGKILL");
    });
  }
});

Deno.test("Session.writeFile() rejects with the message of a child that refuses", async () => {
  await using source = await HostileSource.create(profile(), frame("done", "\0no"));
  await using session = new Session(source);
  await assertRejects(() => session.writeFile("a.txt", "x"), Error, "no");
});

Deno.test("Session.reset() replaces an interpreter that forges the response to a rewind", async () => {
  await using source = await HostileSource.create(profile(), result(OK));
  await using session = new Session(source);
  await session.ready();
  await session.reset({ mode: "rewind" });
  assertEquals(source.started, 2);
  assertEquals(await source.alive(), 1);
});

Deno.test("FrameSplitter reassembles frames from any pieces", () => {
  const bytes = concat(frame("stdout", "abc"), frame("result"), frame("stderr", "\xe9".repeat(5_000)));
  for (const size of [1, 3, 7, 8, 9, 4_096, bytes.length]) {
    const splitter = new FrameSplitter();
    const found = [];
    for (let at = 0; at < bytes.length; at += size) {
      for (const { kind, payload } of splitter.push(bytes.subarray(at, at + size))) {
        found.push([kind, payload.length]);
      }
    }
    assertEquals(found, [[FrameKind.stdout, 3], [FrameKind.result, 0], [FrameKind.stderr, 10_000]]);
  }
});

Deno.test("FrameSplitter hands over the beginning of a large frame, and continues after its end", () => {
  const large = frame("stdout", "x".repeat(100_000));
  const splitter = new FrameSplitter();
  const kinds = (bytes: Uint8Array) => [...splitter.push(bytes)].map(({ kind }) => kind);
  assertEquals(kinds(concat(frame("stderr", "abc"), large.subarray(0, 5))), [FrameKind.stderr]);
  assertEquals(splitter.started, undefined); // its head has not arrived
  assertEquals(kinds(large.subarray(5, 1_000)), []);
  const { bytes, restBytes } = splitter.started ?? {};
  assertEquals([bytes, restBytes], [large.subarray(0, 1_000), large.length - 1_000]);
  splitter.dropStarted();
  assertEquals(splitter.started, undefined);
  assertEquals(kinds(frame("result")), [FrameKind.result]);
  assertEquals(kinds(frame("stdout", "x".repeat(60_000)).subarray(0, 100)), []);
  assertEquals(splitter.started, undefined); // it is not large
});

Deno.test("FrameSplitter refuses an oversized frame by its head, before the payload arrives", () => {
  const failure = assertThrows(
    () => [...new FrameSplitter().push(head(MAX_FRAME_BYTES + 1, 37))],
    RangeError,
  );
  assertStringIncludes(failure.message, "must be at most 67108864 bytes: current value is 67108865");
});

Deno.test("parseResult() drops prototype keys", () => {
  const payload = resultPayload(outcomeOf(OK), { note: '{"denied":{"files":1},"__proto__":{"x":1}}' });
  const parsed = parseResult(payload, 1_000);
  assertEquals(parsed.denied, { files: 1 });
  assertEquals([Object.getPrototypeOf(parsed), "x" in parsed], [Object.prototype, false]);
});

function withJson(json = ""): Uint8Array {
  return resultPayload(outcomeOf({ flag: HAS_VALUE, texts: ["forged", json] }));
}

function valueJsonOf(payload: Uint8Array): unknown {
  const { outcome } = parseResult(payload, OUTPUT_BYTES);
  return outcome.status === "ok" ? outcome.valueJson : outcome;
}

Deno.test("parseResult() parses the JSON of a value", () => {
  for (const value of [0, -0.5, "é", true, [], { a: [null, { toString: 1 }] }]) {
    assertEquals(valueJsonOf(withJson(JSON.stringify(value))), value);
  }
  assertEquals(valueJsonOf(withJson()), undefined);
});

Deno.test("parseResult() refuses the JSON of a value that the runner does not send", () => {
  const cases: Record<string, string> = {
    "an infinite number": "[1e999]",
    "a prototype key": '[{"__proto__":{"a":1}}]',
    "a lone surrogate": '["\\ud800"]',
    "a key with a lone surrogate": '{"\\ud800":1}',
    "33 levels": "[".repeat(33) + "]".repeat(33),
    "a million levels": "[".repeat(1_000_000),
    "too many values": `[${"0,".repeat(300_000)}0]`,
    "too many empty lists": `[${"[],".repeat(300_000)}[]]`,
    "more than a megabyte": JSON.stringify("x".repeat(1 << 20)),
    "a number that is no JSON": "[NaN]",
    "two values": "1 2",
  };
  for (const [name, json] of Object.entries(cases)) {
    const payload = withJson(json);
    assert(assertThrows(() => parseResult(payload, 1 << 20)) instanceof SyntaxError, name);
  }
});

Deno.test("parseResult() bounds counts of refused attempts and refuses what is no count", () => {
  const withDenied = (denied: string) =>
    resultPayload(outcomeOf({ denied }), { note: `{"denied":${denied}}` });
  const { denied, outcome } = parseResult(withDenied('{"files":1e9,"network":0}'), 1_000);
  for (const counts of [denied, outcome.denied]) assertEquals(counts, { files: 1_000_000, network: 0 });
  for (const count of ["-1", "1.5", "1e999", "NaN", '"1"', "null", "[1]", "true"]) {
    assertThrows(() => parseResult(withDenied(`{"files":${count}}`), 1_000), SyntaxError);
  }
  for (const denied of ['{"gold":1}', "null", "7", "[]"]) {
    assertThrows(() => parseResult(withDenied(denied), 1_000), SyntaxError);
  }
});

Deno.test("Session.exec() lowers the peak of memory that a child reports to the limit of its profile", async () => {
  await using source = await HostileSource.create(profile(), result(OK, { peakMemoryBytes: 0xffffffff }));
  await using session = new Session(source);
  const ended = await session.exec("1", { timeoutMs: 20_000 });
  assertEquals([ended.status, ended.peakMemoryBytes], ["ok", profile().limits.memoryBytes]);
});

Deno.test("parseCall() drops prototype keys at every depth", () => {
  const text = '{"call":1,"name":"f","arguments":{"a":{"__proto__":{"polluted":true},"b":1}}}';
  const { arguments: args } = parseCall(encoder.encode(text));
  assertEquals(args, { a: { b: 1 } });
  assertEquals(({} as Record<string, unknown>).polluted, undefined);
});

Deno.test("parseCall() accepts a list of 90,000 numbers", () => {
  const text = `{"call":1,"name":"f","arguments":{"a":[${"1,".repeat(89_999)}1]}}`;
  assertEquals((parseCall(encoder.encode(text)).arguments.a as number[]).length, 90_000);
});

Deno.test("FrameSplitter decodes every session number that encodeFrame() writes", () => {
  for (const session of [0, 1, 255, 256, 65_535]) {
    const [found] = [...new FrameSplitter().push(encodeFrame(FrameKind.get, session, "x"))];
    assertEquals(found?.session, session);
  }
});
