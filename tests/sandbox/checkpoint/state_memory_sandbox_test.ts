import { assert, assertEquals } from "@std/assert";
import { z } from "zod";
import { CheckpointError, hostTool, loadProfile } from "../../../mod/sandbox.ts";
import { CheckpointCompressor } from "../../../src/sandbox/checkpoint/compression.ts";
import type { StateMemory, StateMemoryOptions } from "../../../src/sandbox/checkpoint/state_memory.ts";
import type { CaptureOptions } from "../../../src/sandbox/contract/checkpoint.ts";
import type { BranchingSession } from "../../../src/sandbox/contract/pool.ts";
import { withSession } from "../shared_session.ts";
import { value } from "../started.ts";

const MIB = 1 << 20;
/** Sizes of the rooms that are tried before that of the largest state. */
const [SMALL, LARGE, HUGE] = [8 * MIB, 64 * MIB, 256 * MIB];

/** Options of calls that use the memory of a server. */
function within(states: StateMemory): Pick<CaptureOptions, "signal"> & StateMemoryOptions {
  return { states };
}

/** Memory that notes for which sizes room was taken, and how much is taken now. */
class NotedMemory implements StateMemory {
  readonly asked: number[] = [];
  taken = 0;
  /** Bytes above which room is refused. */
  mostBytes = Infinity;

  reserve(bytes: number) {
    this.asked.push(bytes);
    if (bytes > this.mostBytes) {
      return Promise.reject(new CheckpointError("there is no room", { code: "checkpoint_refused" }));
    }
    let taken = bytes;
    this.taken += taken;
    const shrink = (left: number) => {
      this.taken -= taken - left;
      taken = left;
    };
    return Promise.resolve({ shrink, [Symbol.dispose]: () => shrink(0) });
  }
}

async function run(session: BranchingSession, code: string): Promise<string | undefined> {
  return value(await session.exec(code));
}

Deno.test("checkpoint() and restore() take no memory while a program of the session runs", async () => {
  await withSession(async (session) => {
    const checkpoint = await session.checkpoint();
    const memory = new NotedMemory();
    let transfers: Promise<unknown> | undefined;
    const tool = hostTool({
      name: "transfer",
      description: "",
      parameters: z.object({}),
      async run() {
        transfers = Promise.all([
          session.checkpoint(within(memory)),
          session.restore(checkpoint, within(memory)),
        ]);
        await new Promise((resolve) => setTimeout(resolve, 20)); // the program waits for it
        return memory.asked.length;
      },
    });
    assertEquals(
      value(await session.exec("from paddock import tools\ntools.transfer()", { tools: [tool] })),
      "0",
    );
    await transfers;
    assert(memory.asked.length > 1, String(memory.asked));
    assertEquals(memory.taken, 0);
  }, { profile: await loadProfile("tools") });
});

Deno.test("a small state takes the memory of a small one, and a large one no more than its size once that is known", async () => {
  await withSession(async (session) => {
    await run(session, "x = 1");
    const memory = new NotedMemory();
    {
      using state = await session.captureState({ states: memory });
      assertEquals([memory.asked, memory.taken], [[SMALL], state.bytes.length]);
    }
    await run(session, "import os; x = os.urandom(9 << 20)");
    using state = await session.captureState({ states: memory });
    assertEquals([memory.asked, memory.taken], [[SMALL, SMALL, LARGE], state.bytes.length]);
    using again = await session.captureState({ states: memory });
    assertEquals(memory.asked, [SMALL, SMALL, LARGE, LARGE]);
    assertEquals(memory.taken, state.bytes.length + again.bytes.length);
    await run(session, "x = os.urandom(65 << 20)");
    using _huge = await session.captureState({ states: memory });
    assertEquals(memory.asked.slice(4), [LARGE, HUGE]);
    await session.reset();
    using _fresh = await session.captureState({ states: memory });
    assertEquals(memory.asked.slice(6), [SMALL]);
  });
});

Deno.test("a state without memory takes the room of its files, and that of the next one is not smaller", async () => {
  await withSession(async (session) => {
    await run(session, "import os; x = os.urandom(9 << 20)");
    const memory = new NotedMemory();
    {
      using _whole = await session.captureState({ states: memory });
      using files = await session.captureState({ memory: false, states: memory });
      assert(files.bytes.length < SMALL, String(files.bytes.length));
      using _again = await session.captureState({ states: memory });
      assertEquals(memory.asked, [SMALL, LARGE, SMALL, LARGE]);
    }
    assertEquals(memory.taken, 0);
    const checkpoint = await session.checkpoint({ ...within(memory), memory: false });
    await session.restore(checkpoint, within(memory));
    assertEquals([memory.taken, await run(session, "'x' in globals()")], [0, "False"]);
  });
});

Deno.test("a state that is refused takes no memory, and the session goes on", async () => {
  await withSession(async (session) => {
    await run(session, "import os; ends = os.pipe()");
    const memory = new NotedMemory();
    const refused = await session.checkpoint(within(memory)).catch((error) => error);
    assert(refused instanceof CheckpointError && refused.message.includes("pipe"), String(refused));
    assertEquals(memory.taken, 0);
    await run(session, "[os.close(end) for end in ends]; x = os.urandom(9 << 20)");
    memory.mostBytes = 2 * SMALL;
    const full = await session.checkpoint(within(memory)).catch((error) => error);
    assert(full instanceof CheckpointError && full.message === "there is no room", String(full));
    assertEquals([memory.taken, await run(session, "len(x)")], [0, String(9 * MIB)]);
  });
});

Deno.test("restore() frees the expanded state with its room, unless the session keeps the state for its recovery", async () => {
  const { expand } = CheckpointCompressor.prototype;
  const expanded: Uint8Array[] = [];
  CheckpointCompressor.prototype.expand = async function (...args) {
    const state = await expand.apply(this, args);
    expanded.push(state);
    return state;
  };
  try {
    await withSession(async (session) => {
      await run(session, "x = 41");
      const checkpoint = await session.checkpoint();
      await session.restore(checkpoint);
      assertEquals([expanded.length, expanded[0]?.length, await run(session, "x + 1")], [1, 0, "42"]);
    });
    await withSession(async (session) => {
      const checkpoint = await session.checkpoint();
      session.setRecovery({ every: "exec" });
      await session.restore(checkpoint);
      session.setRecovery(undefined);
      assertEquals(expanded[1]?.length, checkpoint.stateBytes);
    });
  } finally {
    CheckpointCompressor.prototype.expand = expand;
  }
});
