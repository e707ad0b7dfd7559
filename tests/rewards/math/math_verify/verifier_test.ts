import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  MathVerifier,
  mathVerifyProfile,
  type Verdict,
} from "../../../../src/rewards/math/math_verify/verifier.ts";
import { wheelFolder } from "../../../../src/rewards/math/math_verify/wheels.ts";
import type { ExecOptions, ExecResult } from "../../../../src/sandbox/contract/exec.ts";
import { bad, FakePool, ok } from "../../../fake_pool.ts";

const TOO_LATE = { unjudged: "deadline exceeded: the comparison took more than 50 ms" };
const NO_MEMORY = { unjudged: "memory exceeded: the comparison needed more than its sandbox has" };

/**
 * A replacement for `verify.py`. The answer `=` is equal to every gold, `?` is a gold that cannot be parsed, and
 * `late`, `memory`, `crash` and `hang` stop the session.
 */
function fakeVerify(_code: string, _globals: Map<string, number>, { stdin = "" }: ExecOptions): ExecResult {
  const lines: string[] = [];
  for (const [gold, answer] of JSON.parse(stdin) as [string, string][]) {
    const stdout = lines.map((line) => `${line}\n`).join("");
    if (answer === "late") {
      return {
        ...bad("error", { stdout }),
        error: { type: "RowLimit", message: "", traceback: "" },
      } as ExecResult;
    }
    if (answer === "hang") return bad("timeout", { stdout, stateKept: false });
    if (answer === "memory") return bad("memory", { stdout });
    if (answer === "crash") return bad("crashed", { stdout: `${stdout}equ`, stateKept: false });
    lines.push(gold === "?" ? "gold" : answer === "=" ? "equal" : "different");
    if (answer === "slow") break; // the time of the batch is over
  }
  return ok(lines.map((line) => `${line}\n`).join(""));
}

function openVerifier(pool: FakePool, size = 1): MathVerifier {
  return new MathVerifier({ pool, size, timeoutMs: 50 });
}

function compareAll(verifier: MathVerifier, answers: readonly string[]): Promise<Verdict[]> {
  return Promise.all(answers.map((answer) => verifier.compare({ gold: "1", answer })));
}

Deno.test("MathVerifier.compare() sends pairs that wait together to one session", async () => {
  const pool = new FakePool(fakeVerify);
  await using verifier = openVerifier(pool);
  const answers = Array.from({ length: 200 }, (_, at) => at % 3 === 0 ? "=" : "2");
  const verdicts = await compareAll(verifier, answers);
  assertEquals(verdicts, answers.map((answer) => ({ isEqual: answer === "=" })));
  assertEquals(pool.most, 1);
  assert(pool.ran.length <= 5, `${pool.ran.length} batches`);
});

Deno.test("MathVerifier.compare() uses several sessions at the same time, up to its size", async () => {
  const pool = new FakePool(async (...args) => {
    await new Promise((resolve) => setTimeout(resolve, 1));
    return fakeVerify(...args);
  });
  await using verifier = openVerifier(pool, 3);
  const verdicts = await compareAll(verifier, Array.from({ length: 300 }, () => "="));
  assert(verdicts.every((verdict) => "isEqual" in verdict && verdict.isEqual));
  assertEquals(pool.most, 3);
});

for (const [name, expected] of [["late", TOO_LATE], ["hang", TOO_LATE], ["memory", NO_MEMORY]] as const) {
  Deno.test(`MathVerifier.compare() has no verdict for the answer '${name}' alone, and the others of its batch have one`, async () => {
    const pool = new FakePool(fakeVerify);
    await using verifier = openVerifier(pool);
    const verdicts = await compareAll(verifier, ["=", "=", name, "=", "2", "="]);
    assertEquals(verdicts, [
      { isEqual: true },
      { isEqual: true },
      expected,
      { isEqual: true },
      { isEqual: false },
      { isEqual: true },
    ]);
  });
}

Deno.test("MathVerifier.compare() never calls a pair equal whose session crashed while it wrote", async () => {
  await using verifier = openVerifier(new FakePool(fakeVerify));
  const [verdict] = await compareAll(verifier, ["crash"]);
  assertEquals(verdict, { unjudged: "the comparison ended as 'crashed'" });
});

