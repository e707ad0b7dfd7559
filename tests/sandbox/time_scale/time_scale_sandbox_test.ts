import { assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { loadProfile, measureTimeScale, SandboxError, SandboxPool } from "../../../mod/sandbox.ts";
import { History } from "../../../src/history.ts";
import { toScore } from "../../../src/rewards/grader.ts";
import { hiddenTests } from "../../../src/rewards/hidden_tests.ts";
import { testProfile } from "../../../src/rewards/registry.ts";
import { limited } from "../started.ts";

/** Takes half a second on every machine. */
const WAIT = "import time\nend = time.monotonic() + 0.5\nwhile time.monotonic() < end: pass";
const TIMEOUT_MS = 200;
const LONG = 20;

Deno.test("a session multiplies its limits of time by the profile's timeScale, and names the product", async () => {
  const python = await limited("python", { timeoutMs: TIMEOUT_MS, cpuSeconds: 1 });
  const settings = { size: 1, resetMode: "rewind" } as const;
  await using plain = new SandboxPool({ ...settings, profile: python });
  await using scaled = new SandboxPool({ ...settings, profile: { ...python, timeScale: LONG } });
  assertEquals([plain.timeScale, scaled.timeScale], [undefined, LONG]);
  await using lease = await scaled.acquire();
  assertEquals((await lease.session.exec(WAIT)).status, "ok");
  const short = await lease.session.exec("while True: pass", { timeoutMs: 10 });
  if (short.status !== "timeout") throw new Error(short.status);
  assertStringIncludes(short.error.message, "200 ms");
  await using other = await plain.acquire();
  assertEquals((await other.session.exec(WAIT)).status, "timeout");
});

Deno.test("hiddenTests() gives programs the time of the scale, in whole programs and in calls", async () => {
  const [python, tools] = [await loadProfile("python"), testProfile(await loadProfile("tools"))];
  for (const [timeScale, expected] of [[undefined, 0], [LONG, 1]] as const) {
    const settings = { size: 1, resetMode: "rewind" } as const;
    await using pool = new SandboxPool({ ...settings, profile: { ...python, timeScale } });
    await using testPool = new SandboxPool({ ...settings, profile: { ...tools, timeScale } });
    const grader = hiddenTests({ pool, testPool, timeoutMs: TIMEOUT_MS });
    const score = async (program: string, tests: unknown) => {
      const history = History.fromChats([{ role: "assistant", content: `\`\`\`python\n${program}\n\`\`\`` }]);
      return toScore(await grader.grade({ task: { id: "t", query: "q", fields: { tests } }, history })).score;
    };
    assertEquals(await score(`${WAIT}\nprint(input())`, [{ input: "1", output: "1" }]), expected);
    const called = `def f():\n    ${WAIT.replaceAll("\n", "\n    ")}\n    return 1`;
    assertEquals(await score(called, ["assert f() == 1"]), expected);
  }
});

Deno.test("a pool refuses a timeScale out of its range", async () => {
  const profile = await loadProfile("python");
  for (const timeScale of [0, NaN, 21]) {
    assertThrows(() => new SandboxPool({ profile: { ...profile, timeScale } }), RangeError, "from 0.1 to 20");
  }
});

Deno.test("measureTimeScale() compares with the given Python, within the range of a scale", async () => {
  const folder = await Deno.makeTempDir();
  const python = async (seconds: number) => {
    const path = `${folder}/python-${seconds}`;
    const times = JSON.stringify([seconds, seconds, seconds, seconds]);
    await Deno.writeTextFile(path, `#!/bin/sh\necho '${times}'\n`, { mode: 0o755 });
    return path;
  };
  try {
    assertEquals(await measureTimeScale({ python: await python(0.000001) }), LONG);
    await assertRejects(
      () => measureTimeScale({ python: `${folder}/none` }),
      SandboxError,
      "needs a native Python",
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
