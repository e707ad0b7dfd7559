import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { type Action, replyAction, requireAction } from "../../src/envs/action.ts";
import { ChatEnv } from "../../src/envs/chat_env.ts";
import { VectorEnv } from "../../src/envs/vector_env.ts";
import { History } from "../../src/history.ts";
import { TransformedEnv } from "../../src/transforms/transformed_env.ts";

const TASK = { id: "t", query: "q" };
const response = History.fromChats([{ role: "assistant", content: "a" }]);

Deno.test("Action accepts each form of a response", () => {
  const actions: Action[] = [
    replyAction("a"),
    { history: { full: response } },
    { history: { response }, tokens: { response: [1], logProbs: [-0.5] }, info: { turn: 1 } },
    { text: { response: "a" } },
    { text: { full: "q a" } },
    { tokens: { full: [1, 2] } },
    { command: "ls" },
    { command: "ls", skip: true },
    { skip: true },
  ];
  for (const action of actions) requireAction(action);
});

Deno.test("Action refuses wrong objects as a type error", () => {
  const wrong: Action[] = [
    // @ts-expect-error: an action has a response, a command or `skip: true`
    {},
    // @ts-expect-error: a message is not an action
    { role: "assistant", content: "4" },
    // @ts-expect-error: a text is not an action
    "4",
    // @ts-expect-error: a misspelt key
    { history: { response }, tokenIds: [1] },
    // @ts-expect-error: neither `response` nor `full`
    { history: {} },
    // @ts-expect-error: a list of messages is not a History
    { history: { response: [{ role: "assistant", content: "4" }] } },
    // @ts-expect-error: `skip: false` is no action
    { skip: false },
  ];
  for (const action of wrong) assertThrows(() => requireAction(action), TypeError, "Cannot step as ");
});

Deno.test("requireAction() names what was found", () => {
  const needs = "the action must have 'history', 'text', 'tokens', 'command' or 'skip: true'";
  const cases: [unknown, string][] = [
    [{}, `Cannot step as ${needs}: it has none`],
    [{ role: "assistant", content: "4" }, `Cannot step as ${needs}: found 'role', 'content'`],
    [{ history: undefined, skip: false }, `Cannot step as ${needs}: found 'skip'`],
    ["4", "found a string; replyAction(text) makes an action of a text"],
    [null, "must be an object: found null"],
    [undefined, "must be an object: found undefined"],
    [[], "must be an object: found a list"],
    [response, "must be an object: found a History"],
    [4, "must be an object: found a number"],
    [{ history: { response }, tokenIds: [1] }, "must have no other keys: found 'tokenIds'"],
    [
      { history: response },
      "'history' of the action must be an object with 'response' or 'full': found a History",
    ],
    [{ history: { content: "4" } }, "must have 'history.full' or 'history.response': found 'content'"],
    [{ history: { response: [] } }, "'history.response' of the action must be a History: found a list"],
    [{ text: { full: 4 } }, "'text.full' of the action must be a string: found a number"],
    [{ command: ["ls"] }, "'command' of the action must be a string: found a list"],
    [{ command: "ls", skip: 1 }, "'skip' of the action must be a boolean: found a number"],
    [{ command: "ls", info: "x" }, "'info' of the action must be an object: found a string"],
  ];
  for (const [value, message] of cases) assertThrows(() => requireAction(value), TypeError, message);
});

Deno.test("requireAction() bounds its message", () => {
  const keys = Array.from({ length: 1000 }, (_, index) => [`${index}${"k".repeat(1000)}`, 1]);
  const { message } = assertThrows(() => requireAction(Object.fromEntries(keys)), TypeError);
  assert(message.length < 1000);
  assertStringIncludes(message, "992 more");
});

Deno.test("envs refuse a wrong action before anything starts, and accept the next one", async () => {
  const wrong = JSON.parse('{"content": "4"}');
  for (const env of [new ChatEnv(), new TransformedEnv(new ChatEnv())]) {
    await env.reset(TASK);
    await assertRejects(() => env.step(wrong), TypeError, "found 'content'");
    assertEquals((await env.step(replyAction("4"))).history.prompt.length, 2);
    await env[Symbol.asyncDispose]();
  }
});

Deno.test("VectorEnv.step() rejects with the index of a wrong action, and steps no element", async () => {
  await using env = new VectorEnv({ makeEnv: () => new ChatEnv(), batchSize: 3 });
  await env.reset("q");
  const wrong = JSON.parse('{"content": "4"}');
  await assertRejects(
    () => env.step([replyAction("1"), null, wrong]),
    TypeError,
    "Cannot step element 2 as the action must have",
  );
  assertEquals(env.observations.map((observation) => observation?.history.prompt.length), [1, 1, 1]);
});
