/**
 * Compares `math()` with math-verify in the sandbox, on generated pairs and on the rows of math-verify's own tests.
 * Needs the wheels: `deno task fetch-math-verify`. Prints every class of disagreement.
 */
import { assert, assertEquals } from "@std/assert";
import { parse } from "@std/jsonc";
import { cacheDirectory } from "../../../../src/cli/sandbox_options.ts";
import { ANY_EXTRACTION, extractAnswer } from "../../../../src/rewards/extract_answer.ts";
import { parseTaggedReply } from "../../../../src/rewards/final_reply.ts";
import { type Grader, toScore } from "../../../../src/rewards/grader.ts";
import { math } from "../../../../src/rewards/math.ts";
import { MathVerifier, mathVerifyProfile } from "../../../../src/rewards/math/math_verify/verifier.ts";
import { SandboxPool } from "../../../../src/sandbox/pool.ts";
import { replyContext } from "../../replies.ts";
import {
  countAgreement,
  findDisagreements,
  formatDisagreements,
  readAccepted,
  type Verdicts,
} from "./disagreements.ts";
import { isEquivalent } from "./hendrycks.ts";
import { generatePairs } from "./pairs.ts";

const PAIRS = 5_000;
const SEED = 17;
/** Share of the pairs that math-verify calls equal and `math()` must accept. */
const MIN_AGREEMENT = 0.99;
const SIZE = 2;
/** The machine may be busy, and a pair without a verdict fails the checks. */
const TIMEOUT_MS = 30_000;

const cacheDir = cacheDirectory(undefined, Deno.env);
const accepted = await readAccepted();
const generated = await compareGenerated();
const upstream = await compareUpstream();
const verdicts = [...generated.verdicts, ...upstream];

Deno.test("math-verify compares each generated pair", () => {
  print(`math-verify: ${generated.perSecond.toFixed(0)} pairs per second in ${SIZE} interpreters`);
  assertEquals(generated.verdicts.filter(({ byMathVerify }) => byMathVerify === undefined), []);
});

Deno.test("math() accepts 99 % of the pairs that math-verify calls equal", () => {
  for (
    const [set, pairs] of [["generated pairs", generated.verdicts], [
      "rows of math-verify",
      upstream,
    ]] as const
  ) {
    const all = countAgreement(pairs, []);
    const { equal, agreed } = countAgreement(pairs, accepted);
    print(
      `${set}: ${pairs.length}; equal by math-verify: ${all.equal}, of which math() accepts ${all.agreed}`,
    );
    print(`  without those that it accepts too easily or are escaped twice: ${agreed} of ${equal}`);
  }
  const { equal, agreed } = countAgreement(verdicts, accepted);
  const share = `${agreed} of ${equal}, ${(100 * agreed / equal).toFixed(2)} %`;
  print(`together: ${share}`);
  assert(agreed >= MIN_AGREEMENT * equal, share);
});

Deno.test("math() accepts no wrong answer that neither math-verify nor Hendrycks' comparison accepts", () => {
  const known = accepted.filter(({ accepts, cause }) => accepts === "math" && cause === "misread");
  const names = new Set(known.map(({ name }) => name));
  const wrong = verdicts.filter(({ name, byMath, byMathVerify, byHendrycks }) =>
    byMath && byMathVerify === false && !byHendrycks && !names.has(name)
  );
  assertEquals(wrong, []);
  assertEquals(generated.falsePositives, []);
});

Deno.test("each disagreement is in the list of accepted ones, and each of the list still exists", () => {
  const disagreements = findDisagreements(verdicts);
  print(formatDisagreements(disagreements, accepted));
  const keyOf = ({ name, accepts }: { name: string; accepts: string }) => `${name}: only ${accepts} accepts`;
  assertEquals(disagreements.map(keyOf).toSorted(), accepted.map(keyOf).toSorted());
});

async function compareGenerated() {
  await using oracle = math({ verifier: "math-verify", cacheDir, size: SIZE, timeoutMs: TIMEOUT_MS });
  const own = math();
  const pairs = generatePairs(PAIRS, SEED);
  await successOf(oracle, "\\boxed{1}", "1"); // starts the sandboxes
  const start = performance.now();
  const found = await Promise.all(pairs.map(async ({ form, truth, reply, isEqual }) => ({
    name: form,
    truth,
    reply,
    isEqual,
    byMathVerify: await successOf(oracle, reply, truth),
    byMath: await successOf(own, reply, truth) === true,
    byHendrycks: isEquivalent(extractedFrom(reply), truth),
  })));
  const perSecond = PAIRS / (performance.now() - start) * 1_000;
  return {
    perSecond,
    verdicts: found.map(({ isEqual: _, ...verdict }): Verdicts => verdict),
    falsePositives: found.filter(({ isEqual, byMath }) => byMath && !isEqual),
  };
}

async function compareUpstream(): Promise<Verdicts[]> {
  const text = await Deno.readTextFile(new URL("upstream_rows.jsonc", import.meta.url));
  const rows = parse(text) as unknown as [string, string, boolean][];
  await using pool = new SandboxPool({
    profile: mathVerifyProfile(cacheDir),
    size: SIZE,
    resetMode: "rewind",
    cacheDir,
  });
  await using oracle = new MathVerifier({ pool, size: SIZE, timeoutMs: TIMEOUT_MS });
  const own = math();
  return await Promise.all(rows.map(async ([truth, answer], at) => {
    const verdict = await oracle.compare({ gold: truth, answer });
    const reply = toReply(answer);
    return {
      name: `row ${at + 1}`,
      truth,
      reply,
      byMathVerify: "isEqual" in verdict ? verdict.isEqual : undefined,
      byMath: await successOf(own, reply, truth) === true,
      byHendrycks: isEquivalent(extractedFrom(reply), extractedFrom(`<answer>${truth}</answer>`)),
    };
  }));
}

/** The rows that have nothing but an answer say so in a reply. */
function toReply(answer: string): string {
  return answer.length < 100 && !/[a-z]{3} [a-z]{2}|answer/i.test(answer)
    ? `<answer>${answer}</answer>`
    : answer;
}

/** Returns true if a grader calls a reply right; `undefined` if it has no score. */
async function successOf(grader: Grader, reply: string, truth: string): Promise<boolean | undefined> {
  const { score, parts } = toScore(await grader.grade(replyContext(reply, truth)));
  return score === null ? undefined : parts?.success === 1;
}

/** Returns the answer of a reply as `math()` finds it. */
function extractedFrom(reply: string): string {
  const { answers: [answer], visibleText } = parseTaggedReply(reply);
  return (answer ?? extractAnswer(visibleText, ANY_EXTRACTION) ?? "").replace(/^\$+|\$+$/g, "");
}

function print(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}
