import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { respondAction, TauBenchEnv, type ToolUserStep, USER_STOP } from "../../../mod/tau_bench.ts";
import { scriptedPolicy, trainingRollout } from "../../../mod.ts";
import { byteTokenizer } from "../../byte_tokenizer.ts";
import { openEnv, openLibrary } from "./library_desk.ts";

const END = respondAction("That is all.");

function call(env: TauBenchEnv, name: string, kwargs: Record<string, unknown> = {}): Promise<ToolUserStep> {
  return env.step({ name, kwargs });
}

Deno.test("TauBenchEnv exposes the domain, and starts with the user's first message", async () => {
  await using domain = await openLibrary();
  await using env = await openEnv(domain, { lines: ["Good morning"] });
  const { observation, info } = await env.reset(0);
  assertEquals([env.name, env.taskCount, env.terminateTools], ["library_desk/test", 8, ["call_librarian"]]);
  assertEquals(env.toolsInfo.map((tool) => tool.function.name).slice(0, 2), ["call_librarian", "find_books"]);
  assertStringIncludes(env.wiki, "Today is 10 March 2025");
  assertEquals([observation, info.source], ["Good morning", "user"]);
  assertEquals((info.task as { user_id: string }).user_id, "M01");
});

Deno.test("TauBenchEnv gives reward 1 for a solved task, else 0, with both parts", async (t) => {
  await using domain = await openLibrary();
  await using env = await openEnv(domain);
  await t.step("the database is right and the task has no outputs", async () => {
    await env.reset(0);
    const before = await call(env, "lend_book", { member_id: "M01", book_id: "B101" });
    assertEquals([before.reward, before.done, before.info.source], [0, false, "lend_book"]);
    const { reward, rewardParts, done, info } = await env.step(END);
    assertEquals([reward, rewardParts, done], [1, { database: 1, outputs: null }, true]);
    assertEquals([info.reward_info?.trivial, info.reward_info?.actions.length], [false, 3]);
    assertEquals(info.reward_info?.info.gt_data_hash, await env.dataHash());
  });
  await t.step("the database is right and an output is missing", async () => {
    await env.reset(1);
    await call(env, "return_book", { book_id: "B103" });
    const { reward, rewardParts, info } = await env.step(respondAction("You owe 3.00"));
    assertEquals([reward, rewardParts], [0, { database: 1, outputs: 0 }]);
    assertEquals(info.reward_info?.info.outputs, { "3.50": false });
  });
  await t.step("the outputs are complete and the database is wrong", async () => {
    await env.reset(1);
    const { reward, rewardParts } = await env.step(respondAction("You owe 3,.50!"));
    assertEquals([reward, rewardParts], [0, { database: 0, outputs: 1 }]);
  });
  await t.step("a task without actions and outputs is trivial", async () => {
    await env.reset(7);
    const { reward, info } = await env.step(END);
    assertEquals([reward, info.reward_info?.trivial], [1, true]);
  });
  await t.step("a task with outputs is not trivial", async () => {
    await env.reset(6);
    const { reward, info } = await env.step(END);
    assertEquals([reward, info.reward_info?.trivial], [0, false]);
  });
  await t.step("a change that is undone is no change", async () => {
    await env.reset(7);
    const { observation } = await call(env, "lend_book", { member_id: "M01", book_id: "B101" });
    assertStringIncludes(observation, '"due": "2025-03-31"');
    await call(env, "return_book", { book_id: "B101" });
    assertEquals((await env.step(END)).reward, 1);
  });
});

Deno.test("TauBenchEnv keeps floats and integers apart if the arguments are text", async () => {
  await using domain = await openLibrary();
  await using env = await openEnv(domain, { split: "train" });
  const rewards: number[] = [];
  for (const kwargsText of ['{"member_id": "M02", "amount": 1}', '{"member_id": "M02", "amount": 1.0}']) {
    await env.reset(1);
    await env.step({ name: "pay_fees", kwargs: {}, kwargsText });
    rewards.push((await env.step(END)).reward);
  }
  assertEquals(rewards, [1, 0], "to tau-bench 1 and 1.0 are not the same");
});

