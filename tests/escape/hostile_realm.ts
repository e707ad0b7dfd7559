import { homedir } from "node:os";
import { join } from "node:path";
import { ensureBaseImage } from "../../src/sandbox/image/base_image.ts";
import { SUPERVISOR } from "../../src/sandbox/image/build_child.ts";
import type { BaseImage } from "../../src/sandbox/image/image_build.ts";
import { Child, type ChildEnd, type ChildProgram } from "../../src/sandbox/process/child.ts";
import { childCommand, childEnvironment } from "../../src/sandbox/process/child_command.ts";
import type { GuestModule } from "../../src/sandbox/image/guest_sources.ts";
import { activeLayers, detectLayers, type Layer } from "../../src/sandbox/process/layers.ts";
import { loadProfile, type Profile } from "../../src/sandbox/profile/profile.ts";
import { GuestLink, terminationOf } from "../../src/sandbox/guest_link.ts";
import { decodeLost, FrameKind } from "../../src/sandbox/protocol.ts";
import type { LinkSource } from "../../src/sandbox/session.ts";
import { watchProcess } from "../../src/sandbox/process/watchdog.ts";
import type { Payload } from "./payloads.ts";

/** Reports of attacks by id: `denied …`, `nothing`, or `GOT …`. */
export type Reports = Readonly<Record<string, string>>;

const SESSION = 1;
const MEMORY_BYTES = 800 * 1024 * 1024;

/** A frame that starts a process or its session. */
interface StartFrame {
  readonly kind: FrameKind;
  readonly session: number;
  readonly payload: string;
}

interface Handlers {
  /** Called when the attacks of a worker begin. */
  readonly onBegin?: () => void;
  /** Called with the reports of a worker, as JSON, and with the number of its group. */
  readonly onReport: (text: string, group: number) => void;
}

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
    const { reports: [reports = {}] } = await this.#runInWorkers([payloads]);
    return reports;
  }

  /** Runs each attack in a worker of its own, all in one process. Returns their reports and the process's stderr. */
  async runApart(payloads: readonly Payload[]): Promise<{ reports: Reports[]; stderr: string }> {
    return await this.#runInWorkers(payloads.map((payload) => [payload]));
  }

  async #runInWorkers(
    groups: readonly (readonly Payload[])[],
  ): Promise<{ reports: Reports[]; stderr: string }> {
    const reports = groups.map(() => Promise.withResolvers<Reports>());
    const child = this.#start(groups, {
      onReport: (text, group) => reports[group]?.resolve(JSON.parse(text)),
    });
    const early = child.ended.then(({ stderr }) => Promise.reject(new Error(`the child ended: ${stderr}`)));
    try {
      const all = await Promise.race([Promise.all(reports.map(({ promise }) => promise)), early]);
      child.kill();
      return { reports: all, stderr: (await child.ended).stderr };
    } finally {
      child.kill();
      await child.ended;
    }
  }

  /**
   * Runs one attack that may never end, kills it `ms` milliseconds after its begin, and returns how the process
   * ended.
   */
  async runUntilKilled(payload: Payload, ms: number): Promise<ChildEnd> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const child: Child = this.#start([[payload]], {
      onBegin() {
        timer = setTimeout(() => child.kill(), ms);
      },
      onReport: () => child.kill(),
    });
    await using _watch = watchProcess(
      child.pid,
      { cpuSeconds: 60, memoryBytes: MEMORY_BYTES },
      () => child.kill(),
    );
    const end = await child.ended;
    clearTimeout(timer);
    return end;
  }

  /** Returns the command of a process whose only worker runs `attack` when an exec arrives, and its first frames. */
  prepare(attack: string): { command: ChildProgram; boot: StartFrame[] } {
    const { directory, manifest } = this.#image;
    const command = childCommand(this.#profile, {
      denoPath: Deno.execPath(),
      assetsDir: directory,
      supervisorPath: join(directory, SUPERVISOR),
      layers: this.#layers,
    });
    const modules = replaceEnd(manifest.modules, PLAYER_OF_EXEC.replace("/* attack */", () => attack));
    const plan = { ...manifest, modules, mounts: [], limits: this.#profile.limits };
    const boot = [
      { kind: FrameKind.boot, session: 0, payload: JSON.stringify(plan) },
      { kind: FrameKind.open, session: SESSION, payload: "{}" },
    ];
    return { command: { ...command, env: childEnvironment() }, boot };
  }

  /** Returns a source of interpreters that run `attack` when an exec arrives. */
  openSource(attack: string): AttackSource {
    return new AttackSource(this.#profile, this.prepare(attack));
  }

  /** Starts a process with a worker for each group of attacks. */
  #start(groups: readonly (readonly Payload[])[], { onBegin, onReport }: Handlers): Child {
    const { directory, manifest } = this.#image;
    const profile = { ...this.#profile, sessionsPerProcess: groups.length };
    const command = childCommand(profile, {
      denoPath: Deno.execPath(),
      assetsDir: directory,
      supervisorPath: join(directory, SUPERVISOR),
      layers: this.#layers,
    });
    const child: Child = new Child({ ...command, env: childEnvironment() }, ({ kind, session, payload }) => {
      const reason = kind === FrameKind.lost ? decodeLost(payload).reason : payload;
      const text = new TextDecoder().decode(reason);
      if (kind === FrameKind.stdout) onBegin?.();
      else if (kind === FrameKind.opened) onReport(text, session - 1);
      else if (kind === FrameKind.lost) onReport(JSON.stringify({ lost: text }), session - 1);
      else if (kind === FrameKind.damaged) child.kill();
    });
    const plan = {
      ...manifest,
      modules: hostile(manifest.modules, groups),
      mounts: [],
      limits: this.#profile.limits,
      sessionsPerProcess: groups.length,
    };
    child.send(FrameKind.boot, 0, JSON.stringify(plan));
    groups.forEach((_, index) => child.send(FrameKind.open, index + 1, JSON.stringify({ seed: index })));
    return child;
  }
}

