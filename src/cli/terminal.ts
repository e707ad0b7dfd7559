import { currentIo } from "./io.ts";
/** Whether stdout shows colours, and they are wanted there. */
export function wantsColour(): boolean {
  return currentIo().stdout.isTerminal() && !currentIo().env.get("NO_COLOR");
}

/** How wide the terminal is. */
export function terminalColumns(): number {
  try {
    return Deno.consoleSize().columns;
  } catch {
    return Infinity; // no terminal: nothing is cut
  }
}
