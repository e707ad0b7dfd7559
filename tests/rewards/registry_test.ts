import { assertEquals, assertRejects } from "@std/assert";
import { GRADERS, makeGrader, testProfile } from "../../src/rewards/registry.ts";
import { loadProfile } from "../../src/sandbox/profile/profile.ts";

const NO_POOLS = {
  pool: () => {
    throw new Error("no pool is open");
  },
  testPool: () => {
    throw new Error("no pool is open");
  },
};

Deno.test("makeGrader() makes each grader that needs nothing, under its name in the registry", async () => {
  for (const [name, entry] of Object.entries(GRADERS)) {
    if (entry.needs === "nothing") assertEquals((await makeGrader(entry, NO_POOLS)).name, name);
  }
});

Deno.test("makeGrader() refuses a grader that needs a policy when there is none", async () => {
  const { judge } = GRADERS;
  if (judge === undefined) throw new Error("the registry has no judge");
  await assertRejects(() => makeGrader(judge, NO_POOLS), TypeError, "it needs a policy");
});

Deno.test("testProfile() gives tests enough calls of the host", async () => {
  const tools = await loadProfile("tools");
  const { limits } = testProfile(tools);
  assertEquals(limits.hostToolCalls, 100_000);
  assertEquals(limits.memoryBytes, tools.limits.memoryBytes);
});
