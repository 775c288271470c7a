/** Turns rows into arrays of their columns, as `unnest` takes them. */
export const columns = <Row, Name extends keyof Row>(
  rows: readonly Row[],
  names: readonly Name[],
): Row[Name][][] => names.map((name) => rows.map((row) => row[name]))
