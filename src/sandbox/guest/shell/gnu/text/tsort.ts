import { type GnuCommand, readInputs, UsageError } from "../command.ts";
import { quoted } from "../files/operands.ts";
import { parseOptions } from "../options.ts";

interface Item {
  readonly name: string;
  count: number;
  readonly followers: Item[];
  isPrinted: boolean;
}

/** `tsort` of GNU coreutils 9.1. */
export const tsort: GnuCommand = (args, context) => {
  const { operands } = parseOptions(args, "");
  if (operands.length > 1) throw new UsageError(`extra operand ${quoted(operands[1] ?? "")}`);
  const { inputs: [input], failed } = readInputs(operands, context);
  if (failed || !input) return 1;
  const words = input.text.split(/[ \t\n]+/).filter((word) => word !== "");
  if (words.length % 2 === 1) {
    throw new UsageError(`${input.name}: input contains an odd number of tokens`, { hasHint: false });
  }
  const items = new Map<string, Item>();
  const itemOf = (name: string) => {
    const item = items.get(name) ?? { name, count: 0, followers: [], isPrinted: false };
    items.set(name, item);
    return item;
  };
  for (let at = 0; at < words.length; at += 2) {
    const [from, to] = [itemOf(words[at] ?? ""), itemOf(words[at + 1] ?? "")];
    if (from === to) continue;
    to.count++;
    from.followers.unshift(to); // the last relation is followed first
  }
  const sorted = [...items.values()].sort((a, b) => a.name < b.name ? -1 : 1);
  let isLooped = false;
  const ready = sorted.filter(({ count }) => count === 0);
  for (let left = items.size; left > 0;) {
    context.poll();
    for (let item = ready.shift(); item; item = ready.shift()) {
      context.print(`${item.name}\n`);
      item.isPrinted = true;
      left--;
      for (const follower of item.followers) if (--follower.count === 0) ready.push(follower);
    }
    if (left === 0) break;
    isLooped = true;
    breakLoop(sorted.filter((item) => !item.isPrinted), input.name, context.warn);
    ready.push(...sorted.filter((item) => !item.isPrinted && item.count === 0));
  }
  return isLooped ? 1 : 0;
};

/** Reports a loop, and removes a relation of the loop. */
function breakLoop(items: readonly Item[], name: string, warn: (text: string) => void): void {
  const path: Item[] = [];
  let [at] = items;
  while (at && !path.includes(at)) {
    path.push(at);
    const current: Item = at;
    at = items.find((item) => item.followers.includes(current));
  }
  if (!at) return;
  const loop = path.slice(path.indexOf(at)).reverse();
  warn(`${name}: input contains a loop:`);
  for (const item of loop) warn(item.name);
  const [from, to] = loop.slice(-2);
  if (!from || !to) return;
  from.followers.splice(from.followers.indexOf(to), 1);
  to.count--;
}
