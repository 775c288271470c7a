import { type Attributes, type HrTime, ValueType } from '@opentelemetry/api'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type Histogram,
  MeterProvider,
  type MetricData,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import type { MetricObjectWithValues, MetricValue, Registry } from 'prom-client'
import { elapsedMs, sinceEpoch } from '../../core/clock.ts'
import type { Collector } from './collector.ts'

/** Metric of a registry; values of histograms name their series, such as `…_seconds_bucket`. */
type Metric = MetricObjectWithValues<MetricValue<string> & { readonly metricName?: string }>

const INTERVAL_MS = 30_000
const TIMEOUT_MS = 10_000

/** Exports the metrics of registries every 30 s, until the returned function stops it. */
export function exportMetrics(
  registries: readonly Registry[],
  { url, resource, version }: Collector,
): () => Promise<void> {
  const exporter = new OTLPMetricExporter({ url: `${url}/v1/metrics` })
  const scope = { name: 'agenthub', version }
  const producer = {
    async collect() {
      const metrics = await Promise.all(registries.map((each) => each.getMetricsAsJSON()))
      const converted = metrics.flat().flatMap((metric) => metricDataOf(metric as Metric) ?? [])
      return {
        resourceMetrics: { resource, scopeMetrics: [{ scope, metrics: converted }] },
        errors: [],
      }
    },
  }
  const reader = new PeriodicExportingMetricReader({
    exporter,
    exportIntervalMillis: INTERVAL_MS,
    exportTimeoutMillis: TIMEOUT_MS,
    metricProducers: [producer],
  })
  const provider = new MeterProvider({ resource, readers: [reader] })
  return () => provider.shutdown()
}

/** Converts a metric of Prometheus to one of OpenTelemetry; undefined for summaries. */
function metricDataOf(metric: Metric): MetricData | undefined {
  const { name, help: description, type } = metric
  const data = {
    descriptor: { name, description, unit: '', valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  }
  // prom-client declares numbers for the types, but gives their names.
  switch (String(type)) {
    case 'counter':
      return {
        ...data,
        dataPointType: DataPointType.SUM,
        isMonotonic: true,
        dataPoints: pointsOf(metric),
      }
    case 'gauge':
      return { ...data, dataPointType: DataPointType.GAUGE, dataPoints: pointsOf(metric) }
    case 'histogram':
      return { ...data, dataPointType: DataPointType.HISTOGRAM, dataPoints: histogramsOf(metric) }
    default:
      return undefined
  }
}

const pointsOf = ({ values }: Metric): DataPoint<number>[] =>
  values.map(({ value, labels }) => ({ ...period(), attributes: { ...labels }, value }))

/** Collects the series of each combination of labels. */
function histogramsOf({ name, values }: Metric): DataPoint<Histogram>[] {
  const series = new Map<string, SeriesValue[]>()
  for (const { value, metricName, labels } of values) {
    const { le, ...attributes } = labels
    const key = JSON.stringify(attributes)
    const part = { suffix: metricName?.slice(name.length), le, value, attributes }
    series.set(key, [...(series.get(key) ?? []), part])
  }
  return [...series.values()].map((parts) => ({
    ...period(),
    attributes: parts[0]!.attributes,
    value: histogramOf(parts),
  }))
}

interface SeriesValue {
  readonly suffix: string | undefined
  /** Upper bound of the bucket. */
  readonly le: string | number | undefined
  readonly value: number
  readonly attributes: Attributes
}

/** Buckets of Prometheus count all values up to their bound, those of OpenTelemetry their own. */
function histogramOf(parts: readonly SeriesValue[]): Histogram {
  const valueOf = (suffix: string) => parts.find((part) => part.suffix === suffix)?.value ?? 0
  const buckets = parts
    .filter(({ suffix, le }) => suffix === '_bucket' && Number.isFinite(Number(le)))
    .toSorted((a, b) => Number(a.le) - Number(b.le))
  const count = valueOf('_count')
  const upTo = [0, ...buckets.map(({ value }) => value), count]
  return {
    buckets: {
      boundaries: buckets.map(({ le }) => Number(le)),
      counts: upTo.slice(1).map((total, i) => total - upTo[i]!),
    },
    sum: valueOf('_sum'),
    count,
  }
}

/** From the start of the process until now. */
function period(): { readonly startTime: HrTime; readonly endTime: HrTime } {
  return { startTime: hrTime(sinceEpoch(0)), endTime: hrTime(sinceEpoch(elapsedMs())) }
}

const hrTime = (ms: number): HrTime => [Math.floor(ms / 1_000), Math.floor((ms % 1_000) * 1e6)]
