import { assertEquals, assertRejects } from "@std/assert";
import { CheckpointError } from "../../../src/errors.ts";
import type { Checkpoint } from "../../../src/sandbox/contract/checkpoint.ts";
import type { PythonSession, SessionLease } from "../../../src/sandbox/contract/pool.ts";
import type { CheckpointTransfers } from "../../../src/server/checkpoints/transfers.ts";
import type { HibernatedState } from "../../../src/server/hibernation/hibernated_state.ts";
import type { HibernationStore } from "../../../src/server/hibernation/hibernation_store.ts";
import {
  type HibernationParts,
  SessionInterpreter,
} from "../../../src/server/hibernation/session_interpreter.ts";
import type { SessionRecordParts } from "../../../src/server/hibernation/session_record.ts";
import { ServerError } from "../../../src/server/http/http_errors.ts";

/** Fakes of a pool, a store and transfers, which note their calls. */
class Fakes {
  readonly calls: string[] = [];
  /** Errors of calls, by their name. */
  readonly errors = new Map<string, Error>();
  isUsed = false;
  /** Called while a state is captured. */
  whileCaptured: () => void = () => {};
  unusable: CheckpointError | undefined;
  #leases = 0;

  /** An interpreter whose calls these fakes note. */
  interpreter(parts: Partial<HibernationParts> = {}): SessionInterpreter {
    return new SessionInterpreter(this.lease(), { ...this.#parts(), ...parts });
  }

  lease(): { lease: SessionLease; slot: Disposable } {
    const number = ++this.#leases;
    const session = { number } as unknown as PythonSession;
    return {
      lease: { session, [Symbol.asyncDispose]: () => this.#note(`release ${number}`) },
      slot: { [Symbol.dispose]: () => void this.calls.push(`free ${number}`) },
    };
  }

  #parts(): HibernationParts {
    const checkpoint = { id: "c", storedBytes: 9 } as Checkpoint;
    const transfers = {
      capture: async () => {
        await this.#note("capture");
        this.whileCaptured();
        return checkpoint;
      },
      restoreIn: () => this.#note("restore"),
      forget: () => this.#note("forget"),
    };
    return {
      owner: "a",
      store: {
        put: () => this.#note("put").then(() => this.#state()),
        hasRoom: () => true,
      } as Partial<HibernationStore> as HibernationStore,
      transfers: transfers as Partial<CheckpointTransfers> as CheckpointTransfers,
      endSignal: () => new AbortController().signal,
      acquire: () => this.#note("acquire").then(() => this.lease()),
      describe: () => ({}) as SessionRecordParts,
      isUsed: () => this.isUsed,
      onChange: (isAwake) => void this.calls.push(isAwake ? "awake" : "asleep"),
      onError: (error) => void this.calls.push(`error ${(error as ServerError).code}`),
      outlivesServer: true,
      onLost: () => void this.calls.push("lost"),
    };
  }

  #state(): HibernatedState {
    const [setUnusable, unusable] = [
      (error: CheckpointError) => void (this.unusable = error),
      () => this.unusable,
    ];
    return {
      transferBytes: 9,
      get unusable() {
        return unusable();
      },
      setUnusable,
      read: () => Promise.reject(new TypeError("transfers read it")),
      beginWake: () => void this.calls.push("begin wake"),
      cancelWake: () => void this.calls.push("cancel wake"),
      update: () => this.#note("update"),
      removeFiles: () => this.#note("remove"),
      suspend: () => this.#note("suspend"),
      [Symbol.asyncDispose]: () => this.#note("drop"),
    };
  }

  async #note(call: string): Promise<void> {
    this.calls.push(call);
    await Promise.resolve();
    const error = this.errors.get(call);
    if (error) throw error;
  }
}

const codeOf = async (work: Promise<unknown>) => (await assertRejects(() => work, ServerError)).code;
const numberOf = (session: PythonSession) => (session as unknown as { number: number }).number;

Deno.test("SessionInterpreter leaves its interpreter, and wakes in another one at the next use", async () => {
  const fakes = new Fakes();
  const interpreter = fakes.interpreter();
  assertEquals(numberOf(await interpreter.session()), 1);
  assertEquals(await interpreter.hibernate(), true);
  assertEquals(fakes.calls.splice(0), ["capture", "put", "asleep", "release 1", "free 1"]);
  const both = await Promise.all([interpreter.session(), interpreter.session()]);
  assertEquals(both.map(numberOf), [2, 2]);
  assertEquals(fakes.calls.splice(0), ["begin wake", "acquire", "restore", "remove", "awake", "drop"]);
  await interpreter[Symbol.asyncDispose]();
  assertEquals(fakes.calls, ["release 2", "free 2"]);
});

