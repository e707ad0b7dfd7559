import { Command, Option } from "commander";
import { PaddockClient } from "../../client/paddock_client.ts";
import type { OpenGatewaySessionOptions, RemoteGateway } from "../../client/gateway_types.ts";
import { parseUntrustedJson } from "../../json.ts";
import { ROW_FORMATS, type RowFormat } from "../../wire/v1_gateway.ts";
import { rethrowAsUsageError, UsageError } from "../cli_errors.ts";
import { currentIo } from "../io.ts";
import { parseWholeNumber } from "../options.ts";
import { writeText } from "../output.ts";
import { EXIT, runCommand } from "../run_command.ts";

interface ClientFlags {
  url: string;
  ownerToken?: string;
}

/** Ends the work of a command that is interrupted. */
interface Interrupt {
  readonly signal: AbortSignal;
}

/** Returns the commands of the owners of sessions, which ask a gateway that runs. */
export function ownerCommands(): Command[] {
  return [
    owned("open <task>", 'Open a session for a task, as JSON: {"id": …}')
      .option("--sandbox", "with a sandbox, which ends with the session")
      .option("--session <json>", 'other fields of the session, such as {"sampling": {"temperature": 1}}')
      .action((task: string, flags: ClientFlags & OpenFlags) =>
        run(flags, async (gateway, options) => [await open(gateway, { task, ...flags, ...options })])
      ),
    owned("sessions", "List your sessions")
      .action((flags: ClientFlags) => run(flags, (gateway, options) => gateway.sessions(options))),
    owned("rows [id]", "Print the rows of a session, or of all your sessions that have ended")
      .option("--follow", "also those of sessions that end later, until Ctrl-C")
      .addOption(new Option("--format <format>", "fields of a row").choices(ROW_FORMATS).default("slime"))
      .action((id: string | undefined, flags: ClientFlags & RowFlags) =>
        run(flags, (gateway, options) => rowsOf(gateway, { id, ...flags, ...options }))
      ),
    owned("reward <id>", "End a session with a reward, the score of a grader, or the score of tests")
      .addOption(
        new Option("--reward <n>", "the reward, or 'none' for a missing score").argParser(parseReward),
      )
      .option("--grader <name>", "a grader of the gateway")
      .option("--file <path>", "file of the sandbox that the grader reads in place of the last reply")
      .option("--tests <file>", "Python file that runs beside the files that the agent left")
      .action((id: string, flags: ClientFlags & RewardFlags) =>
        run(flags, async (gateway, options) => [await reward(gateway, { id, ...flags, ...options })])
      ),
    owned("fork <id>", "Open copies of a session and of its sandbox")
      .option("--count <n>", "number of copies", parseWholeNumber(1), 1)
      .action((id: string, { count, ...flags }: ClientFlags & { count: number }) =>
        run(flags, (gateway, options) => gateway.attach(id).fork(count, options))
      ),
    owned("delete <id>", "End a session, unless it has ended, and forget it")
      .action((id: string, flags: ClientFlags) =>
        run(flags, (gateway, options) => none(gateway.attach(id).delete(options)))
      ),
    owned("pause", "Hold back samples, and return when none runs any more")
      .action((flags: ClientFlags) => run(flags, (gateway, options) => none(gateway.pause(options)))),
    owned("resume", "Let samples go on")
      .option("--policy-version <version>", "version of the weights, which later turns record")
      .action(({ policyVersion, ...flags }: ClientFlags & { policyVersion?: string }) =>
        run(flags, (gateway, options) => none(gateway.resume({ policyVersion, ...options })))
      ),
    owned("stats", "Count your sessions, turns and rows")
      .action((flags: ClientFlags) => run(flags, async (gateway, options) => [await gateway.stats(options)])),
  ];
}

