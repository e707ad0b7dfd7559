import { join } from "node:path";
import type { Message, ToolSpec } from "../../message.ts";
import type { Reply } from "../../policy/policy.ts";
import type { Task } from "../../task.ts";
import type { GatewayGrader } from "../../wire/v1_gateway.ts";
import type { ModelAnswer, ModelRequest, Sampling } from "../model_request.ts";
import type { RewrittenMode } from "../session/session_options.ts";
import type { SessionEnd, TurnFacts } from "../session/session_row.ts";

/** How a session was opened. */
export interface SessionSettings {
  readonly owner: string;
  readonly task: Task;
  readonly sample?: number | undefined;
  readonly sampling?: Sampling | undefined;
  readonly samplingFrom?: "session" | "request" | undefined;
  readonly rewritten?: RewrittenMode | undefined;
  readonly toolChoice?: "auto" | undefined;
  /** Scores the session if its reward names no other. */
  readonly grader?: GatewayGrader | undefined;
  readonly idleMs?: number | undefined;
  /** Time at which the session was opened, in ISO 8601. */
  readonly openedAt?: string | undefined;
  /** Id of the session's sandbox. */
  readonly sandboxId?: string | undefined;
  /** Session of which this session is a copy. */
  readonly origin?: SessionOrigin | undefined;
}

/** The session that a copy continues. The first turns of the copy's journal are the origin's turns. */
export interface SessionOrigin {
  readonly id: string;
  readonly turns: number;
  readonly origin?: SessionOrigin | undefined;
}

/** A turn as it happened. */
export interface JournalTurn {
  readonly request: ModelRequest;
  readonly reply: Reply;
  readonly answer: ModelAnswer;
  readonly facts: TurnFacts;
}

/** A session that a journal holds. */
export interface JournaledSession {
  readonly id: string;
  readonly key: string;
  readonly settings: SessionSettings;
  readonly turns: readonly JournalTurn[];
  readonly end: SessionEnd | undefined;
  /** Continues the journal. */
  readonly journal: SessionJournal;
}

/** A request without the messages and tools that are shared with the request before. */
interface TurnLine extends Omit<JournalTurn, "request"> {
  readonly request: Omit<ModelRequest, "messages" | "tools">;
  /** Number of first messages that equal the messages of the turn before. */
  readonly shared: number;
  readonly messages: readonly Message[];
  /** Absent if the tools are the same as in the turn before. */
  readonly tools?: readonly ToolSpec[];
}

type Line =
  | { readonly open: SessionSettings; readonly id: string; readonly key: string }
  | { readonly turn: TurnLine }
  | { readonly end: SessionEnd };

const SUFFIX = ".jsonl";
const LOCK = "lock";
/** Sessions have secrets: only their user reads the files. */
const MODE = 0o600;

/** The journal of one session: a file to which each turn is added before the answer is delivered. */
export class SessionJournal {
  readonly #path: string;
  #messages: readonly string[] = [];
  #tools = "";

  constructor(path: string) {
    this.#path = path;
  }

  /** Writes how the session was opened. */
  open(session: { id: string; key: string; settings: SessionSettings }): void {
    const { id, key, settings: open } = session;
    this.#add({ open, id, key });
  }

