import type { Child, FC } from "hono/jsx";
import type { CurvePoint } from "../run_summary.ts";
import type { Histogram } from "../statistics.ts";
import { formatAxis, formatMs, formatNumber } from "./format.ts";

const WIDTH = 360;
const HEIGHT = 140;
const LEFT = 52;
const BOTTOM = 22;
const TOP = 8;
const PLOT_WIDTH = WIDTH - LEFT - 8;
const PLOT_HEIGHT = HEIGHT - BOTTOM - TOP;

interface FigureProps {
  readonly title: string;
  /** A sentence for readers who do not see the picture. */
  readonly summary: string;
  /** Names of the colours. */
  readonly keys?: Child;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Child[])[];
  readonly children?: Child;
}

/** A picture with a table of the data. */
const Figure: FC<FigureProps> = ({ title, summary, keys, columns, rows, children }) => (
  <figure class="plot">
    <figcaption>
      {title}
      {keys}
    </figcaption>
    <svg
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      width={WIDTH}
      height={HEIGHT}
      role="img"
      aria-label={`${title}: ${summary}`}
    >
      {children}
    </svg>
    <details>
      <summary>Table of “{title}”</summary>
      <DataTable title={`Table: ${title}`} columns={columns} rows={rows} />
    </details>
  </figure>
);

interface TableProps {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Child[])[];
}

/** A table among plots, of their height. */
export const TableFigure: FC<TableProps> = ({ title, columns, rows }) => (
  <figure class="plot table">
    <figcaption>{title}</figcaption>
    <DataTable title={title} columns={columns} rows={rows} />
  </figure>
);

const DataTable: FC<TableProps> = ({ title, columns, rows }) => (
  <div class="scroll" tabindex={0} role="region" aria-label={title}>
    <table>
      <thead>
        <tr>{columns.map((name) => <th scope="col" class="number">{name}</th>)}</tr>
      </thead>
      <tbody>{rows.map((row) => <tr>{row.map((cell) => <td class="number">{cell}</td>)}</tr>)}</tbody>
    </table>
  </div>
);

const Axes: FC<{ low: number; high: number | string; from: string; to: string }> = (
  { low, high, from, to },
) => (
  <>
    <line class="axis" x1={LEFT} y1={TOP} x2={LEFT} y2={TOP + PLOT_HEIGHT} />
    <line class="axis" x1={LEFT} y1={TOP + PLOT_HEIGHT} x2={LEFT + PLOT_WIDTH} y2={TOP + PLOT_HEIGHT} />
    <text class="label" x={LEFT - 5} y={TOP + 9} text-anchor="end">
      {typeof high === "string" ? high : formatAxis(high)}
    </text>
    <text class="label" x={LEFT - 5} y={TOP + PLOT_HEIGHT} text-anchor="end">{formatAxis(low)}</text>
    <text class="label" x={LEFT} y={HEIGHT - 6}>{from}</text>
    <text class="label" x={LEFT + PLOT_WIDTH} y={HEIGHT - 6} text-anchor="end">{to}</text>
  </>
);

/** The mean reward over the order in which the episodes ended. */
export const RewardCurve: FC<{ points: readonly CurvePoint[] }> = ({ points }) => {
  const means = points.map(({ mean }) => mean);
  const low = Math.min(0, ...means);
  const high = Math.max(1, ...means);
  const x = (at: number) =>
    LEFT + (points.length < 2 ? PLOT_WIDTH / 2 : at / (points.length - 1) * PLOT_WIDTH);
  const y = heightScale(low, high);
  const path = points.map(({ mean }, at) => `${round(x(at))},${round(y(mean))}`).join(" ");
  const [first, last] = [points[0], points.at(-1)];
  return (
    <Figure
      title="Reward over time"
      summary={`mean reward from ${formatNumber(first?.mean)} in the first episodes to ${
        formatNumber(last?.mean)
      } in the last`}
      columns={["Episodes", "Scored", "Mean reward"]}
      rows={points.map((
        point,
      ) => [`${point.first}–${point.last}`, `${point.count}`, formatNumber(point.mean)])}
    >
      <Axes low={low} high={high} from={`episode ${first?.first ?? 1}`} to={`episode ${last?.last ?? 1}`} />
      <polyline class="curve" points={path} />
      {points.map(({ mean, first, last }, at) => (
        <circle class="dot" cx={round(x(at))} cy={round(y(mean))} r={points.length > 60 ? 1.5 : 2.5}>
          <title>{`episodes ${first}–${last}: ${formatNumber(mean)}`}</title>
        </circle>
      ))}
    </Figure>
  );
};

