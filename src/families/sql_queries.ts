import * as z from "zod";
import type { PythonSession } from "../sandbox/contract/pool.ts";
import { type Draw, until } from "./draw.ts";
import type { Family, ProgramProblem, Verdict } from "./family.ts";
import { type Database, describeDatabase, randomDatabase, statementsOf } from "./sql/database.ts";
import { computeRows, describeQuery, type Query, randomQuery, toSql } from "./sql/query.ts";
import runQuery from "./sql/run_query.py" with { type: "text" };
import { THEMES } from "./sql/themes.ts";

/** Databases that the model does not see, with the same tables as the database of the query. */
const HIDDEN = 3;
const MAX_SQL = 10_000;
const TIMEOUT_MS = 10_000;

const outcomeSchema = z.union([
  z.object({ rows: z.array(z.array(z.array(z.union([z.string(), z.number(), z.null()])))) }),
  z.object({ error: z.string() }),
]);

/** Write a query for a generated database. The query is checked on other databases too. */
export const sqlQueries: Family = {
  about: "a query in SQLite's SQL on a generated database, checked on others too",
  version: 1,
  kind: "program",
  profile: "python",
  generate: (draw, difficulty) => until(() => attempt(draw, difficulty)),
};

function attempt(draw: Draw, difficulty: number): ProgramProblem | undefined {
  const theme = draw.pick(THEMES);
  const query = randomQuery(draw, theme, difficulty);
  const size = { facts: 8 + difficulty, others: Math.min(6, 3 + Math.floor(difficulty / 2)) };
  const databases = Array.from({ length: 1 + HIDDEN }, () => randomDatabase(draw, theme, size));
  const expected = databases.map((database) => JSON.stringify(computeRows(query, database)));
  if (!isTelling(query, { databases, expected })) return undefined;
  const [shown] = databases;
  const tables = shown === undefined ? "" : describeDatabase(shown);
  return {
    kind: "program",
    query: `A SQLite database has these tables:\n\n${tables}\n\n${describeQuery(query)}\n` +
      "Give a single SELECT statement, which must also be right for other rows.",
    solution: toSql(query),
    copies: [
      `SELECT * FROM ${theme.facts}`,
      ...theme.dimensions.map(({ table }) => `SELECT * FROM ${table}`),
    ],
    guess: (draw) => toSql(randomQuery(draw, theme, difficulty)),
    check: (answer, session, options) => check(answer, session, { databases, expected, ...options }),
  };
}

/** Returns whether the databases have different results, and each condition of the query changes a result. */
function isTelling(
  query: Query,
  { databases, expected }: { databases: readonly Database[]; expected: readonly string[] },
): boolean {
  if (expected[0] === "[]" || new Set(expected).size < databases.length) return false;
  const { least: _least, ...anyGroup } = query;
  const { limit: _limit, ...allRows } = query;
  const fewer: Query[] = [
    ...query.filters.map((filter) => ({
      ...query,
      filters: query.filters.filter((other) => other !== filter),
    })),
    ...(query.least === undefined ? [] : [anyGroup]),
    ...(query.limit === undefined ? [] : [allRows]),
  ];
  return fewer.every((other) =>
    databases.some((database, at) => JSON.stringify(computeRows(other, database)) !== expected[at])
  );
}

async function check(
  answer: string,
  session: PythonSession,
  { databases, expected, signal }: {
    databases: readonly Database[];
    expected: readonly string[];
    signal?: AbortSignal | undefined;
  },
): Promise<Verdict> {
  if (answer.length > MAX_SQL || !/^\s*(?:select|with)\b/i.test(answer)) return "malformed";
  const inputs = { databases: databases.map(statementsOf), query: answer.replace(/;\s*$/, "") };
  const result = await session.exec(runQuery, { inputs, timeoutMs: TIMEOUT_MS, signal });
  const outcome = z.safeParse(outcomeSchema, result.status === "ok" ? result.valueJson : undefined);
  if (!outcome.success) return "wrong"; // a limit of time, memory or size
  if ("error" in outcome.data) return "malformed";
  return outcome.data.rows.every((rows, at) => JSON.stringify(rows) === expected[at]) &&
      outcome.data.rows.length === expected.length
    ? "right"
    : "wrong";
}