Deno.test("MathVerifier.compare() compares a pair again in a fresh session if earlier pairs may have taken the memory", async () => {
  let runs = 0;
  const pool = new FakePool((code, globals, options) => {
    const isFirst = runs++ === 0;
    return fakeVerify(
      code,
      globals,
      isFirst ? options : {
        ...options,
        stdin: options.stdin?.replaceAll("memory", "="),
      },
    );
  });
  await using verifier = openVerifier(pool);
  const first = verifier.compare({ gold: "1", answer: "2" });
  const second = verifier.compare({ gold: "1", answer: "memory" });
  assertEquals(await Promise.all([first, second]), [{ isEqual: false }, { isEqual: true }]);
});

Deno.test("MathVerifier.compare() goes on with the rest when the time of a batch is over", async () => {
  await using verifier = openVerifier(new FakePool(fakeVerify));
  const verdicts = await compareAll(verifier, ["slow", "slow", "=", "slow", "="]);
  assertEquals(verdicts.map((verdict) => "isEqual" in verdict && verdict.isEqual), [
    false,
    false,
    true,
    false,
    true,
  ]);
});

Deno.test("MathVerifier.compare() has no verdict if the expected answer cannot be parsed", async () => {
  await using verifier = openVerifier(new FakePool(fakeVerify));
  assertEquals(await verifier.compare({ gold: "?", answer: "=" }), {
    unjudged: "math-verify cannot parse the task's answer",
  });
});

Deno.test("MathVerifier.compare() has no verdict if the session writes anything else", async () => {
  for (const stdout of ["", "EQUAL\n", "equal", "different equal\n", "\nequal\n"]) {
    await using verifier = openVerifier(new FakePool(() => ok(stdout)));
    assert("unjudged" in await verifier.compare({ gold: "1", answer: "=" }), JSON.stringify(stdout));
  }
});

Deno.test("MathVerifier.compare() rejects when no session can be leased, and works again later", async () => {
  const pool = new FakePool(fakeVerify);
  const acquire = pool.acquire.bind(pool);
  pool.acquire = () => Promise.reject(new Error("no sandbox"));
  await using verifier = openVerifier(pool);
  await assertRejects(() => compareAll(verifier, ["=", "="]), Error, "no sandbox");
  pool.acquire = acquire;
  assertEquals(await compareAll(verifier, ["="]), [{ isEqual: true }]);
});

Deno.test("MathVerifier.compare() rejects with the reason of its signal", async () => {
  const abort = new AbortController();
  const pool = new FakePool(() => new Promise(() => {}));
  const verifier = openVerifier(pool);
  const running = verifier.compare({ gold: "1", answer: "=" }, abort.signal);
  const waiting = verifier.compare({ gold: "1", answer: "=" }, abort.signal);
  abort.abort(new Error("the episode ended"));
  await assertRejects(() => running, Error, "the episode ended");
  await assertRejects(() => waiting, Error, "the episode ended");
});

Deno.test("MathVerifier releases its leases when it is disposed, and compares nothing afterwards", async () => {
  const pool = new FakePool(fakeVerify);
  const verifier = openVerifier(pool, 2);
  await compareAll(verifier, ["=", "2", "late", "="]);
  await verifier[Symbol.asyncDispose]();
  assertEquals(pool.alive, 0);
  await assertRejects(() => verifier.compare({ gold: "1", answer: "=" }), Error, "the verifier is disposed");
});

Deno.test("mathVerifyProfile() names each wheel with its hash, in the cache folder", () => {
  const { packages, preimports, preload } = mathVerifyProfile("/cache");
  assertEquals(packages.map(({ name }) => name), [
    "math-verify",
    "latex2sympy2_extended",
    "antlr4_python3_runtime",
    "sympy",
    "mpmath",
  ]);
  assert(
    packages.every(({ path, sha256 }) =>
      path.startsWith(`${wheelFolder("/cache")}/`) && sha256.length === 64
    ),
  );
  assertEquals(preimports, ["math_verify"]);
  assertEquals(preload?.module, "paddock_math_verify");
});
