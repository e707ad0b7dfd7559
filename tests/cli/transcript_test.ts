import { assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { formatTranscript } from "../../src/cli/transcript.ts";
import { parseTrajectory } from "../../src/rollout/trajectory_schema.ts";
import { emptyTrajectory, toToolRecord, type Trajectory, withFailure } from "../../src/rollout/trajectory.ts";

const TOOL = { turn: 1, call: 1, callId: "c", tool: "f", durationMs: 1, truncated: false } as const;

const EPISODE: Trajectory = {
  ...emptyTrajectory({ id: "sum", query: "q" }, { sample: 2 }),
  messages: [
    { role: "user", content: [{ type: "text", text: "look" }, { type: "image", url: "u", name: "a.png" }] },
    { role: "assistant", content: "", tool_calls: [{ name: "f", arguments: { x: 1 } }] },
    { role: "search", content: "found\n\nit\n" },
  ],
  reward: 1.1,
  rewardParts: { right: 1, style: 0.1 },
  turns: 1,
  terminated: true,
  toolResults: [{ ...TOOL, status: "ok" }, { ...TOOL, status: "error" }, { ...TOOL, status: "ok" }],
  times: { totalMs: 12.3, policyMs: 1, envMs: 2 },
};

Deno.test("formatTranscript() keeps a name on one line", () => {
  const task = { id: "a ──\nreward 1", query: "q" };
  assertMatch(formatTranscript({ ...EPISODE, task }), /^── a ──\\nreward 1, sample 2 ──\n/);
});

Deno.test("formatTranscript() shows messages, calls, tools, reward and end", () => {
  assertEquals(
    formatTranscript(EPISODE),
    `── sum, sample 2 ──
user:
  look[image a.png]
assistant:
  → f({"x":1})
search:
  found

  it
ended after 1 turn, reward 1.1 (right 1, style 0.1), tools 2 ok + 1 error, 12 ms

`,
  );
});

Deno.test("formatTranscript() names the boundary where an episode failed", () => {
  const failed = withFailure({ ...EPISODE, reward: null, rewardParts: {} }, new Error("no\x1b[2Jway"));
  assertStringIncludes(formatTranscript(failed), "failed at env: no\\x1b[2Jway, not scored, ");
});

Deno.test("transcript() escapes control characters, with colours or without", () => {
  const content = "\x1b]0;title\x07\x9b31m\u202egnp.exe\u2066 \r hidden";
  const coloured = formatTranscript({
    ...EPISODE,
    task: { id: "\x1b[2J", query: "q" },
    messages: [{ role: "to\x1bol", content }, {
      role: "assistant",
      content: "",
      tool_calls: [{ name: "\x1b", arguments: "\x1b" }],
    }],
  }, { colour: true });
  // deno-lint-ignore no-control-regex
  const plain = coloured.replace(/\x1b\[\d+m/g, "");
  // deno-lint-ignore no-control-regex
  assertEquals(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/.test(plain), false);
  assertMatch(plain, /\\x1b\]0;title\\x07\\x9b31m\\u202egnp\.exe\\u2066 \\x0d hidden/);
});

Deno.test("transcript() uses colours only if colour is true", () => {
  assertStringIncludes(formatTranscript(EPISODE, { colour: true }), "\x1b[32massistant:\x1b[0m");
  assertEquals(formatTranscript(EPISODE).includes("\x1b"), false);
});

Deno.test("formatTranscript() shows a line for each shown object", () => {
  const display = [
    { "image/png": "iVBORw0KGgo=", "text/plain": "<Figure\n\x1b[2J>" },
    { "application/json": { a: 1 } },
  ];
  const text = formatTranscript({
    ...EPISODE,
    toolResults: [{ ...TOOL, status: "ok", display, droppedDisplays: 3 }],
  });
  assertStringIncludes(
    text,
    "shown in turn 1 by f: image/png (8 bytes), <Figure \\x1b[2J>\n" +
      "shown in turn 1 by f: application/json (7 bytes)\n" +
      "shown in turn 1 by f: 3 more, which were not saved\nended after",
  );
});

Deno.test("formatTranscript() shows a line for each call of code, up to twenty of a block", () => {
  const call = { caller: "code", callId: "c", tool: "search", durationMs: 1, truncated: false } as const;
  const calls = [
    { ...call, call: 1, status: "ok" as const, arguments: { q: "a\x1b" }, result: '["b"]' },
    { ...call, call: 2, status: "error" as const },
    ...Array.from({ length: 20 }, (_, at) => ({ ...call, call: at + 3, status: "ok" as const })),
  ];
  const text = formatTranscript({
    ...EPISODE,
    toolResults: [{ ...TOOL, tool: "python", status: "ok", calls }],
  });
  assertStringIncludes(
    text,
    'called in turn 1 by python: search({"q":"a\\u001b"}) → ok: ["b"]\n' +
      "called in turn 1 by python: search(…) → error\n",
  );
  assertStringIncludes(text, "called in turn 1 by python: 2 more, which the row has\nended after");
});

Deno.test("toToolRecord() saves shown objects up to 1 MiB", () => {
  const exec = {
    status: "ok",
    stdout: "",
    stderr: "",
    durationMs: 1,
    stateKept: true,
    truncated: false,
    display: [{ "text/plain": "a" }, { "text/html": "x".repeat(2 << 20) }, { "text/plain": "b" }],
    droppedDisplays: 2,
  } as const;
  const record = toToolRecord(1, {
    ...TOOL,
    status: "ok",
    text: "",
    exec: { ...exec, display: [...exec.display] },
  });
  assertEquals(record.display, [{ "text/plain": "a" }, { "text/plain": "b" }]);
  assertEquals(record.droppedDisplays, 3);
});

Deno.test("parseTrajectory() refuses shown objects that are no objects", () => {
  const parse = (display: unknown) =>
    parseTrajectory({ ...EPISODE, toolResults: [{ ...TOOL, status: "ok", display }] });
  const display = [{ "application/json": null, "text/plain": "a" }];
  assertEquals(parse(display).toolResults[0]?.display, display);
  for (const wrong of [5, "x", [5], [null], [["a"]]]) {
    assertThrows(() => parse(wrong), SyntaxError, "display");
  }
});

Deno.test("formatTranscript() says which limit of tokens cut an episode off", () => {
  const cut = { ...EPISODE, terminated: false, truncated: true };
  assertStringIncludes(formatTranscript(cut), "\ncut off after 1 turn, reward");
  const length = formatTranscript({ ...cut, cut: "length" });
  assertStringIncludes(length, "\ncut off after 1 turn by the length of the last reply, reward");
  const context = formatTranscript({ ...cut, cut: "context" });
  assertStringIncludes(context, "\ncut off after 1 turn by the context of the model, reward");
});
