import { assertEquals } from "@std/assert";
import { zipSync } from "fflate";
import { sha256 } from "../../../../src/hash.ts";
import { MathVerifier, mathVerifyProfile } from "../../../../src/rewards/math/math_verify/verifier.ts";
import { SandboxPool } from "../../../../src/sandbox/pool.ts";
import type { Profile } from "../../../../src/sandbox/profile/profile.ts";
import { TempFolder } from "../../../temp_folder.ts";
import source from "./fake_math_verify.py" with { type: "text" };

const TOO_LATE = { unjudged: "deadline exceeded: the comparison took more than 1000 ms" };
const NO_MEMORY = { unjudged: "memory exceeded: the comparison needed more than its sandbox has" };

/** Answers, and their verdicts when `5` is expected. */
const ANSWERS: Readonly<Record<string, object>> = {
  "5": { isEqual: true },
  "6": { isEqual: false },
  "endless": TOO_LATE,
  "stubborn": TOO_LATE,
  "in C": TOO_LATE,
  "memory": NO_MEMORY,
  "exit": { unjudged: "the comparison ended as 'crashed'" },
};

Deno.test("MathVerifier compares in a sandbox, and a hostile answer has no verdict and harms no other one", async () => {
  await using folder = await TempFolder.of();
  await using pool = new SandboxPool({
    profile: await fakeProfile(folder.path),
    size: 2,
    resetMode: "rewind",
  });
  await using verifier = new MathVerifier({ pool, size: 2, timeoutMs: 1_000 });
  const answers = Object.keys(ANSWERS).flatMap((answer) => ["5", answer, "6", "5"]);
  const verdicts = await Promise.all(
    answers.map((answer) => verifier.compare({ gold: "\\boxed{5}", answer: `\\boxed{${answer}}` })),
  );
  assertEquals(
    verdicts.map((verdict, at) => [answers[at], verdict]),
    answers.map((answer) => [answer, ANSWERS[answer]]),
  );
  const unread = await verifier.compare({ gold: "?", answer: "5" });
  assertEquals(unread, { unjudged: "math-verify cannot parse the task's answer" });
});

/** Returns the profile of math-verify with a wheel of the stand-in. */
async function fakeProfile(folder: string): Promise<Profile> {
  const wheel = zipSync({ "math_verify/__init__.py": new TextEncoder().encode(source) });
  const path = `${folder}/math_verify-0-py3-none-any.whl`;
  await Deno.writeFile(path, wheel);
  return {
    ...mathVerifyProfile(),
    packages: [{ name: "math-verify", kind: "wheel", path, sha256: await sha256(wheel) }],
  };
}
