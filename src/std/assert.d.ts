// The part of the standard library's assertions that the tests use.
type ErrorClass<E extends Error> = abstract new (...args: never[]) => E;

export class AssertionError extends Error {}
export function assert(expr: unknown, msg?: string): asserts expr;
export function assertEquals<T>(actual: T, expected: T, msg?: string): void;
export function assertNotEquals<T>(actual: T, expected: T, msg?: string): void;
export function assertStrictEquals<T>(actual: unknown, expected: T, msg?: string): asserts actual is T;
export function assertExists<T>(actual: T, msg?: string): asserts actual is NonNullable<T>;
export function assertMatch(actual: string, expected: RegExp, msg?: string): void;
export function assertStringIncludes(actual: string, expected: string, msg?: string): void;
export function assertObjectMatch(
  actual: object,
  expected: Record<PropertyKey, unknown>,
  msg?: string,
): void;
export function assertThrows<E extends Error = Error>(
  fn: () => unknown,
  errorClass?: ErrorClass<E>,
  msgIncludes?: string,
): E;
export function assertRejects<E extends Error = Error>(
  fn: () => PromiseLike<unknown>,
  errorClass?: ErrorClass<E>,
  msgIncludes?: string,
): Promise<E>;
export function fail(msg?: string): never;
