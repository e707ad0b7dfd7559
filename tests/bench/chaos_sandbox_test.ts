import { assert, assertEquals } from "@std/assert";
import { runChaos } from "../../bench/chaos/chaos.ts";
import { freedMs } from "../../bench/chaos/leaver.ts";
import { HANG_MS } from "../deadline.ts";

const linux = Deno.build.os === "linux";

Deno.test({
  name: "a server whose sandboxes are killed is honest to whom it hits, and right to all others",
  ignore: !linux,
}, async () => {
  const { kills, during, after, left, exitCode } = await runChaos({
    goOn: (kills) => kills < 4,
    pauseMs: 1_500,
    after: 20,
  });
  assertEquals([...during.wrong, ...after.wrong], []);
  assertEquals(kills, 4);
  assert(during.honest + after.honest <= kills, `${during.honest + after.honest} were hit by ${kills} kills`);
  assert(after.right >= 20, `only ${after.right} were answered after the last kill`);
  assertEquals([left, exitCode], [0, 0]);
});

Deno.test({ name: "a client that goes away leaves its session to the next", timeout: HANG_MS }, async () => {
  await freedMs({ runs: 2 });
});
