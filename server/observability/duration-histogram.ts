import type { Histogram, Registry } from 'prom-client'

interface HistogramOptions {
  readonly name: string
  readonly help: string
  /** Name of its only label. */
  readonly label: string
  /** Upper bounds of the buckets, in seconds, ascending. */
  readonly bounds: readonly number[]
  readonly registry: Registry
}

interface Series {
  /** Durations in each bucket; the last one has those above all bounds. */
  readonly counts: number[]
  sum: number
}

/**
 * Histogram of durations with one label, for each step of each request: prom-client's own validates
 * and hashes labels for each value, which takes ten times as long.
 */
export class DurationHistogram {
  readonly name: string
  readonly #options: HistogramOptions
  readonly #series = new Map<string, Series>()

  constructor(options: HistogramOptions) {
    this.name = options.name
    this.#options = options
    options.registry.registerMetric(this as unknown as Histogram)
  }

  observe(label: string, seconds: number): void {
    const { bounds } = this.#options
    let series = this.#series.get(label)
    if (!series) {
      series = { counts: [...bounds.map(() => 0), 0], sum: 0 }
      this.#series.set(label, series)
    }
    let bucket = 0
    while (bucket < bounds.length && seconds > bounds[bucket]!) bucket++
    series.counts[bucket]!++
    series.sum += seconds
  }

  /** Returns the series in the form of prom-client. */
  get() {
    const { name, help } = this.#options
    const values = [...this.#series].flatMap(([label, series]) => this.#valuesOf(label, series))
    return Promise.resolve({ name, help, type: 'histogram', values, aggregator: 'sum' })
  }

  #valuesOf(value: string, { counts, sum }: Series) {
    const { name, label, bounds } = this.#options
    const labels = { [label]: value }
    let count = 0
    const buckets = counts.map((durations, bucket) => {
      count += durations
      const le = bounds[bucket] ?? '+Inf'
      return { labels: { le, ...labels }, value: count, metricName: `${name}_bucket` }
    })
    return [
      ...buckets,
      { labels, value: sum, metricName: `${name}_sum` },
      { labels, value: count, metricName: `${name}_count` },
    ]
  }
}
