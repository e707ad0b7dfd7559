import { assertEquals, assertMatch } from "@std/assert";
import { type LogLevel, openEventLog } from "../../../src/cli/serve/event_log.ts";
import { withIo } from "../../../src/cli/io.ts";
import type { ServerEvent } from "../../../src/server/server_event.ts";

const EVENTS: readonly ServerEvent[] = [
  { kind: "session opened", session: "0f3a0f3a", owner: "ab".repeat(32) },
  { kind: "interpreter lost", session: "0f3a0f3a", owner: "", status: "memory" },
  { kind: "request refused", method: "POST", route: "/v1/exec", code: "busy", owner: "" },
  { kind: "session ended", session: "0f3a0f3a", owner: "", seconds: 1.26, programs: 3 },
  { kind: "session saved", session: "0f3a0f3b", owner: "", seconds: 2, programs: 1 },
];

/** Returns what a server logs at a level. */
async function logged(level: LogLevel): Promise<string[]> {
  let text = "";
  const write = (bytes: Uint8Array) => {
    text += new TextDecoder().decode(bytes);
    return bytes.length;
  };
  const stream = {
    write: (bytes: Uint8Array) => Promise.resolve(write(bytes)),
    writeSync: write,
    isTerminal: () => false,
  };
  const stdin = { readable: new Blob([]).stream(), isTerminal: () => false };
  await withIo({ stdin, stdout: stream, stderr: stream, env: Deno.env, exitCode: 0 }, async () => {
    await using stack = new AsyncDisposableStack();
    const log = openEventLog(level, stack);
    for (const event of EVENTS) log(event);
  });
  return text.trimEnd().split("\n");
}

Deno.test("openEventLog() writes one line for each event of its level", async () => {
  assertEquals(await logged("error"), [""]);
  const [lost = "", ...more] = await logged("warn");
  assertEquals(more, []);
  assertMatch(lost, /^\d{4}-\S+Z warn interpreter lost session=0f3a0f3a owner=- status=memory$/);
  const lines = await logged("info");
  assertEquals(lines.map((line) => line.replace(/^\S+ /, "")), [
    `info session opened session=0f3a0f3a owner=${"ab".repeat(8)}`,
    "warn interpreter lost session=0f3a0f3a owner=- status=memory",
    "info request refused method=POST route=/v1/exec code=busy owner=-",
    "info session ended session=0f3a0f3a owner=- seconds=1.3 programs=3",
    "info session saved session=0f3a0f3b owner=- seconds=2 programs=1",
  ]);
});
