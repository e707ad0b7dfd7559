import { Sandbox } from "../sandbox/sandbox.ts";
import { median, timings } from "./measure.ts";
import type { Row } from "./row.ts";
import type { BenchSetup } from "./sandbox_rows.ts";

/** A session with a shell: its start, its commands, and its rewind with files to remove. */
export async function shellRows(setup: BenchSetup): Promise<Row[]> {
  const shell = { ...setup, profile: { ...setup.profile, shell: true } };
  const cold = await timings(() => startOnce(shell), { runs: 5 * setup.effort, warmup: 1 });
  await using sandbox = await Sandbox.start(shell);
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
    { what: "session with a shell ready, cold process, image cached", value: median(cold), unit: "ms" },
    { what: 'shell("true"), host to host', value: median(command), unit: "ms", bound: 3 },
    { what: 'shell("echo a | tr a b")', value: median(pipeline), unit: "ms" },
    { what: 'shell("python -c 1")', value: median(python), unit: "ms" },
    { what: "rewind of a shell and 20 files", value: median(rewinds), unit: "ms", bound: 15 },
  ];
}

async function startOnce(setup: BenchSetup): Promise<void> {
  await using sandbox = await Sandbox.start(setup);
  await sandbox.openSession();
}
