import { type Context, ExpressionParser, isPlace, NO_LIMITS } from "./expression_parser.ts";
import {
  AwkFailure,
  AwkSyntaxError,
  type Expression,
  type FunctionDefinition,
  type Program,
  type Redirection,
  type Rule,
  type Statement,
  type SwitchCase,
} from "./syntax.ts";

/**
 * Reads an awk program, in the grammar of gawk 5.2.
 *
 * @throws {AwkSyntaxError} if the program is wrong.
 */
export function parseAwk(text: string): Program {
  return new Parser(text).program();
}

class Parser extends ExpressionParser {
  readonly #functions = new Map<string, FunctionDefinition>();

  program(): Program {
    const rules: Rule[] = [];
    this.skipEnds();
    while (this.token.kind !== "end") {
      if (this.isKeyword("function", "func")) this.#definition();
      else rules.push(this.#rule());
      this.skipEnds();
    }
    const unknown = this.calls.find(({ text }) => !this.#functions.has(text));
    if (unknown) throw new AwkFailure(`function \`${unknown.text}' not defined`);
    return { rules, functions: this.#functions, warnings: this.lexer.warnings };
  }

  #definition(): void {
    this.advance();
    const { text: name } = this.token;
    if (this.token.kind !== "name" && this.token.kind !== "call") this.fail();
    this.advance();
    this.expect("(");
    this.skipNewlines();
    const parameters: string[] = [];
    while (!this.is(")")) {
      if (this.token.kind !== "name") this.fail();
      parameters.push(this.advance().text);
      this.skipNewlines();
      if (!this.is(")")) this.expect(",");
      this.skipNewlines();
    }
    this.advance();
    this.skipNewlines();
    this.when = "function";
    this.#functions.set(name, { name, parameters, body: this.#block() });
  }

  #rule(): Rule {
    for (const when of ["BEGIN", "END", "BEGINFILE", "ENDFILE"] as const) {
      if (!this.isKeyword(when)) continue;
      this.advance();
      if (!this.is("{")) this.fail();
      this.when = when;
      return { when, action: this.#block() };
    }
    this.when = "record";
    if (this.is("{")) return { when: "record", action: this.#block() };
    const from = this.expression();
    let to: Expression | undefined;
    if (this.is(",")) {
      this.advance();
      this.skipNewlines();
      to = this.expression();
    }
    return { when: "record", from, to, action: this.is("{") ? this.#block() : undefined };
  }

  #block(): Statement {
    this.expect("{");
    const statements: Statement[] = [];
    this.skipEnds();
    while (!this.is("}")) {
      if (this.token.kind === "end") this.fail();
      statements.push(this.#statement());
      this.skipEnds();
    }
    this.advance();
    return { kind: "block", statements };
  }

  #statement(): Statement {
    return this.nested(() => {
      if (this.is("{")) return this.#block();
      if (this.is(";")) {
        this.advance();
        return { kind: "block", statements: [] };
      }
      if (this.isKeyword("if")) return this.#if();
      if (this.isKeyword("while")) return this.#while();
      if (this.isKeyword("do")) return this.#do();
      if (this.isKeyword("for")) return this.#for();
      if (this.isKeyword("switch")) return this.#switch();
      const statement = this.#simple();
      this.endStatement();
      return statement;
    });
  }

  #if(): Statement {
    const condition = this.#condition();
    const yes = this.#body();
    const { kind } = this.token;
    if (kind === "newline" || this.is(";")) this.skipEnds();
    if (!this.isKeyword("else")) return { kind: "if", condition, yes };
    this.advance();
    return { kind: "if", condition, yes, no: this.#body() };
  }

  #while(): Statement {
    const condition = this.#condition();
    return { kind: "while", condition, body: this.#body(), isFirstFree: false };
  }

  #do(): Statement {
    this.advance();
    const body = this.#body();
    this.skipEnds();
    if (!this.isKeyword("while")) this.fail();
    const condition = this.#condition();
    this.endStatement();
    return { kind: "while", condition, body, isFirstFree: true };
  }

  #for(): Statement {
    this.advance();
    this.expect("(");
    let start: Statement | undefined;
    if (!this.is(";")) {
      start = this.#simple({ noIn: true });
      if (this.isKeyword("in") && start.kind === "expression" && isPlace(start.value)) {
        this.advance();
        const array = this.arrayName();
        this.expect(")");
        return { kind: "each", place: start.value, array, body: this.#body() };
      }
    }
    this.expect(";");
    this.skipNewlines();
    const condition = this.is(";") ? undefined : this.expression();
    this.expect(";");
    this.skipNewlines();
    const step = this.is(")") ? undefined : this.#simple();
    this.expect(")");
    return { kind: "for", start, condition, step, body: this.#body() };
  }

  #switch(): Statement {
    const value = this.#condition();
    this.skipNewlines();
    this.expect("{");
    this.skipEnds();
    const cases: SwitchCase[] = [];
    while (!this.is("}")) {
      const isCase = this.isKeyword("case");
      if (!isCase && !this.isKeyword("default")) this.fail();
      this.advance();
      const label = isCase ? this.choice({ noIn: true }, true) : undefined;
      this.expect(":");
      this.skipEnds();
      const body: Statement[] = [];
      while (!this.is("}") && !this.isKeyword("case", "default")) {
        body.push(this.#statement());
        this.skipEnds();
      }
      cases.push({ value: label, body });
    }
    this.advance();
    return { kind: "switch", value, cases };
  }

  /** Reads the keyword and the condition behind it. */
  #condition(): Expression {
    this.advance();
    this.expect("(");
    const condition = this.expression();
    this.expect(")");
    return condition;
  }

  #body(): Statement {
    this.skipNewlines();
    return this.#statement();
  }

  #simple(context: Context = NO_LIMITS): Statement {
    const token = this.token;
    if (token.kind === "keyword") {
      switch (token.text) {
        case "print":
        case "printf":
          return this.#print(token.text);
        case "break":
        case "continue":
        case "next":
        case "nextfile":
          if (token.text.startsWith("next") && this.when !== "record" && this.when !== "function") {
            throw new AwkSyntaxError(`\`${token.text}' used in ${this.when} action`, token);
          }
          this.advance();
          return { kind: token.text };
        case "exit":
        case "return":
          if (token.text === "return" && this.when !== "function") {
            throw new AwkSyntaxError("`return' used outside function context", token);
          }
          this.advance();
          return { kind: token.text, value: this.isEnd() ? undefined : this.expression() };
        case "delete": {
          this.advance();
          const place = this.operand(NO_LIMITS);
          const inner = place.kind === "group" ? place.inner : place;
          if (inner.kind === "element") return { kind: "delete", array: inner.array, keys: inner.keys };
          if (inner.kind === "name") return { kind: "delete", array: inner };
          return this.fail();
        }
      }
    }
    return { kind: "expression", value: this.expression(context) };
  }

  #print(kind: "print" | "printf"): Statement {
    this.advance();
    const context = { noGreater: true, noPipe: true };
    let items: readonly Expression[] = [];
    if (!this.isEnd() && !this.#isRedirection()) {
      const first = this.expression(context);
      const all = [first];
      while (this.is(",")) {
        this.advance();
        this.skipNewlines();
        all.push(this.expression(context));
      }
      items = all.length === 1 && first.kind === "list" ? first.items : all;
    }
    if (kind === "printf" && items.length === 0) this.fail();
    let to: Redirection | undefined;
    if (this.#isRedirection()) {
      const sign = this.advance().text;
      to = { kind: sign as Redirection["kind"], target: this.concat({ ...context }) };
    }
    return { kind, items, to };
  }

  #isRedirection(): boolean {
    return this.is(">") || this.is(">>") || this.is("|") || this.is("|&");
  }
}
