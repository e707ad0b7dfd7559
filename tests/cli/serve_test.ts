import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { connectionsOf, keptInterpreters } from "../../src/cli/serve/capacity.ts";
import { resolveServeAddress } from "../../src/cli/serve/address.ts";
import { UsageError } from "../../src/cli/cli_errors.ts";

const any = { port: 0 };

Deno.test("resolveServeAddress() needs no token on the loopback, and accepts loopback host names there", () => {
  const names = ["localhost", "127.0.0.1", "[::1]"];
  for (const host of ["127.0.0.1", "localhost", "::1", "[::1]"]) {
    const { hosts, tokens } = resolveServeAddress({ ...any, host }, undefined);
    assertEquals([new Set(hosts), tokens], [new Set(names), []]);
  }
  assertEquals(resolveServeAddress({ ...any, host: "::1" }, undefined).name, "[::1]");
});

Deno.test("resolveServeAddress() rejects every other address without a token", () => {
  for (const host of ["0.0.0.0", "::", "192.168.1.2", "example.org", "127.example.org", ""]) {
    assertThrows(() => resolveServeAddress({ ...any, host }, undefined), UsageError, "needs a token");
    assertThrows(() => resolveServeAddress({ ...any, host }, ""), UsageError, "needs a token");
  }
});

Deno.test("resolveServeAddress() reads tokens from flags and the environment, and rejects an empty one", () => {
  assertEquals(
    resolveServeAddress(
      { ...any, host: "0.0.0.0", token: ["a".repeat(16)] },
      `${"b".repeat(16)},${"c".repeat(20)}`,
    ),
    {
      hostname: "0.0.0.0",
      name: "0.0.0.0",
      tokens: ["a".repeat(16), "b".repeat(16), "c".repeat(20)],
    },
  );
  const short = { ...any, token: ["a".repeat(15)] };
  assertThrows(
    () => resolveServeAddress({ ...short, host: "0.0.0.0" }, undefined),
    UsageError,
    "at least 16 visible ASCII characters: one has 15. `openssl rand -hex 32` prints a new one",
  );
  assertThrows(() => resolveServeAddress({ ...short, host: "::1" }, undefined), UsageError, "one has 15");
  assertThrows(
    () => resolveServeAddress({ ...any, host: "::1", metricsToken: "short" }, undefined),
    UsageError,
    "one has 5",
  );
  assertThrows(
    () => resolveServeAddress({ ...any, host: "::1", token: ["a token with spaces in it"] }, undefined),
    UsageError,
    "has a space",
  );
  assertThrows(
    () => resolveServeAddress({ ...any, host: "0.0.0.0", token: [""] }, undefined),
    UsageError,
    "is empty",
  );
  assertThrows(() => resolveServeAddress({ ...any, host: "0.0.0.0" }, "a,"), UsageError, "is empty");
});

Deno.test("resolveServeAddress() rejects an invalid port", () => {
  assertThrows(
    () => resolveServeAddress({ host: "::1", port: 65_536 }, undefined),
    UsageError,
    "at most 65535",
  );
});

Deno.test("connectionsOf() leaves files for sessions, and refuses a limit that is too low", () => {
  assertEquals([connectionsOf(1, 128), connectionsOf(4, 1024), connectionsOf(4, Infinity)], [44, 742, 8192]);
  const error = assertThrows(() => connectionsOf(16, 64), Error);
  assertStringIncludes(error.message, "must be allowed to open 224 files: the limit is 64");
});

Deno.test("keptInterpreters() are one for each token beyond the sessions, in a quarter of the memory", () => {
  const kept = (tokens: number, maxSessions: number, memoryBytes: number) =>
    keptInterpreters({ tokens, maxSessions, memoryBytes });
  assertEquals([kept(1, 4, 8e9), kept(2, 8, 8e9), kept(100, 32, 24e9), kept(100, 32, 2e9)], [0, 0, 67, 10]);
});
