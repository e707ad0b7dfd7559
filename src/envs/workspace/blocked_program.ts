import type { AgentTools } from "./agent_config.ts";
import { programsOf } from "./command_words.ts";

/** Returns the program for which a command is refused: it is blocked, or would wait for keyboard input. */
export function findBlockedProgram(
  command: string,
  { blocklist, blocklistStandalone }: Pick<AgentTools, "blocklist" | "blocklistStandalone">,
): string | undefined {
  const text = command.trim();
  if (blocklistStandalone.includes(text)) return text;
  const started = programsOf(command);
  return blocklist.find((name) => started.some((word) => word === name || word.endsWith(`/${name}`)));
}
