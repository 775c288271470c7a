/** Conditions of a query and the values of their parameters. */
export interface Where {
  readonly text: string
  readonly values: readonly unknown[]
}

/**
 * Joins conditions by AND.
 * @param base conditions whose parameters `$1`, `$2` … are `values`
 * @param filters further conditions with one parameter each, written `?`; those whose value is
 * undefined are left out
 */
export function where(
  base: readonly string[],
  values: readonly unknown[],
  filters: readonly (readonly [condition: string, value: unknown])[],
): Where {
  const given = filters.filter(([, value]) => value !== undefined)
  const conditions = given.map(([text], at) =>
    text.replace('?', () => `$${values.length + at + 1}`),
  )
  return {
    text: [...base, ...conditions].join(' AND '),
    values: [...values, ...given.map(([, value]) => value)],
  }
}
