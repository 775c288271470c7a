import { type Micros, usd } from '../../../core/money.ts'
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

/** Parses dollars, such as `0.05` or `$5`. @throws Failure */
export function parseDollars(text: string): Micros {
  try {
    return usd(text.replace(/^\$/, ''))
  } catch (cause) {
    throw new Failure('usage', `Not a dollar amount: ${text}`, 'Such as 0.05', { cause })
  }
}
