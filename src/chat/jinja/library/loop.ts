import { bindArguments } from "../values/arguments.ts";
import { isEqual } from "../values/compare.ts";
import { PythonTypeError } from "../jinja_errors.ts";
import { reprOf } from "../values/text.ts";
import type { Run } from "../run.ts";
import { iteratorOf, sizeOf, toList } from "../values/sequences.ts";
import { type Args, Callable, Lazy, Tuple, Undefined, type Value } from "../values/values.ts";

/** The variable `loop`: the place of a loop, and, in a recursive loop, a call that renders the loop for inner items. */
export class Loop extends Callable {
  override readonly typeName = "LoopContext";
  #iterator: Iterator<Value>;
  #length: number | undefined;
  #index0 = -1;
  #before: Value = null;
  #current: Value = null;
  /** The item after the current item, if already read; `end` if there is no such item. */
  #after: { value: Value } | "end" | undefined;
  #changed: Tuple | undefined;

  constructor(
    iterable: Value,
    options: { run: Run; depth0: number; recurse: ((items: Value, depth0: number) => Value) | undefined },
  ) {
    const { run, depth0, recurse } = options;
    super("loop", (_run, args) => {
      const [items] = bindArguments(args, { names: ["iterable"], required: 1 });
      if (recurse !== undefined) return recurse(items as Value, depth0 + 1);
      throw new PythonTypeError("the loop must be 'recursive' to be called");
    });
    this.#iterator = iteratorOf(iterable);
    this.#length = iterable instanceof Lazy ? undefined : sizeOf(iterable);
    this.run = run;
    this.depth0 = depth0;
  }

  readonly run: Run;
  readonly depth0: number;

  /** Goes to the next item. Returns `undefined` at the end. */
  next(): Value | undefined {
    const after = this.#peek();
    if (after === "end") return undefined;
    this.#after = undefined;
    this.#index0++;
    this.#before = this.#current;
    this.#current = after.value;
    return after.value;
  }

  #peek(): { value: Value } | "end" {
    if (this.#after !== undefined && this.#after !== "end") return this.#after;
    const next = this.#iterator.next();
    return this.#after = next.done ? "end" : { value: next.value };
  }

  /** The number of items. Of a generator, the items that are left are read for that. */
  get size(): number {
    if (this.#length === undefined) {
      const rest = toList(new Lazy(this.#iterator), this.run);
      this.#iterator = rest[Symbol.iterator]();
      this.#length = rest.length + this.#index0 + 1 +
        (this.#after !== undefined && this.#after !== "end" ? 1 : 0);
    }
    return this.#length;
  }

  /** A loop iterates over itself: each step gives the item and the loop. */
  iterate(): Iterator<Value> {
    return {
      next: () => {
        const value = this.next();
        return value === undefined ? { done: true, value } : { done: false, value: new Tuple([value, this]) };
      },
    };
  }

  override attribute(name: string): Value | undefined {
    switch (name) {
      case "index":
        return this.#index0 + 1;
      case "index0":
        return this.#index0;
      case "first":
        return this.#index0 === 0;
      case "last":
        return this.#peek() === "end";
      case "length":
        return this.size;
      case "revindex":
        return this.size - this.#index0;
      case "revindex0":
        return this.size - this.#index0 - 1;
      case "depth":
        return this.depth0 + 1;
      case "depth0":
        return this.depth0;
      case "previtem":
        return this.#index0 === 0 ? new Undefined("there is no previous item") : this.#before;
      case "nextitem": {
        const after = this.#peek();
        return after === "end" ? new Undefined("there is no next item") : after.value;
      }
      case "cycle":
        return new Callable(name, (_run, args) => this.#cycle(args));
      case "changed":
        return new Callable(name, (run, args) => this.#hasChanged(args, run));
    }
    return undefined;
  }

  repr(run: Run): string {
    return `<LoopContext ${reprOf(this.#index0 + 1, run)}/${reprOf(this.size, run)}>`;
  }

  #cycle({ positional, keywords }: Args): Value {
    const item = positional[this.#index0 % positional.length];
    if (item === undefined || keywords.size > 0) {
      throw new PythonTypeError("'loop.cycle' must have items, without names");
    }
    return item;
  }

  #hasChanged({ positional, keywords }: Args, run: Run): boolean {
    if (keywords.size > 0) throw new PythonTypeError("'loop.changed' must have values without names");
    const value = new Tuple(positional);
    if (this.#changed !== undefined && isEqual(this.#changed, value, run)) return false;
    this.#changed = value;
    return true;
  }
}
