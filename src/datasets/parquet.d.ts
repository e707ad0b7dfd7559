// The part of parquet.ts that readers of files use. See docs/decisions/hand_written_types.md.
import type { RawRow } from "./row.ts";

export function readParquet(path: string): AsyncGenerator<RawRow>;
