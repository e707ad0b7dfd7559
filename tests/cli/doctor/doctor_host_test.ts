import { assertEquals } from "@std/assert";
import { inspectHost } from "../../../src/cli/doctor/doctor_host.ts";

const HEAD = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n";

/** Returns what is found on a host with these files. */
async function seen(smt: string | undefined, ksm: string | undefined, swaps: string | undefined) {
  const files: Readonly<Record<string, string | undefined>> = {
    "/sys/devices/system/cpu/smt/active": smt,
    "/sys/kernel/mm/ksm/run": ksm,
    "/proc/swaps": swaps,
  };
  const found = await inspectHost((path) => {
    const text = files[path];
    return text === undefined ? Promise.reject(new Deno.errors.NotFound(path)) : Promise.resolve(text);
  });
  return found.map(({ name, isOn, seen }) => `${name} ${isOn}: ${seen}`);
}

Deno.test("inspectHost() reads whether SMT, KSM and swap are on", async () => {
  const areas = "/dev/vda2 partition\t2097152\t0\t-2\n/swap\\040file file 1048576 12 -3\n";
  assertEquals(await seen("1\n", "1\n", HEAD + areas), [
    "SMT true: on: cores run two threads",
    "KSM true: on: the kernel merges equal pages of programs that ask for it",
    "swap true: on: 3.0 GiB",
  ]);
  assertEquals(await seen("0\n", "0\n", HEAD), [
    "SMT false: off, or the processor has none",
    "KSM false: off",
    "swap false: none",
  ]);
  assertEquals((await seen("0\n", "2\n", HEAD))[1], "KSM false: off: merged pages are separated");
});

Deno.test("inspectHost() does not guess what a host does not show", async () => {
  const unknown = ["SMT", "KSM", "swap"].map((name) => `${name} null: the host does not show it`);
  assertEquals(await seen(undefined, undefined, undefined), unknown);
  assertEquals(await seen("", "7", "no table"), unknown);
});
