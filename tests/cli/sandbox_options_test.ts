import { assertEquals, assertRejects } from "@std/assert";
import { homedir } from "node:os";
import { join } from "node:path";
import { cacheDirectory, formatMissingLayers, resolveProfile } from "../../src/cli/sandbox_options.ts";
import { parseProfile } from "../../src/sandbox/profile/profile.ts";
import { layerStates } from "../../src/sandbox/process/layers.ts";
import { LAYERS } from "../../src/sandbox/profile/schema.ts";
import { UsageError } from "../../src/cli/cli_errors.ts";

function cacheOf(flag: string | undefined, environment: Record<string, string>): string {
  return cacheDirectory(flag, { get: (name) => environment[name] });
}

Deno.test("cacheDirectory() uses the option, then the environment, then the home directory", () => {
  const environment = { PADDOCK_CACHE_DIR: "/own", XDG_CACHE_HOME: "/shared" };
  assertEquals(cacheOf("/flag", environment), "/flag");
  assertEquals(cacheOf(undefined, environment), "/own");
  assertEquals(cacheOf(undefined, { XDG_CACHE_HOME: "/shared" }), "/shared/paddock");
  for (const unset of [{}, { PADDOCK_CACHE_DIR: "", XDG_CACHE_HOME: "" }, { XDG_CACHE_HOME: "relative" }]) {
    assertEquals(cacheOf(undefined, unset), join(homedir(), ".cache", "paddock"));
  }
});

Deno.test("cacheDirectory() returns an absolute path", () => {
  assertEquals(cacheOf("cache", {}), join(Deno.cwd(), "cache"));
});

Deno.test("resolveProfile() throws a usage error for a missing or invalid profile", async () => {
  await assertRejects(
    () => resolveProfile({ profile: "nope" }, new AbortController().signal),
    UsageError,
    "Cannot find profile 'nope'",
  );
  await assertRejects(
    () => resolveProfile({ profile: Deno.cwd() }, new AbortController().signal),
    UsageError,
    "Cannot read profile",
  );
  const path = await Deno.makeTempFile({ suffix: ".jsonc" });
  try {
    await Deno.writeTextFile(path, '{ "limits": ');
    await assertRejects(
      () => resolveProfile({ profile: path }, new AbortController().signal),
      UsageError,
      "must be JSON with comments",
    );
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("formatMissingLayers() names in one line the layers that a profile does without", () => {
  const lineFor = (layers: object, lacking: readonly string[]) => {
    const profile = parseProfile(JSON.stringify({ layers }), { source: "mine" });
    const detected = LAYERS.map((layer) =>
      lacking.includes(layer)
        ? { layer, installed: false, works: false, why: "it is absent" }
        : { layer, installed: true, works: true }
    );
    return formatMissingLayers(layerStates(profile, detected));
  };
  assertEquals(lineFor({}, []), undefined);
  assertEquals(lineFor({}, ["bubblewrap", "memoryCgroup"]), undefined);
  assertEquals(lineFor({ seccomp: "off" }, ["seccomp"]), undefined);
  assertEquals(lineFor({ seccomp: "required" }, ["seccomp", "landlock"]), undefined);
  assertEquals(
    lineFor({}, ["landlock", "seccomp"]),
    "Running without layers that do not work on this host: seccomp, landlock; 'paddock doctor' explains each\n",
  );
});
