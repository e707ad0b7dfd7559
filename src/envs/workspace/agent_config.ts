import type { History } from "../../history.ts";

/** File with commands for an agent. */
export interface CommandFile {
  /** Name without a folder. */
  readonly name: string;
  /** `source` defines shell functions, `script` is a program that is called by its stem, `utility` is not offered. */
  readonly kind: "source" | "script" | "utility";
  readonly contents: string;
}

/** Prompts and tools of a workspace's agent: an agent YAML with all files read and all defaults filled in. */
export interface AgentConfig {
  readonly systemTemplate: string;
  readonly taskTemplate: string;
  readonly nextStepTemplate: string;
  readonly nextStepNoOutputTemplate: string;
  /** Added after the task, if set. */
  readonly strategyTemplate?: string | undefined;
  readonly demonstrationTemplate?: string | undefined;
  /** Example chats. They come before the task, each rendered with `demonstrationTemplate`. */
  readonly demonstrations: readonly History[];
  /** True if each demonstration becomes several turns of the chat, not one message. */
  readonly putDemosInHistory: boolean;
  /** Sent if a reply holds no command, with `{format_fault}` and the values of the other templates. */
  readonly formatErrorTemplate: string;
  /** Name of the parser that finds the command in a reply, such as `ThoughtActionParser`. */
  readonly outputParser: string;
  /**
   * Number of observations that a prompt holds at full length.
   *
   * @default all
   */
  readonly lastObservations?: number | undefined;
  readonly tools: AgentTools;
}

/** Commands of an agent's shell. */
export interface AgentTools {
  /**
   * Shell function that prints the state as JSON.
   *
   * @default Paddock's own
   */
  readonly stateCommand?: { readonly name: string; readonly code: string } | undefined;
  /** Initial shell variables, such as `WINDOW`. */
  readonly variables: Readonly<Record<string, string | number>>;
  readonly commandFiles: readonly CommandFile[];
  /** Commands that these files define, for parsers that need them. */
  readonly commands?: readonly ReplyCommand[] | undefined;
  /** Value of `{command_docs}` in the system template. */
  readonly commandDocs: string;
  /** End lines of commands that take several lines, by command: `edit` → `end_of_edit`. */
  readonly endNames: Readonly<Record<string, string>>;
  readonly submitCommand: string;
  /** Programs that no command may start. */
  readonly blocklist: readonly string[];
  /** Programs that may not be the whole command, because they would wait for keyboard input. */
  readonly blocklistStandalone: readonly string[];
  /** Message for a blocked program, with `{name}`. */
  readonly blocklistErrorTemplate: string;
}

/** Command that a reply may hold. */
export interface ReplyCommand {
  readonly name: string;
  /** Signature such as `open "<path>" [<line_number>]`. */
  readonly signature?: string | undefined;
  /** Line that ends the text of a multi-line command. */
  readonly endName?: string | undefined;
}

/** Thought and action of a reply, or the reason why it has no action. */
export type ParsedReply = { readonly thought: string; readonly action: string } | { readonly fault: string };

/** Parser that finds the action in a reply. */
export interface ReplyParser {
  parse(reply: string, commands: readonly ReplyCommand[]): ParsedReply;
  /** Template of the message to a policy whose reply has no action. */
  readonly formatError: string;
}

/** Fault of a reply without an action. */
export const NO_ACTION = "No action found in model response.";
