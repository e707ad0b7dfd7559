import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  childCommand,
  type ChildCommandOptions,
  childEnvironment,
  rlimitScript,
} from "../../../src/sandbox/process/child_command.ts";
import { activeLayers, detectLayers } from "../../../src/sandbox/process/layers.ts";
import { loadProfile, parseProfile, shippedProfiles } from "../../../src/sandbox/profile/profile.ts";
import { type Layer, LAYERS } from "../../../src/sandbox/profile/schema.ts";

function options(...layers: Layer[]): ChildCommandOptions {
  return {
    denoPath: "/opt/deno",
    assetsDir: "/var/cache/paddock/1a2b",
    supervisorPath: "/var/cache/paddock/1a2b/supervisor.js",
    layers: new Set(layers),
  };
}

function profile(value: unknown) {
  return parseProfile(JSON.stringify(value), { source: "mine", directory: "/profiles" });
}

for (const name of shippedProfiles) {
  Deno.test(`childCommand() of '${name}' where every layer works`, async (t) => {
    const loaded = await loadProfile(name);
    const detected = LAYERS.map((layer) => ({ layer, installed: true, works: true }));
    await t.assertSnapshot(childCommand(loaded, options(...activeLayers(loaded, detected))));
  });
}

Deno.test("childCommand() runs Deno directly if no layer is active", () => {
  const { program, args } = childCommand(profile({}), options());
  assertEquals(program, "/opt/deno");
  assertEquals(args[0], "run");
  assertEquals(args.at(-1), "/var/cache/paddock/1a2b/supervisor.js");
});

Deno.test("childCommand() passes setpriv the flags of the active layers", () => {
  const start = (...layers: Layer[]) => {
    const { program, args } = childCommand(profile({}), options(...layers));
    return [program, ...args.slice(0, args.indexOf("run"))].join(" ");
  };
  assertEquals(start("noNewPrivs"), "/usr/bin/setpriv --no-new-privs -- /opt/deno");
  assertEquals(start("parentDeath"), "/usr/bin/setpriv --pdeathsig KILL -- /opt/deno");
  assertEquals(start("watchdog"), "/opt/deno");
});

Deno.test("childCommand() raises the resource limits with the number of sessions", () => {
  const script = (sessionsPerProcess: number) =>
    childCommand(profile({ sessionsPerProcess }), options("rlimits")).args[1];
  assertStringIncludes(
    script(1) ?? "",
    "ulimit -n 64 && ulimit -d 542808912 && ulimit -t 604805 && ulimit -S -t 604800 &&",
  );
  assertStringIncludes(script(4) ?? "", "ulimit -n 128 && ulimit -d 2711114871 && ulimit -t 604805");
});

Deno.test("childCommand() grants reading of mounts and binds them with bubblewrap", () => {
  const mine = profile({ mounts: { "/a": "data", "/b": "/srv/b" } });
  const { args } = childCommand(mine, options("bubblewrap"));
  assertStringIncludes(args.join(" "), "--allow-read=/var/cache/paddock/1a2b,/profiles/data,/srv/b ");
  assertStringIncludes(args.join(" "), "--ro-bind /profiles/data /profiles/data --ro-bind /srv/b /srv/b ");
});

Deno.test("childCommand() binds a supervisor outside the assets directory", () => {
  const { args } = childCommand(profile({}), {
    ...options("bubblewrap"),
    supervisorPath: "/src/supervisor.ts",
  });
  assertStringIncludes(
    args.join(" "),
    "--ro-bind /src/supervisor.ts /src/supervisor.ts --ro-bind /var/cache",
  );
});

Deno.test("childCommand() adds V8 flags", () => {
  const { args } = childCommand(profile({}), { ...options(), v8Extra: ["--single-threaded"] });
  assertStringIncludes(args.join(" "), "--max-old-space-size=256,--single-threaded ");
});

Deno.test("childCommand() has V8 optimize a function at the start", () => {
  const flagOf = (optimizedFunction?: number) =>
    /--wasm-eager-tier-up-function=\d+/.exec(
      childCommand(profile({}), { ...options(), optimizedFunction }).args.join(" "),
    )?.[0];
  assertEquals([flagOf(), flagOf(3792)], [undefined, "--wasm-eager-tier-up-function=3792"]);
});

Deno.test("childCommand() refuses a path with a comma, at which Deno would split it", () => {
  const error = assertThrows(
    () => childCommand(profile({}), { ...options(), assetsDir: "/var/a,b" }),
    TypeError,
  );
  assertEquals(
    error.message,
    "Cannot start sandbox as paths that it reads must have no comma: current value is '/var/a,b'",
  );
});

Deno.test("childCommand() starts a child that can read only its assets", async () => {
  const assetsDir = await Deno.makeTempDir();
  await using _ = { [Symbol.asyncDispose]: () => Deno.remove(assetsDir, { recursive: true }) };
  const supervisorPath = `${assetsDir}/supervisor.js`;
  await Deno.writeTextFile(
    supervisorPath,
    await Deno.readTextFile(new URL("../probe_supervisor.js", import.meta.url)),
  );
  const layers = new Set((await detectLayers()).filter(({ works }) => works).map(({ layer }) => layer));
  const loaded = await loadProfile("strict");
  const { program, args } = childCommand(loaded, {
    denoPath: Deno.execPath(),
    assetsDir,
    supervisorPath,
    layers,
  });
  const command = new Deno.Command(program, { args, clearEnv: true, env: childEnvironment(), cwd: "/" });
  const { stdout, stderr } = await command.output();
  assertEquals(new TextDecoder().decode(stderr), "");
  assertEquals(JSON.parse(new TextDecoder().decode(stdout)), {
    assets: "ok",
    outside: "NotCapable",
    write: "NotCapable",
    env: "NotCapable",
    run: "NotCapable",
    storage: "refused",
    eval: "EvalError",
    memoryBytes: 134_217_728,
    revoked: "NotCapable",
  });
});

const RLIMITS = { dataKib: 1_743_696, openFiles: 64, cpuSeconds: 604_800 };

Deno.test({
  name: "rlimitScript() is taken by a shell without limits, and the command meets them",
  ignore: Deno.build.os !== "linux",
}, async () => {
  const ask = "ulimit -S -t; ulimit -H -t; ulimit -n; ulimit -d; ulimit -c";
  const { stdout, stderr } = await new Deno.Command("/bin/sh", {
    args: ["-c", rlimitScript(RLIMITS), "sh", "/bin/sh", "-c", ask],
    stdout: "piped",
    stderr: "piped",
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  assertEquals(text(stderr), "");
  assertEquals(text(stdout).trim().split("\n"), ["604800", "604805", "64", "1743696", "0"]);
});
