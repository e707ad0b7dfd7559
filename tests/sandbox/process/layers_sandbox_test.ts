import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { SandboxError } from "../../../src/errors.ts";
import { type Layer, type LayerMode, LAYERS } from "../../../src/sandbox/profile/schema.ts";
import {
  activeLayers,
  detectLayers,
  LAYER_REMEDIES,
  type LayerReport,
} from "../../../src/sandbox/process/layers.ts";
import { parseProfile } from "../../../src/sandbox/profile/profile.ts";

const linux = Deno.build.os === "linux";

function profile(layers: Partial<Record<Layer, LayerMode>>) {
  return parseProfile(JSON.stringify({ layers }), { source: "mine" });
}

function host(broken: Partial<Record<Layer, "absent" | "broken">> = {}): LayerReport[] {
  return LAYERS.map((layer) => {
    const state = broken[layer];
    if (state === undefined) return { layer, installed: true, works: true };
    return { layer, installed: state === "broken", works: false, why: `it is ${state}` };
  });
}

Deno.test("activeLayers() returns layers that work and are not off", () => {
  const byDefault = LAYERS.filter((layer) => layer !== "bubblewrap" && layer !== "speculation");
  assertEquals([...activeLayers(profile({}), host())], byDefault);
  const named = { bubblewrap: "installed", speculation: "installed", watchdog: "off" } as const;
  assertEquals([...activeLayers(profile(named), host())], LAYERS.filter((layer) => layer !== "watchdog"));
});

Deno.test("activeLayers() omits an optional layer that does not work", () => {
  const layers = activeLayers(profile({}), host({ rlimits: "absent", watchdog: "broken" }));
  assertEquals([layers.has("rlimits"), layers.has("watchdog"), layers.has("noNewPrivs")], [
    false,
    false,
    true,
  ]);
});

Deno.test("activeLayers() uses bubblewrap for namespaces that do not work without it", () => {
  const mine = profile({ userNamespace: "required", mountNamespace: "required" });
  const layers = activeLayers(mine, host({ userNamespace: "broken", mountNamespace: "broken" }));
  assert(layers.has("bubblewrap") && layers.has("userNamespace") && layers.has("mountNamespace"));
});

Deno.test("activeLayers() omits layers that have no effect without one that is off", () => {
  const detected = host().map((report) =>
    report.layer === "unprivilegedUser" ? { ...report, needs: "mountNamespace" as const } : report
  );
  assert(!activeLayers(profile({ mountNamespace: "off" }), detected).has("unprivilegedUser"));
  assert(!activeLayers({ ...profile({}), mounts: [MOUNT] }, detected).has("unprivilegedUser"));
  assert(activeLayers(profile({}), detected).has("unprivilegedUser"));
});

const MOUNT = { guestPath: "/data", hostPath: "/data" };

Deno.test("activeLayers() omits an 'installed' layer only if it is absent", () => {
  const mine = profile({ bubblewrap: "installed" });
  assert(!activeLayers(mine, host({ bubblewrap: "absent" })).has("bubblewrap"));
  const error = assertThrows(() => activeLayers(mine, host({ bubblewrap: "broken" })), SandboxError);
  assertEquals(
    error.message,
    "Cannot start sandbox as profile 'mine' needs layers that this host lacks: " +
      `'bubblewrap', installed, does not work: it is broken (${LAYER_REMEDIES.bubblewrap})`,
  );
});

Deno.test("activeLayers() names each required layer that does not work, with the reason and the remedy", () => {
  const mine = profile({ rlimits: "required", parentDeath: "required", watchdog: "required" });
  const detected = host({ rlimits: "absent", parentDeath: "broken" }).filter(({ layer }) =>
    layer !== "watchdog"
  );
  const error = assertThrows(() => activeLayers(mine, detected), SandboxError);
  assertEquals(
    error.message,
    "Cannot start sandbox as profile 'mine' needs layers that this host lacks: " +
      `'rlimits', required, does not work: it is absent (${LAYER_REMEDIES.rlimits}); ` +
      `'parentDeath', required, does not work: it is broken (${LAYER_REMEDIES.parentDeath}); ` +
      `'watchdog', required, does not work: it was not tested (${LAYER_REMEDIES.watchdog})`,
  );
});

Deno.test("detectLayers() reports every layer, with the reason for those that do not work", async () => {
  const detected = await detectLayers();
  assertEquals(detected.map(({ layer }) => layer), [...LAYERS]);
  for (const { works, installed, why } of detected) {
    assertEquals(works, why === undefined);
    assert(installed || !works);
  }
});

Deno.test({
  name: "detectLayers() tells a program that is absent from one that does not work",
  ignore: !linux,
  async fn() {
    const programs = { noNewPrivs: "/none/setpriv", bubblewrap: "/bin/sh", parentDeath: "/bin/sh" };
    const detected = await detectLayers({ programs });
    const report = (layer: Layer) => detected.find((found) => found.layer === layer);
    assertEquals(report("noNewPrivs"), {
      layer: "noNewPrivs",
      installed: false,
      works: false,
      why: "there is no /none/setpriv",
    });
    assertEquals(report("bubblewrap")?.installed, true);
    assertEquals(report("bubblewrap")?.works, false);
    assertEquals(report("parentDeath")?.works, false);
  },
});

Deno.test({
  name: "detectLayers() finds that limits beyond what the host allows do not work",
  ignore: !linux,
  async fn() {
    const rlimits = { dataKib: 2_000_000, openFiles: 2 ** 31, cpuSeconds: 10 };
    const report = (await detectLayers({ rlimits })).find(({ layer }) => layer === "rlimits");
    assertEquals(report?.works, false);
    assertStringIncludes(report?.why ?? "", "limit");
  },
});
