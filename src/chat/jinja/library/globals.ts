import { bindArguments } from "../values/arguments.ts";
import { dictFromKeys } from "../values/attributes.ts";
import { PythonTypeError, PythonValueError, TemplateError, UnsupportedError } from "../jinja_errors.ts";
import { intOf } from "../values/numbers.ts";
import { makeDict } from "../values/operators.ts";
import type { Run } from "../run.ts";
import { iterate } from "../values/sequences.ts";
import { strftime } from "./strftime.ts";
import { strOf } from "../values/text.ts";
import {
  type Args,
  Callable,
  Dict,
  Namespace,
  PyObject,
  Range,
  stringOf,
  Tuple,
  typeName,
  Undefined,
  type Value,
} from "../values/values.ts";

/** Longest range that Jinja2's sandbox allows. */
const MAX_RANGE = 100_000;

/** Names that Jinja2 defines and that are not here. A template that reads such a name is refused. */
export const UNSUPPORTED_GLOBALS: readonly string[] = ["lipsum", "self"];

function makeRange(_run: Run, args: Args): Value {
  if (args.keywords.size > 0) throw new PythonTypeError("'range' must have arguments without names");
  const bounds = args.positional.map((bound) => {
    const int = intOf(bound);
    if (int === undefined) throw new PythonTypeError(`'range' needs integers, not ${typeName(bound)}`);
    if (typeof int === "bigint") throw new UnsupportedError("'range' needs smaller integers");
    return int;
  });
  const [first, second, step = 1] = bounds;
  if (first === undefined || bounds.length > 3) {
    throw new PythonTypeError("'range' must have one to three arguments");
  }
  if (step === 0) throw new PythonValueError("the step of 'range' must not be 0");
  const range = second === undefined ? new Range(0, first, 1) : new Range(first, second, step);
  if (range.length > MAX_RANGE) throw new PythonValueError(`a range must have at most ${MAX_RANGE} items`);
  return range;
}

/** Members of `dict(…)` and `namespace(…)`. */
function membersOf(run: Run, { positional, keywords }: Args): Dict {
  const [source] = positional;
  if (positional.length > 1) throw new PythonTypeError("at most one argument must be without a name");
  const entries = source === undefined ? [] : source instanceof Dict ? source.entries() : pairsOf(source);
  run.step(entries.length + keywords.size);
  return makeDict([...entries, ...keywords]);
}

function pairsOf(source: Value): [Value, Value][] {
  if (source instanceof Namespace) throw new PythonTypeError("a namespace must not be iterated");
  return [...iterate(source)].map((item) => {
    const pair = [...iterate(item)];
    const [key, value] = pair;
    if (key === undefined || value === undefined || pair.length !== 2) {
      throw new PythonValueError("a mapping must be made of pairs");
    }
    return [key, value];
  });
}

/** Sets a member of a namespace, as `{% set ns.name = … %}` does. */
export function setMember(namespace: Namespace, name: string, value: Value): void {
  if (name.startsWith("_")) {
    throw new TemplateError(`a namespace must not have a member that begins with '_': '${name}'`);
  }
  namespace.members.set(name, value);
}

function makeNamespace(run: Run, args: Args): Value {
  const namespace = new Namespace();
  for (const [key, value] of membersOf(run, args).entries()) {
    const name = stringOf(key);
    if (name === undefined) throw new UnsupportedError("the names of a namespace must be strings");
    setMember(namespace, name, value);
  }
  return namespace;
}

/** Result of `cycler(…)`. */
class Cycler extends PyObject {
  readonly typeName = "Cycler";
  #at = 0;

  constructor(readonly items: readonly Value[]) {
    super();
  }

  override attribute(name: string): Value | undefined {
    const current = this.items[this.#at] as Value;
    switch (name) {
      case "current":
        return current;
      case "pos":
        return this.#at;
      case "items":
        return new Tuple(this.items);
      case "next":
        return new Callable(name, () => {
          const item = this.items[this.#at] as Value;
          this.#at = (this.#at + 1) % this.items.length;
          return item;
        });
      case "reset":
        return new Callable(name, () => {
          this.#at = 0;
          return null;
        });
    }
    return undefined;
  }
}

function makeCycler(_run: Run, { positional, keywords }: Args): Value {
  if (keywords.size > 0 || positional.length === 0) {
    throw new PythonTypeError("'cycler' must have items, without names");
  }
  return new Cycler(positional);
}

/** Result of `joiner(…)`: nothing at the first call, and the separator at the others. */
class Joiner extends Callable {
  override readonly typeName = "Joiner";
  #isUsed = false;

  constructor(readonly separator: Value) {
    super("joiner", () => this.#next());
  }

  override attribute(name: string): Value | undefined {
    if (name === "sep") return this.separator;
    return name === "used" ? this.#isUsed : undefined;
  }

  #next(): Value {
    if (this.#isUsed) return this.separator;
    this.#isUsed = true;
    return "";
  }
}

/** The global `dict`. */
class DictType extends Callable {
  override readonly typeName = "TemplateDict";
  override attribute(name: string): Value | undefined {
    return name === "fromkeys" ? new Callable(name, dictFromKeys) : undefined;
  }
}

function raise(run: Run, args: Args): never {
  const [message] = bindArguments(args, { names: ["message"], required: 1 });
  throw new TemplateError(strOf(message as Value, run));
}

function formatNow(run: Run, args: Args): Value {
  const [format] = bindArguments(args, { names: ["format"], required: 1 });
  const text = stringOf(format as Value);
  if (format instanceof Undefined) format.fail();
  if (text === undefined) throw new PythonTypeError("a format of time must be a string");
  const now = strftime(run.options.now(), text);
  run.grow(now.length);
  return now;
}

/** Names that every template can read, as transformers sets them up. */
export const GLOBALS: ReadonlyMap<string, Value> = new Map<string, Value>([
  ["range", new Callable("range", makeRange)],
  ["dict", new DictType("dict", membersOf)],
  ["namespace", new Callable("namespace", makeNamespace)],
  ["cycler", new Callable("cycler", makeCycler)],
  [
    "joiner",
    new Callable("joiner", (_run, args) => {
      const [separator = ", "] = bindArguments(args, { names: ["sep"] });
      return new Joiner(separator);
    }),
  ],
  ["raise_exception", new Callable("raise_exception", raise)],
  ["strftime_now", new Callable("strftime_now", formatNow)],
]);
