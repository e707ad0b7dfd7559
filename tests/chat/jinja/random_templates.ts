import { type Random, seededRandom } from "../../../src/seeded_random.ts";
import {
  ATOMS,
  ATOMS_OF,
  ATTRIBUTES,
  BINARY,
  FILTERS_OF,
  FORMATS,
  type Kind,
  KINDS,
  LOOP_TEXTS,
  METHODS_OF,
  OPERATORS_OF,
  SLICED,
  TESTS,
  UNARY,
} from "./random_vocabulary.ts";

/** Makes random templates from a seed. The same seed gives the same templates. */
export class TemplateGenerator {
  readonly #random: Random;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  /** Returns the next template. */
  next(): string {
    return this.#chance(0.55) ? this.#printed() : this.#body(3);
  }

  /** A list around the value shows its type: '1' differs from 1. */
  #printed(): string {
    const value = this.#expression(3);
    return this.#pick(["{{ [$] }}", "{{ $ }}", "{{ [$, 1] }}", "{{- ($) -}}", "{{ ($)|string }}"]).replace(
      "$",
      () => value,
    );
  }

  /** Most expressions have operands of a type that suits them, as those that fail show little. */
  #expression(depth: number, kind: Kind = this.#pick(KINDS)): string {
    if (depth === 0 || this.#chance(0.12)) return this.#pick(this.#chance(0.95) ? ATOMS_OF[kind] : ATOMS);
    const wanted = this.#chance(0.96) ? kind : this.#pick(KINDS);
    const of = (other: Kind) => this.#operand(depth, other);
    const inner = () => this.#expression(depth - 1);
    switch (this.#below(10)) {
      case 0:
        return `${of(kind)} ${this.#pick(OPERATORS_OF[wanted])} ${of(kind)}`;
      case 1:
      case 2:
        return `${of(kind)}|${this.#fill(this.#pick(FILTERS_OF[wanted]), depth)}`;
      case 3:
      case 4:
        if (METHODS_OF[wanted].length === 0) return `${this.#pick(UNARY)}${of(kind)}`;
        return `${of(kind)}.${this.#fill(this.#pick(METHODS_OF[wanted]), depth)}`;
      case 5:
        return `${of(kind)} is ${this.#chance(0.2) ? "not " : ""}${this.#pick(TESTS)}`;
      case 6:
        return this.#chance(0.5)
          ? `${this.#operand(depth, this.#chance(0.8) ? this.#pick(["text", "list", "dict"]) : kind)}[${
            this.#key(depth)
          }]`
          : `${this.#pick(SLICED)}[${this.#slice()}]`;
      case 7:
        return this.#chance(0.5)
          ? `${of(kind)} if ${inner()}${this.#chance(0.8) ? ` else ${inner()}` : ""}`
          : `${this.#chance(0.8) ? this.#pick(["d", "rows[1]", "d", "dict(a=1, b='x')"]) : of(kind)}.${
            this.#pick(ATTRIBUTES)
          }`;
      case 8:
        return this.#pick([
          `[${inner()}, ${inner()}]`,
          `(${inner()}, ${inner()})`,
          `{'k': ${inner()}}`,
          `not ${of(kind)}`,
        ]);
      default:
        return this.#chance(0.3)
          ? `${of(kind)} ${this.#pick(BINARY)} ${of(this.#pick(KINDS))}`
          : this.#format(depth);
    }
  }

  #format(depth: number): string {
    const format = this.#pick(FORMATS);
    if (format.startsWith("%")) return `'${format}' % ${this.#operand(depth)}`;
    return `'${format}'.format(${this.#expression(depth - 1)}${this.#chance(0.3) ? ", k=2" : ""})`;
  }

  #operand(depth: number, kind?: Kind): string {
    const value = this.#expression(depth - 1, kind);
    return /^[\w]+$|^'[^']*'$|^\[[^[\]]*\]$/.test(value) || this.#chance(0.15) ? value : `(${value})`;
  }

  #key(depth: number): string {
    return this.#chance(0.8)
      ? this.#pick(["0", "-1", "1", "'a'", "'items'", "'name'", "i", "none", "5", "true", "1.0"])
      : this.#expression(depth - 1);
  }

  #slice(): string {
    const bound = () =>
      this.#chance(0.5) ? "" : this.#chance(0.9) ? `${this.#below(7) - 3}` : this.#pick(ATOMS);
    return this.#chance(0.5) ? `${bound()}:${bound()}` : `${bound()}:${bound()}:${bound()}`;
  }

  #fill(text: string, depth: number): string {
    return text.replace(/\$/g, () => this.#expression(Math.max(0, depth - 2))).replace(
      /#/g,
      () => `${this.#below(6)}`,
    );
  }

  #body(depth: number): string {
    return Array.from({ length: 1 + this.#below(4) }, () => this.#statement(depth)).join("");
  }

  #statement(depth: number): string {
    if (depth === 0) return this.#chance(0.5) ? this.#data() : `{{ ${this.#expression(1)} }}`;
    const [open, close] = this.#tags();
    const tag = (text: string) => `${open} ${text} ${close}`;
    const body = () => this.#body(depth - 1);
    const value = () => {
      const expression = this.#expression(1);
      return expression.includes(" if ") ? `(${expression})` : expression;
    };
    const name = () => this.#pick(["x", "y", "i", "s", "k", "loop"].slice(0, this.#chance(0.02) ? 6 : 5));
    switch (this.#below(22)) {
      case 0:
      case 1:
        return tag(`if ${value()}`) + body() + (this.#chance(0.3) ? tag(`elif ${value()}`) + body() : "") +
          (this.#chance(0.4) ? tag("else") + body() : "") + tag("endif");
      case 2:
      case 3:
      case 4:
        return this.#loop(depth, tag);
      case 5:
      case 6:
        return tag(`set ${name()} = ${value()}`);
      case 7:
        return tag(`set ${name()}, ${name()} = ${this.#chance(0.8) ? `(${value()}, ${value()})` : value()}`);
      case 8:
        return tag(`set ${name()}${this.#chance(0.3) ? "|upper" : ""}`) + body() + tag("endset");
      case 9:
        return tag("set ns = namespace(n=0)") + tag(`for x in ${value()}`) + tag("set ns.n = ns.n + 1") +
          body() +
          tag("endfor") + "{{ ns.n }}{{ ns }}";
      case 10:
      case 11:
        return this.#macro(depth, tag);
      case 12:
        return tag(
          `filter ${this.#pick(["upper", "trim", "replace('a', 'b')", "length", "indent(2)|upper"])}`,
        ) + body() +
          tag("endfilter");
      case 13:
        return tag(`with x = ${value()}, y = x`) + body() + tag("endwith");
      case 14:
        return tag("generation") + body() + tag("endgeneration");
      case 15:
        return `{# ${this.#pick(["note", "{{ x }}", "a\nb"])} ${this.#pick(["#}", "-#}", "+#}"])}`;
      case 16:
        return `{% raw ${this.#pick(["%}", "-%}"])}{{ x }} {% if %}\n{% endraw ${this.#pick(["%}", "-%}"])}`;
      case 17:
        return this.#data();
      default:
        return `{{${this.#pick(["", "-"])} ${this.#expression(2)} ${this.#pick(["", "-"])}}}`;
    }
  }

  #loop(depth: number, tag: (text: string) => string): string {
    const items = this.#pick([
      "xs",
      "words",
      "rows",
      "d",
      "nested",
      "s",
      "range(3)",
      "d.items()",
      "[]",
      "xs|select('odd')",
      "nothing",
    ]);
    const isOfPairs = items === "d.items()";
    const target = this.#chance(0.9) ? (isOfPairs ? "k, v" : "x") : this.#pick(["k, v", "i"]);
    const isRecursive = this.#chance(0.15);
    const test = this.#chance(0.2) ? ` if ${this.#expression(1)}` : "";
    const control = this.#chance(0.25)
      ? tag(`if ${this.#pick(["x == 2", "loop.index == 2", "loop.last", this.#expression(1)])}`) + "~" +
        tag(this.#pick(["break", "continue"])) + tag("endif")
      : "";
    const shown = this.#chance(0.5) ? `{{ x }}${this.#pick(LOOP_TEXTS)}` : "";
    const recursion = isRecursive
      ? "{% if x is iterable and x is not string %}({{ loop(x) }}){% endif %}"
      : "";
    return tag(`for ${target} in ${items}${test}${isRecursive ? " recursive" : ""}`) + shown + control +
      recursion +
      this.#body(depth - 1) + (this.#chance(0.3) ? tag("else") + "none" : "") + tag("endfor");
  }

  #macro(depth: number, tag: (text: string) => string): string {
    const signature = this.#pick(["a", "a, b=2", "a, b=a", "a='d', x=i", "", "a, caller=none"]);
    const extra = this.#pick([
      "",
      "{{ varargs }}",
      "{{ kwargs }}",
      "{{ caller() }}",
      "{{ a }}{{ b }}",
      "{{ x }}",
    ]);
    const call = this.#pick([
      "m()",
      "m(1)",
      "m(1, 2)",
      "m(1, b=3)",
      "m(1, 2, 3)",
      "m(a=5, z=6)",
      "m(*[1, 2])",
      "m(**{'a': 1})",
    ]);
    const use = this.#chance(0.3)
      ? tag(`call${this.#chance(0.3) ? "(q)" : ""} ${call}`) + this.#data() + tag("endcall")
      : `{{ ${call} }}`;
    return tag(`macro m(${signature})`) + extra + this.#body(depth - 1) + tag("endmacro") + use +
      (this.#chance(0.2) ? "{{ m.name }}{{ m }}" : "");
  }

  #tags(): [string, string] {
    return [this.#pick(["{%", "{%", "{%", "{%-", "{%+"]), this.#pick(["%}", "%}", "%}", "-%}", "+%}"])];
  }

  #data(): string {
    return this.#pick(["text", " a ", "\n", "  \n  ", "\t", "x\r\ny", "é😀", "\n\n", "{ }", " \u3000", "-"]);
  }

  #pick<Item>(items: readonly Item[]): Item {
    return items[this.#below(items.length)] as Item;
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  #chance(probability: number): boolean {
    return this.#random() < probability;
  }
}