  /** Adds a turn. */
  add({ request, ...turn }: JournalTurn): void {
    const { messages, tools } = request;
    const texts = messages.map((message) => JSON.stringify(message));
    const first = texts.findIndex((text, at) => text !== this.#messages[at]);
    const shared = first === -1 ? texts.length : first;
    const toolText = JSON.stringify(tools);
    const changed = toolText === this.#tools ? {} : { tools };
    this.#add({
      turn: { ...turn, request: settingsOf(request), shared, messages: messages.slice(shared), ...changed },
    });
    this.#messages = texts;
    this.#tools = toolText;
  }

  /** Returns the turns of the journal. */
  turns(): readonly JournalTurn[] {
    return parseJournal(Deno.readTextFileSync(this.#path))?.turns ?? [];
  }

  /** Writes how the session ended. */
  end(end: SessionEnd): void {
    this.#add({ end });
  }

  /** Removes the journal. */
  remove(): void {
    try {
      Deno.removeSync(this.#path);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }

  #add(line: Line): void {
    Deno.writeTextFileSync(this.#path, `${JSON.stringify(line)}\n`, { append: true, mode: MODE });
  }

  /**
   * Reads a journal. A last line without an end, which a killed gateway left, is removed: the line's turn was
   * not delivered.
   *
   * @returns `undefined` if the journal has no session.
   */
  static async read(path: string): Promise<JournaledSession | undefined> {
    const text = await Deno.readTextFile(path);
    const end = text.lastIndexOf("\n") + 1;
    if (end < text.length) await Deno.truncate(path, new TextEncoder().encode(text.slice(0, end)).length);
    const parsed = parseJournal(text.slice(0, end));
    if (parsed === undefined) return undefined;
    const journal = new SessionJournal(path);
    const last = parsed.turns.at(-1)?.request;
    journal.#messages = last?.messages.map((message) => JSON.stringify(message)) ?? [];
    journal.#tools = last === undefined ? "" : JSON.stringify(last.tools);
    return { ...parsed, journal };
  }
}

function parseJournal(text: string): Omit<JournaledSession, "journal"> | undefined {
  const lines = text.split("\n").filter((line) => line !== "");
  const [first, ...others] = lines.map((line): Line => JSON.parse(line));
  if (first === undefined || !("open" in first)) return undefined;
  const turns: JournalTurn[] = [];
  let end: SessionEnd | undefined;
  for (const line of others) {
    if ("turn" in line) turns.push(toTurn(line.turn, turns.at(-1)?.request));
    else if ("end" in line) end ??= line.end;
  }
  return { id: first.id, key: first.key, settings: first.open, turns, end };
}

/** Returns what a request has beside its chat, without fields of the dialect. */
function settingsOf(request: ModelRequest): TurnLine["request"] {
  const { model, toolChoice, sampling, stream, wantsLogProbs } = request;
  const { ignoredTools, identity, retry } = request;
  return {
    model,
    toolChoice,
    sampling,
    stream,
    wantsLogProbs,
    ignoredTools,
    identity,
    retry,
  };
}

function toTurn({ request, shared, messages, tools, ...turn }: TurnLine, before: ModelRequest | undefined) {
  return {
    ...turn,
    request: {
      ...request,
      messages: [...before?.messages.slice(0, shared) ?? [], ...messages],
      tools: tools ?? before?.tools ?? [],
    },
  };
}

/** The error of a folder that another gateway uses. */
export class JournalInUseError extends Error {
  override readonly name = "JournalInUseError";
}

/** The folder of the journals of a gateway. One gateway uses the folder at a time. */
export class JournalFolder implements Disposable {
  readonly #path: string;
  readonly #lock: Deno.FsFile;

  private constructor(path: string, lock: Deno.FsFile) {
    this.#path = path;
    this.#lock = lock;
  }

  /**
   * Opens a folder, which is created if missing.
   *
   * @throws {JournalInUseError} if another gateway uses the folder.
   */
  static async open(path: string): Promise<JournalFolder> {
    await Deno.mkdir(path, { recursive: true, mode: 0o700 });
    const lock = await Deno.open(join(path, LOCK), { create: true, write: true, mode: MODE });
    if (await lock.tryLock(true)) return new JournalFolder(path, lock);
    lock.close();
    throw new JournalInUseError(`Cannot use the folder '${path}' as no other gateway may use it: one does`);
  }

  /** Returns the journal of a new session. */
  create(id: string): SessionJournal {
    return new SessionJournal(join(this.#path, `${id}${SUFFIX}`));
  }

  /** Reads the sessions of the folder, oldest first. */
  async readAll(): Promise<JournaledSession[]> {
    const files: { path: string; createdMs: number }[] = [];
    for await (const { name, isFile } of Deno.readDir(this.#path)) {
      if (!isFile || !name.endsWith(SUFFIX)) continue;
      const path = join(this.#path, name);
      files.push({ path, createdMs: (await Deno.stat(path)).birthtime?.getTime() ?? 0 });
    }
    files.sort((one, other) => one.createdMs - other.createdMs);
    const sessions: JournaledSession[] = [];
    for (const { path } of files) {
      const session = await SessionJournal.read(path);
      if (session !== undefined) sessions.push(session);
    }
    return sessions;
  }

  /** Lets another gateway use the folder. */
  [Symbol.dispose](): void {
    this.#lock.unlockSync();
    this.#lock.close();
  }
}
