/** Shape of a batch: the length of each of its axes. */
export type BatchShape = readonly number[];

/**
 * Converts a number or a list to a batch shape.
 *
 * `null` and `undefined` mean a batch of one element.
 *
 * @throws {RangeError} if the shape has no axis, or an axis is not a whole number >= 1.
 */
export function toBatchShape(
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
      `Cannot create ${owner} as 'batchSize' must be whole numbers >= 1: current value is [${
        shape.join(", ")
      }]`,
    );
  }
  return shape;
}

/** Returns the number of elements in a batch of this shape. */
export function sizeOf(shape: BatchShape): number {
  return shape.reduce((size, length) => size * length, 1);
}

/**
 * Checks that a list has one item for each element of the batch.
 *
 * @throws {RangeError} if the list has another length.
 */
export function requireSize(list: readonly unknown[], expected: { shape: BatchShape; name: string }): void {
  const { shape, name } = expected;
  const size = sizeOf(shape);
  if (list.length === size) return;
  const batch = shape.length > 1 ? `, for a batch of shape [${shape.join(", ")}]` : "";
  throw new RangeError(
    `Expected ${name} with one value for each element of the batch, got [${list.length}] and [${size}]${batch}`,
  );
}
