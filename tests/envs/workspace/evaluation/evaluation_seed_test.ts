import { assert, assertEquals } from "@std/assert";
import { deriveEvaluationSeed } from "../../../../src/envs/workspace/evaluation/evaluation_seed.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

Deno.test("deriveEvaluationSeed() depends on the seed and on every hidden file, not on their order", async () => {
  const files = { "score.py": bytes("a"), "opponent.py": bytes("b") };
  const seed = await deriveEvaluationSeed(5, files);
  assert(Number.isSafeInteger(seed) && seed >= 0);
  assertEquals(await deriveEvaluationSeed(5, { "opponent.py": bytes("b"), "score.py": bytes("a") }), seed);
  const others = [
    await deriveEvaluationSeed(6, files),
    await deriveEvaluationSeed(5, { ...files, "opponent.py": bytes("c") }),
    await deriveEvaluationSeed(5, { "score.py": bytes("a"), "other.py": bytes("b") }),
    await deriveEvaluationSeed(5, { "score.py": bytes("ab"), "opponent.py": bytes("") }),
    await deriveEvaluationSeed(5, { "score.py": bytes("a") }),
  ];
  assertEquals(new Set([seed, ...others]).size, 6);
});
