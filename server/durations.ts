import type { Metric } from 'prom-client'

/** Upper bounds in seconds. */
const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

interface Series {
  /** How many ended within each bound and not the one before; last, those beyond all. */
  readonly counts: number[]
  sum: number
}

/**
 * A histogram of seconds by one label, for a registry of prom-client. Histograms of its own look
 * their series up by a text made for each value, of which a call has eight.
 */
export class Durations {
  readonly name: string
  readonly #help: string
  readonly #label: string
  readonly #series = new Map<string, Series>()

  constructor({ name, help, label }: { name: string; help: string; label: string }) {
    this.name = name
    this.#help = help
    this.#label = label
  }

  observe(labelled: string, seconds: number): void {
    const series = this.#series.get(labelled) ?? this.#begin(labelled)
    let bucket = 0
    while (bucket < BOUNDS.length && seconds > BOUNDS[bucket]!) bucket++
    series.counts[bucket]!++
    series.sum += seconds
  }

  /** The same as a metric, which a registry asks by `get` alone. */
  get metric(): Metric {
    return this as unknown as Metric
  }

  async get() {
    const values = [...this.#series].flatMap(([labelled, series]) =>
      this.#valuesOf({ [this.#label]: labelled }, series),
    )
    return { name: this.name, help: this.#help, type: 'histogram', aggregator: 'sum', values }
  }

  #begin(labelled: string): Series {
    const series = { counts: [...BOUNDS, 0].fill(0), sum: 0 }
    this.#series.set(labelled, series)
    return series
  }

  /** As Prometheus has it, a bucket counts those of all buckets below it too. */
  #valuesOf(labels: Readonly<Record<string, string>>, { counts, sum }: Series) {
    let count = 0
    const buckets = counts.map((own, i) => ({
      metricName: `${this.name}_bucket`,
      labels: { le: BOUNDS[i] ?? '+Inf', ...labels },
      value: (count += own),
    }))
    return [
      ...buckets,
      { metricName: `${this.name}_sum`, labels, value: sum },
      { metricName: `${this.name}_count`, labels, value: count },
    ]
  }
}
