import * as z from "zod";
import { EnvError, GuestFileError, ToolError } from "../errors.ts";
import type { PythonSession } from "../sandbox/contract/pool.ts";
import { shellText } from "../tools/shell_tool.ts";
import { type Draw, until } from "./draw.ts";
import type { Family, ProblemCall, ToolEpisode, ToolProblem, Verdict } from "./family.ts";
import { type Files, randomFiles, randomStep, type Step } from "./shell/steps.ts";

/** Folder of the session with the files of a problem. */
const FOLDER = "files";
const COMMAND_MS = 10_000;
const LIST_MS = 10_000;
const MAX_COMMAND = 20_000;
/** Lists the paths of all files of the folder. */
const LIST = `import os
sorted(
    os.path.relpath(os.path.join(folder, name), "${FOLDER}")
    for folder, _, names in os.walk("${FOLDER}")
    for name in names
)`;

const pathsSchema = z.array(z.string());

/** Change files in a shell. The files at the end are compared on the host. Difficulty adds files and steps. */
export const shellFiles: Family = {
  about: "work on files in a shell, checked by the files at the end",
  version: 1,
  kind: "tools",
  profile: "workspace",
  tools: [{
    name: "shell",
    description:
      "Runs a command line in a bash-like shell and gives the output. The directory lasts from call to call.",
    parameters: {
      type: "object",
      properties: { command: { type: "string", description: "The command line, of one line or several." } },
      required: ["command"],
      additionalProperties: false,
    },
  }],
  generate: (draw, difficulty) => until(() => attempt(draw, difficulty)),
};

function attempt(draw: Draw, difficulty: number): ToolProblem | undefined {
  const before = randomFiles(draw, 5 + Math.floor(difficulty / 2));
  const steps: Step[] = [];
  let after: Files = before;
  for (let number = 1; number <= 2 + Math.floor(difficulty / 3); number++) {
    const step = until(() => randomStep(draw, after, number));
    steps.push(step);
    after = step.apply(after);
  }
  // a single deletion of all files is no work
  if (after.size < 2) return undefined;
  const work = steps.map(({ text }, at) => `${at + 1}. ${text}`).join("\n");
  return {
    kind: "tools",
    query:
      `Work on the files below the folder ${FOLDER} with the shell, and reply without a call when all is done. ` +
      `The shell starts in the parent of that folder, and paths here are relative to the folder.\n${work}\n` +
      "Do the steps in this order, and leave no other files there.",
    solution: [run([`cd ${FOLDER}`, ...steps.map(({ command }) => command)].join("\n"))],
    guess: (draw) => [
      run(`cd ${FOLDER}`),
      ...Array.from({ length: steps.length }, (_, at) => until(() => randomStep(draw, before, at + 1))).map((
        { command },
      ) => run(command)),
    ],
    open: async (session) => {
      if (session === undefined) {
        throw new EnvError("Cannot start the problem as it needs a session: found none");
      }
      await session.shell("true"); // refuses a profile without a shell
      for (const [path, text] of before) await session.writeFile(`${FOLDER}/${path}`, text);
      return new ShellEpisode(session, after);
    },
  };
}

function run(command: string): ProblemCall {
  return { tool: "shell", arguments: { command } };
}

class ShellEpisode implements ToolEpisode {
  readonly #session: PythonSession;
  readonly #expected: Files;

  constructor(session: PythonSession, expected: Files) {
    this.#session = session;
    this.#expected = expected;
  }

  async call(
    _name: string,
    { command }: Readonly<Record<string, unknown>>,
    signal?: AbortSignal,
  ): Promise<string> {
    const text = String(command);
    if (text.length > MAX_COMMAND) {
      throw new ToolError(`A command must have at most ${MAX_COMMAND} characters`);
    }
    return shellText(await this.#session.shell(text, { timeoutMs: COMMAND_MS, signal }));
  }

  async check(signal?: AbortSignal): Promise<Verdict> {
    const listed = await this.#session.exec(LIST, { timeoutMs: LIST_MS, signal });
    const paths = z.safeParse(pathsSchema, listed.status === "ok" ? listed.valueJson : undefined);
    if (
      !paths.success || paths.data.toSorted().join("\n") !== [...this.#expected.keys()].toSorted().join("\n")
    ) {
      return "wrong";
    }
    for (const [path, text] of this.#expected) {
      if (await this.#read(`${FOLDER}/${path}`) !== text) return "wrong";
    }
    return "right";
  }

  /** A session cannot be copied here: a copy of the env is refused. */
  copy(): undefined {
    return undefined;
  }

  async #read(path: string): Promise<string | undefined> {
    try {
      return new TextDecoder().decode(await this.#session.readFile(path));
    } catch (error) {
      if (error instanceof GuestFileError) return undefined; // the file is a link to nothing, or cannot be read
      throw error;
    }
  }
}
