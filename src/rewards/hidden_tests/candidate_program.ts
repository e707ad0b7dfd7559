import type { History } from "../../history.ts";
import { type Message, messageText } from "../../message.ts";
import type { Task } from "../../task.ts";
import { type CodeBlock, codeBlocks } from "../../tools/code_blocks/code_blocks.ts";
import { pythonBlocks } from "../../tools/python_blocks.ts";
import { parseTaggedReply } from "../final_reply.ts";
import type { TestProblem } from "./test_problem.ts";

/** Names that a line without indent defines: a function, a class, or imports. */
const DEFINITION =
  /^(?:(?:async[ \t]+)?def|class)[ \t]+(\w+)|^(?:from[ \t]+[\w.]+[ \t]+)?import[ \t]+([^\n#]+)/gm;
/** Names that a line without indent binds by a definition or an assignment. */
const BINDING =
  /^(?:(?:async[ \t]+)?def|class)[ \t]+([\p{L}\p{M}\p{N}_]+)|^([\p{L}\p{M}\p{N}_]+)[ \t]*[:=]/gmu;
const USED = /(?<![.\w])[a-zA-Z_]\w*/g;

/**
 * Returns the program of a reply: the last block that defines the entry point, else the last block, else the
 * reply itself. Python blocks take precedence over blocks without a language. If a block uses a name that
 * only an earlier block defines or imports, that block is included. A program that does not define the entry
 * point is appended to the prompt.
 */
export function extractProgram(reply: string, { prompt, entryPoint }: TestProblem): string {
  const blocks = candidateBlocks(reply);
  const defining = blocks.findLastIndex((block) => definesEntryPoint(block, entryPoint));
  const chosen = defining < 0 ? blocks.length - 1 : defining;
  const block = blocks[chosen] ?? reply;
  if (block.trim() === "") return "";
  const helpers = helpersOf(block, blocks.slice(0, Math.max(chosen, 0)));
  return [...helpers, definesEntryPoint(block, entryPoint) ? block : prompt + block].join("\n");
}

/** Returns the earlier blocks that define names which the block lacks. */
function helpersOf(last: string, before: readonly string[]): string[] {
  const helpers: string[] = [];
  const defined = new Set(definitionsOf(last));
  const used = new Set(last.match(USED));
  for (const block of before.toReversed()) {
    const names = definitionsOf(block);
    if (!names.some((name) => used.has(name) && !defined.has(name))) continue;
    helpers.unshift(block);
    for (const name of names) defined.add(name);
    for (const name of block.match(USED) ?? []) used.add(name);
  }
  return helpers;
}

function definitionsOf(block: string): string[] {
  return Array.from(
    block.matchAll(DEFINITION),
    ([, name, imports = ""]) => name === undefined ? imports.split(",").map(importedName) : [name],
  ).flat();
}

/** `b` of `a as b`, `a` of `a.b`. */
function importedName(part: string): string {
  const [name = ""] = part.replace(/[()]/g, "").trim().split(/\s+/).slice(-1);
  return name.split(".", 1)[0] ?? "";
}

/**
 * Returns the blocks that may be the program, the likeliest last: those that a line such as `Output:` announces, blocks
 * of Python inside of other blocks, blocks without a language, blocks of Python.
 */
function candidateBlocks(reply: string): string[] {
  const blocks = codeBlocks(reply);
  const code = (isCandidate: (block: CodeBlock) => boolean) =>
    blocks.filter(isCandidate).map(({ code }) => code);
  const ofReply = (place: CodeBlock["place"]) => place === undefined || place === "quote";
  return [
    ...code(({ language, place }) => language === "unlabeled" && place === "output"),
    ...code(({ language, place }) => language === "python" && place === "block"),
    ...code(({ language, place }) => language === "unlabeled" && ofReply(place)),
    ...code(({ language, place }) => language === "python" && ofReply(place)),
  ];
}

/** Returns true if a program defines the entry point, or if there is no entry point. */
function definesEntryPoint(program: string, entryPoint: string | undefined): boolean {
  if (entryPoint === undefined) return true;
  const [name] = /^[\p{L}\p{M}\p{N}_]+/u.exec(entryPoint) ?? [];
  return program.matchAll(BINDING).some(([, defined, assigned]) => (defined ?? assigned) === name);
}

/** Returns the replies of an episode without their thoughts. Assistant messages in the query are not replies. */
export function visibleReplies(history: History, { query }: Task): string[] {
  const promptReplies = typeof query === "string" ? 0 : [...query].filter(isAssistant).length;
  return [...history].filter(isAssistant).slice(promptReplies).map((message) =>
    parseTaggedReply(messageText(message)).visibleText
  );
}

/**
 * Returns the reply with the candidate's program: the newest reply that defines the entry point, else the newest
 * reply with a Python block, else the last reply. (Where blocks are executed, an episode ends with a reply without
 * blocks.)
 */
export function findProgramReply(replies: readonly string[], entryPoint: string | undefined): string {
  const defining = entryPoint === undefined
    ? undefined
    : replies.findLast((reply) => containsEntryPoint(reply, entryPoint));
  return defining ?? replies.findLast((reply) => pythonBlocks(reply).length > 0) ?? replies.at(-1) ?? "";
}

function isAssistant({ role }: Message): boolean {
  return role === "assistant";
}

function containsEntryPoint(reply: string, entryPoint: string): boolean {
  return [reply, ...candidateBlocks(reply)].some((code) => definesEntryPoint(code, entryPoint));
}
