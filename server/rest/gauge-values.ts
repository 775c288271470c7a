type Amount = number | bigint

/** Values of a gauge by their labels. */
export type Samples = readonly (readonly [
  labels: Readonly<Record<string, string>>,
  value: Amount,
])[]

/** One gauge of `/metrics`: its value, or its values by label. */
export type GaugeValues = readonly [name: string, help: string, values: Amount | Samples]
