import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { exactMatch, loadProfile, SandboxPool, scriptedPolicy } from "../../../mod.ts";
import { RlmEnv, type RlmEnvOptions } from "../../../src/envs/rlm/rlm_env.ts";
import type { ReplyContext } from "../../../src/policy/policy.ts";
import { rolloutRecursive } from "../../../src/rollout/rollout_recursive.ts";
import type { History } from "../../../src/history.ts";
import { messageText } from "../../../src/message.ts";
import { byteTokenizer } from "../../byte_tokenizer.ts";

const tokenizer = byteTokenizer();
const END = tokenizer.encode("<|im_end|>");

/** A policy with tokens, whose replies a function makes from the last message and the number of earlier replies. */
function policyOf(reply: (last: string, turn: number) => string, promptTokens: number[] = []) {
  return scriptedPolicy({
    script(history: History, { tokens = [] }: ReplyContext) {
      promptTokens.push(tokens.length);
      const messages = [...history];
      const turn = messages.filter(({ role }) => role === "assistant").length;
      const text = reply(messageText(messages.at(-1) ?? { role: "user", content: "" }), turn);
      const ids = [...tokenizer.encode(text), ...END];
      return {
        message: { role: "assistant", content: text },
        tokens: { ids, logProbs: ids.map(() => -1) },
        promptIds: tokens,
        finishReason: "stop",
      };
    },
  });
}

const block = (code: string) => `\`\`\`python\n${code}\n\`\`\``;

Deno.test("a recursive language model", async (t) => {
  await using pool = new SandboxPool({ profile: await loadProfile("tools"), size: 1 });
  const play = async (
    reply: (last: string, turn: number) => string,
    { context = "a b c", promptTokens, ...options }: Partial<RlmEnvOptions> & {
      context?: unknown;
      promptTokens?: number[];
    } = {},
  ) => {
    await using env = new RlmEnv({ pool, ...options });
    const task = { id: "t", query: "How many?", answer: "42", fields: { context } };
    return await rolloutRecursive(env, policyOf(reply, promptTokens), task, {
      id: "e",
      tokens: { tokenizer, family: "chatml" },
    });
  };

  await t.step("answers a question about 10 MB with at most 8,000 tokens per call", async () => {
    const lines = Array.from({ length: 220_000 }, (_, n) => {
      const line = `${n} ${"filler words ".repeat(4).slice(0, 40)}`;
      return n % 2_500 === 7 ? `${line} ticket costs ${n % 11}` : line;
    });
    const context = lines.join("\n");
    assert(context.length > 10_000_000);
    const expected = lines.flatMap((line) => Number(/costs (\d+)/.exec(line)?.[1] ?? 0)).reduce((a, b) =>
      a + b
    );
    const code = `
lines = [line for line in context.split("\\n") if "ticket" in line]
parts = ["\\n".join(lines[at:at + 20]) for at in range(0, len(lines), 20)]
sums = llm_query_batched([f"Sum the costs:\\n{part}" for part in parts])
total = llm_query("Add: " + " ".join(sums))`;
    const promptTokens: number[] = [];
    const answer = (last: string, turn: number) => {
      if (last.startsWith("Sum the costs")) {
        return String([...last.matchAll(/costs (\d+)/g)].reduce((sum, [, cost]) => sum + Number(cost), 0));
      }
      if (last.startsWith("Add: ")) {
        return String(last.slice(5).split(" ").reduce((sum, part) => sum + Number(part), 0));
      }
      return turn === 0 ? block(code) : block("FINAL_VAR('total')");
    };
    const [episode, ...asked] = await play(answer, { context, promptTokens, grader: exactMatch() });
    assert(episode !== undefined);
    assertEquals(episode.error, undefined);
    assertEquals(episode.info?.final_answer, String(expected));
    assertEquals([episode.terminated, episode.turns, asked.length, promptTokens.length], [true, 2, 6, 8]);
    assert(Math.max(...promptTokens) <= 8_000, `a prompt has ${Math.max(...promptTokens)} tokens`);
    for (const [index, { id, parent, task, tokens, messages }] of asked.entries()) {
      assertEquals([id, parent, task.id], [
        `e.${index + 1}`,
        { id: "e", turn: 1, call: index + 1 },
        `t/${index + 1}`,
      ]);
      const sampled = tokens?.ids.filter((_, at) => tokens.lossMask[at] === 1) ?? [];
      assertEquals(sampled, [
        ...tokenizer.encode(messageText(messages.at(-1) ?? { role: "", content: "" })),
        ...END,
      ]);
    }
    const [record] = episode.toolResults;
    assertEquals(record?.calls?.map(({ tool }) => tool), ["llm_query_batched", "llm_query"]);
  });
  await t.step("ends with FINAL(value), which keeps nested values", async () => {
    const [episode] = await play(() => block("FINAL({'a': (1, [2, None])})\nprint('not reached')"));
    assertEquals(episode?.info, {
      sub_calls: 0,
      final_answer: "{'a': (1, [2, None])}",
      final_value: { a: [1, [2, null]] },
    });
  });
  await t.step("ends with FINAL in the text of a reply, or with a reply without code", async () => {
    const [first] = await play((_, turn) => turn === 0 ? block("found = 6 * 7") : "It is\nFINAL_VAR(found)", {
      grader: exactMatch(),
    });
    assertEquals([first?.info?.final_value, first?.reward, first?.turns], [42, 1, 2]);
    const [second] = await play(() => "FINAL(f(42) = 42)");
    assertEquals(second?.info?.final_answer, "f(42) = 42");
    const [third] = await play(() => "<think>FINAL(1)</think>It is 42.");
    assertEquals(third?.info?.final_answer, "It is 42.");
  });
  await t.step("goes on after an error, and is truncated at its last turn", async () => {
    const [episode] = await play((last, turn) => {
      if (turn === 1) assertStringIncludes(last, "there is no 'missing'");
      return block(turn === 0 ? "FINAL_VAR('missing')" : "print('x' * 20_000)");
    }, { maxTurns: 3 });
    assertEquals([episode?.truncated, episode?.turns, episode?.info?.final_answer], [true, 3, undefined]);
    assert(episode?.messages.every(({ content }) => String(content).length < 9_000));
  });
  await t.step("has limits for its questions", async () => {
    const [episode] = await play(
      (_, turn) => turn === 0 ? block("llm_query_batched(['q'] * 3)") : "FINAL(x)",
      {
        maxSubCalls: 2,
      },
    );
    assertStringIncludes(JSON.stringify(episode?.messages), "an episode may ask 2 questions");
  });
});
