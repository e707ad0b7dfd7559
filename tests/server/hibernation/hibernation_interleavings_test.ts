import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { join } from "node:path";
import { CheckpointError, SandboxError } from "../../../src/errors.ts";
import type { SandboxAcquireOptions } from "../../../src/sandbox/contract/pool.ts";
import { HibernationStore } from "../../../src/server/hibernation/hibernation_store.ts";
import { StateDirectory } from "../../../src/server/hibernation/state_directory.ts";
import { ServerError } from "../../../src/server/http/http_errors.ts";
import { Metrics } from "../../../src/server/metrics.ts";
import type { LiveSession } from "../../../src/server/sessions/live_session.ts";
import type { SessionService } from "../../../src/server/sessions/session_service.ts";
import { BranchingFakePool, readFakeCheckpoint } from "../../fake_pool.ts";
import { TempFolder } from "../../temp_folder.ts";
import { count, service, signal, valueOf } from "./counting_sessions.ts";

const OWNERS = ["ada", "bo", "eve"];
const [INTERPRETERS, WAIT_MS, AFTER_MS] = [3, 60, 8];
/** Memory for some four states; further ones are in the directory. */
const STORE_BYTES = 32_000;
/** Room of an entry beside its state. */
const ENTRY_BYTES = 4096;
/** Room for all, so that a server that stops saves each session. */
const DIRECTORY_BYTES = 10_000_000;
/** What a request may fail with, when nothing has run. */
const REFUSALS: readonly string[] = ["busy", "timeout", "conflict", "unavailable"];

/** A step that begins after `delayMs`, while earlier steps of the same round run. */
interface Step {
  readonly kind: "create" | "exec" | "fork" | "hibernate" | "pause" | "forget" | "resume" | "end";
  /** Chooses the owner or the session. */
  readonly at: number;
  readonly delayMs: number;
}

/** Steps at the same time; what the server does after them. */
interface Round {
  readonly steps: readonly Step[];
  readonly then: "go on" | "restart";
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom(
    "create",
    "exec",
    "exec",
    "exec",
    "exec",
    "fork",
    "hibernate",
    "pause",
    "forget",
    "resume",
    "end",
  ),
  at: fc.nat(40),
  delayMs: fc.nat(6),
});
const rounds: fc.Arbitrary<Round[]> = fc.array(
  fc.record({
    steps: fc.array(step, { minLength: 4, maxLength: 24 }),
    then: fc.constantFrom("go on", "go on", "restart"),
  }),
  { minLength: 2, maxLength: 5 },
);

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Pool whose calls take some time, and fail now and then. */
class UnsteadyPool extends BranchingFakePool {
  #calls: number;
  isSteady = false;

  constructor(seed: number) {
    super(async (code, globals, options) => {
      await this.#pass();
      return await count(code, globals, options);
    });
    this.#calls = seed;
  }

