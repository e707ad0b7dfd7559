import { assert, assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import {
  allowedCalls,
  INSTRUCTION_BYTES,
  seccompProgram,
} from "../../../src/sandbox/guest/supervisor/allowed_calls.ts";
import { detectLayers } from "../../../src/sandbox/process/layers.ts";
import { TempFolder } from "../../temp_folder.ts";

const OWN_PID = 7;

const ARCHITECTURES = [
  {
    ...{ name: "x86_64", column: 0, audit: 0xc000003e },
    ...{ read: 0, futex: 202, clone: 56, openat: 257, madvise: 28, ioctl: 16, prctl: 157, fcntl: 72 },
    ...{ socketpair: 53, sendto: 44, tgkill: 234, prlimit64: 302 },
  },
  {
    ...{ name: "aarch64", column: 1, audit: 0xc00000b7 },
    ...{ read: 63, futex: 98, clone: 220, openat: 56, madvise: 233, ioctl: 29, prctl: 167, fcntl: 25 },
    ...{ socketpair: 199, sendto: 206, tgkill: 131, prlimit64: 261 },
  },
] as const;

const ALLOW = 0x7fff0000;
const EPERM = 0x50001;
const ENOSYS = 0x50026;
const KILL_PROCESS = 0x80000000;

/** Returns what the kernel does with a call. */
function decide(
  program: Uint8Array,
  call: { audit: number; number: number; args?: readonly bigint[] },
): number {
  const code = new DataView(program.buffer);
  const args = (call.args ?? []).flatMap((arg) => [Number(arg & 0xffffffffn), Number(arg >> 32n)]);
  const data = [call.number, call.audit, 0, 0, ...args];
  let word = 0;
  for (let at = 0;; at++) {
    const start = at * INSTRUCTION_BYTES;
    const [operation, value] = [code.getUint16(start, true), code.getUint32(start + 4, true)];
    const jump = (holds: boolean) => code.getUint8(start + (holds ? 2 : 3));
    if (operation === 0x06) return value;
    if (operation === 0x20) word = data[value / 4] ?? 0;
    else if (operation === 0x54) word = (word & value) >>> 0;
    else if (operation === 0x15) at += jump(word === value);
    else if (operation === 0x35) at += jump(word >= value);
    else throw new Error(`operation ${operation} at ${at}`);
  }
}

for (const { name, column, audit, ...numbers } of ARCHITECTURES) {
  const program = seccompProgram(name, OWN_PID) ?? new Uint8Array();
  const result = (number: number | bigint, ...args: (number | bigint)[]) =>
    decide(program, { audit, number: Number(number), args: args.map(BigInt) });

  Deno.test(`seccompProgram() of ${name} allows the listed calls and refuses every other number`, () => {
    const always = new Set<number>();
    const sometimes = new Set<number>();
    for (const call of Object.values(allowedCalls(OWN_PID))) {
      (call.conditions ? sometimes : always).add(call.numbers[column] ?? NaN);
    }
    for (let number = 0; number < 1_000; number++) {
      if (sometimes.has(number)) continue;
      const refused = number < 424 ? EPERM : ENOSYS;
      assertEquals(result(number), always.has(number) ? ALLOW : refused, `call ${number}`);
    }
    assertEquals([result(0x40000000), result(0xffffffff)], [ENOSYS, ENOSYS]);
    assertEquals(decide(program, { audit: 0x40000003, number: numbers.read }), KILL_PROCESS);
  });

  Deno.test(`seccompProgram() of ${name} decides by arguments`, () => {
    const { futex, clone, openat, madvise, ioctl, prctl, fcntl, socketpair, sendto, tgkill, prlimit64 } =
      numbers;
    const allowed: readonly (readonly (number | bigint)[])[] = [
      [futex, 0, 0x80],
      [futex, 0, 0x189],
      [clone, 0x3d0f00],
      [openat, 0, 0, 0o2400000],
      [madvise, 0, 0, 4],
      [fcntl, 0, 1030],
      [ioctl, 1, 0x5401],
      [prctl, 15],
      [socketpair, 1],
      [sendto, 3, 1n << 40n, 1, 0, 0],
      [tgkill, OWN_PID, 9, 6],
      [prlimit64, 0, 7, 0, 1n << 40n],
    ];
    const refused: readonly (readonly (number | bigint)[])[] = [
      [futex, 0, 6],
      [futex, 0, 0x86],
      [clone, 17],
      [clone, 0x3d0f00 | 0x10000000],
      [openat, 0, 0, 0o1],
      [openat, 0, 0, 0o2],
      [openat, 0, 0, 0o101],
      [madvise, 0, 0, 12],
      [fcntl, 0, 8],
      [ioctl, 1, 0x5412],
      [prctl, 4],
      [prctl, 22],
      [socketpair, 2],
      [sendto, 3, 0, 1, 0, 1],
      [sendto, 3, 0, 1, 0, 1n << 40n],
      [tgkill, OWN_PID + 1, 9, 6],
      [prlimit64, 1, 7, 0, 0],
      [prlimit64, 0, 7, 1n << 40n, 0],
    ];
    for (const [number = 0, ...args] of allowed) {
      assertEquals(result(number, ...args), ALLOW, `${number} ${args}`);
    }
    for (const [number = 0, ...args] of refused) {
      assertEquals(result(number, ...args), EPERM, `${number} ${args}`);
    }
  });
}

const STRACE = "/usr/bin/strace";

async function hasStrace(): Promise<boolean> {
  if (Deno.build.os !== "linux" || !await Deno.stat(STRACE).then(() => true, () => false)) return false;
  return (await detectLayers()).some(({ layer, works }) => layer === "seccomp" && works);
}

Deno.test({ name: "Deno makes no call that the filter refuses", ignore: !await hasStrace() }, async () => {
  await using folder = await TempFolder.of();
  const trace = `${folder.path}/trace`;
  const workload = fileURLToPath(new URL("../process/call_workload.ts", import.meta.url));
  const { success, stderr } = await new Deno.Command(STRACE, {
    args: [
      ...["-f", "-qq", "-e", "status=failed", "-e", "signal=none", "-o", trace],
      ...[Deno.execPath(), "run", "-A", "--no-check", workload],
    ],
    stdout: "null",
  }).output();
  const refused = await refusedCalls(trace);
  // The C library tries clone3 for each thread, and then makes clone.
  refused.delete("clone3");
  const calls = [...refused].map(([name, text]) => `${name}: ${text}`).join("\n");
  assertEquals(calls, "", "src/sandbox/guest/supervisor/allowed_calls.ts lacks calls that Deno makes");
  assert(success, new TextDecoder().decode(stderr));
});

/** Returns the first text of each call that failed with EPERM or ENOSYS, by the name of the call. */
async function refusedCalls(trace: string): Promise<Map<string, string>> {
  const lines = await Deno.readTextFile(trace);
  const found = new Map<string, string>();
  for (const [, resumed, name = "", text = ""] of lines.matchAll(FAILED)) {
    if (!found.has(name)) found.set(name, `${resumed ? "…" : ""}${text}`);
  }
  return found;
}

const FAILED = /^\d+ +(<\.\.\. )?(\w+)( resumed>.*|\(.*)= -1 (?:EPERM|ENOSYS) /gm;
