import { Failure } from '../failure.ts'

/** Parses query parameters of the form `name=value`. @throws Failure */
export function parseQuery(query: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    query.map((pair) => {
      const split = pair.indexOf('=')
      if (split < 1)
        throw new Failure('usage', `Not a query parameter: ${pair}`, 'Such as -q country=DEU')
      return [pair.slice(0, split), pair.slice(split + 1)]
    }),
  )
}
