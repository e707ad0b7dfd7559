import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type ExecResult, loadProfile, type Profile } from "../../mod.ts";
import { Sandbox, type Session } from "../../mod/sandbox.ts";
import { copyImage } from "../sandbox/copy_image.ts";
import { Outside } from "./outside.ts";
import { everyRoute, type Payload, pythonOf, readPayloads } from "./payloads.ts";

/** Timeouts: for attacks that end by it, and for all others, which may take long on a slow machine. */
const SHORT_TIMEOUT_MS = 3_000;
const LONG_TIMEOUT_MS = 30_000;

const MIB = 1024 * 1024;

/** State of a session, seen from inside, if an attack has left no trace. */
const CLEAN = `import os, json
(sorted(os.listdir(".")), os.listdir("/tmp"), os.getcwd(), json.dumps([1]), sorted(n for n in globals() if n[0] != "_"))`;

/** Runs every payload, and checks after each that it had no effect. */
Deno.test("escape: no attack reaches the host or another session, forges a result, or leaves anything behind", async (t) => {
  await using outside = await Outside.create();
  const options = { profile: await quickProfile(), cacheDir: outside.target.cacheDir };
  await copyImage(options.profile, options.cacheDir);
  await using sandbox = await Sandbox.start(options);
  await using neighbour = await Sandbox.start(options);
  const session = await sandbox.openSession();
  const sibling = await neighbour.openSession();
  await sibling.exec("kept = 'mine'");
  const clean = await session.exec(CLEAN);
  await outside.settle();
  for (const payload of await playable(outside)) {
    await t.step({
      name: `${payload.id} ${payload.name}`,
      sanitizeOps: false, // a lost session restarts within a step; the whole test is checked
      sanitizeResources: false,
      fn: async () => {
        const results = await play(session, payload);
        await outside.check(results.map((result) => JSON.stringify(result)));
        const kept = await sibling.exec("kept");
        assertEquals([kept.stateKept, valueOf(kept)], [true, "'mine'"]);
        await session.reset({ mode: "rewind" });
        assertEquals(valueOf(await session.exec(CLEAN)), valueOf(clean), "the attack left something behind");
      },
    });
  }
});

/** Returns the Python payloads, and one that contains the JavaScript payloads, which also run in a separate realm. */
async function playable(outside: Outside): Promise<Payload[]> {
  const payloads = await readPayloads(outside.target);
  const python = payloads.filter(({ js }) => js === undefined);
  const code = await everyRoute(payloads);
  return [...python, { id: "js", family: 8, name: "every route to JavaScript", code, expect: ["error"] }];
}

/** Modules that the attacks import, which takes up to a second each. */
const IMPORTED = [
  "concurrent.futures.process",
  "ctypes",
  "http.server",
  "importlib.util",
  "multiprocessing",
  "pickle",
  "smtplib",
  "socket",
  "tarfile",
  "threading",
  "urllib.request",
  "zipfile",
];

/**
 * Returns the profile `tools` with the modules that the attacks import and with lower limits, which attacks reach
 * sooner. The memory is that up to which a rewind needs no new process.
 */
async function quickProfile(): Promise<Profile> {
  const profile = await loadProfile("tools");
  const limits = { graceMs: 300, memoryBytes: 120 * MIB, fileBytes: 8 * MIB };
  return {
    ...profile,
    limits: { ...profile.limits, ...limits },
    preimports: [...profile.preimports, ...IMPORTED],
  };
}

async function play(session: Session, payload: Payload): Promise<ExecResult[]> {
  const { expect = ["error"] } = payload;
  const { timeoutMs = expect.includes("timeout") ? SHORT_TIMEOUT_MS : LONG_TIMEOUT_MS } = payload;
  const code = await pythonOf(payload);
  const result = await session.exec(code, { timeoutMs });
  const details = JSON.stringify(result).slice(0, 2_000);
  assert(expect.includes(result.status), `${result.status} is not one of ${expect}: ${details}`);
  assertEquals(result.stateKept, result.status !== "crashed" && result.stateKept, details);
  if (payload.value !== undefined) assertStringIncludes(valueOf(result) ?? "", payload.value);
  const next = await session.exec("6 * 7");
  if (!payload.wrecks) {
    assertEquals(valueOf(next), "42", `the next exec failed: ${JSON.stringify(next).slice(0, 2_000)}`);
  }
  assertEquals(
    next.restarted ?? false,
    !result.stateKept && next.status !== "crashed",
    "a restart was not reported",
  );
  return [result, next];
}

function valueOf(result: ExecResult): string | undefined {
  return result.status === "ok" ? result.value : undefined;
}
