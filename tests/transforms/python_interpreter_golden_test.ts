import { assertEquals } from "@std/assert";
import { ChatEnv } from "../../src/envs/chat_env.ts";
import { replyAction } from "../../src/envs/action.ts";
import { type Message, messageText } from "../../src/message.ts";
import type { ExecResult } from "../../src/sandbox/contract/exec.ts";
import { PythonInterpreter } from "../../src/transforms/python_interpreter.ts";
import { TransformedEnv } from "../../src/transforms/transformed_env.ts";
import { bad, FakePool, ok } from "../fake_pool.ts";

interface GoldenCase {
  name: string;
  input: string[];
  next_prompt: Message[][];
}

/**
 * A case that differs from upstream on purpose: the sandbox results of its blocks, and the text that the
 * model reads.
 */
interface Fault {
  fault: string;
  execs: ExecResult[];
  texts: string[];
}

const EOF_ERROR = "Traceback (most recent call last):\nEOFError: EOF when reading a line\n";
const exited: ExecResult = { ...ok(), status: "exited", exitCode: 3 };
const lost: Fault = {
  fault: "what was printed before the failure is lost",
  execs: [bad("error", { stdout: "before\n" })],
  texts: ["failed:\nbefore\nTraceback …\nValueError: bad\n"],
};
const partial: Fault = {
  fault: "what was printed before the timeout is lost",
  execs: [bad("timeout", { stdout: "partial\n" })],
  texts: ["failed:\npartial\nCode execution timed out"],
};
const missed: Fault = {
  fault: "a block is not seen",
  execs: [ok("1\n")],
  texts: ["executed successfully:\n1\n"],
};
const exit: Fault = {
  fault: "the exit code is not reported, or the interpreter ends",
  execs: [exited],
  texts: ["failed:\nCode exited with exit code 3"],
};

const faults: Readonly<Record<string, Fault>> = {
  "oneshot:stdout lost on error": lost,
  "persist:stdout lost on error": lost,
  "oneshot:timeout partial": partial,
  "persist:timeout partial": partial,
  "oneshot:trailing space fence": missed,
  "oneshot:no newline before close": missed,
  "oneshot:crlf": missed,
  "persist:really empty block": { ...missed, execs: [ok()], texts: ["executed successfully:\n"] },
  "oneshot:sysexit": exit,
  "persist:sysexit": exit,
  "persist:stderr w/out error": {
    fault: "a line on stderr turns success into failure",
    execs: [ok("ok\n", { stderr: "warn\n" })],
    texts: ["executed successfully:\nok\n"],
  },
  "persist:syntax error": {
    fault: "frames of the runner are in the traceback",
    execs: [bad("error")],
    texts: ["failed:\nTraceback …\nValueError: bad\n"],
  },
  "persist:stdin": {
    fault: "input() reads the control channel until the timeout",
    execs: [bad("error", { stderr: EOF_ERROR })],
    texts: [`failed:\n${EOF_ERROR}Traceback …\nValueError: bad\n`],
  },
  "persist:marker output spoof": {
    fault: "a program that prints the end marker cuts and shifts results",
    execs: [ok("---END---\nafter\n"), ok("second\n")],
    texts: ["executed successfully:\n---END---\nafter\n", "executed successfully:\nsecond\n"],
  },
};

const path = new URL("../goldens/python_interpreter.json", import.meta.url);
const cases: GoldenCase[] = JSON.parse(await Deno.readTextFile(path));

Deno.test({
  name: "PythonInterpreter matches upstream's recorded cases",
  async fn(t) {
    for (const golden of cases) {
      const fault = faults[golden.name];
      const because = fault === undefined ? "" : `, but for the fault that ${fault.fault}`;
      await t.step(`${golden.name}${because}`, () => play(golden, fault));
    }
    assertEquals(Object.keys(faults).filter((name) => !cases.some((golden) => golden.name === name)), []);
  },
});

async function play(golden: GoldenCase, fault: Fault | undefined): Promise<void> {
  for (const [index, reply] of golden.input.entries()) {
    // Padding of a batch is not part of a conversation.
    const recorded = (golden.next_prompt[index] ?? []).filter(({ role }) => role !== "<none>");
    const toolName = golden.name.endsWith("toolname") ? "calculator" : "tool";
    const execs = fault?.execs ?? recorded.filter(({ role }) => role === toolName).map(execOf);
    const texts = fault?.texts.map((text, at) => ({
      role: toolName,
      content: `Code block ${at + 1} ${text}`,
    }));
    const expected = texts === undefined ? recorded : [...recorded.slice(0, 2), ...texts];
    const persistent = golden.name.startsWith("persist");
    assertEquals(await messagesAfter(reply, { toolName, persistent }, execs), expected);
  }
}

async function messagesAfter(
  reply: string,
  options: { toolName: string; persistent: boolean },
  execs: ExecResult[],
): Promise<Message[]> {
  const left = [...execs];
  const pool = new FakePool(() => left.shift() ?? ok("one exec too many"));
  await using env = new TransformedEnv(new ChatEnv(), [new PythonInterpreter({ pool, ...options })]);
  await env.reset({ id: "t", query: "q" });
  const { history } = await env.step(replyAction(reply));
  assertEquals(left, []);
  return history.prompt.toChats();
}

/** Returns the sandbox result that gives the recorded text. */
function execOf(message: Message): ExecResult {
  const [, outcome, text = ""] = /^Code block \d+ (.*):\n([^]*)$/.exec(messageText(message)) ?? [];
  if (outcome === "executed successfully") return ok(text);
  if (text.startsWith("Code execution timed out")) {
    return bad("timeout", { stateKept: !text.endsWith("restarted") });
  }
  return { ...bad("error"), error: { type: "", message: "", traceback: text } } as ExecResult;
}
