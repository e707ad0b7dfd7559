import { TemplateSyntaxError } from "../jinja_errors.ts";
import { GLOBALS, UNSUPPORTED_GLOBALS } from "../library/globals.ts";
import { positionOf } from "../syntax/lexer.ts";
import type { Run } from "../run.ts";
import { Symbols } from "./symbols.ts";
import type { Value } from "../values/values.ts";

/** The variables of a running function. A macro, the body of a recursive loop, and a loop's test are functions. */
export class Frame {
  /** Values of the variables; `undefined` for a variable without a value. */
  readonly slots: (Value | undefined)[] = [];

  constructor(
    readonly run: Run,
    /** The variables of the rendering. */
    readonly variables: ReadonlyMap<string, Value>,
    /** The frame of the function around. */
    readonly outer?: Frame,
  ) {}

  /** Returns a frame of a function inside. */
  inner(): Frame {
    return new Frame(this.run, this.variables, this);
  }
}

/** A variable, as seen from a function: this many functions outside, in this slot. */
export interface Place {
  readonly hops: number;
  readonly slot: number;
}

/** Slots of a function's variables, given when the template is compiled. */
class FunctionSlots {
  readonly #slots = new Map<string, number>();

  constructor(readonly outer: FunctionSlots | undefined) {}

  /** Returns the slot of a variable, which is new if the function has none. */
  declare(variable: string): number {
    const slot = this.#slots.get(variable) ?? this.#slots.size;
    this.#slots.set(variable, slot);
    return slot;
  }

  find(variable: string): Place | undefined {
    const slot = this.#slots.get(variable);
    if (slot !== undefined) return { hops: 0, slot };
    const outer = this.outer?.find(variable);
    return outer === undefined ? undefined : { hops: outer.hops + 1, slot: outer.slot };
  }
}

/** Knowledge of the compiler about the place of a node: the variables, and how errors are reported. */
export class Scope {
  private constructor(
    readonly source: string,
    readonly symbols: Symbols,
    readonly slots: FunctionSlots,
    /** True inside an `if`, where an unknown filter fails only when the filter is reached. */
    readonly isConditional: boolean,
  ) {}

  /** Returns the scope of a template. */
  static root(source: string): Scope {
    return new Scope(source, new Symbols(undefined), new FunctionSlots(undefined), false);
  }

  /** Returns a scope with separate variables in the same function. */
  inner(): Scope {
    return new Scope(this.source, new Symbols(this.symbols), this.slots, false);
  }

  /** Returns the scope of a function inside this function. */
  function(): Scope {
    return new Scope(this.source, new Symbols(this.symbols), new FunctionSlots(this.slots), false);
  }

  /**
   * Returns another scope in the same function that sees the variables around this scope, and no variable of this scope.
   */
  sibling(): Scope {
    return new Scope(this.source, new Symbols(this.symbols.parent), this.slots, false);
  }

  /** Returns this scope inside an `if`. */
  conditional(): Scope {
    return new Scope(this.source, this.symbols, this.slots, true);
  }

  /** Returns the place of a name. */
  place(name: string): Place {
    const variable = this.symbols.find(name);
    const place = variable === undefined ? undefined : this.slots.find(variable);
    if (place === undefined) throw new Error(`Cannot compile template as '${name}' must have been declared`);
    return place;
  }

  /** Declares a parameter and returns the parameter's slot in the current function. */
  parameter(name: string): number {
    return this.slots.declare(this.symbols.declareParameter(name));
  }

  /** Returns a function that gives the variables of this scope their first values. */
  enter(): (frame: Frame) => void {
    const loads = [...this.symbols.loads];
    const slots = loads.map(([variable]) => this.slots.declare(variable));
    const steps = loads.flatMap(([, load], at): ((frame: Frame) => void)[] => {
      const slot = slots[at] as number;
      switch (load.from) {
        case "parameter":
          return [];
        case "nothing":
          return [(frame) => frame.slots[slot] = undefined];
        case "context":
          if (UNSUPPORTED_GLOBALS.includes(load.name)) {
            this.fail(`the variable '${load.name}' is not supported`, 0);
          }
          return [(frame) => frame.slots[slot] = readVariable(frame, load.name)];
        case "outer": {
          const place = this.slots.find(load.variable);
          if (place === undefined) {
            throw new Error(`Cannot compile template as '${load.variable}' must be declared`);
          }
          return [(frame) => frame.slots[slot] = readPlace(frame, place)];
        }
      }
    });
    const [only] = steps;
    if (only === undefined) return () => {};
    if (steps.length === 1) return only;
    return (frame) => {
      for (const step of steps) step(frame);
    };
  }

  fail(reason: string, at: number): never {
    throw new TemplateSyntaxError(reason, positionOf(this.source, at));
  }
}

function readVariable({ variables }: Frame, name: string): Value | undefined {
  const value = variables.get(name);
  return value === undefined ? GLOBALS.get(name) : value;
}

/** Returns the value at a place; `undefined` if the place has no value. */
export function readPlace(frame: Frame, { hops, slot }: Place): Value | undefined {
  let owner = frame;
  for (let hop = 0; hop < hops; hop++) owner = owner.outer as Frame;
  return owner.slots[slot];
}
