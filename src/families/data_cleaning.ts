import { type Draw, until } from "./draw.ts";
import type { Family, ReplyProblem, Verdict } from "./family.ts";

/** A clean record. */
interface RecordRow {
  readonly id: number;
  readonly name: string;
  readonly city: string;
  /** Date as `2024-01-31`. */
  readonly date: string;
  readonly cents: number;
}

/** The texts of a row of the table. */
type Cells = Readonly<Record<(typeof COLUMNS)[number], string>>;

/** A fault of a table, with the instruction that removes the fault. */
interface Fault {
  readonly text: string;
  /** Changes the texts of a row. */
  soil?(draw: Draw, cells: Cells, row: RecordRow): Cells;
  /** Returns rows that must be removed. */
  extra?(draw: Draw, rows: readonly RecordRow[]): Cells[];
}

const COLUMNS = ["id", "name", "city", "date", "amount"] as const;
const FIRST_NAMES = ["Ada", "Ben", "Cleo", "Dana", "Emil", "Fay", "Gus", "Hana", "Ivo", "Jill"];
const LAST_NAMES = ["Berg", "Costa", "Dunn", "Eriks", "Fahey", "Gall", "Horn", "Ito", "Jansen", "Kerr"];
const CITIES: Readonly<Record<string, readonly string[]>> = {
  "New York": ["NYC", "N.Y."],
  "Los Angeles": ["LA", "L.A."],
  "Chicago": ["CHI"],
  "Houston": ["HOU"],
};
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const MAX_ROWS = 200;

/** Clean a table by rules. Difficulty adds rows, faults and rules. */
export const dataCleaning: Family = {
  about: "a table with faults, to be cleaned by rules",
  version: 1,
  kind: "reply",
  generate: (draw, difficulty) => until(() => attempt(draw, difficulty)),
};

function attempt(draw: Draw, difficulty: number): ReplyProblem | undefined {
  const rows = randomRows(draw, 4 + difficulty);
  const faults = draw.sample(FAULTS, Math.min(FAULTS.length, 2 + Math.floor(difficulty / 2)));
  const order = draw.pick(ORDERS);
  const soil = (cells: Cells, row: RecordRow) =>
    faults.reduce((soiled, fault) => fault.soil?.(draw, soiled, row) ?? soiled, cells);
  const extra = faults.flatMap((fault) => fault.extra?.(draw, rows) ?? []);
  const raw = draw.shuffle([...rows.map((row) => soil(toCells(row), row)), ...extra]);
  const expected = toText(rows.toSorted(order.compare).map(toCells));
  const given = toText(raw);
  if (given === expected) return undefined;
  const rules = [...faults.map(({ text }) => text), `Sort the rows by ${order.text}.`];
  return {
    kind: "reply",
    query: `Clean this table. Columns are separated by semicolons.\n\n${given}\n\nRules:\n` +
      `${rules.map((rule, at) => `${at + 1}. ${rule}`).join("\n")}\nGive the whole table in the same form, ` +
      "with the header. Dates have the form 2024-01-31, and amounts two decimals and no sign of a currency.",
    solution: expected,
    copies: [given, COLUMNS.join(";")],
    guess: (draw) => toText(draw.shuffle(rows.map(toCells))),
    check: (answer) => check(answer, expected),
  };
}

function randomRows(draw: Draw, count: number): RecordRow[] {
  const dates = new Set<string>();
  while (dates.size < count) {
    dates.add(`20${draw.int(20, 24)}-${pad(draw.int(1, 12))}-${pad(draw.int(1, 28))}`);
  }
  const ids = draw.sample(Array.from({ length: 90 }, (_, at) => at + 10), count);
  return [...dates].map((date, at) => ({
    id: ids[at] ?? 0,
    name: `${draw.pick(FIRST_NAMES)} ${draw.pick(LAST_NAMES)}`,
    city: draw.pick(Object.keys(CITIES)),
    date,
    cents: draw.int(100, 499_999),
  }));
}

