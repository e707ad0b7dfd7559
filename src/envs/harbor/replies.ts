import { codeBlocks } from "../../tools/code_blocks/code_blocks.ts";
import { quoteWord } from "./quote.ts";
import type { HarborTask } from "./task.ts";

/** Tags of blocks that run. A block without a tag runs, too. */
const SHELL_TAG = /^(?:(?:ba|z)?sh|shell|shell-session|console|terminal)?$/i;

/** Returns the command lines of a reply: its blocks of shell code, in order. */
export function shellBlocks(reply: string): string[] {
  return codeBlocks(reply)
    .filter(({ tag, isClosed, place, inThought }) =>
      isClosed && place === undefined && !inThought && SHELL_TAG.test(tag)
    )
    .map(({ code }) => code);
}

/** Returns the system message that explains how an agent works on a task. */
export function harborSystem({ image: { workdir } }: HarborTask): string {
  return `You work in a Linux shell, in the folder ${workdir}. There is no network. Write commands in a block that ` +
    "begins with a line ```bash and ends with a line ```. The commands run at once, and the next message has their " +
    "output. Folder, variables and functions last until the next block. When the task is done, reply without a block.";
}

/** Folder of an oracle's files in the sandbox. */
const FOLDER = "/solution";

/**
 * Returns the replies of an oracle: the first writes the files of `solution/` and runs `solve.sh`, the second ends the
 * episode. Undefined if the task has no solution.
 */
export async function oracleReplies({ solution, image }: HarborTask): Promise<string[] | undefined> {
  if (solution === undefined) return undefined;
  const lines = [`mkdir -p ${FOLDER}`];
  for (const { path, hostPath } of solution.files) {
    const text = (await Deno.readFile(hostPath)).toBase64();
    const name = quoteWord(path);
    lines.push(`mkdir -p "$(dirname ${name})"`, `base64 -d > ${name} <<'END_OF_FILE'`, text, "END_OF_FILE");
  }
  const given = Object.entries(solution.variables).map(([name, value]) => `${name}=${quoteWord(value)} `);
  lines.push(
    `chmod +x ${FOLDER}/solve.sh`,
    `cd ${quoteWord(image.workdir)}`,
    `${given.join("")}bash ${FOLDER}/solve.sh`,
  );
  return ["The solution:\n```bash\n" + lines.join("\n") + "\n```", "Done."];
}
