import { assert } from "@std/assert";
import { Corpus } from "./corpus.ts";
import { runInput } from "./fuzzer.ts";
import { loadTarget } from "./targets.ts";

Deno.test("each kept script of the fuzzed shell does what must hold", async () => {
  const target = await loadTarget("shell");
  await using closing = new AsyncDisposableStack();
  closing.defer(async () => await target.close?.());
  const { inputs } = await Corpus.read("shell", target);
  assert(inputs.length > 0);
  for (const { input, note } of inputs) {
    const outcome = await runInput(target, input);
    assert("kind" in outcome, `${note}: ${JSON.stringify(outcome)}`);
  }
});
