import { assertEquals, assertNotEquals } from "@std/assert";
import type { ExecResult } from "../../../src/sandbox/contract/exec.ts";
import { type DigestedCall, ExecDigests } from "../../../src/sandbox/exec/exec_digests.ts";

const SCOPE = { image: "image", profile: "profile" };
const bytes = (text: string) => new TextEncoder().encode(text);
const CALL: DigestedCall = { kind: "exec", request: bytes("1"), inputs: [], timeoutMs: 1000 };
const RESULT: ExecResult = {
  status: "ok",
  stdout: "out",
  stderr: "",
  value: "1",
  durationMs: 5,
  stateKept: true,
  truncated: false,
};

function digests(scope = SCOPE, seed = 7): ExecDigests {
  return new ExecDigests(() => Promise.resolve(scope), seed);
}

async function digestOf(call = CALL, result = RESULT, files: string | undefined = "files"): Promise<string> {
  return await digests().add(call, { result, files });
}

Deno.test("ExecDigests.add() covers the call, the result and the files", async () => {
  const digest = await digestOf();
  assertEquals(await digestOf(), digest);
  const others = [
    await digestOf({ ...CALL, kind: "shell" }),
    await digestOf({ ...CALL, request: bytes("2") }),
    await digestOf({ ...CALL, inputs: [bytes("x")] }),
    await digestOf({ ...CALL, files: { a: "b" } }),
    await digestOf({ ...CALL, timeoutMs: 999 }),
    await digestOf({ ...CALL, memoryBytes: 1 }),
    await digestOf(CALL, { ...RESULT, stdout: "other" }),
    await digestOf(CALL, { ...RESULT, value: "2" }),
    await digestOf(CALL, { ...RESULT, display: [{ "text/plain": "x" }] }),
    await digestOf(CALL, { ...RESULT, files: { a: bytes("b") } }),
    await digestOf(CALL, RESULT, "other files"),
  ];
  assertEquals(new Set([digest, ...others]).size, others.length + 1);
});

Deno.test("ExecDigests.add() does not cover durations, the peak of the heap and counts of refused attempts", async () => {
  const measured: ExecResult = {
    ...RESULT,
    durationMs: 9,
    peakMemoryBytes: 1,
    denied: { files: 1 },
    inexact: true,
  };
  assertEquals(await digestOf(CALL, measured), await digestOf());
});

Deno.test("ExecDigests.add() chains digests from the image, the profile and the seed", async () => {
  const part = { result: RESULT, files: "files" };
  const chain = digests();
  const first = await chain.add(CALL, part);
  const second = await chain.add(CALL, part);
  assertNotEquals(second, first);
  for (
    const [scope, seed] of [[{ ...SCOPE, image: "b" }, 7], [{ ...SCOPE, profile: "b" }, 7], [
      SCOPE,
      8,
    ]] as const
  ) {
    assertNotEquals(await digests(scope, seed).add(CALL, part), first);
  }
  chain.start(7);
  assertEquals(await chain.add(CALL, part), first);
});

Deno.test("ExecDigests.continue() goes on after a restore, and differs with another seed", async () => {
  const part = { result: RESULT, files: "files" };
  const chain = digests();
  const first = await chain.add(CALL, part);
  const second = await chain.add(CALL, part);
  const restored = digests(SCOPE, 0);
  await restored.continue(first, undefined);
  assertEquals(await restored.add(CALL, part), second);
  await restored.continue(first, 3);
  assertNotEquals(await restored.add(CALL, part), second);
});
