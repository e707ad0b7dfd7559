import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { parseRequest, RequestError, respondToLine } from "../../../src/cli/session/session_protocol.ts";
import { SessionBranches } from "../../../src/cli/session/session_branches.ts";
import { CheckpointError, SandboxError } from "../../../src/errors.ts";
import type { PythonSession } from "../../../src/sandbox/contract/pool.ts";
import { FakePool, ok } from "../../fake_pool.ts";

Deno.test("parseGradeRequest() reads each kind of request", () => {
  assertEquals(parseRequest('{"id":1,"code":"x","timeoutMs":5,"stdin":"y"}'), {
    id: 1,
    code: "x",
    timeoutMs: 5,
    stdin: "y",
  });
  assertEquals(parseRequest('{"reset":"rewind","seed":7}'), { id: null, reset: "rewind", seed: 7 });
  assertEquals(parseRequest('{"id":"a","put":{"f":"aGk="}}'), {
    id: "a",
    put: new Map([["f", new Uint8Array([104, 105])]]),
  });
  assertEquals(parseRequest('{"id":null,"get":["f"]}'), { id: null, get: ["f"] });
});

Deno.test("parseGradeRequest() names the problem of an invalid line", () => {
  const cases: [string, string][] = [
    ["nope", "a line must be JSON"],
    ["[1]", "a request must be a JSON object: found an array"],
    ["null", "a request must be a JSON object: found null"],
    [
      "{}",
      "a request must have one of code, resume, shell, reset, put, get, checkpoint, restore, fork, forget, end: found none",
    ],
    ['{"code":"1","get":[]}', "found code, get"],
    ['{"code":1}', "code: "],
    ['{"code":"1","foo":1}', '"foo"'],
    ['{"code":"1","timeoutMs":"5"}', "timeoutMs: "],
    ['{"code":"1","inputs":[]}', "inputs: "],
    ['{"code":"1","binaryInputs":{"a":{"type":"text","base64":""}}}', "binaryInputs.a.type: "],
    ['{"reset":"what"}', "reset: "],
    ['{"reset":"fresh","seed":1.5}', "seed: "],
    ['{"put":{"f":"***"}}', "put.f: must be base64"],
    ['{"put":{"f":1}}', "put.f: must be base64"],
    ['{"put":[]}', "put: must be an object"],
    ['{"get":"f"}', "get: "],
    ['{"checkpoint":false}', "checkpoint: "],
    ['{"restore":true}', "restore: "],
    ['{"fork":0}', "fork: "],
    ['{"fork":1.5}', "fork: "],
    ['{"end":true}', "session: "],
    ['{"resume":{}}', "resume: give either"],
    ['{"code":"1","tools":[{"name":"1"}]}', "tools.0.name: "],
    ['{"forget":"x","session":"s1"}', '"session"'],
    ['{"code":"1","session":1}', "session: "],
    ['{"id":{},"code":"1"}', "id: must be a string, a number or null"],
  ];
  for (const [line, message] of cases) assertThrows(() => parseRequest(line), RequestError, message);
});

Deno.test("parseGradeRequest() keeps the id of a rejected request", () => {
  const ids = ['{"id":4}', '{"id":"a","code":1}', '{"id":[],"code":"1"}', "x"].map((line) =>
    assertThrows(() => parseRequest(line), RequestError).id
  );
  assertEquals(ids, [4, "a", null, null]);
});

const signal = new AbortController().signal;

/** Returns the branches of a fake session, whose checkpoints are refused. */
function branchesOf(session: PythonSession): SessionBranches {
  const refuse = () =>
    Promise.reject(new CheckpointError("Cannot make checkpoint", { code: "checkpoint_refused" }));
  const waitingCall = () => Promise.resolve(undefined);
  const refused = { checkpoint: refuse, restore: refuse, fork: refuse, resume: refuse, waitingCall };
  return new SessionBranches(Object.assign(session, refused));
}

async function answers(pool: FakePool, ...lines: string[]): Promise<unknown[]> {
  await using lease = await pool.acquire();
  const branches = branchesOf(lease.session);
  const found: unknown[] = [];
  for (const text of lines) found.push(JSON.parse(await respondToLine(branches, { text }, signal)));
  return found;
}