Deno.test("TauBenchEnv sends the user the content of arguments that are text", async () => {
  await using domain = await openLibrary();
  await using env = await openEnv(domain, { split: "train" });
  await env.reset(0);
  const { done } = await env.step({ name: "respond", kwargs: {}, kwargsText: '{"content": "That is all."}' });
  assertEquals(done, true);
});

Deno.test("TauBenchEnv ends at a terminate tool, and rejects steps before a reset and after the end", async () => {
  await using domain = await openLibrary();
  await using env = await openEnv(domain, { split: "train" });
  await assertRejects(() => env.step(END), Error, "call reset() first");
  await assertRejects(() => env.dataHash(), Error, "call reset() first");
  await env.reset(2);
  const { observation, done, reward } = await call(env, "call_librarian", { matter: "A purse" });
  assertEquals([observation, done, reward], ["A librarian is on the way", true, 1]);
  await assertRejects(() => env.step(END), Error, "as the episode is over");
  for (const index of [-1, 4, 0.5, NaN]) {
    await assertRejects(() => env.reset(index), RangeError, "from 0 to 3: current value is");
  }
});

Deno.test("TauBenchEnv returns an error for an invalid call, and the episode continues", async () => {
  await using domain = await openLibrary();
  await using env = await openEnv(domain);
  await env.reset(0);
  let deep: unknown = "x";
  for (let depth = 0; depth < 200; depth++) deep = [deep];
  const cases: [string, unknown, string][] = [
    ["no_such_tool", {}, "Unknown action no_such_tool"],
    ["__class__", {}, "Unknown action __class__"],
    [
      "lend_book",
      { member_id: "M01" },
      "Error: LendBook.invoke() missing 1 required positional argument: 'book_id'",
    ],
    ["pay_fees", { member_id: "M02", amount: "all" }, "Error: '<' not supported between instances of"],
    ["lend_book", { member_id: ["M01"], book_id: {} }, "Error: "],
    ["find_member", { data: {}, who: "M01" }, "Error: "],
    ["find_member", { who: 'M01")); import os; os.abort() #' }, "Error: no member has this name or number"],
    ["find_member", { who: deep }, "Error: the arguments of find_member are nested too deep"],
    ["find_member", ["M01"], "Error: the arguments of find_member must be an object"],
    ["find_member", { who: 1n }, "Error: the arguments of find_member must be JSON"],
    ["respond", {}, "Error: respond must be given 'content'"],
    ["respond", null, "Error: the arguments of respond must be an object"],
    [5 as unknown as string, {}, "Unknown action 5"],
    [["find_member"] as unknown as string, {}, 'Unknown action ["find_member"]'],
    ["find_member", { who: "M01" }, '{"member_id": "M01"'],
  ];
  for (const [name, kwargs, says] of cases) {
    const step = await env.step({ name, kwargs: kwargs as Record<string, unknown> });
    assert(step.observation.startsWith(says), `${name}: ${step.observation}`);
    assertEquals([step.done, step.reward], [false, 0]);
  }
  const { observation } = await env.step({ name: "find_member", kwargs: {}, kwargsText: '{"who": "M01"' });
  assertStringIncludes(observation, "Error: the arguments of find_member must be JSON");
  const said = await env.step({ name: "respond", kwargs: {}, kwargsText: '{"content": 5.0}' });
  assertStringIncludes(said.observation, "a text: current value is number");
  assertEquals((await env.step(END)).rewardParts, { database: 0, outputs: null });
});

