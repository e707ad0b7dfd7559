import {
  type Body,
  type CallBlockNode,
  childrenOf,
  type Expression,
  type ForNode,
  type MacroNode,
  type Statement,
} from "../syntax/nodes.ts";

/**
 * How a variable of a scope gets the first value: from the variables of the rendering, from a variable of an outer
 * scope, or not at all. A parameter has a value already.
 */
export type Load =
  | { readonly from: "parameter" | "nothing" }
  | { readonly from: "context"; readonly name: string }
  | { readonly from: "outer"; readonly variable: string };

/**
 * The variables of a scope: a loop's body, a macro, a block that captures text. `if` makes no scope.
 *
 * Before rendering, Jinja2 decides which variable a name means, by all reads and writes of the scope, in the order of
 * the source. A name that a scope sets is a variable of that scope, which starts with the value that the name has
 * outside. This class does the same, so that a name which is read before a write gives the same value.
 */
export class Symbols {
  readonly #level: number;
  readonly #refs: Map<string, string>;
  readonly #loads: Map<string, Load>;
  readonly #stores: Set<string>;

  constructor(readonly parent: Symbols | undefined, copied?: Symbols) {
    this.#level = parent === undefined ? 0 : parent.#level + 1;
    this.#refs = new Map(copied === undefined ? [] : copied.#refs);
    this.#loads = new Map(copied === undefined ? [] : copied.#loads);
    this.#stores = new Set(copied === undefined ? [] : copied.#stores);
  }

  /** First values of the variables, in order. */
  get loads(): Iterable<readonly [variable: string, load: Load]> {
    return this.#loads;
  }

  /** Returns the variable that a name means here, if known. */
  find(name: string): string | undefined {
    return this.#refs.get(name) ?? this.parent?.find(name);
  }

  declareParameter(name: string): string {
    this.#stores.add(name);
    return this.#define(name, { from: "parameter" });
  }

  /** Reads the symbols of a body. */
  readBody(body: Body): this {
    for (const statement of body) this.#readStatement(statement);
    return this;
  }

  readExpression(node: Expression, asParameter = false): void {
    if (node.kind === "name") {
      if (asParameter || node.use === "param") this.declareParameter(node.name);
      else if (node.use === "store") this.#store(node.name);
      else this.#load(node.name);
    } else if (node.kind === "namespace_member") {
      this.#load(node.name);
    }
    for (const child of childrenOf(node)) this.readExpression(child, asParameter);
  }

