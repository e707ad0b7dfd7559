import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { DoctorReport } from "../../src/cli/doctor.ts";
import { runPaddock } from "./run_paddock.ts";

async function doctorOf(profile: string): Promise<{ code: number; report: DoctorReport }> {
  const path = await Deno.makeTempFile({ suffix: ".jsonc" });
  try {
    await Deno.writeTextFile(path, profile);
    const { code, stdout } = await runPaddock(["doctor", "--json", "-p", path]);
    return { code, report: JSON.parse(stdout) };
  } finally {
    await Deno.remove(path);
  }
}

Deno.test("paddock doctor tests every limit in a sandbox", async () => {
  const { code, stdout } = await runPaddock(["doctor", "--json"]);
  const report: DoctorReport = JSON.parse(stdout);
  assertEquals(report.attempts.filter(({ holds }) => !holds), []);
  assertEquals([code, report.ok, report.failure, report.attempts.length], [0, true, null, 8]);
  assert(report.image !== null && report.image.bytes > 1e6);
  assert(report.times !== null && report.times.execMs > 0 && report.times.startMs > report.times.execMs);
});

Deno.test("paddock doctor exits with 1 when a required layer is missing", async () => {
  const modes = (mode: string) => JSON.stringify({ layers: { bubblewrap: mode } });
  const { code, report } = await doctorOf(modes("required"));
  const bubblewrap = report.layers.find(({ layer }) => layer === "bubblewrap");
  if (bubblewrap?.works) return assertEquals([code, bubblewrap.active], [0, true]);
  assertEquals([code, report.ok, bubblewrap?.missing, report.times], [1, false, true, null]);
  assertStringIncludes(report.failure ?? "", "'bubblewrap', required, does not work");
});
