import { assert, assertEquals, assertThrows } from "@std/assert";
import { denoCommand } from "../../../src/sandbox/process/deno_program.ts";
import { grantFlags, type Grants, grantsAny } from "../../../src/sandbox/process/grants.ts";
import type { Layer } from "../../../src/sandbox/profile/schema.ts";

Deno.test("grantFlags() converts permissions to flags and omits those that are not named", () => {
  assertEquals(grantFlags({}), []);
  assertEquals(grantFlags({ read: false, write: [], net: { deny: true } }), ["--deny-net"]);
  assertEquals(
    grantFlags({ read: ["/a", "/b/../c"], net: { allow: true, deny: ["x:1"] }, env: ["HOME"], sys: true }),
    ["--allow-read=/a,/c", "--allow-net", "--deny-net=x:1", "--allow-env=HOME", "--allow-sys"],
  );
  assertEquals(grantFlags({ read: ["a"] }), [`--allow-read=${Deno.cwd()}/a`]);
});

Deno.test("grantFlags() refuses invalid permissions", () => {
  const wrong: readonly unknown[] = [
    { run: ["ls"] },
    { ffi: true },
    { all: true },
    { read: "x" },
    { read: { allowed: true } },
    { read: [1] },
    { net: ["a,b"] },
    { env: [""] },
    { read: null },
  ];
  for (const grants of wrong) assertThrows(() => grantFlags(grants as Grants), TypeError, "Cannot grant");
});

Deno.test("grantsAny() returns true if anything is granted", () => {
  const all = [undefined, false, [], { deny: true }, true, ["x"], { allow: ["x"] }] as const;
  assertEquals(all.map((grant) => grantsAny(grant)), [false, false, false, false, true, true, true]);
});

Deno.test("denoCommand() denies all permissions and allows imports only for packages or by permission", async () => {
  const layers: ReadonlySet<Layer> = new Set(["rlimits", "noNewPrivs", "parentDeath"]);
  const { program, args, env } = await denoCommand({ module: "/x.js", args: ["a"], layers });
  assertEquals(program, "/bin/sh");
  assert(args.join(" ").includes("ulimit -f 0"));
  assertEquals(args.slice(args.indexOf("--no-prompt")), [
    "--no-prompt",
    "--no-config",
    "--no-lock",
    "--cached-only",
    "--no-remote",
    "--no-npm",
    "--v8-flags=--max-old-space-size=256",
    "/x.js",
    "a",
  ]);
  assertEquals(env, { DENO_DIR: "/proc/nope", DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1" });
  const packaged = await denoCommand({ module: "npm:x@1", env: { A: "b" }, layers: new Set() });
  assertEquals(packaged.program, Deno.execPath());
  assert(!packaged.args.includes("--no-npm") && packaged.args.includes("--cached-only"));
  assert(packaged.env.DENO_DIR !== "/proc/nope" && packaged.env.A === "b");
});
