import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { UsageError } from "../../../src/cli/cli_errors.ts";
import { checkOrigins, openAccessLog } from "../../../src/cli/serve/access.ts";

const RECORD = {
  time: "2026-01-31T09:00:00.000Z",
  method: "GET",
  route: "/v1/health",
  status: 200,
  ms: 1,
  bytes: 2,
  owner: "",
};
const onError = () => {};

Deno.test("checkOrigins() accepts origins as browsers send them, and refuses all other texts", () => {
  const origins = ["*", "https://example.org", "http://localhost:3000", "http://[::1]:8080"];
  assertEquals(checkOrigins(origins), origins);
  const wrong = [
    "",
    "null",
    "example.org",
    "https://example.org/",
    "HTTPS://example.org",
    "https://example.org:443",
  ];
  for (const origin of [...wrong, "file:///x", "https://*.example.org/a", "https://user@example.org"]) {
    assertThrows(() => checkOrigins([origin]), UsageError, `current value is '${origin}'`);
  }
  assertThrows(() => checkOrigins(["https://example.org/"]), UsageError, ": write 'https://example.org'");
});

Deno.test("openAccessLog() appends lines to a file that others cannot read", async () => {
  const path = await Deno.makeTempFile();
  await Deno.remove(path);
  for (let time = 0; time < 2; time++) {
    await using stack = new AsyncDisposableStack();
    const log = await openAccessLog(path, { stack, onError });
    log?.write(RECORD);
  }
  const line = `${JSON.stringify(RECORD)}\n`;
  assertEquals(await Deno.readTextFile(path), line + line);
  assertEquals(((await Deno.stat(path)).mode ?? 0) & 0o077, 0);
  await Deno.remove(path);
});

Deno.test("openAccessLog() refuses a file that cannot be opened", async () => {
  await using stack = new AsyncDisposableStack();
  const path = "/nowhere/access.log";
  await assertRejects(() => openAccessLog(path, { stack, onError }), UsageError, `access log '${path}'`);
  assertEquals(await openAccessLog(undefined, { stack, onError }), undefined);
});