  #readStatement(node: Statement): void {
    switch (node.kind) {
      case "print":
        return this.readExpression(node.value);
      case "set":
        this.readExpression(node.value);
        return this.readExpression(node.target);
      case "set_block":
        return this.readExpression(node.target);
      case "for":
        return this.readExpression(node.iterable);
      case "macro":
        return this.#store(node.name);
      case "call_block":
        return node.call === undefined ? undefined : this.readExpression(node.call);
      case "filter_block":
        return this.readExpression(node.filter);
      case "with":
        for (const value of node.values) this.readExpression(value);
        return;
      case "if":
        return this.#readIf(node.branches, node.otherwise);
    }
  }

  /** An `elif` is another `if`, inside the first. */
  #readIf([first, ...rest]: readonly { test: Expression; body: Body }[], otherwise: Body): void {
    if (first === undefined) return;
    this.readExpression(first.test);
    const branches = [this.#branch((symbols) => symbols.readBody(first.body))];
    branches.push(this.#branch((symbols) => rest.forEach((branch) => symbols.#readIf([branch], []))));
    branches.push(this.#branch((symbols) => symbols.readBody(otherwise)));
    this.#merge(branches);
  }

  #branch(read: (symbols: Symbols) => void): Symbols {
    const symbols = new Symbols(this.parent, this);
    read(symbols);
    return symbols;
  }

  /** A name that only some branches set starts with the value outside. */
  #merge(branches: readonly Symbols[]): void {
    const names = new Set(
      branches.flatMap((branch) => [...branch.#stores]).filter((name) => !this.#stores.has(name)),
    );
    for (const branch of branches) {
      for (const [name, variable] of branch.#refs) this.#refs.set(name, variable);
      for (const [variable, load] of branch.#loads) this.#loads.set(variable, load);
      for (const name of branch.#stores) this.#stores.add(name);
    }
    for (const name of names) {
      const outer = this.parent?.find(name);
      const load: Load = outer === undefined ? { from: "context", name } : { from: "outer", variable: outer };
      this.#loads.set(this.find(name) as string, load);
    }
  }

  #store(name: string): void {
    this.#stores.add(name);
    if (this.#refs.has(name)) return;
    const outer = this.parent?.find(name);
    this.#define(name, outer === undefined ? { from: "nothing" } : { from: "outer", variable: outer });
  }

  #load(name: string): void {
    if (this.find(name) === undefined) this.#define(name, { from: "context", name });
  }

  /** Names of variables have the level of their scope, so that an inner variable never replaces an outer variable. */
  #define(name: string, load: Load): string {
    const variable = `${this.#level}:${name}`;
    this.#refs.set(name, variable);
    this.#loads.set(variable, load);
    return variable;
  }
}

/** Returns the symbols of a loop's body, `else` part, or test. */
export function loopSymbols(node: ForNode, part: "body" | "else" | "test", symbols: Symbols): Symbols {
  if (part === "else") return symbols.readBody(node.otherwise);
  symbols.readExpression(node.target, true);
  if (part === "body") return symbols.readBody(node.body);
  if (node.test !== undefined) symbols.readExpression(node.test);
  return symbols;
}

/** Returns the symbols of a macro or call block. */
export function functionSymbols(node: MacroNode | CallBlockNode, symbols: Symbols): Symbols {
  for (const param of node.params) symbols.readExpression(param);
  for (const value of node.defaults) symbols.readExpression(value);
  return symbols.readBody(node.body);
}

/** Returns the names that a body reads before the body sets them, at any depth. */
export function findFreeNames(body: Body, names: readonly string[]): Set<string> {
  const wanted = new Set(names);
  const found = new Set<string>();
  walkNames(body, ({ name, use }) => {
    if (use === "load" && wanted.has(name)) found.add(name);
    else wanted.delete(name);
  });
  return found;
}

/** Calls the visitor for each name in a body, in the order of the source. */
export function walkNames(body: Body, visit: (name: Extract<Expression, { kind: "name" }>) => void): void {
  const walk = (node: Expression): void => {
    if (node.kind === "name") visit(node);
    childrenOf(node).forEach(walk);
  };
  for (const node of body) {
    switch (node.kind) {
      case "print":
        walk(node.value);
        break;
      case "set":
        walk(node.target);
        walk(node.value);
        break;
      case "set_block":
        walk(node.target);
        if (node.filter !== undefined) walk(node.filter);
        walkNames(node.body, visit);
        break;
      case "for":
        walk(node.target);
        walk(node.iterable);
        walkNames(node.body, visit);
        walkNames(node.otherwise, visit);
        if (node.test !== undefined) walk(node.test);
        break;
      case "if":
        for (const { test, body } of node.branches) {
          walk(test);
          walkNames(body, visit);
        }
        walkNames(node.otherwise, visit);
        break;
      case "macro":
      case "call_block":
        if (node.kind === "call_block" && node.call !== undefined) walk(node.call);
        node.params.forEach(walk);
        node.defaults.forEach(walk);
        walkNames(node.body, visit);
        break;
      case "filter_block":
        walkNames(node.body, visit);
        walk(node.filter);
        break;
      case "with":
        node.targets.forEach(walk);
        node.values.forEach(walk);
        walkNames(node.body, visit);
        break;
    }
  }
}
