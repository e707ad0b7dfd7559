import { Sandbox } from "../src/sandbox/sandbox.ts";
import { median, summarize, timings } from "./measure.ts";
import type { Row } from "./row.ts";
import { COMMANDS_PRELOAD, defaultCommands } from "../src/envs/workspace/commands/commands.ts";
import { type BenchSetup, poolOptions } from "./sandbox_rows.ts";

/** Measures a session with a shell: start, commands, and a rewind that removes files. */
export async function shellRows(setup: BenchSetup): Promise<Row[]> {
  const shell = { ...setup, profile: { ...setup.profile, shell: true } };
  const cold = await timings(() => startOnce(shell), { runs: 5 * setup.effort, warmup: 1 });
  await using sandbox = await Sandbox.start(poolOptions(shell));
  const session = await sandbox.openSession();
  const command = await timings(() => session.shell("true"), { runs: 500 * setup.effort, warmup: 200 });
  const pipeline = await timings(() => session.shell("echo a | tr a b"), {
    runs: 200 * setup.effort,
    warmup: 50,
  });
  const python = await timings(() => session.shell("python -c 1"), { runs: 100 * setup.effort, warmup: 20 });
  const rewinds: number[] = [];
  for (let run = 0; run < 50 * setup.effort; run++) {
    await session.shell("mkdir d; for i in {1..20}; do echo $i > d/$i; done; x=1");
    rewinds.push(...await timings(() => session.reset({ mode: "rewind" }), { runs: 1 }));
  }
  return [
    { what: "session with a shell ready, cold process, image cached", ...summarize(cold), unit: "ms" },
    { what: 'shell("true"), host to host', ...summarize(command), unit: "ms", bound: 3 },
    { what: 'shell("echo a | tr a b")', ...summarize(pipeline), unit: "ms" },
    { what: 'shell("python -c 1")', ...summarize(python), unit: "ms" },
    { what: "rewind of a shell and 20 files", ...summarize(rewinds), unit: "ms", bound: 15 },
  ];
}

/** Measures agent commands on a file of 200 lines, minus the duration of `true`. */
export async function agentCommandRows(setup: BenchSetup): Promise<Row[]> {
  const profile = { ...setup.profile, shell: true, preload: COMMANDS_PRELOAD };
  await using sandbox = await Sandbox.start({ ...poolOptions(setup), profile });
  const session = await sandbox.openSession();
  await session.writeFile("a.py", "x = 1\n".repeat(200));
  const functions = defaultCommands().map(({ contents }) => contents).join("\n");
  await session.shell(`${functions}\nWINDOW=100; OVERLAP=2; open a.py`);
  let edits = 0;
  const edit = () => `edit 20:20 << 'end_of_edit'\nx = ${edits++}\nend_of_edit`;
  const commands = {
    true: () => "true",
    open: () => "open a.py",
    goto: () => "goto 150",
    search_file: () => "search_file nothing",
    edit,
  };
  const medians: Record<string, number> = {};
  for (const [name, command] of Object.entries(commands)) {
    const times = await timings(() => session.shell(command()), { runs: 100 * setup.effort, warmup: 50 });
    medians[name] = median(times);
  }
  const { true: nothing = 0, ...others } = medians;
  return Object.entries(others).map(([name, ms]) => ({
    what: `agent's command ${name}, beyond shell("true")`,
    value: ms - nothing,
    unit: "ms",
    bound: 3,
  }));
}

async function startOnce(setup: BenchSetup): Promise<void> {
  await using sandbox = await Sandbox.start(poolOptions(setup));
  await sandbox.openSession();
}
