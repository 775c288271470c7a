/** Content type of the format (https://prometheus.io/docs/specs/om/open_metrics_spec/). */
export const OPEN_METRICS = 'application/openmetrics-text; version=1.0.0; charset=utf-8'

/** One measured value of a bucket, with the trace in which it was measured. */
export interface Exemplar {
  readonly traceId: string
  readonly value: number
  /** When it was measured, in seconds since 1970. */
  readonly seconds: number
}

const COUNTER = /^# TYPE (\S+)_total counter$/gm
const TEXT_OF_METRIC = /^# (HELP|TYPE) (\S+)/
const TOTAL = '_total'

/**
 * Converts the text format of Prometheus to OpenMetrics, which can carry exemplars.
 * @param exemplars by series, such as `hub_call_seconds_bucket{le="0.1",service="echo"}`
 */
export function toOpenMetrics(text: string, exemplars: ReadonlyMap<string, Exemplar>): string {
  const counters = new Set([...text.matchAll(COUNTER)].map(([, name]) => `${name}${TOTAL}`))
  const lines = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) =>
      line.startsWith('#') ? describe(line, counters) : withExemplar(line, exemplars),
    )
  return `${lines.join('\n')}\n# EOF\n`
}

/** OpenMetrics names a counter without the suffix of its series. */
const describe = (line: string, counters: ReadonlySet<string>): string =>
  line.replace(TEXT_OF_METRIC, (whole, kind, name: string) =>
    counters.has(name) ? `# ${kind} ${name.slice(0, -TOTAL.length)}` : whole,
  )

function withExemplar(line: string, exemplars: ReadonlyMap<string, Exemplar>): string {
  const exemplar = exemplars.get(line.slice(0, line.lastIndexOf(' ')))
  if (!exemplar) return line
  return `${line} # {trace_id="${exemplar.traceId}"} ${exemplar.value} ${exemplar.seconds}`
}
