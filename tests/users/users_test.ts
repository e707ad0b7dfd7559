import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { PolicyError, UserError } from "../../src/errors.ts";
import type { History } from "../../src/history.ts";
import { openaiPolicy } from "../../src/policy/openai.ts";
import type { Policy } from "../../src/policy/policy.ts";
import { humanUser } from "../../src/users/human_user.ts";
import { llmUser, type UserStrategyName } from "../../src/users/llm_user.ts";
import { resumedUser, USER_STOP } from "../../src/users/user_simulator.ts";
import { scriptedUser } from "../../src/users/scripted_user.ts";
import { completion, FakeServer } from "../policy/fake_server.ts";

const TASK = { index: 3, instruction: "You want to return a book." };

/** A model that replies with these texts and records its conversations. */
function saying(...texts: string[]): Policy & { seen: History[] } {
  const seen: History[] = [];
  return {
    seen,
    reply: (history) => {
      const text = texts[seen.length];
      seen.push(history);
      if (text === undefined) return Promise.reject(new PolicyError("it has no more words"));
      const message = { role: "assistant", content: text };
      return Promise.resolve({ message, usage: { promptTokens: 10, replyTokens: 2 } });
    },
  };
}

Deno.test("scriptedUser() returns its lines in order and then rejects", async () => {
  const user = scriptedUser((task) => task.index === 3 ? ["Hi", USER_STOP] : []);
  assertEquals([await user.reset(TASK), await user.step("Hello")], ["Hi", USER_STOP]);
  await assertRejects(
    () => user.step("?"),
    UserError,
    "user of task 3 as the script must have line 3: it has 2",
  );
  assertEquals(await user.reset(TASK), "Hi", "a reset starts from the first line");
  await assertRejects(() => user.reset({ ...TASK, index: 4 }), UserError, "it has 0");
});

Deno.test("llmUser() sends the conversation to a chat completions server with swapped roles", async () => {
  await using server = new FakeServer((_request, count) => completion({ content: `line ${count}` }));
  const user = llmUser({
    policy: openaiPolicy({ url: server.url, model: "m" }),
    price: { perPromptToken: 0.5, perReplyToken: 1 },
  });
  assertEquals(server.seen.length, 0, "no request before the reset");
  assertEquals([await user.reset(TASK), await user.step("Which one?")], ["line 1", "line 2"]);
  const [system, ...talk] = server.seen[1]?.body.messages ?? [];
  assertStringIncludes(system.content, "\n\nInstruction: You want to return a book.\n");
  assertStringIncludes(system.content, USER_STOP);
  assertEquals(talk, [
    { role: "user", content: "Hi! How can I help you today?" },
    { role: "assistant", content: "line 1" },
    { role: "user", content: "Which one?" },
  ]);
  assertEquals(user.cost, 2 * (12 * 0.5 + 3));
});

Deno.test("llmUser() rejects with a UserError when the user's model fails", async () => {
  const user = llmUser({ policy: saying("Hi") });
  await user.reset(TASK);
  const error = await assertRejects(() => user.step("?"), UserError, "user of task 3: it has no more words");
  assert(error.cause instanceof PolicyError);
  const stop = new AbortController();
  stop.abort(new DOMException("stopped", "AbortError"));
  await assertRejects(() => user.step("?", { signal: stop.signal }), DOMException, "stopped");
});

Deno.test("llmUser() with 'react' shows the agent the reply without the reasoning", async () => {
  const policy = saying(
    "Thought: be short\nUser Response: My book.",
    "Thought: done\nUser Response: ###STOP### bye",
    "no form",
  );
  const user = llmUser({ policy, strategy: "react" });
  assertEquals([await user.reset(TASK), await user.step("a"), await user.step("b")], [
    "My book.",
    USER_STOP,
    "no form",
  ]);
  assertEquals(policy.seen[1]?.last?.content, "a");
  assertEquals([...policy.seen[1] ?? []][2]?.content, "Thought: be short\nUser Response: My book.");
});