/** Interpreters of which each is a process whose worker attacks when an exec arrives. */
export class AttackSource implements LinkSource, AsyncDisposable {
  readonly profile: Profile;
  readonly layers: ReadonlySet<Layer> = new Set<Layer>();
  readonly #prepared: ReturnType<HostileRealm["prepare"]>;
  readonly #children: Child[] = [];

  constructor(profile: Profile, prepared: ReturnType<HostileRealm["prepare"]>) {
    this.profile = profile;
    this.#prepared = prepared;
  }

  checkpointScope(): Promise<never> {
    return Promise.reject(new Error("it has no checkpoints"));
  }

  openCopy(): Promise<never> {
    return Promise.reject(new Error("it has no copies"));
  }

  async openLink(): Promise<GuestLink> {
    const { command, boot } = this.#prepared;
    const child: Child = new Child(command, (frame) => {
      if (frame.kind === FrameKind.booted) return;
      if (frame.session === SESSION) link.receive(frame);
      else link.fail({ reason: "protocol", message: `a frame of session ${frame.session}` });
    });
    const link: GuestLink = new GuestLink(child, SESSION, { kill: () => child.kill() });
    child.ended.then((end) => link.fail(terminationOf(end)));
    this.#children.push(child);
    for (const frame of boot) child.send(frame.kind, frame.session, frame.payload);
    await link.opened;
    return link;
  }

  /** Waits until the first process has ended. */
  async firstEnd(): Promise<ChildEnd> {
    const [first] = this.#children;
    if (!first) throw new Error("no process was started");
    return await first.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) child.kill();
    await Promise.all(this.#children.map((child) => child.ended));
  }
}

/** Returns the worker's modules, the last one with the attacks at its end. Its seed is the number of its group. */
function hostile(
  modules: readonly GuestModule[],
  groups: readonly (readonly Payload[])[],
): GuestModule[] {
  const attacks = groups.map((payloads) =>
    `[${payloads.map(({ id, js }) => `[${JSON.stringify(id)}, async () => { ${js} }]`).join(",\n")}]`
  );
  return replaceEnd(modules, PLAYER.replace("/* attacks */", () => attacks.join(",\n")));
}

/** Returns the worker's modules, the last one with other code from where it starts Python. */
function replaceEnd(modules: readonly GuestModule[], code: string): GuestModule[] {
  const worker = modules.at(-1);
  const cut = worker?.source.indexOf("\ntry {") ?? -1;
  if (!worker || cut < 0) {
    throw new Error("Cannot cut the worker's module as it must start Python in a 'try' block");
  }
  return [...modules.slice(0, -1), { name: worker.name, source: `${worker.source.slice(0, cut)}\n${code}` }];
}

const PLAYER_OF_EXEC = `
function reportLost() {}
const outbox = new Int32Array(start.outbox, 0, 5);
channel.send(FrameKind.opened, textBytes("{}"));
channel.receive();
/* attack */
`;

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
const groups = [/* attacks */];
channel.send(FrameKind.stdout, textBytes("begins"));
for (const [id, attack] of groups[start.seed]) {
  try {
    const value = await race.call(Promise, [attack(), patience()]);
    reports[id] = value === undefined || value === null ? "nothing" : show(value);
  } catch (error) {
    reports[id] = "denied " + error;
  }
}
channel.send(FrameKind.opened, textBytes(stringify(reports)));
`;
