/**
 * Generates and answers 1,000 problems of each family, or as many as `PADDOCK_FAMILY_PROBLEMS` says:
 * `deno task families`. `PADDOCK_FAMILIES` names some of them, separated by commas.
 */
import { assertEquals } from "@std/assert";
import { cpuUsage } from "node:process";
import { FAMILY_NAMES, MAX_DIFFICULTY } from "../../src/families/names.ts";
import { FAMILIES } from "../../src/families/registry.ts";
import { familyTasks } from "../../src/families/tasks.ts";
import { History } from "../../src/history.ts";
import { sha256 } from "../../src/hash.ts";
import { family } from "../../src/rewards/family.ts";
import { SandboxPool } from "../../src/sandbox/pool.ts";
import { loadProfile } from "../../src/sandbox/profile/profile.ts";
import { checkFamily, faultsOf } from "./checks.ts";

const PROBLEMS = Number(Deno.env.get("PADDOCK_FAMILY_PROBLEMS") ?? 1_000);
const CHOSEN = Deno.env.get("PADDOCK_FAMILIES")?.split(",");
const NAMES = FAMILY_NAMES.filter((name) => CHOSEN?.includes(name) ?? true);
const DIFFICULTIES = Array.from({ length: MAX_DIFFICULTY }, (_, at) => at + 1);
const PER_DIFFICULTY = Math.ceil(PROBLEMS / MAX_DIFFICULTY);

for (const name of NAMES) {
  Deno.test(`${PROBLEMS} problems of family '${name}'`, async () => {
    const { profile } = FAMILIES[name];
    await using pool = profile === undefined
      ? undefined
      : new SandboxPool({ profile: await loadProfile(profile), size: 1, resetMode: "rewind" });
    const report = await checkFamily({
      name,
      difficulties: DIFFICULTIES,
      count: PER_DIFFICULTY,
      guesses: profile === undefined ? 5 : 1,
      pool,
    });
    const { problems, references, constants, copies, guesses, rightGuesses, generateMs, checkMs } = report;
    const share = (count: number, of: number) => (count / of).toFixed(3);
    // deno-lint-ignore no-console
    console.log(
      `${name}: references ${share(references, problems)}, constants ${
        share(Math.max(0, ...constants.values()), problems)
      }, copies ${share(copies, problems)}, random ${share(rightGuesses, guesses)}, ` +
        `generated in ${(generateMs / problems).toFixed(2)} ms, checked in ${
          (checkMs / problems).toFixed(2)
        } ms`,
    );
    assertEquals(faultsOf(report), []);
  });
}

/** Prints the hash of tasks of all families and difficulties. */
const HASH_PROGRAM = `
import { familyTasks, FAMILY_NAMES } from ${
  JSON.stringify(new URL("../../mod/envs.ts", import.meta.url).href)
};
import { sha256 } from ${JSON.stringify(new URL("../../src/hash.ts", import.meta.url).href)};
const [seed, count] = Deno.args.map(Number);
const tasks = FAMILY_NAMES.flatMap((name) =>
  Array.from({ length: 10 }, (_, at) => [...familyTasks(name, { difficulty: at + 1, seed, count })])
);
console.log(await sha256(JSON.stringify(tasks.flat())));
`;

Deno.test("two processes make the same tasks for the same seed", async () => {
  const hashOf = async (seed: number) => {
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["eval", "--ext=ts", HASH_PROGRAM, String(seed), "5"],
      cwd: new URL("../../", import.meta.url),
    }).output();
    return new TextDecoder().decode(stdout).trim();
  };
  const [first, second, other] = [await hashOf(3), await hashOf(3), await hashOf(4)];
  assertEquals(first.length, 64);
  assertEquals([first === second, first === other], [true, false]);
  const here = FAMILY_NAMES.flatMap((name) =>
    DIFFICULTIES.map((difficulty) => [...familyTasks(name, { difficulty, seed: 3, count: 5 })])
  );
  assertEquals(await sha256(JSON.stringify(here.flat())), first);
});

Deno.test("families that execute nothing are graded at 500 a second at least", async () => {
  const grader = family();
  for (const name of NAMES.filter((name) => FAMILIES[name].kind === "reply")) {
    const tasks = DIFFICULTIES.flatMap((difficulty) => [...familyTasks(name, { difficulty, count: 20 })]);
    const episodes = tasks.map((task) => ({
      task,
      history: History.fromChats([{ role: "assistant", content: task.replies?.[0] ?? "" }]),
    }));
    for (const context of episodes) await grader.grade(context); // problems are generated once per task
    const start = cpuMs();
    for (const context of episodes) assertEquals((await grader.grade(context) as { score: number }).score, 1);
    const perSecond = episodes.length / (cpuMs() - start) * 1000;
    // deno-lint-ignore no-console
    console.log(`${name}: ${Math.round(perSecond)} grades in a second of CPU time`);
    assertEquals(perSecond >= 500, true, `${name}: ${perSecond}`);
  }
});

/** Returns the CPU time of this process, which other work of the machine does not change. */
function cpuMs(): number {
  const { user, system } = cpuUsage();
  return (user + system) / 1000;
}