Deno.test("SessionInterpreter wakes with its files alone if memory is false", async () => {
  const fakes = new Fakes();
  const interpreter = fakes.interpreter();
  await interpreter.hibernate({ memory: false });
  await interpreter.session({ memory: false });
  assertEquals(fakes.calls.slice(5), [
    "begin wake",
    "acquire",
    "restore",
    "forget",
    "remove",
    "awake",
    "drop",
  ]);
});

Deno.test("SessionInterpreter keeps its interpreter while the session is used, or is used during the capture", async () => {
  const fakes = new Fakes();
  const interpreter = fakes.interpreter();
  fakes.isUsed = true;
  assertEquals([interpreter.canHibernate, await interpreter.hibernate(), fakes.calls], [false, false, []]);
  fakes.isUsed = false;
  fakes.whileCaptured = () => void interpreter.session();
  assertEquals([await interpreter.hibernate(), fakes.calls], [false, ["capture"]]);
  assertEquals([interpreter.lifecycle.phase.kind, interpreter.refusal], ["awake", undefined]);
});

Deno.test("SessionInterpreter reports once why the session cannot hibernate, and tries again after a use", async () => {
  const fakes = new Fakes();
  const interpreter = fakes.interpreter();
  fakes.errors.set("capture", new CheckpointError("threads", { code: "checkpoint_refused" }));
  assertEquals([await interpreter.hibernate(), await interpreter.hibernate()], [false, false]);
  assertEquals(fakes.calls.splice(0), ["capture", "error conflict"]);
  assertEquals([interpreter.canHibernate, interpreter.refusal?.reason], [false, "checkpoint_refused"]);
  fakes.errors.clear();
  await interpreter.session();
  assertEquals(await interpreter.hibernate(), true);
});

Deno.test("SessionInterpreter tries again without a use if the store has room for the state that it refused", async () => {
  const fakes = new Fakes();
  const interpreter = fakes.interpreter();
  fakes.errors.set("put", new ServerError("busy", "full"));
  assertEquals([await interpreter.hibernate(), interpreter.canHibernate], [false, true]);
  fakes.errors.clear();
  assertEquals(await interpreter.hibernate(), true);
});

Deno.test("SessionInterpreter stays asleep if no interpreter becomes free", async () => {
  const fakes = new Fakes();
  const interpreter = fakes.interpreter();
  await interpreter.hibernate();
  fakes.errors.set("acquire", new ServerError("timeout", "busy"));
  assertEquals(await codeOf(interpreter.session()), "timeout");
  assertEquals(fakes.calls.slice(5), ["begin wake", "acquire", "cancel wake"]);
  fakes.errors.clear();
  assertEquals(numberOf(await interpreter.session()), 2);
});

Deno.test("SessionInterpreter keeps a state that cannot be restored for a later server, and refuses requests", async () => {
  const damaged = new CheckpointError("damaged", { code: "checkpoint_damaged" });
  const cause = new ServerError("conflict", "damaged", { cause: damaged });
  for (const outlivesServer of [true, false]) {
    const fakes = new Fakes();
    const interpreter = fakes.interpreter({ outlivesServer });
    await interpreter.hibernate();
    fakes.errors.set("restore", cause);
    await codeOf(interpreter.session());
    assertEquals([interpreter.unusable, fakes.calls.includes("lost")], [damaged, !outlivesServer]);
    assertEquals(fakes.calls.includes("release 2"), true);
    assertEquals(
      (await assertRejects(() => interpreter.session(), ServerError)).reason,
      "checkpoint_damaged",
    );
  }
});

Deno.test("SessionInterpreter.suspend() hibernates the session and saves its state, or rejects with the reason", async () => {
  const fakes = new Fakes();
  const interpreter = fakes.interpreter();
  await interpreter.suspend();
  assertEquals(fakes.calls.slice(-1), ["suspend"]);
  const refused = new Fakes();
  refused.errors.set("capture", new ServerError("conflict", "threads"));
  assertEquals(await codeOf(refused.interpreter().suspend()), "conflict");
  assertEquals(refused.calls, ["capture"], "the caller reports the reason");
});

Deno.test("SessionInterpreter ends while it leaves: the state is dropped, and the interpreter is released once", async () => {
  const fakes = new Fakes();
  const interpreter = fakes.interpreter();
  const leaving = interpreter.hibernate();
  await Promise.all([interpreter[Symbol.asyncDispose](), leaving]);
  assertEquals(await leaving, false);
  assertEquals(fakes.calls.filter((call) => call.startsWith("release")), ["release 1"]);
  assertEquals(await codeOf(interpreter.session()), "conflict");
});
