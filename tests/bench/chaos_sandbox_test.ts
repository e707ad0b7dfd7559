import { assert, assertEquals } from "@std/assert";
import { runChaos } from "../../bench/chaos/chaos.ts";
import { disconnectReleaseMs } from "../../bench/chaos/leaver.ts";
import { runLifecycle } from "../../bench/chaos/lifecycle.ts";
import { HANG_MS } from "../deadline.ts";

const linux = Deno.build.os === "linux";

Deno.test({
  name:
    "a server reports each lost sandbox, and answers all other requests correctly, when sandboxes are killed",
  ignore: !linux,
}, async () => {
  const { kills, during, after, left, exitCode } = await runChaos({
    goOn: (kills) => kills < 4,
    pauseMs: 400,
    after: 20,
  });
  assertEquals([...during.wrong, ...after.wrong], []);
  assertEquals(kills, 4);
  assert(during.honest + after.honest <= kills, `${during.honest + after.honest} were hit by ${kills} kills`);
  assert(after.right >= 20, `only ${after.right} were answered after the last kill`);
  assertEquals([left, exitCode], [0, 0]);
});

Deno.test(
  { name: "a session is free for the next client when its client disconnects", timeout: HANG_MS },
  async () => {
    await disconnectReleaseMs({ runs: 2 });
  },
);

Deno.test({
  name: "programs of all endings and a killed server leave no wrong result and no process",
  ignore: !linux,
}, async () => {
  const report = await runLifecycle({ leases: 96, leasesPerServer: 60, pauseMs: 60_000 });
  assertEquals([report.wrong, report.failedStarts, report.orphans, report.serverKills], [[], [], 0, 1]);
  assertEquals(report.right + report.lost + report.cut, 96);
  assert(report.cut <= 8, `${report.cut} requests were open at a kill`);
});
