import { History } from "../history.ts";
import { messageText } from "../message.ts";
import { STOP } from "./user_simulator.ts";

/** How a model that plays a user finds its words. */
export type UserStrategyName = "llm" | "react" | "verify" | "reflection";

/** What a strategy may use. */
export interface StrategyTools {
  readonly instruction: string;
  /** What the model answers to a conversation. */
  ask(history: History): Promise<string>;
}

/** The words that were found. */
export interface UserWords {
  /** What the model wrote, which it is shown again as its own. */
  readonly raw: string;
  /** What the agent is told. */
  readonly said: string;
}

/** One way for a model to find its user's words. */
export interface UserStrategy {
  /** The system message that makes a model a user. */
  prompt(instruction: string): string;
  say(talk: History, tools: StrategyTools): Promise<UserWords>;
}

/** Attempts that a judged user has, the first included: tau-bench's numbers. */
const VERIFY_ATTEMPTS = 3;
const REFLECTION_ATTEMPTS = 2;

const STRATEGIES: Readonly<Record<UserStrategyName, UserStrategy>> = {
  llm: { prompt, say: plain },
  react: { prompt: thinkingPrompt, say: thinking },
  verify: { prompt, say: verified },
  reflection: { prompt, say: reflected },
};

/**
 * The strategy of a name; `llm` unless given.
 *
 * @throws {RangeError} when there is none.
 */
export function userStrategy(name: UserStrategyName = "llm"): UserStrategy {
  if (Object.hasOwn(STRATEGIES, name)) return STRATEGIES[name];
  const names = Object.keys(STRATEGIES).join(", ");
  throw new RangeError(
    `Cannot play a user as 'strategy' must be one of ${names}: current value is '${name}'`,
  );
}

function prompt(instruction: string): string {
  return `You play a customer who talks with an agent.

Instruction: ${instruction}

- Write one line at a time: what the customer says next, and nothing else.
- Keep back what the agent has not asked for; tell it bit by bit.
- Invent nothing. What the instruction does not say, such as an order number, you do not remember.
- When all that the instruction wants is done, write ${STOP} and nothing else.
- Use your own words, not those of the instruction, and speak as the person it describes.`;
}

function thinkingPrompt(instruction: string): string {
  return `${prompt(instruction)}
- Before each line think about what to say. Write it so:

Thought: <what you think>
User Response: <what the customer says>`;
}

async function plain(talk: History, { ask }: StrategyTools): Promise<UserWords> {
  const said = await ask(talk);
  return { raw: said, said };
}

async function thinking(talk: History, { ask }: StrategyTools): Promise<UserWords> {
  const raw = await ask(talk);
  if (raw.includes(STOP)) return { raw, said: STOP };
  const [, said] = /User Response:([^]*)$/.exec(raw) ?? [];
  return { raw, said: (said ?? raw.replace(/^\s*Thought:/, "")).trim() };
}

async function verified(talk: History, tools: StrategyTools): Promise<UserWords> {
  let said = await tools.ask(talk);
  for (let attempt = 1; attempt < VERIFY_ATTEMPTS && !await isGood(said, talk, tools); attempt++) {
    said = await tools.ask(talk);
  }
  return { raw: said, said };
}

async function reflected(talk: History, tools: StrategyTools): Promise<UserWords> {
  let said = await tools.ask(talk);
  for (let attempt = 1; attempt < REFLECTION_ATTEMPTS && !await isGood(said, talk, tools); attempt++) {
    said = await mended(said, talk, tools);
  }
  return { raw: said, said };
}

/** A verdict that says neither is taken for a good one: the episode goes on. */
async function isGood(said: string, talk: History, tools: StrategyTools): Promise<boolean> {
  const verdict = await tools.ask(question(
    "You judge whether a line is what the customer would say next. It is not when it says what neither the " +
      `instruction nor the talk tells, or ends the talk with ${STOP} before everything is done. Answer ` +
      "'Classification: true' or 'Classification: false'.",
    { said, talk, instruction: tools.instruction },
  ));
  return !/\bfalse\b/i.test(verdict);
}

async function mended(said: string, talk: History, tools: StrategyTools): Promise<string> {
  const answer = await tools.ask(question(
    "The line is not what the customer would say next. Think about why, and write a better one. Write it so:\n\n" +
      "Reflection: <why>\nResponse: <the better line>",
    { said, talk, instruction: tools.instruction },
  ));
  const [, better] = /Response:([^]*)$/.exec(answer) ?? [];
  return better?.trim() || said;
}

interface Judged {
  readonly said: string;
  readonly talk: History;
  readonly instruction: string;
}

/** What a judge is shown: the agent is called the agent, and the customer's words are told apart from the talk. */
function question(task: string, { said, talk, instruction }: Judged): History {
  const lines = [...talk].filter(({ role }) => role !== "system").map((message) =>
    `${message.role === "user" ? "Agent" : "Customer"}: ${messageText(message)}`
  );
  const shown = [`Instruction: ${instruction}`, `Talk:\n${lines.join("\n")}`, `Line: ${said}`];
  return History.fromChats([
    { role: "system", content: task },
    { role: "user", content: shown.join("\n\n") },
  ]);
}
