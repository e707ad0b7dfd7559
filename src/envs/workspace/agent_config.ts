import type { History } from "../../history.ts";
import type { ReplyCommand } from "./replies/reply_parser.ts";

/** A file with commands for an agent. */
export interface CommandFile {
  /** Its name without a folder. */
  readonly name: string;
  /** `source`: shell functions; `script`: a program of its own, called by its stem; `utility`: neither is shown. */
  readonly kind: "source" | "script" | "utility";
  readonly contents: string;
}

/** What the agent of a workspace is told and may use: an agent YAML, with every file read and every default filled in. */
export interface AgentConfig {
  readonly systemTemplate: string;
  readonly taskTemplate: string;
  readonly nextStepTemplate: string;
  readonly nextStepNoOutputTemplate: string;
  /** Said behind the task, where given. */
  readonly strategyTemplate?: string | undefined;
  readonly demonstrationTemplate?: string | undefined;
  /** Chats that show how it is done: said before the task, each in the words of `demonstrationTemplate`. */
  readonly demonstrations: readonly History[];
  /** Whether demonstrations become turns of the chat rather than one message. */
  readonly putDemosInHistory: boolean;
  /** Said when a reply holds no command; takes `{format_fault}` beside what the others take. */
  readonly formatErrorTemplate: string;
  /** How a command is found in a reply: a name such as `ThoughtActionParser`. */
  readonly outputParser: string;
  /** How many observations a prompt holds at full length; all unless given. */
  readonly lastObservations?: number | undefined;
  readonly tools: AgentTools;
}

/** The commands of an agent's shell. */
export interface AgentTools {
  /** A shell function that prints the state as JSON; Paddock's own unless given. */
  readonly stateCommand?: { readonly name: string; readonly code: string } | undefined;
  /** Shell variables at the start, such as `WINDOW`. */
  readonly variables: Readonly<Record<string, string | number>>;
  readonly commandFiles: readonly CommandFile[];
  /** The commands that these files have, for parsers that must know them. */
  readonly commands?: readonly ReplyCommand[] | undefined;
  /** What the system template's `{command_docs}` becomes. */
  readonly commandDocs: string;
  /** Names whose multi-line form ends with a line of its own: `edit` → `end_of_edit`. */
  readonly endNames: Readonly<Record<string, string>>;
  readonly submitCommand: string;
  /** Programs that no command may start. */
  readonly blocklist: readonly string[];
  /** Programs that may not be a whole command: what waits for somebody who types. */
  readonly blocklistStandalone: readonly string[];
  /** Takes `{name}`. */
  readonly blocklistErrorTemplate: string;
}
