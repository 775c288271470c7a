import { Failure } from '../failure.ts'

/** Query parameters from `name=value`. @throws Failure */
export function pairsOf(query: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    query.map((pair) => {
      const split = pair.indexOf('=')
      if (split < 1)
        throw new Failure('usage', `Not a query parameter: ${pair}`, 'Such as -q country=DEU')
      return [pair.slice(0, split), pair.slice(split + 1)]
    }),
  )
}
