import { homedir } from "node:os";
import { join } from "node:path";
import { type BaseImage, ensureBaseImage } from "../../src/sandbox/image/base_image.ts";
import { SUPERVISOR } from "../../src/sandbox/image/image_build.ts";
import { Child, type ChildEnd } from "../../src/sandbox/process/child.ts";
import { childCommand, childEnvironment } from "../../src/sandbox/process/command.ts";
import type { GuestModule } from "../../src/sandbox/image/guest_sources.ts";
import { activeLayers, detectLayers, type Layer } from "../../src/sandbox/process/layers.ts";
import { loadProfile, type Profile } from "../../src/sandbox/profile/profile.ts";
import { decodeLost, FrameKind } from "../../src/sandbox/protocol.ts";
import { watchProcess } from "../../src/sandbox/process/watchdog.ts";
import type { Payload } from "./payloads.ts";

/** Reports of attacks by id: `denied …`, `nothing`, or `GOT …`. */
export type Reports = Readonly<Record<string, string>>;

const MEMORY_BYTES = 800 * 1024 * 1024;
const SESSION = 1;

/**
 * Real sandboxes with one change: at the end of the worker's module, JavaScript of the test runs instead of Python.
 */
export class HostileRealm {
  readonly #profile: Profile;
  readonly #image: BaseImage;
  readonly #layers: ReadonlySet<Layer>;

  private constructor(profile: Profile, image: BaseImage, layers: ReadonlySet<Layer>) {
    this.#profile = profile;
    this.#image = image;
    this.#layers = layers;
  }

  static async create(name = "python"): Promise<HostileRealm> {
    const profile = await loadProfile(name);
    const image = await ensureBaseImage(profile, { cacheDir: join(homedir(), ".cache", "paddock") });
    return new HostileRealm(profile, image, activeLayers(profile, await detectLayers()));
  }

  /** Runs the attacks one after the other in one worker and returns their reports. */
  async run(payloads: readonly Payload[]): Promise<Reports> {
    const reports = Promise.withResolvers<Reports>();
    const child = this.#start(payloads, (text) => reports.resolve(JSON.parse(text)));
    child.ended.then(({ stderr }) => reports.reject(new Error(`the child ended: ${stderr}`)));
    try {
      return await reports.promise;
    } finally {
      child.kill();
      await child.ended;
    }
  }

  /** Runs one attack that may never end, kills it after `ms` milliseconds, and returns how the process ended. */
  async runUntilKilled(payload: Payload, ms: number): Promise<ChildEnd> {
    const child = this.#start([payload], () => child.kill());
    await using _watch = watchProcess(
      child.pid,
      { cpuSeconds: 60, memoryBytes: MEMORY_BYTES },
      () => child.kill(),
    );
    const timer = setTimeout(() => child.kill(), ms);
    const end = await child.ended;
    clearTimeout(timer);
    return end;
  }

  #start(payloads: readonly Payload[], onReport: (text: string) => void): Child {
    const { directory, manifest } = this.#image;
    const command = childCommand(this.#profile, {
      denoPath: Deno.execPath(),
      assetsDir: directory,
      supervisorPath: join(directory, SUPERVISOR),
      layers: this.#layers,
    });
    const child = new Child({ ...command, env: childEnvironment() }, ({ kind, payload }) => {
      const reason = kind === FrameKind.lost ? decodeLost(payload).reason : payload;
      const text = new TextDecoder().decode(reason);
      if (kind === FrameKind.opened) onReport(text);
      else if (kind === FrameKind.lost || kind === FrameKind.damaged) {
        onReport(JSON.stringify({ lost: text }));
      }
    });
    const plan = {
      ...manifest,
      modules: hostile(manifest.modules, payloads),
      mounts: [],
      limits: this.#profile.limits,
    };
    child.send(FrameKind.boot, 0, JSON.stringify(plan));
    child.send(FrameKind.open, SESSION, "{}");
    return child;
  }
}

/** Returns the worker's modules. The last one is cut where it starts Python. */
function hostile(modules: readonly GuestModule[], payloads: readonly Payload[]): GuestModule[] {
  const worker = modules.at(-1);
  const cut = worker?.source.indexOf("\ntry {") ?? -1;
  if (!worker || cut < 0) {
    throw new Error("Cannot cut the worker's module as it must start Python in a 'try' block");
  }
  const attacks = payloads.map(({ id, js }) => `[${JSON.stringify(id)}, async () => { ${js} }]`);
  const source = `${worker.source.slice(0, cut)}\n${PLAYER.replace("/* attacks */", attacks.join(",\n"))}`;
  return [...modules.slice(0, -1), { name: worker.name, source }];
}

const PLAYER = `
function reportLost() {}
if (start.shellUrl) await import(start.shellUrl);
const { stringify } = JSON;
const { race } = Promise;
const reports = { __proto__: null };
async function patience() {
  await Atomics.waitAsync(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200).value;
  throw new Error("no answer");
}
function show(value) {
  try { return "GOT " + String(value); } catch { return "GOT something"; }
}
for (const [id, attack] of [/* attacks */]) {
  try {
    const value = await race.call(Promise, [attack(), patience()]);
    reports[id] = value === undefined || value === null ? "nothing" : show(value);
  } catch (error) {
    reports[id] = "denied " + error;
  }
}
channel.send(FrameKind.opened, textBytes(stringify(reports)));
`;
