import { type Message, messageText } from "../message.ts";
import type { Trajectory } from "../rollout/trajectory.ts";

/** An episode as a person reads it. What a model wrote cannot steer the terminal. */
export function transcript(trajectory: Trajectory): string {
  const { task, messages, reward, times, error } = trajectory;
  const end = error === undefined ? ending(trajectory) : `failed at ${error.boundary}: ${error.message}`;
  const said = messages.map((message: Message) => `${message.role}:\n${indented(messageText(message))}\n`);
  const worth = reward === null ? "not scored" : `reward ${reward}`;
  return printable(`── ${task.id} ──\n${said.join("")}${end}, ${worth}, ${Math.round(times.totalMs)} ms\n\n`);
}

function ending({ terminated, turns }: Trajectory): string {
  return `${terminated ? "ended" : "cut off"} after ${turns} ${turns === 1 ? "turn" : "turns"}`;
}

function indented(text: string): string {
  return text.trimEnd().replace(/^(?=.)/gm, "  ");
}

function printable(text: string): string {
  // deno-lint-ignore no-control-regex
  return text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, (character) => {
    return `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`;
  });
}
