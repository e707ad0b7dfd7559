/**
 * Groups items into lists of `size`; the last list may be shorter.
 *
 * @throws {RangeError} if the size is not a whole number of at least 1.
 */
export async function* toBatches<Item>(items: AsyncIterable<Item>, size: number): AsyncGenerator<Item[]> {
  requireBatchSize(size);
  let batch: Item[] = [];
  for await (const item of items) {
    batch.push(item);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/**
 * Checks a batch size.
 *
 * @throws {RangeError} if it is not a whole number of at least 1.
 */
export function requireBatchSize(size: number): void {
  if (Number.isInteger(size) && size >= 1) return;
  throw new RangeError(
    `Cannot load rows as 'batchSizeDl' must be a whole number >= 1: current value is ${size}`,
  );
}
