import type { Child, FC } from "hono/jsx";
import type { CurvePoint } from "../run_summary.ts";
import type { Histogram } from "../statistics.ts";
import { formatNumber } from "./layout.tsx";

const WIDTH = 360;
const HEIGHT = 140;
const LEFT = 44;
const BOTTOM = 22;
const TOP = 8;
const PLOT_WIDTH = WIDTH - LEFT - 8;
const PLOT_HEIGHT = HEIGHT - BOTTOM - TOP;

interface FigureProps {
  readonly title: string;
  /** One sentence for readers who do not see the picture. */
  readonly summary: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly children?: Child;
}

/** A picture with its data as a table behind it. */
const Figure: FC<FigureProps> = ({ title, summary, columns, rows, children }) => (
  <figure class="plot">
    <figcaption>{title}</figcaption>
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
      <div class="scroll" tabindex={0} role="region" aria-label={`Table: ${title}`}>
        <table>
          <thead>
            <tr>{columns.map((name) => <th scope="col">{name}</th>)}</tr>
          </thead>
          <tbody>{rows.map((row) => <tr>{row.map((cell) => <td class="number">{cell}</td>)}</tr>)}</tbody>
        </table>
      </div>
    </details>
  </figure>
);

const Axes: FC<{ low: number; high: number; from: string; to: string }> = ({ low, high, from, to }) => (
  <>
    <line class="axis" x1={LEFT} y1={TOP} x2={LEFT} y2={TOP + PLOT_HEIGHT} />
    <line class="axis" x1={LEFT} y1={TOP + PLOT_HEIGHT} x2={LEFT + PLOT_WIDTH} y2={TOP + PLOT_HEIGHT} />
    <text class="label" x={LEFT - 5} y={TOP + 9} text-anchor="end">{formatNumber(high)}</text>
    <text class="label" x={LEFT - 5} y={TOP + PLOT_HEIGHT} text-anchor="end">{formatNumber(low)}</text>
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
  const y = (mean: number) => TOP + (1 - (mean - low) / (high - low || 1)) * PLOT_HEIGHT;
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
    { title, histogram: { low, width, counts }, format = formatNumber },
  ) => {
    const most = Math.max(1, ...counts);
    const step = PLOT_WIDTH / counts.length;
    const nameOf = (bin: number) =>
      `${format(low + bin * width)} to ${
        bin === counts.length - 1 ? "the largest" : `below ${format(low + (bin + 1) * width)}`
      }`;
    const peak = counts.indexOf(most);
    return (
      <Figure
        title={title}
        summary={peak === -1 ? "no values" : `most often ${nameOf(peak)}`}
        columns={["Range", "Episodes"]}
        rows={counts.map((count, bin) => [nameOf(bin), `${count}`])}
      >
        <Axes low={0} high={most} from={format(low)} to={`≥ ${format(low + (counts.length - 1) * width)}`} />
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
  const y = (value: number) => TOP + (1 - (value - low) / (high - low || 1)) * PLOT_HEIGHT;
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

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
