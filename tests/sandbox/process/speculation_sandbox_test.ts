import { assertEquals } from "@std/assert";
import { speculationStep } from "../../../src/sandbox/guest/supervisor/confine.ts";
import { detectLayers } from "../../../src/sandbox/process/layers.ts";
import { loadProfile } from "../../../src/sandbox/profile/profile.ts";
import { Sandbox } from "../../../src/sandbox/sandbox.ts";

Deno.test("speculationStep() turns off what the kernel lets a process control", () => {
  const steps = {
    unaffected: 0,
    failed: -1,
    uncontrolled: 2,
    on: 3,
    offForProcess: 5,
    forced: 9,
    offForAll: 4,
  };
  assertEquals(
    Object.fromEntries(Object.entries(steps).map(([name, state]) => [name, speculationStep(state)])),
    {
      unaffected: "none",
      failed: "unavailable",
      uncontrolled: "unavailable",
      on: "disable",
      offForProcess: "none",
      forced: "none",
      offForAll: "none",
    },
  );
});

/** Lines of `/proc/…/status` about speculation. */
function findSpeculation(status: string): string[] {
  return status.match(/^Speculation\w+:.*/gm) ?? [];
}

const isLinux = Deno.build.os === "linux";
const detected = isLinux ? await detectLayers() : [];
const works = detected.some((report) => report.layer === "speculation" && report.works);

Deno.test(
  { name: "the layer 'speculation' works only where the kernel shows that it can", ignore: !isLinux },
  async () => {
    const lines = findSpeculation(await Deno.readTextFile("/proc/self/status"));
    const isOpen = lines.some((line) => /:\t(?:vulnerable|always enabled|unknown)$/.test(line));
    if (isOpen) assertEquals(works, false, lines.join("; "));
  },
);

Deno.test(
  { name: "threads of guests do not speculate with the layer 'speculation'", ignore: !works },
  async () => {
    const python = await loadProfile("python");
    const profile = { ...python, layers: { ...python.layers, speculation: "required" as const } };
    await using sandbox = await Sandbox.start({ profile, detected });
    await sandbox.openSession();
    const threads = await Array.fromAsync(
      Deno.readDir(`/proc/${sandbox.pid}/task`),
      ({ name }) => Number(name),
    );
    // The first thread starts the guests' threads, and the last one belongs to a guest.
    for (const thread of [sandbox.pid, Math.max(...threads)]) {
      const lines = findSpeculation(await Deno.readTextFile(`/proc/${sandbox.pid}/task/${thread}/status`));
      assertEquals(lines.filter((line) => /:\t(?:thread vulnerable|conditional enabled)$/.test(line)), []);
    }
  },
);