/** How often values fall into ranges. */
export const HistogramPlot: FC<{ title: string; histogram: Histogram; format?: (value: number) => string }> =
  (
    { title, histogram: { low, high, width, counts }, format = formatNumber },
  ) => {
    const most = Math.max(1, ...counts);
    const step = PLOT_WIDTH / counts.length;
    const nameOf = (bin: number) =>
      `${format(low + bin * width)} to ${
        bin === counts.length - 1 ? format(high) : `below ${format(low + (bin + 1) * width)}`
      }`;
    const isCut = high > low + counts.length * width; // the last range has larger values than the width says
    const end = isCut ? `≥ ${format(low + (counts.length - 1) * width)}` : format(high);
    const peak = counts.indexOf(most);
    return (
      <Figure
        title={title}
        summary={peak === -1 ? "no values" : `most often ${nameOf(peak)}`}
        columns={["Range", "Episodes"]}
        rows={counts.map((count, bin) => [nameOf(bin), `${count}`])}
      >
        <Axes low={0} high={most} from={format(low)} to={high === low ? "" : end} />
        {counts.map((count, bin) => (
          <rect
            class="bar"
            x={round(LEFT + bin * step + 1)}
            y={round(TOP + (1 - count / most) * PLOT_HEIGHT)}
            width={round(Math.max(1, step - 2))}
            height={round(count / most * PLOT_HEIGHT)}
          >
            <title>{`${nameOf(bin)}: ${count}`}</title>
          </rect>
        ))}
      </Figure>
    );
  };

/** Mean rewards of tasks, sorted: the form of the curve shows whether tasks are all or nothing. */
export const TaskCurve: FC<{ means: Float64Array }> = ({ means }) => {
  const low = Math.min(0, means[0] ?? 0);
  const high = Math.max(1, means.at(-1) ?? 1);
  const bars = Math.min(means.length, 100);
  const step = PLOT_WIDTH / Math.max(1, bars);
  const values = Array.from(
    { length: bars },
    (_, at) => means[Math.floor((at + 0.5) / bars * means.length)] ?? 0,
  );
  const y = heightScale(low, high);
  const share = (at: number) => `${Math.round(at / bars * 100)} %`;
  return (
    <Figure
      title="Mean reward by task"
      summary={`from ${formatNumber(means[0])} for the hardest of ${means.length} tasks to ${
        formatNumber(means.at(-1))
      } for the easiest`}
      columns={["Share of tasks", "Mean reward"]}
      rows={values.map((value, at) => [share(at + 1), formatNumber(value)])}
    >
      <Axes low={low} high={high} from="hardest task" to="easiest" />
      {values.map((value, at) => (
        <rect
          class="bar"
          x={round(LEFT + at * step + 0.5)}
          y={round(Math.min(y(value), y(0)))}
          width={round(Math.max(1, step - 1))}
          height={round(Math.max(1, Math.abs(y(value) - y(0))))}
        >
          <title>{`${share(at + 1)} of the tasks: up to ${formatNumber(value)}`}</title>
        </rect>
      ))}
    </Figure>
  );
};

/** A turn of an episode in the plot of times. */
export interface PlottedTurn {
  readonly turn: number;
  readonly policyMs: number;
  readonly envMs: number;
  /** Cells of the turn's row in the table, after the cells of the plot. */
  readonly cells: readonly Child[];
}

/** The time of each turn, divided into time of the policy and time of the env. */
export const TurnTimes: FC<
  { turns: readonly PlottedTurn[]; columns: readonly string[]; hrefOf: (turn: number) => string }
> = ({ turns, columns, hrefOf }) => {
  const times = turns.map(({ policyMs, envMs }) => Math.max(0, policyMs) + Math.max(0, envMs));
  const most = Math.max(1, ...times);
  const slowest = turns[times.indexOf(most)];
  const step = PLOT_WIDTH / Math.max(1, turns.length);
  const bar = (kind: "" | " env", at: number, ms: number, below: number) => (
    <rect
      class={`bar${kind}`}
      x={round(LEFT + at * step + step * 0.1)}
      y={round(TOP + (1 - (below + ms) / most) * PLOT_HEIGHT)}
      width={round(step * 0.8)}
      height={round(ms / most * PLOT_HEIGHT)}
    />
  );
  return (
    <Figure
      title="Time of each turn"
      summary={slowest ? `the longest is turn ${slowest.turn} with ${formatMs(most)}` : "no times"}
      keys={
        <>
          <span class="key">policy</span>
          <span class="key env">env</span>
        </>
      }
      columns={["Turn", "Policy", "Env", ...columns]}
      rows={turns.map(({ turn, policyMs, envMs, cells }) => [
        <a href={hrefOf(turn)}>{`Turn ${turn}`}</a>,
        formatMs(policyMs),
        formatMs(envMs),
        ...cells,
      ])}
    >
      <Axes
        low={0}
        high={formatMs(most)}
        from={`turn ${turns[0]?.turn ?? 1}`}
        to={`turn ${turns.at(-1)?.turn ?? 1}`}
      />
      {turns.map(({ turn, policyMs, envMs }, at) => (
        <g>
          <title>{`turn ${turn}: policy ${formatMs(policyMs)}, env ${formatMs(envMs)}`}</title>
          {bar("", at, Math.max(0, policyMs), 0)}
          {bar(" env", at, Math.max(0, envMs), Math.max(0, policyMs))}
        </g>
      ))}
    </Figure>
  );
};

/**
 * Returns a function from values to heights in the picture. The function halves all values, as the range may be
 * infinite.
 */
function heightScale(low: number, high: number): (value: number) => number {
  const range = high / 2 - low / 2 || 1;
  return (value) => TOP + (1 - (value / 2 - low / 2) / range) * PLOT_HEIGHT;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
