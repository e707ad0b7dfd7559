// deno-lint-ignore-file no-console -- an example shows what it does
/** Samples four programs for a task, runs them in the sandbox, and keeps the best by the task's public tests. */
import { loadProfile, SandboxPool } from "@paddock/paddock/sandbox";
import type { Policy } from "@paddock/paddock";
import { History } from "@paddock/paddock";

const question = "Write median(xs).";
const tests = "[median([3, 1, 2]) == 2, median([4, 1, 3, 2]) == 2.5, median([7]) == 7]";
const candidates = [
  "def median(xs): return xs[len(xs) // 2]",
  "def median(xs): return sorted(xs)[len(xs) // 2]",
  "def median(xs):\n  s, n = sorted(xs), len(xs)\n  return (s[(n - 1) // 2] + s[n // 2]) / 2",
  "def median(xs): return median(xs)",
];
// In place of a model, this policy chooses a program by the seed of the sample.
const policy: Policy = {
  reply: (_history, { seed = 0 }) => Promise.resolve(candidates[seed % candidates.length] ?? ""),
};

await using pool = new SandboxPool({ profile: await loadProfile("python"), size: 2 });
const history = History.fromChats([{ role: "user", content: question }]);

async function score(seed: number): Promise<{ seed: number; passed: number; program: string }> {
  const program = String(await policy.reply(history, { seed, task: { id: "median", query: question } }));
  await using lease = await pool.acquire();
  await lease.session.exec(program);
  const result = await lease.session.exec(tests, { timeoutMs: 2_000 });
  const results = result.status === "ok" && Array.isArray(result.valueJson) ? result.valueJson : [];
  return { seed, passed: results.filter((passed) => passed === true).length, program };
}

const samples = await Promise.all([0, 1, 2, 3].map(score));
for (const { seed, passed } of samples) console.log(`sample ${seed}: ${passed} of 3 tests`);
const best = samples.reduce((a, b) => b.passed > a.passed ? b : a);
console.log(`best:\n${best.program}`);