Deno.test("respondToLine() writes the id and the status first", async () => {
  await using lease = await new FakePool(() => ok("hi")).acquire();
  const line = await respondToLine(branchesOf(lease.session), { text: '{"id":1,"code":"x"}' }, signal);
  assertEquals(line.slice(0, 34), '{"id":1,"status":"ok","stdout":"hi');
});

Deno.test("respondToLine() puts, gets and resets, and leaves missing files out", async () => {
  const [put, got, reset, missing] = await answers(
    new FakePool(),
    '{"id":1,"put":{"f":"aGk="}}',
    '{"id":2,"get":["f","g"]}',
    '{"reset":"fresh"}',
    '{"id":4,"get":["f"]}',
  );
  assertEquals(put, { id: 1, status: "ok" });
  assertEquals(got, { id: 2, status: "ok", files: { f: "aGk=" } });
  assertEquals(reset, { id: null, status: "ok" });
  assertEquals(missing, { id: 4, status: "ok", files: {} });
});

Deno.test("respondToLine() keeps files with unusual names", async () => {
  const [, got] = await answers(new FakePool(), '{"put":{"__proto__":"aGk="}}', '{"get":["__proto__"]}');
  assertEquals(JSON.stringify(got), '{"id":null,"status":"ok","files":{"__proto__":"aGk="}}');
});

Deno.test("respondToLine() distinguishes a bad request from a failed sandbox", async () => {
  const pool = new FakePool((code) => {
    if (code === "late") throw new RangeError("timeoutMs must be > 0");
    throw new SandboxError("Cannot start session");
  });
  assertEquals(
    await answers(pool, '{"id":1,"code":"late"}', '{"id":2,"code":"x"}', '{"id":3,"get":["../f"]}', "{"),
    [
      { id: 1, status: "invalid", error: { type: "RangeError", message: "timeoutMs must be > 0" } },
      { id: 2, status: "failed", error: { type: "SandboxError", message: "Cannot start session" } },
      {
        id: 3,
        status: "invalid",
        error: {
          type: "TypeError",
          message:
            'Cannot use path as it must be relative and stay under the working directory: current value is "../f"',
        },
      },
      {
        id: null,
        status: "invalid",
        error: {
          type: "SyntaxError",
          message:
            "a line must be JSON: Expected property name or '}' in JSON at position 1 (line 1 column 2)",
        },
      },
    ],
  );
});

Deno.test("respondToLine() responds to a line that could not be read", async () => {
  await using lease = await new FakePool().acquire();
  const line = await respondToLine(
    branchesOf(lease.session),
    { fault: "a line must be UTF-8: found an invalid byte" },
    signal,
  );
  const error = { type: "SyntaxError", message: "a line must be UTF-8: found an invalid byte" };
  assertEquals(JSON.parse(line), { id: null, status: "invalid", error });
});

Deno.test("respondToLine() rejects when it is interrupted", async () => {
  await using lease = await new FakePool().acquire();
  const aborted = AbortSignal.abort(new Error("stop"));
  await assertRejects(
    () => respondToLine(branchesOf(lease.session), { text: '{"code":"x"}' }, aborted),
    Error,
    "stop",
  );
});

Deno.test("respondToLine() reports a refused checkpoint with its code, and unknown ids", async () => {
  const refused = { type: "CheckpointError", message: "Cannot make checkpoint", code: "checkpoint_refused" };
  const noSession = "Cannot use session as there is none with this id: found 's1'";
  const lines: [string, unknown][] = [
    ['{"checkpoint":true}', refused],
    ['{"fork":1}', refused],
    ['{"fork":65}', {
      type: "RangeError",
      message: "Cannot fork session as there may be 64 copies at once: 64 more are possible, found 65",
    }],
    ['{"restore":"x"}', { type: "TypeError", message: "There is no such checkpoint" }],
    ['{"forget":"x"}', { type: "TypeError", message: "There is no such checkpoint" }],
    ['{"session":"s1","code":"1"}', { type: "TypeError", message: noSession }],
    ['{"session":"s1","end":true}', { type: "TypeError", message: noSession }],
  ];
  assertEquals(
    await answers(new FakePool(), ...lines.map(([line]) => line)),
    lines.map(([, error]) => ({ id: null, status: "invalid", error })),
  );
});
