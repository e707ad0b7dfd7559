/** An error in the source of a template, found when the template is loaded. */
export class TemplateSyntaxError extends SyntaxError {
  /** Line of the error; the first is 1. */
  readonly line: number;
  /** Column of the error in characters; the first is 1. */
  readonly column: number;

  constructor(reason: string, position: { line: number; column: number }) {
    super(`line ${position.line}, column ${position.column}: ${reason}`);
    this.name = "TemplateSyntaxError";
    this.line = position.line;
    this.column = position.column;
  }
}

/** An error while a template is rendered, where Jinja2 raises an exception too. */
export class TemplateError extends Error {
  override readonly name: string = "TemplateError";
}

/** An operation that Python refuses for values of these types: `TypeError`. */
export class PythonTypeError extends TemplateError {
  override readonly name = "TypeError";
}

/** A value that Python refuses: `ValueError`, `ZeroDivisionError`, `OverflowError`. */
export class PythonValueError extends TemplateError {
  override readonly name = "ValueError";
}

/** A use of an undefined value other than printing, iterating or testing the value. */
export class UndefinedError extends TemplateError {
  override readonly name = "UndefinedError";
}

/** A template that takes more steps, text or depth than allowed. */
export class TemplateLimitError extends TemplateError {
  override readonly name = "TemplateLimitError";
}

/**
 * A result of Python that has no fixed text, or that Paddock does not compute. Rendering fails, as any text would be
 * wrong.
 */
export class UnsupportedError extends TemplateError {
  override readonly name = "UnsupportedError";
}
