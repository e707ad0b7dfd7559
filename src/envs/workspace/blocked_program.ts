import type { AgentTools } from "./agent_config.ts";
import { commandWords } from "./command_words.ts";

/** The program for which a command is refused: one that no command may start, or that would wait for somebody. */
export function blockedProgram(
  command: string,
  { blocklist, blocklistStandalone }: Pick<AgentTools, "blocklist" | "blocklistStandalone">,
): string | undefined {
  const whole = command.trim();
  if (blocklistStandalone.includes(whole)) return whole;
  const started = commandWords(command);
  return blocklist.find((name) => started.some((word) => word === name || word.endsWith(`/${name}`)));
}
