/**
 * Scans what programs of other tokens, and earlier programs of the same token, have left: in names, modules, files and
 * the environment in each lease, and in all memory in every hundredth. `PADDOCK_LEASES` is the number of leases.
 */
import { assertEquals } from "@std/assert";
import { Connection } from "../../../bench/connection.ts";
import { Serving } from "../../../bench/serving.ts";
import type { ProgramResponse } from "../../../src/server/peers/sandbox_fusion/contract.ts";
import { STANDARD_DEVICES } from "../../../src/sandbox/guest/files/home_files.ts";
import { countingCode, markOf, MEMORY_BYTES } from "../../sandbox/guest/marks.ts";

const LEASES = Number(Deno.env.get("PADDOCK_LEASES") ?? 100_000);
const CONNECTIONS = 16;
const SCANNED_EACH = 100;
const SEED_BYTES = 24;
/** The first descriptor that a program can have left open. Those below are the session's own. */
const FIRST_DESCRIPTOR = STANDARD_DEVICES.length;

/** What a program finds of earlier ones. A mark has its token and its lease in its name. */
const FOUND = `
import builtins, json, os, sys, threading
def is_open(number):
    try:
        return os.fstat(number) is not None
    except OSError:
        return False
found = [*globals(), *vars(json), *vars(builtins), *sys.modules, *os.environ, *os.listdir(), *os.listdir("/tmp")]
found = [name for name in found if "left_" in name]
found += [f"thread {one.name}" for one in threading.enumerate() if "left_" in one.name]
found += [f"descriptor {number}" for number in range(${FIRST_DESCRIPTOR}, 32) if is_open(number)]`;

/** Leaves marks wherever a program can. */
function leavingCode(seed: Uint8Array, name: string): string {
  return `
mark = ${markOf(seed)} + b"${name}"
globals()["${name}"], json.${name}, builtins.${name}, sys.modules["${name}"] = mark, [mark], {mark}, [mark * 2] * 20
kept = [bytes([number]) + mark for number in range(20)]
os.environ["${name}"] = "${name}"
open("${name}", "wb").write(mark * 100), open("/tmp/${name}", "wb").write(mark * 100)
os.open("${name}", os.O_RDONLY)
threading.Thread(target=threading.Event().wait, args=(0.001,), name="${name}").start()`;
}

/** Number of the lease, what a program found by name, and the places of marks in memory. */
type Report = readonly [lease: number, found: readonly string[], places: number];

function programOf(seed: Uint8Array, lease: number, token: number): string {
  const scan = `heap = bytes(${MEMORY_BYTES})\ndel heap${countingCode(seed)}`; // a heap that is shorter ends there
  const count = lease % SCANNED_EACH === 0 ? scan.split("\n") : ["0"];
  const places = `${count.slice(0, -1).join("\n")}\nplaces_of_marks = ${count.at(-1)}`;
  const leaving = leavingCode(seed, `left_${token}_${lease}`);
  return `${FOUND}\n${places}\n${leaving}\nprint(json.dumps([${lease}, found, places_of_marks]))`;
}

for (const count of [2, 10, 100]) {
  Deno.test(`no program of ${count} tokens finds anything of another one`, async () => {
    const seed = crypto.getRandomValues(new Uint8Array(SEED_BYTES));
    const tokens = Array.from({ length: count }, (_, at) => `token-${at}-`.padEnd(24, "x"));
    await using serving = await Serving.startWith({ PADDOCK_TOKEN: tokens.join(",") }, []);
    const wrong: unknown[] = [];
    let sent = 0;
    await Promise.all(Array.from({ length: CONNECTIONS }, async () => {
      using connection = new Connection(serving.url);
      while (sent < LEASES && wrong.length === 0) {
        const lease = sent++;
        const token = lease % count;
        const code = programOf(seed, lease, token);
        const request = { code, language: "python", run_timeout: 60 };
        const { status, body } = await connection.post<ProgramResponse>("/run_code", request, {
          token: tokens[token],
        });
        const output = body?.run_result?.stdout ?? "";
        const report: Report | undefined = status === 200 && output !== "" ? JSON.parse(output) : undefined;
        const isClean = report?.[0] === lease && report[1].length === 0 && report[2] === 0;
        if (!isClean) wrong.push({ lease, status, report, body });
      }
    }));
    assertEquals(wrong, []);
    assertEquals(sent, LEASES);
  });
}

Deno.test("the scan finds what a program has left in its own session", async () => {
  const { Sandbox } = await import("../../../mod/sandbox.ts");
  await using sandbox = await Sandbox.start();
  await using session = await sandbox.openSession();
  const seed = crypto.getRandomValues(new Uint8Array(SEED_BYTES));
  await session.exec(programOf(seed, 1, 0));
  const { stdout } = await session.exec(programOf(seed, SCANNED_EACH, 0));
  const [, found, places]: Report = JSON.parse(stdout);
  assertEquals(found.filter((name) => name === "left_0_1").length, 7);
  assertEquals([found.some((name) => name.startsWith("descriptor ")), places > 20], [true, true]);
});
