import { Hono } from "hono";
import type { CheckpointService } from "../../checkpoints/checkpoint_service.ts";
import type { HeldCheckpoint, StoredCheckpoint } from "../../checkpoints/checkpoint_store.ts";
import type { CaptureStateOptions } from "../../checkpoints/transfers.ts";
import type { AppEnv } from "../../http/context.ts";
import { ServerError } from "../../http/http_errors.ts";
import type { LiveSession } from "../../sessions/live_session.ts";
import { SNAPSHOT_ID, type SnapshotInfo, snapshotQuery, snapshotRequest } from "./contract.ts";
import { readCodeBody } from "./e2b_errors.ts";
import { pageOf } from "./pages.ts";
import type { E2bSandbox, E2bSandboxes } from "./sandboxes.ts";

/** Sandbox and name of a snapshot. */
interface Origin {
  readonly sandboxId: string;
  /** Name with the tag, if the snapshot has a name. */
  readonly name: string | undefined;
  /** True if the memory comes from a sandbox with the home directory. */
  readonly hasHome: boolean;
}

/** The state that a sandbox starts with. */
interface HeldSnapshot extends HeldCheckpoint {
  /** True for a snapshot of a sandbox with the home directory. */
  readonly continues: boolean;
}

/** A snapshot in the form of lists. */
type Snapshot = StoredCheckpoint & Partial<Origin>;

/** The snapshots of E2B's clients: the checkpoints of each owner, some with names. */
export class E2bSnapshots {
  readonly #checkpoints: CheckpointService;
  /** By owner and id. Some are of checkpoints that the store has deleted meanwhile. */
  readonly #origins = new Map<string, Map<string, Origin>>();

  constructor(checkpoints: CheckpointService) {
    this.#checkpoints = checkpoints;
  }

  /**
   * Keeps the state of a sandbox. The new snapshot takes over a name of another snapshot. `session`: the sandbox's
   * session, or a copy of that session.
   *
   * @throws {ServerError} as {@linkcode CheckpointService.create} does.
   */
  async create(
    { id: sandboxId, session: { owner }, home }: E2bSandbox,
    session: LiveSession,
    { name, ...options }: CaptureStateOptions & { name?: string | undefined },
  ): Promise<Snapshot> {
    const hasHome = home.hasHome && options.memory !== false;
    const stored = await this.#checkpoints.create(session, options);
    const all = this.#originsOf(owner);
    const tagged = name === undefined ? all.get(stored.id)?.name : toTagged(name);
    for (const [id, origin] of all) if (origin.name === tagged) all.set(id, { ...origin, name: undefined });
    all.set(stored.id, { sandboxId, name: tagged, hasHome });
    return this.#describe(owner, stored);
  }

  /** Returns the owner's snapshots, oldest first. */
  list(owner: string): Snapshot[] {
    return this.#checkpoints.store.list(owner).map((stored) => this.#describe(owner, stored))
      .sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
  }

  /**
   * Returns the state of the owner's snapshot of an id or name for a use; `undefined` for a name without a snapshot.
   *
   * @throws {ServerError} `not_found` for an id without a snapshot.
   */
  hold(owner: string, idOrName: string): HeldSnapshot | undefined {
    const id = this.#idOf(owner, idOrName);
    if (id === undefined) return undefined;
    const { hasHome = false } = this.#origins.get(owner)?.get(id) ?? {};
    return { ...this.#checkpoints.store.hold(owner, id), continues: hasHome };
  }

  /** True if the owner has a snapshot of an id or name. */
  has(owner: string, idOrName: string): boolean {
    const id = this.#idOf(owner, idOrName);
    return this.#checkpoints.store.list(owner).some((stored) => stored.id === id);
  }

  /** Deletes the owner's snapshot of an id or name. @throws {ServerError} `not_found`. */
  delete(owner: string, idOrName: string): void {
    const id = this.#idOf(owner, idOrName);
    if (id === undefined) throw new ServerError("not_found", "There is no such snapshot");
    this.#origins.get(owner)?.delete(id);
    this.#checkpoints.store.delete(owner, id);
  }

  #idOf(owner: string, idOrName: string): string | undefined {
    if (SNAPSHOT_ID.test(idOrName)) return idOrName;
    const name = toTagged(idOrName);
    const [id] = this.#origins.get(owner)?.entries().find(([, origin]) => origin.name === name) ?? [];
    if (id === undefined) return undefined;
    return this.#checkpoints.store.list(owner).some((stored) => stored.id === id) ? id : undefined;
  }

  #describe(owner: string, stored: StoredCheckpoint): Snapshot {
    return { ...stored, ...this.#origins.get(owner)?.get(stored.id) };
  }

  /** Returns the origins of an owner's snapshots, without origins of deleted snapshots. */
  #originsOf(owner: string): Map<string, Origin> {
    const kept = new Set(this.#checkpoints.store.list(owner).map(({ id }) => id));
    const all = new Map(this.#origins.get(owner)?.entries().filter(([id]) => kept.has(id)) ?? []);
    this.#origins.set(owner, all);
    return all;
  }
}

/** Serves snapshots of sandboxes. */
export function snapshotRoutes(sandboxes: E2bSandboxes, snapshots: E2bSnapshots): Hono<AppEnv> {
  const app = new Hono<AppEnv>();
  app.post("/sandboxes/:id/snapshots", async (c) => {
    const sandbox = sandboxes.ofPath(c);
    const { name, memory } = await readCodeBody(c, snapshotRequest);
    const { session } = sandbox;
    const options = { name: name ?? undefined, memory: memory ?? undefined, signal: c.get("signal") };
    const { isPaused, hasMemory } = session.life.pause;
    const keepsFiles = isPaused && (options.memory === false || !hasMemory);
    const snapshot = keepsFiles
      ? await keepFiles(sandbox, options)
      : await snapshots.create(sandbox, session, options);
    return c.json(snapshotBody(snapshot), 201);
  });

  /** Keeps the files of a paused sandbox, by way of a copy that then ends: a paused sandbox has no interpreter. */
  async function keepFiles(sandbox: E2bSandbox, options: CaptureStateOptions): Promise<Snapshot> {
    const { settings: { ttlMs } } = sandbox;
    const [copy] = await sandboxes.fork(sandbox, { count: 1, ttlMs, signal: options.signal });
    if (copy === undefined) {
      throw new TypeError("Cannot keep a snapshot as there must be one copy: found none");
    }
    await using session = copy.session;
    return await snapshots.create(sandbox, session, { ...options, memory: false });
  }

  app.get("/snapshots", (c) => {
    const parsed = snapshotQuery.safeParse(c.req.query());
    if (!parsed.success) throw new ServerError("malformed", "The query is invalid");
    const { sandboxID, name, ...query } = parsed.data;
    const wanted = snapshots.list(c.get("owner"))
      .filter(({ sandboxId }) => sandboxID === undefined || sandboxId === sandboxID)
      .filter((snapshot) => name === undefined || snapshot.id === name || snapshot.name === toTagged(name));
    const { items, headers } = pageOf(wanted, query, (snapshot) => snapshot);
    return c.json(items.map(snapshotBody), 200, headers);
  });
  app.delete("/templates/:id", (c) => {
    snapshots.delete(c.get("owner"), c.req.param("id"));
    return c.body(null, 204);
  });
  return app;
}

/** Returns a name with the tag, which is `default` for a name without a tag. */
function toTagged(name: string): string {
  return name.includes(":") ? name : `${name}:default`;
}

function snapshotBody({ id, name }: Snapshot): SnapshotInfo {
  return { snapshotID: id, names: name === undefined ? [] : [name] };
}
