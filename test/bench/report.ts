/** A goal that the benchmark measures itself against. */
export interface Target {
  readonly name: string
  readonly goal: string
  readonly value: number
  readonly met: boolean
}

export const atLeast = (name: string, value: number, goal: number): Target => ({
  name,
  goal: `≥ ${goal}`,
  value,
  met: value >= goal,
})

export const atMost = (name: string, value: number, goal: number): Target => ({
  name,
  goal: `≤ ${goal}`,
  value,
  met: value <= goal,
})

export const below = (name: string, value: number, goal: number): Target => ({
  name,
  goal: `< ${goal}`,
  value,
  met: value < goal,
})

/** Target of a count that must be zero. */
export const none = (name: string, value: number): Target => ({
  name,
  goal: '0',
  value,
  met: value === 0,
})

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