function pad(number: number): string {
  return String(number).padStart(2, "0");
}

function toCells({ id, name, city, date, cents }: RecordRow): Cells {
  return { id: String(id), name, city, date, amount: (cents / 100).toFixed(2) };
}

function toText(rows: readonly Cells[]): string {
  return [COLUMNS.join(";"), ...rows.map((cells) => COLUMNS.map((column) => cells[column]).join(";"))].join(
    "\n",
  );
}

const ORDERS: readonly { readonly text: string; compare(one: RecordRow, other: RecordRow): number }[] = [
  { text: "id, ascending", compare: (one, other) => one.id - other.id },
  { text: "id, descending", compare: (one, other) => other.id - one.id },
  { text: "date, oldest first", compare: (one, other) => one.date < other.date ? -1 : 1 },
  { text: "date, newest first", compare: (one, other) => one.date < other.date ? 1 : -1 },
];

const FAULTS: readonly Fault[] = [
  {
    text: "Remove blanks at the start and the end of values, and write one blank where there are several.",
    soil: (draw, cells) => ({
      ...cells,
      name: draw.chance(0.5) ? ` ${cells.name.replace(" ", "  ")}` : cells.name,
      city: draw.chance(0.4) ? `${cells.city} ` : cells.city,
    }),
  },
  {
    text: "Write each word of a name with a capital letter first and small letters after.",
    soil: (draw, cells) => ({
      ...cells,
      name: draw.pick([cells.name, cells.name.toUpperCase(), cells.name.toLowerCase()]),
    }),
  },
  {
    text: "Dates such as 31/01/2024 have the day first, and others the name of the month.",
    soil: (draw, cells, { date }) => {
      const [year = "", month = "", day = ""] = date.split("-");
      const written = `${MONTHS[Number(month) - 1]} ${Number(day)}, ${year}`;
      return { ...cells, date: draw.pick([date, `${day}/${month}/${year}`, written]) };
    },
  },
  {
    text: "Amounts may have a dollar sign, commas between thousands, or the word USD.",
    soil: (draw, cells, { cents }) => {
      const grouped = (cents / 100).toFixed(2).replace(/\B(?=(?:\d{3})+\.)/g, ",");
      return { ...cells, amount: draw.pick([cells.amount, `$${grouped}`, `${cells.amount} USD`, grouped]) };
    },
  },
  {
    text: `Replace short names of cities: ${
      Object.entries(CITIES).map(([city, names]) => `${names.join(" and ")} by ${city}`).join(", ")
    }.`,
    soil: (draw, cells, { city }) => ({
      ...cells,
      city: draw.chance(0.5) ? cells.city : draw.pick(CITIES[city] ?? [city]),
    }),
  },
  {
    text: "Of rows with the same id, keep only the one with the latest date.",
    extra: (draw, rows) =>
      draw.sample(rows, 2).map((row) => ({
        ...toCells(row),
        date: `201${draw.int(0, 9)}${row.date.slice(4)}`,
        amount: (draw.int(100, 99_999) / 100).toFixed(2),
      })),
  },
  {
    text: "Remove rows without an amount, or with the amount N/A.",
    extra: (draw, rows) => {
      const free = Array.from({ length: 9 }, (_, at) => at + 1);
      return draw.sample(rows, 2).map((row, at) => ({
        ...toCells(row),
        id: String(free[at]),
        amount: draw.pick(["", "N/A"]),
      }));
    },
  },
];

function check(answer: string, expected: string): Verdict {
  const lines = answer.split("\n").map((line) => line.split(";").map((cell) => cell.trim()).join(";"));
  const rows = lines.filter((line) => line !== "");
  const isFormed = rows[0] === COLUMNS.join(";") && rows.length <= MAX_ROWS &&
    rows.every((row) => row.split(";").length === COLUMNS.length);
  if (!isFormed) return "malformed";
  return rows.join("\n") === expected ? "right" : "wrong";
}
