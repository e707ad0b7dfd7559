import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { Corpus } from "./corpus.ts";
import { InputSource, minimize, plainKind, runInput, type Target, Violation } from "./fuzzer.ts";
import { TempFolder } from "../temp_folder.ts";
import { pathToFileURL } from "node:url";
import { loadTarget, TARGET_NAMES } from "./targets.ts";

for (const name of TARGET_NAMES.filter((name) => name !== "shell")) {
  Deno.test(`each kept input of the fuzzed '${name}' does what must hold`, async () => {
    const target = await loadTarget(name);
    const { inputs } = await Corpus.read(name, target);
    assert(inputs.length > 0);
    for (const { input, note } of inputs) {
      const outcome = await runInput(target, input);
      assert("kind" in outcome, `${note}: ${JSON.stringify(outcome)}`);
    }
  });
}

/** Fails for inputs with a zero after a one. */
const FAKE: Target = {
  form: "bytes",
  dictionary: [new Uint8Array([1]), new Uint8Array([0])],
  generate: (seed) => new Uint8Array([seed & 0xff, 7]),
  run(input) {
    const one = input.indexOf(1);
    if (one >= 0 && input.indexOf(0, one) > one) throw new Violation("a zero follows a one");
    return "fine";
  },
};

Deno.test("InputSource makes the same inputs from the same seed, and others from another seed", () => {
  const inputsOf = (seed: number) => {
    const source = new InputSource(FAKE, seed, [new Uint8Array([5, 6, 7, 8])]);
    return Array.from({ length: 50 }, (_, index) => source.at(index).toHex()).join(" ");
  };
  assertEquals(inputsOf(1), inputsOf(1));
  assertNotEquals(inputsOf(1), inputsOf(2));
});

Deno.test("changed inputs of a corpus reach a failure, which becomes as small as it can be", async () => {
  const source = new InputSource(FAKE, 3, [new Uint8Array(40).fill(9)]);
  const inputs = Array.from({ length: 5_000 }, (_, index) => source.at(index));
  const outcomes = await Promise.all(inputs.map((input) => runInput(FAKE, input)));
  const at = outcomes.findIndex((outcome) => "failure" in outcome);
  assertEquals(outcomes[at], {
    failure: {
      key: "Violation a zero follows a one",
      message: (outcomes[at] as never)["failure"]["message"],
    },
  });
  const isSame = async (smaller: Uint8Array) => "failure" in await runInput(FAKE, smaller);
  const input = new Uint8Array([9, 9, 1, 9, 9, 9, 0, 9]);
  assertEquals(await minimize(input, { isSame }), new Uint8Array([1, 0]));
});

Deno.test("runInput() reports an error by its class, message and file, without what depends on the input", async () => {
  const outcome = await runInput({ ...FAKE, run: () => JSON.parse("x1") }, new Uint8Array());
  assert("failure" in outcome);
  assertEquals(outcome.failure.key.startsWith("SyntaxError "), true);
  assertEquals(plainKind("found 'a' and \"b\" at 12: {x}"), "found _ and _ at # x");
});

Deno.test("Corpus keeps one input of a kind, and failures beyond its size", async () => {
  await using folder = await TempFolder.of();
  const url = pathToFileURL(`${folder.path}/`);
  const corpus = await Corpus.read("fake", FAKE, url);
  const large = new Uint8Array(5_000);
  assertEquals(await corpus.addKind({ input: new Uint8Array([1]), note: "a" }), true);
  assertEquals(await corpus.addKind({ input: new Uint8Array([2]), note: "a" }), false);
  assertEquals(await corpus.addKind({ input: large, note: "b" }), false);
  assertEquals(await corpus.addFailure({ input: large, note: "b" }), true);
  const { inputs } = await Corpus.read("fake", FAKE, url);
  assertEquals(inputs, [{ input: new Uint8Array([1]), note: "a" }, { input: large, note: "b" }]);
});
