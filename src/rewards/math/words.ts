/** Words that change a number into another number. */
const NUMBER_WORDS: readonly (readonly [pattern: RegExp, by: string])[] = [
  [
    /\\(?:text|mbox|textbf|textrm|mathrm)\s?\{\s?(?:negative|minus)\s?\}|(?<![a-zA-Z\\])(?:negative|minus) (?=[\d\\($])/gi,
    "-",
  ],
  [/\s?\\(?:text|mbox|textbf|textrm|mathrm)\s?\{\s?(?:percent(?:age)?|per cent|pct)\s?\}/gi, "%"],
  [/(?<=\d\$? ?)(?:percent(?:age)?|per cent|pct)(?![a-zA-Z])/gi, "%"],
  ...(["hundred", "thousand", "million", "billion", "trillion"] as const).flatMap((word, at) => {
    const power = `*10^{${at === 0 ? 2 : 3 * at}}`;
    return [
      [
        new RegExp(
          String
            .raw`(?<=[\d}])\s?(?:\\[ ,;]|~)?\s?(\\(?:text|mbox|textrm|mathrm)\s?\{)\s?${word}(?![a-zA-Z])`,
          "gi",
        ),
        `${power}$1`,
      ],
      [new RegExp(String.raw`(?<=\d)(?:\s|\\[ ,;]|~)?${word}(?![a-zA-Z])`, "gi"), power],
    ] as const;
  }),
];

const NUMBER_WORD = /negative|minus|percent|per cent|pct|hundred|thousand|illion/i;

/** Rewrites words that belong to a number: `5 million` becomes `5*10^{6}`, `negative 5` `-5`, `5 percent` `5%`. */
export function foldNumberWords(text: string): string {
  if (!NUMBER_WORD.test(text)) return text;
  return NUMBER_WORDS.reduce((replaced, [pattern, by]) => replaced.replace(pattern, by), text);
}

/** Words of a kind by their meaning. Meanings of a kind exclude each other. */
interface Kind {
  /** Whether the kind counts if only one answer has such a word. */
  readonly isRequired: boolean;
  readonly meanings: Readonly<Record<string, RegExp>>;
}

/** Beginning of a number, after words. */
const NUMBER = String.raw`[\s}]{0,3}(?:(?:a|an|the|about|exactly) )?[\s$({\[]{0,9}[-\d\\|]`;

function words(pattern: string): RegExp {
  return new RegExp(String.raw`(?<![a-z\\])(?:${pattern})(?![a-z])`, "i");
}

function beforeNumber(pattern: string): RegExp {
  return new RegExp(String.raw`(?<![a-z\\])(?:${pattern})${NUMBER}`, "i");
}

/** Returns the pattern of a bound before or after a number: `at least 5`, `5 or more`. */
function bound(leading: string, trailing: string): RegExp {
  const after = String.raw`\d[\d\s}),\]$]{0,9}(?:[a-z]{1,20} ){0,2}(?:${trailing})(?![a-z]| [a-z])`;
  return new RegExp(`${beforeNumber(leading).source}|${after}`, "i");
}

/** Returns the pattern of a day of a month: `March 5`, `5th of March`. */
function dateIn(month: string): RegExp {
  return new RegExp(
    String
      .raw`(?<![A-Za-z])${month}[\s}]{0,3}\d{1,2}(?!\d)|(?<!\d)\d{1,2}(?:st|nd|rd|th)?(?: of)?[\s}]{0,3}${month}(?![a-z])`,
  );
}

const MONTHS = "January February March April May June July August September October November December";
const WAYS = "north south east west left right up down clockwise counterclockwise";

const KINDS: readonly Kind[] = [
  {
    isRequired: true,
    meanings: {
      below: beforeNumber("(?:less|fewer|smaller|lower|shorter|earlier) than|under|below|nearly|almost"),
      above: beforeNumber(
        "(?:more|greater|larger|bigger|higher|longer|later) than|over|above|exceeding|exceeds|beyond",
      ),
      "at most": bound(
        "at (?:the )?most|up to|maximum of",
        "or (?:less|fewer|below|lower|under)|and (?:below|under)|at (?:the )?most",
      ),
      "at least": bound(
        "at (?:the )?least|minimum of",
        "or (?:more|greater|above|higher|over)|and (?:above|over|up)|at (?:the )?least",
      ),
      half: beforeNumber("half(?: of)?"),
      twice: beforeNumber("twice|double"),
    },
  },
  {
    isRequired: true,
    meanings: byName(MONTHS.split(" "), dateIn),
  },
  { isRequired: true, meanings: { BC: /\d[\s}]{1,3}(?:BCE?|B\.C\.)(?![a-zA-Z])/ } },
  { isRequired: false, meanings: byName(WAYS.split(" "), words) },
  {
    isRequired: false,
    meanings: { gain: words("gain|profit|increase"), loss: words("loss|decrease|deficit") },
  },
];

function byName(names: readonly string[], patternOf: (name: string) => RegExp): Kind["meanings"] {
  return Object.fromEntries(names.map((name) => [name, patternOf(name)]));
}

/** Whether a text may have a word of {@linkcode KINDS}. */
const MAY_MATTER = new RegExp(
  `than|under|below|nearly|almost|over|above|exceed|beyond|up|most|least|m[ai][xn]imum|less|fewer|more|half|twice|double|BC|B\\.C|` +
    `gain|profit|increase|loss|decrease|deficit|${MONTHS.replaceAll(" ", "|")}|${WAYS.replaceAll(" ", "|")}`,
  "i",
);
const COMMANDS = /\\(?:text|mbox|mathrm|textbf|textit|textrm|mathbf|mathit|textnormal|operatorname)\s?\{/g;

/**
 * Returns true if the words of an answer give the number another meaning than the words of the expected answer:
 * `less than 5`, `at most 5` and `5 or more` are no 5, `5 miles north` is not `5 miles south`, and `March 5` not
 * `May 5`. Words of approximation, such as `about`, change nothing.
 */
export function hasOtherMeaning(given: string, truth: string): boolean {
  if (!MAY_MATTER.test(given) && !MAY_MATTER.test(truth)) return false;
  const [first = "", second = ""] = [given, truth].map((text) =>
    text.replace(COMMANDS, " ").replace(/\\(?:left|right)(?![a-zA-Z])/g, "").replace(/\s+/g, " ")
  );
  return KINDS.some(({ isRequired, meanings }) => {
    const [found, expected] = [meaningOf(first, meanings), meaningOf(second, meanings)];
    return found !== expected && (isRequired || (found !== "" && expected !== ""));
  });
}

function meaningOf(text: string, meanings: Kind["meanings"]): string {
  return Object.entries(meanings).flatMap(([meaning, pattern]) => pattern.test(text) ? [meaning] : []).join();
}
