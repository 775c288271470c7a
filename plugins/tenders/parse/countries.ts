import table from '../data/countries.json' with { type: 'json' }

const ALPHA3: ReadonlyMap<string, string> = new Map(Object.entries(table.alpha3))

/** ISO 3166-1 alpha-3 codes by the journal's two-letter codes. */
export const countryOf = (alpha2: string | undefined): string | null =>
  ALPHA3.get(alpha2?.toUpperCase() ?? '') ?? null

/** All codes that a query may ask for. */
export const COUNTRIES: ReadonlySet<string> = new Set(ALPHA3.values())
