/** The shape of a batch: the length of each of its axes. */
export type BatchShape = readonly number[];

/**
 * The shape that is meant by a number, a list, or nothing at all, which is a batch of one.
 *
 * @throws {RangeError} when it has no axis, or one that is not a whole number of at least 1.
 */
export function batchShape(
  batchSize: number | readonly number[] | null | undefined,
  owner: string,
): BatchShape {
  const shape = typeof batchSize === "number" ? [batchSize] : [...batchSize ?? [1]];
  if (shape.length === 0) {
    throw new RangeError(`${owner} must have at least one dimension: 'batchSize' is []`);
  }
  for (const length of shape) {
    if (Number.isInteger(length) && length >= 1) continue;
    throw new RangeError(
      `Cannot create ${owner} as 'batchSize' must be of whole numbers >= 1: current value is [${
        shape.join(", ")
      }]`,
    );
  }
  return shape;
}

/** How many elements a batch of that shape has. */
export function sizeOf(shape: BatchShape): number {
  return shape.reduce((size, length) => size * length, 1);
}

/**
 * Refuses a list that does not go with the batch, element by element.
 *
 * @throws {RangeError} when it has another length.
 */
export function requireSize(list: readonly unknown[], expected: { shape: BatchShape; what: string }): void {
  const { shape, what } = expected;
  const size = sizeOf(shape);
  if (list.length === size) return;
  const batch = shape.length > 1 ? `, the batch of [${shape.join(", ")}] one after the other` : "";
  throw new RangeError(
    `Expected ${what} with one value for each element of the batch, got [${list.length}] and [${size}]${batch}`,
  );
}