  /** Waits for some milliseconds. Returns true in one of 16 calls, which then fails. */
  async #pass(): Promise<boolean> {
    this.#calls = (this.#calls * 1_103_515_245 + 12_345) % 2 ** 31;
    const call = this.#calls >> 8;
    if (call % 3 > 0) await sleep(call % 3);
    return !this.isSteady && call % 16 === 5;
  }

  override async acquire(options: SandboxAcquireOptions = {}) {
    if (await this.#pass()) throw new SandboxError("the interpreter did not start");
    const lease = await super.acquire(options);
    const { session } = lease;
    const [checkpoint, restore] = [session.checkpoint.bind(session), session.restore.bind(session)];
    session.checkpoint = async (options) => {
      const state = await checkpoint(options);
      if (await this.#pass()) throw new CheckpointError("a thread runs", { code: "checkpoint_refused" });
      return state;
    };
    session.restore = async (state, options) => {
      if (await this.#pass()) throw new SandboxError("the interpreter has crashed");
      await restore(state, options);
    };
    return lease;
  }
}

/** A session, and how often its counter was increased. */
interface Counted {
  session: LiveSession;
  count: number;
  /** The count is at most this, as a copy of a session that was used meanwhile may have any of its values. */
  most: number;
  /** Number of execs that have not ended. */
  running: number;
  /** Number of pauses without memory that have begun. */
  forgets: number;
  hasEnded: boolean;
}

function countedOf(session: LiveSession, count = 0, most = count): Counted {
  return { session, count, most, running: 0, forgets: 0, hasEnded: false };
}

class Trial {
  readonly pool: UnsteadyPool;
  readonly #folder: TempFolder;
  #directory: StateDirectory;
  store: HibernationStore;
  metrics = new Metrics();
  sessions: SessionService;
  readonly #all: Counted[] = [];

  constructor(pool: UnsteadyPool, folder: TempFolder, directory: StateDirectory) {
    this.pool = pool;
    this.#folder = folder;
    this.#directory = directory;
    this.store = this.#makeStore();
    this.sessions = this.#serve();
  }

  get alive(): Counted[] {
    return this.#all.filter(({ hasEnded }) => !hasEnded);
  }

  #makeStore(): HibernationStore {
    const limits = {
      bytes: STORE_BYTES,
      directoryBytes: DIRECTORY_BYTES,
      owners: OWNERS.length,
      copyAfterMs: 1,
    };
    return new HibernationStore({ ...limits, directory: this.#directory });
  }

  #serve(): SessionService {
    const { store, pool, metrics } = this;
    return service({
      store,
      pool,
      metrics,
      saved: this.#directory.sessions,
      afterMs: AFTER_MS,
      maxSessions: INTERPRETERS,
      owners: OWNERS.length,
      waitMs: WAIT_MS,
    });
  }

  async run({ kind, at, delayMs }: Step): Promise<void> {
    await sleep(delayMs);
    const counted = this.alive[at % Math.max(1, this.alive.length)];
    try {
      if (kind === "create") {
        const session = await this.sessions.create({ owner: OWNERS[at % OWNERS.length] ?? "", signal });
        this.#all.push(countedOf(session));
      } else if (counted !== undefined) await this.#use(counted, kind);
    } catch (error) {
      const isWithoutRoom = kind === "fork" && error instanceof ServerError && error.code === "invalid";
      const isRefused = error instanceof ServerError && REFUSALS.includes(error.code);
      assert(isRefused || isWithoutRoom, String(error));
    }
  }

  async #use(counted: Counted, kind: Exclude<Step["kind"], "create">): Promise<void> {
    const { session } = counted;
    if (kind === "exec") {
      await this.#exec(counted);
    } else if (kind === "fork") {
      const before = { ...counted, hasMemory: session.life.pause.hasMemory };
      const copies = await this.sessions.fork(session, 2, { signal });
      const most = Math.max(before.most, counted.most) + counted.running;
      // A fork that meets a pause without memory copies a session without memory.
      const count = before.hasMemory && counted.forgets === before.forgets ? before.count : 0;
      this.#all.push(...copies.map((copy) => countedOf(copy, count, most)));
    } else if (kind === "end") {
      counted.hasEnded = true;
      await session[Symbol.asyncDispose]();
    } else if (kind === "forget") {
      counted.forgets++;
      await session.life.pause.begin({ memory: false });
      counted.count = counted.most = 0;
    } else if (kind === "hibernate") {
      await session.life.hibernate();
    } else {
      await session.life.pause[kind === "pause" ? "begin" : "resume"]();
    }
  }

  async #exec(counted: Counted): Promise<void> {
    counted.running++;
    try {
      const value = Number(await valueOf(counted.session));
      assert(
        counted.count < value && value <= counted.most + 1,
        `${counted.count} ${counted.most} ${value}`,
      );
      counted.count = counted.most = value;
    } finally {
      counted.running--;
    }
  }

  /** Checks that a server that is killed now leaves no older state. */
  async checkFiles(): Promise<void> {
    const byId = new Map(this.#all.map((counted) => [counted.session.id, counted]));
    for await (const { name } of Deno.readDir(this.#directory.path)) {
      const [id = "", ending] = name.split(/\.(.*)/);
      if (ending !== "session.json") continue;
      try {
        const state = await Deno.readTextFile(join(this.#directory.path, `${id}.checkpoint`));
        const found = new Map<string, number>(JSON.parse(state)).get("count") ?? 0;
        const counted = byId.get(id);
        const kept = counted?.session.life.pause.hasMemory ? found : 0; // a state that had memory loses it when it wakes
        assert(counted && counted.count <= kept && kept <= counted.most, `${id} ${kept} ${counted?.count}`);
      } catch (error) {
        if (!(error instanceof Deno.errors.NotFound)) throw error; // it was removed meanwhile
      }
    }
  }

  async restart(): Promise<void> {
    this.pool.isSteady = true;
    assertEquals((await this.sessions.suspend()).lost, 0);
    await this.sessions[Symbol.asyncDispose]();
    await this.checkNothingTaken();
    this.#directory[Symbol.dispose]();
    this.#directory = await openDirectory(this.#folder);
    this.metrics = new Metrics();
    this.store = this.#makeStore();
    this.sessions = this.#serve();
    this.pool.isSteady = false;
    for (const counted of this.alive) {
      const { id, owner } = counted.session;
      counted.session = this.sessions.directory.find(id, owner);
    }
  }

  /** Uses each session once more, ends it, and checks that nothing is taken. */
  async end(): Promise<void> {
    this.pool.isSteady = true;
    const left = [...this.alive];
    let refused = 0;
    for (let counted = left.shift(); counted; counted = left.shift()) {
      try {
        if (counted.session.life.isPaused) await counted.session.life.pause.resume();
        await this.#exec(counted);
        refused = 0;
      } catch (error) { // sessions that could not hibernate when the pool failed have all interpreters until their use
        if (!(error instanceof ServerError && error.code === "timeout") || refused++ > left.length) {
          throw error;
        }
        left.push(counted);
      }
    }
    await Promise.all(this.alive.map(({ session }) => session[Symbol.asyncDispose]()));
    await this.checkNothingTaken();
    const names = await Array.fromAsync(Deno.readDir(this.#directory.path), ({ name }) => name);
    assertEquals(names.toSorted(), ["checkpoint.key", "lock"]);
  }

  /** Checks that nothing is taken but the room of the files that the directory has. */
  async checkNothingTaken(): Promise<void> {
    const { pool, store, metrics } = this;
    let bytes = 0;
    const files = new Map<number | null, number>(); // equal states of an owner are one file
    for await (const { name } of Deno.readDir(this.#directory.path)) {
      if (!name.endsWith(".checkpoint")) continue;
      const { ino, size } = await Deno.stat(join(this.#directory.path, name));
      bytes += ENTRY_BYTES;
      files.set(ino, size);
    }
    for (const size of files.values()) bytes += size;
    assertEquals(
      [pool.alive, store.count(), store.bytes("memory"), store.bytes("directory")],
      [0, 0, 0, bytes],
    );
    assert(metrics.format().includes("\npaddock_sessions 0\n"));
    assert(pool.most <= INTERPRETERS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sessions[Symbol.asyncDispose]();
    this.#directory[Symbol.dispose]();
  }
}

async function openDirectory(folder: TempFolder): Promise<StateDirectory> {
  return await StateDirectory.open(join(folder.path, "state"), { read: readFakeCheckpoint });
}

Deno.test("no interleaving of requests, forks, pauses, ends and restarts loses a session, repeats a state or keeps a slot", async () => {
  await fc.assert(
    fc.asyncProperty(rounds, fc.nat(), async (rounds, seed) => {
      await using folder = await TempFolder.of();
      await using trial = new Trial(new UnsteadyPool(seed), folder, await openDirectory(folder));
      for (const { steps, then } of rounds) {
        await Promise.all(steps.map((step) => trial.run(step)));
        await trial.checkFiles();
        if (then === "restart") await trial.restart();
      }
      await trial.end();
    }),
    { numRuns: 25 },
  );
});