Deno.test("llmUser() with 'verify' tries again a limited number of times", async () => {
  const bad = "Classification: false";
  const policy = saying("one", bad, "two", bad, "three", "four", "Classification: true");
  const user = llmUser({ policy, strategy: "verify" });
  assertEquals(await user.reset(TASK), "three");
  assertEquals(await user.step("x"), "four");
  assertStringIncludes(String(policy.seen[1]?.last?.content), "Line: one");
  assertEquals(
    [...policy.seen[5] ?? []][2]?.content,
    "three",
    "rejected replies are not part of the conversation",
  );
});

Deno.test("llmUser() with 'reflection' corrects a rejected reply once", async () => {
  const policy = saying("one", "Classification: false", "Reflection: too early\nResponse: Another line.");
  assertEquals(await llmUser({ policy, strategy: "reflection" }).reset(TASK), "Another line.");
  const good = saying("one", "Classification: true");
  assertEquals(await llmUser({ policy: good, strategy: "reflection" }).reset(TASK), "one");
});

Deno.test("llmUser() throws for an unknown strategy", () => {
  const strategy = "toString" as UserStrategyName;
  assertThrows(
    () => llmUser({ policy: saying(), strategy }),
    RangeError,
    "one of llm, react, verify, reflection",
  );
});

Deno.test("humanUser() shows messages and reads lines until the input ends", async () => {
  const shown: string[] = [];
  const input = new Blob(["Hi there\nthe blue one\n"]).stream();
  const user = humanUser({ input, show: (text) => void shown.push(text) });
  assertEquals(await user.reset(TASK), "Hi there");
  assertEquals(await user.step("Which\x1b[2J one?"), "the blue one");
  assertEquals(await user.step("Done."), USER_STOP);
  assertEquals(shown, [
    `${TASK.instruction}\n`,
    "> ",
    "agent: Which\\x1b[2J one?\n",
    "> ",
    "agent: Done.\n",
    "> ",
  ]);
  await user[Symbol.asyncDispose]?.();
});

Deno.test("humanUser() stops waiting when the signal is aborted", async () => {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const user = humanUser({ input: readable, show: () => {} });
  const stop = new AbortController();
  const reply = user.reset(TASK, { signal: stop.signal });
  stop.abort(new DOMException("stopped", "AbortError"));
  await assertRejects(() => reply, DOMException, "stopped");
  const writer = writable.getWriter();
  const next = user.step("Still there?");
  await writer.write(new TextEncoder().encode("yes\n"));
  assertEquals(await next, "yes");
  await writer.close();
  await user[Symbol.asyncDispose]?.();
});

Deno.test("resumedUser() replays the saved replies, and the other user continues with them recalled", async () => {
  const policy = saying("the blue one");
  const user = resumedUser(["Hi", "a book"], llmUser({ policy }));
  const replies = [await user.reset(TASK), await user.step("What?"), await user.step("Which?")];
  assertEquals(replies, ["Hi", "a book", "the blue one"]);
  const [_system, ...talk] = [...policy.seen[0] ?? []].map(({ role, content }) => [role, content]);
  assertEquals(talk, [
    ["user", "Hi! How can I help you today?"],
    ["assistant", "Hi"],
    ["user", "What?"],
    ["assistant", "a book"],
    ["user", "Which?"],
  ]);
  const scripted = resumedUser(["one"], scriptedUser(["one", "two"]));
  assertEquals([await scripted.reset(TASK), await scripted.step("?")], ["one", "two"]);
  const shown: string[] = [];
  const input = new Blob(["three\n"]).stream();
  const human = resumedUser(["one"], humanUser({ input, show: (text) => void shown.push(text) }));
  assertEquals([await human.reset(TASK), await human.step("two?")], ["one", "three"]);
  assertEquals(shown, [`${TASK.instruction}\n> one\nagent: two?\n`, "> "]);
  await human[Symbol.asyncDispose]?.();
  const { recall: _recall, ...forgetful } = scriptedUser([]);
  assertThrows(() => resumedUser([], forgetful), TypeError, "'recall'");
});
