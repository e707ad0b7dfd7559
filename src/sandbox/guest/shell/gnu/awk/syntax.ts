/** An expression of an awk program. */
export type Expression =
  | { readonly kind: "number"; readonly value: number }
  | { readonly kind: "text"; readonly value: string }
  | { readonly kind: "regex"; readonly source: string }
  | Place
  | { readonly kind: "group"; readonly inner: Expression }
  | { readonly kind: "list"; readonly items: readonly Expression[] }
  | { readonly kind: "unary"; readonly operator: "!" | "-" | "+"; readonly operand: Expression }
  | { readonly kind: "step"; readonly by: 1 | -1; readonly isPrefix: boolean; readonly place: Place }
  | BinaryExpression
  | {
    readonly kind: "match";
    readonly isNegated: boolean;
    readonly text: Expression;
    readonly pattern: Expression;
  }
  | { readonly kind: "and" | "or"; readonly left: Expression; readonly right: Expression }
  | {
    readonly kind: "choice";
    readonly condition: Expression;
    readonly yes: Expression;
    readonly no: Expression;
  }
  | { readonly kind: "in"; readonly keys: readonly Expression[]; readonly array: ArrayName }
  | { readonly kind: "assign"; readonly operator: string; readonly place: Place; readonly value: Expression }
  | {
    readonly kind: "call";
    readonly name: string;
    readonly args: readonly Expression[];
  }
  | {
    readonly kind: "builtin";
    readonly name: string;
    readonly args: readonly Expression[];
  }
  | {
    readonly kind: "getline";
    readonly from: "input" | "file" | "command" | "coprocess";
    readonly source?: Expression;
    readonly place?: Place;
  };

/** Two operands and an arithmetic operator, a comparison or `concat`. */
export interface BinaryExpression {
  readonly kind: "binary";
  readonly operator: string;
  readonly left: Expression;
  readonly right: Expression;
}

/** What can be assigned to. */
export type Place =
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "field"; readonly index: Expression }
  | ElementPlace;

/** An element of an array. */
export interface ElementPlace {
  readonly kind: "element";
  readonly array: ArrayName;
  readonly keys: readonly Expression[];
}

/** An array: a variable, or an element that is an array itself. */
export type ArrayName = { readonly kind: "name"; readonly name: string } | ElementPlace;

/** Where `print` writes. */
export interface Redirection {
  readonly kind: ">" | ">>" | "|" | "|&";
  readonly target: Expression;
}

/** A statement of an awk program. */
export type Statement =
  | { readonly kind: "block"; readonly statements: readonly Statement[] }
  | { readonly kind: "expression"; readonly value: Expression }
  | {
    readonly kind: "print" | "printf";
    readonly items: readonly Expression[];
    readonly to?: Redirection | undefined;
  }
  | {
    readonly kind: "if";
    readonly condition: Expression;
    readonly yes: Statement;
    readonly no?: Statement | undefined;
  }
  | {
    readonly kind: "while";
    readonly condition: Expression;
    readonly body: Statement;
    readonly isFirstFree: boolean;
  }
  | {
    readonly kind: "for";
    readonly start?: Statement | undefined;
    readonly condition?: Expression | undefined;
    readonly step?: Statement | undefined;
    readonly body: Statement;
  }
  | { readonly kind: "each"; readonly place: Place; readonly array: ArrayName; readonly body: Statement }
  | { readonly kind: "switch"; readonly value: Expression; readonly cases: readonly SwitchCase[] }
  | { readonly kind: "delete"; readonly array: ArrayName; readonly keys?: readonly Expression[] | undefined }
  | { readonly kind: "break" | "continue" | "next" | "nextfile" }
  | { readonly kind: "exit" | "return"; readonly value?: Expression | undefined };

/** A case of `switch`; the default has no value. */
export interface SwitchCase {
  readonly value?: Expression | undefined;
  readonly body: readonly Statement[];
}

/** A pattern with its action. */
export interface Rule {
  readonly when: "BEGIN" | "END" | "BEGINFILE" | "ENDFILE" | "record";
  readonly from?: Expression | undefined;
  /** End of a range of records. */
  readonly to?: Expression | undefined;
  /** @default print the record */
  readonly action?: Statement | undefined;
}

/** A function of the program. */
export interface FunctionDefinition {
  readonly name: string;
  readonly parameters: readonly string[];
  readonly body: Statement;
}

/** An awk program. */
export interface Program {
  readonly rules: readonly Rule[];
  readonly functions: ReadonlyMap<string, FunctionDefinition>;
  /** Warnings of the reader, such as for an unknown escape. */
  readonly warnings: readonly string[];
}

/** A failure that ends the program with exit code 2. */
export class AwkFailure extends Error {}

/** The program is wrong. */
export class AwkSyntaxError extends Error {
  readonly line: number;
  /** Offset in the program. */
  readonly at: number;

  constructor(message: string, { line, at }: { line: number; at: number }) {
    super(message);
    this.line = line;
    this.at = at;
  }
}

/** Numbers of arguments of the builtin functions: the least and the most. */
export const BUILTINS: Readonly<Record<string, readonly [least: number, most: number]>> = {
  and: [2, Infinity],
  asort: [1, 3],
  asorti: [1, 3],
  atan2: [2, 2],
  close: [1, 2],
  compl: [1, 1],
  cos: [1, 1],
  exp: [1, 1],
  fflush: [0, 1],
  gensub: [3, 4],
  gsub: [2, 3],
  index: [2, 2],
  int: [1, 1],
  isarray: [1, 1],
  length: [0, 1],
  log: [1, 1],
  lshift: [2, 2],
  match: [2, 3],
  mktime: [1, 2],
  or: [2, Infinity],
  patsplit: [2, 4],
  rand: [0, 0],
  rshift: [2, 2],
  sin: [1, 1],
  split: [2, 4],
  sprintf: [1, Infinity],
  sqrt: [1, 1],
  srand: [0, 1],
  strftime: [0, 3],
  strtonum: [1, 1],
  sub: [2, 3],
  substr: [2, 3],
  system: [1, 1],
  systime: [0, 0],
  tolower: [1, 1],
  toupper: [1, 1],
  typeof: [1, 1],
  xor: [2, Infinity],
};