function owned(usage: string, description: string): Command {
  const [name = "", ...parameters] = usage.split(" ");
  const command = new Command(name);
  for (const parameter of parameters) command.argument(parameter);
  return command
    .description(description)
    .option("--url <url>", "address of the gateway", "http://127.0.0.1:8472")
    // 'gateway' itself has --token, and reads it before its commands do
    .option("--owner-token <text>", "token of the owner (default: $PADDOCK_TOKEN)");
}

/** Runs a command, which prints a line of JSON for each value. */
async function run(
  { url, ownerToken: token = currentIo().env.get("PADDOCK_TOKEN") || undefined }: ClientFlags,
  work: (
    gateway: RemoteGateway,
    options: Interrupt,
  ) => AsyncIterable<unknown> | Promise<readonly unknown[]>,
): Promise<void> {
  await runCommand(async (signal) => {
    await using client = await rethrowAsUsageError(() => new PaddockClient({ url, token, retries: 1 }));
    const values = work(client.gateway, { signal });
    for await (const value of values instanceof Promise ? await values : values) {
      await writeText(currentIo().stdout, `${JSON.stringify(value)}\n`);
    }
    return EXIT.ok;
  });
}

async function none(done: Promise<void>): Promise<readonly unknown[]> {
  await done;
  return [];
}

interface OpenFlags {
  sandbox?: true;
  session?: string;
}

async function open(
  gateway: RemoteGateway,
  { task, sandbox, session = "{}", signal }: OpenFlags & Interrupt & { task: string },
): Promise<object> {
  const read = (json: string, name: string) =>
    rethrowAsUsageError(() => parseUntrustedJson(json), { prefix: `Cannot read ${name}` });
  const { sampling_from: samplingFrom, tool_choice: toolChoice, idle_seconds: idleSeconds, ...fields } =
    Object(
      await read(session, "--session"),
    );
  const options: OpenGatewaySessionOptions = { // the gateway checks the fields
    ...(sandbox && { sandbox: {} }),
    ...fields,
    ...{ samplingFrom, toolChoice, idleSeconds },
    task: await read(task, "task"),
    signal,
  };
  const { id, key, model, openaiUrl, anthropicUrl, sandbox: opened } = await gateway.open(options);
  return { id, key, model, openaiUrl, anthropicUrl, ...(opened && { sandbox: opened }) };
}

interface RowFlags {
  follow?: true;
  format: RowFormat;
}

async function* rowsOf(
  gateway: RemoteGateway,
  { id, follow, format, signal }: RowFlags & Interrupt & { id: string | undefined },
): AsyncGenerator<unknown> {
  if (id !== undefined && (follow || format !== "slime")) {
    throw new UsageError("Cannot print rows of one session with --follow or --format: leave out the id");
  }
  if (id !== undefined) yield* await gateway.attach(id).rows({ signal });
  else if (format === "slime") yield* gateway.rows({ follow, signal });
  else yield* gateway.rowsFor(format, { follow, signal });
}

interface RewardFlags {
  reward?: number | "none";
  grader?: string;
  file?: string;
  tests?: string;
}

async function reward(
  gateway: RemoteGateway,
  { id, reward, grader, file, tests, signal }: RewardFlags & Interrupt & { id: string },
): Promise<unknown> {
  const given = [reward, grader, tests].filter((value) => value !== undefined).length;
  if (given !== 1) throw new UsageError("Cannot reward session: give one of --reward, --grader and --tests");
  const session = gateway.attach(id);
  if (reward !== undefined) return await session.reward(reward === "none" ? null : reward, { signal });
  if (grader !== undefined) return await session.grade(grader, { file, signal });
  const code = await rethrowAsUsageError(() => Deno.readTextFile(tests ?? ""), {
    prefix: `Cannot read tests '${tests}'`,
  });
  return await session.test({ code }, { signal });
}

/** @returns no `null`, which commander takes for a missing value */
function parseReward(text: string): number | "none" {
  if (text === "none") return text;
  const value = text.trim() === "" ? NaN : Number(text);
  if (Number.isFinite(value)) return value;
  throw new UsageError(
    `Cannot reward session as --reward must be a number or 'none': current value is '${text}'`,
  );
}
