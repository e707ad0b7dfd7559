import { assert, assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import {
  DENIED_CALLS,
  INSTRUCTION_BYTES,
  seccompProgram,
} from "../../../src/sandbox/guest/supervisor/denied_calls.ts";
import { TempFolder } from "../../temp_folder.ts";

const ARCHITECTURES = [
  { name: "x86_64", column: 0, audit: 0xc000003e, read: 0, clone: 56, openat: 257 },
  { name: "aarch64", column: 1, audit: 0xc00000b7, read: 63, clone: 220, openat: 56 },
] as const;

const ALLOW = 0x7fff0000;
const EPERM = 0x50001;
const ENOSYS = 0x50026;
const KILL_PROCESS = 0x80000000;

/** Returns what the kernel does with a call. */
function decide(
  program: Uint8Array,
  call: { audit: number; number: number; args?: readonly number[] },
): number {
  const code = new DataView(program.buffer);
  const data = [call.number, call.audit, 0, 0, ...(call.args ?? []).flatMap((arg) => [arg, 0])];
  let word = 0;
  for (let at = 0;; at++) {
    const [operation, value] = [
      code.getUint16(at * INSTRUCTION_BYTES, true),
      code.getUint32(at * 8 + 4, true),
    ];
    const jump = code.getUint8(at * INSTRUCTION_BYTES + 2);
    if (operation === 0x06) return value;
    if (operation === 0x20) word = data[value / 4] ?? 0;
    else if (operation === 0x15) at += word === value ? jump : 0;
    else if (operation === 0x35) at += word >= value ? jump : 0;
    else if (operation === 0x45) at += (word & value) !== 0 ? jump : 0;
    else throw new Error(`operation ${operation} at ${at}`);
  }
}

for (const { name, column, audit, read, clone, openat } of ARCHITECTURES) {
  Deno.test(`seccompProgram() of ${name} denies each listed call, new processes and writing, and nothing else`, () => {
    const program = seccompProgram(name);
    assert(program);
    const result = (number: number, ...args: number[]) => decide(program, { audit, number, args });
    for (const calls of Object.values(DENIED_CALLS)) {
      for (const [call, numbers] of Object.entries(calls)) {
        if (numbers[column] !== -1) assertEquals(result(numbers[column]), EPERM, call);
      }
    }
    assertEquals([result(read), result(clone, 0x10000), result(openat, 0, 0, 0)], [ALLOW, ALLOW, ALLOW]);
    assertEquals([result(clone, 17), result(openat, 0, 0, 0o101)], [EPERM, EPERM]);
    assertEquals([result(435), result(463), result(0x40000000)], [ENOSYS, ENOSYS, ENOSYS]);
    assertEquals(decide(program, { audit: 0x40000003, number: read }), KILL_PROCESS);
  });
}

const STRACE = "/usr/bin/strace";

Deno.test({
  name: "a sandbox needs no call that its filter denies",
  ignore: Deno.build.os !== "linux" || !await Deno.stat(STRACE).then(() => true, () => false),
}, async () => {
  await using folder = await TempFolder.of();
  const trace = `${folder.path}/trace`;
  const program = "import os, time\nopen('a', 'w').write('x' * 10**6)\nprint(os.listdir(), time.time() > 0)";
  const { success, stderr } = await new Deno.Command(STRACE, {
    args: [
      ...["-f", "-qq", "-e", "status=failed", "-o", trace, Deno.execPath(), "run", "-A", "--no-check"],
      ...[fileURLToPath(new URL("../../../src/cli.ts", import.meta.url)), "exec", "-e", program],
    ],
    stdout: "null",
  }).output();
  assert(success, new TextDecoder().decode(stderr));
  const failed = (await Deno.readTextFile(trace)).matchAll(/^\d+ +(\w+)\(.*= -1 (?:EPERM|ENOSYS) /gm);
  const calls = new Set([...failed].map(([, call]) => call));
  // The C library tries clone3 for each thread, and then uses clone.
  assertEquals([...calls], ["clone3"]);
});
