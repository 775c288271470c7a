/** A goal that the benchmark measures itself against. */
export interface Target {
  readonly name: string
  readonly goal: string
  readonly value: number
  readonly met: boolean
}

export interface Table {
  readonly title: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly (string | number)[])[]
}

/** Result of one run of a benchmark and its peers. */
export interface Report {
  readonly name: string
  readonly figures: Readonly<Record<string, number>>
  readonly tables?: readonly Table[]
  readonly targets: readonly Target[]
}
