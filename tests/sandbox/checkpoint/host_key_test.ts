import { assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import { SandboxError } from "../../../src/errors.ts";
import { importKey, KEY_FILE, readHostKey } from "../../../src/sandbox/checkpoint/host_key.ts";
import { TempFolder } from "../../temp_folder.ts";

async function macOf(key: CryptoKey): Promise<string> {
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, new Uint8Array(1))).toHex();
}

Deno.test("readHostKey() creates one key for all processes, which only its owner can read", async () => {
  await using folder = await TempFolder.of();
  const keys = await Promise.all(Array.from({ length: 8 }, () => readHostKey(folder.path)));
  assertEquals(new Set(await Promise.all(keys.map(macOf))).size, 1);
  const { mode } = await Deno.stat(join(folder.path, KEY_FILE));
  assertEquals((mode ?? 0) & 0o777, 0o600);
  assertEquals((await Array.fromAsync(Deno.readDir(folder.path))).map(({ name }) => name), [KEY_FILE]);
});

Deno.test("readHostKey() refuses a key that others can read", async () => {
  await using folder = await TempFolder.of();
  await readHostKey(folder.path);
  await Deno.chmod(join(folder.path, KEY_FILE), 0o640);
  await assertRejects(() => readHostKey(folder.path), SandboxError);
});

Deno.test("importKey() refuses a short key", async () => {
  await assertRejects(() => importKey(new Uint8Array(31)), RangeError);
});