Deno.test("TauBenchEnv gives each episode its own data", async () => {
  await using domain = await openLibrary();
  await using one = await openEnv(domain);
  await using two = await openEnv(domain);
  await Promise.all([one.reset(0), two.reset(0)]);
  const atStart = await two.dataHash();
  await call(one, "lend_book", { member_id: "M01", book_id: "B101" });
  assert(await one.dataHash() !== atStart, "the hash must tell the difference");
  assertEquals(await two.dataHash(), atStart);
  await one.step(END);
  assertEquals(await two.dataHash(), atStart);
  await one.reset(0);
  assertEquals(await one.dataHash(), atStart);
});

Deno.test("trainingRollout() plays TauBenchEnv and returns its reward, parts and tokens", async () => {
  const tokenizer = byteTokenizer();
  await using domain = await openLibrary();
  await using env = await openEnv(domain, { lines: ["I pay 1 of my fees", "###STOP###"], split: "train" });
  const replies = [
    '<tool_call>\n{"name": "pay_fees", "arguments": {"member_id": "M02", "amount": 1}}\n</tool_call>',
    "You owe 0.50 now.",
  ];
  const policy = scriptedPolicy({ replies: () => replies });
  const result = await trainingRollout(env, policy, tokenizer, { taskIndex: 1, family: "chatml" });
  assertEquals([result.errors, result.status, result.reward], [[], "completed", 1]);
  assertEquals(result.reward_parts, { database: 1, outputs: null });
  assertEquals(result.messages.map(({ role }) => role), [
    "system",
    "user",
    "assistant",
    "tool",
    "assistant",
    "user",
  ]);
  assertEquals((result.info.reward_info as { trivial: boolean }).trivial, false);
  assertEquals(result.loss_mask.length, result.response_length);
  assertStringIncludes(tokenizer.decode(result.tokens), '"fees": 0.5');
});

Deno.test("TauBenchEnv.reset() keeps a pending step out of the next episode", async () => {
  await using domain = await openLibrary();
  const answers = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
  let asked = 0;
  const user = {
    cost: 0,
    reset: () => Promise.resolve("Hello"),
    step: () => answers[asked++]?.promise ?? Promise.resolve(USER_STOP),
  };
  await using env = await TauBenchEnv.open({ domain, split: "test", user });
  await env.reset(0);
  const stale = assertRejects(() => env.step(END), Error, "call reset() first");
  await env.reset(0);
  answers[0]?.resolve(USER_STOP);
  await stale;
  const last = env.step(END);
  answers[1]?.resolve(USER_STOP);
  assertEquals((await last).reward, 0);
});

Deno.test("TauBenchEnv.step() ends an episode once, and aborts for every kind of user", async () => {
  await using domain = await openLibrary();
  await using env = await openEnv(domain, { lines: ["Hello", USER_STOP, USER_STOP] });
  await env.reset(7);
  const signal = AbortSignal.abort(new Error("not any more"));
  await assertRejects(() => env.step(END, { signal }), Error, "not any more");
  const ends = await Promise.allSettled([env.step(END), env.step(END)]);
  assertEquals(ends.map(({ status }) => status), ["fulfilled", "rejected"]);
  await assertRejects(() => env.reset("0" as unknown as number), RangeError, "whole number");
});

Deno.test("TauBenchEnv continues in copies, each with its own data and user", async () => {
  await using domain = await openLibrary();
  await using env = await openEnv(domain, { lines: ["Hello", "One more thing", USER_STOP] });
  await env.reset(0);
  await env.step(respondAction("What can I do for you?"));
  const checkpoint = await env.checkpoint();
  await call(env, "lend_book", { member_id: "M01", book_id: "B101" });
  const original = await env.step(END);
  await using copy = await checkpoint.copy();
  const { observation, reward, done } = await copy.step(END);
  assertEquals([original.observation, original.reward], [USER_STOP, 1]);
  assertEquals(
    [observation, reward, done],
    [USER_STOP, 0, true],
    "the copy has lent nothing, and its user goes on",
  );
});
