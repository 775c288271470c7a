import type { Document } from '../model.ts'
import { countryOf } from './countries.ts'
import { cleanText, distinct } from './values.ts'
import type { Node } from './xml.ts'

/** Languages of the older forms, ISO 639-2/T by two-letter code. */
export const LANGUAGES: Readonly<Record<string, string>> = {
  BG: 'bul',
  CS: 'ces',
  DA: 'dan',
  DE: 'deu',
  EL: 'ell',
  EN: 'eng',
  ES: 'spa',
  ET: 'est',
  FI: 'fin',
  FR: 'fra',
  GA: 'gle',
  HR: 'hrv',
  HU: 'hun',
  IT: 'ita',
  LT: 'lit',
  LV: 'lav',
  MT: 'mlt',
  NL: 'nld',
  PL: 'pol',
  PT: 'por',
  RO: 'ron',
  SK: 'slk',
  SL: 'slv',
  SV: 'swe',
}

export const languageOf = (form: Node): string => LANGUAGES[form.attributes['LG'] ?? ''] ?? 'eng'

export function buyersOf(
  body: Node | undefined,
  country: string | null,
  root: Node,
): Document['buyers'] {
  const addresses = [
    ...(body?.all('ADDRESS_CONTRACTING_BODY') ?? []),
    ...(body?.all('ADDRESS_CONTRACTING_BODY_ADDITIONAL') ?? []),
  ]
  const buyers = addresses.map((node) => ({
    name: cleanText(node.text('OFFICIALNAME') ?? ''),
    id: node.text('NATIONALID') ?? null,
    country: countryOf(node.first('COUNTRY')?.attributes['VALUE']) ?? country,
    nuts: node.first('NUTS')?.attributes['CODE'] ?? null,
  }))
  if (buyers.length > 0) return buyers
  const name = root.text('TRANSLATION_SECTION/ML_AA_NAMES/AA_NAME')
  return name ? [{ name: cleanText(name), id: null, country, nuts: null }] : []
}

const ACTIVITIES: Readonly<Record<string, string>> = {
  ELECTRICITY: 'electricity',
  PRODUCTION_TRANSPORT_DISTRIBUTION_GAS_HEAT: 'gas-heat',
  EXPLORATION_EXTRACTION_GAS_OIL: 'gas-oil',
  EXPLORATION_EXTRACTION_COAL_OTHER_SOLID_FUEL: 'solid-fuel',
}

export const activitiesOf = (body: Node | undefined): string[] =>
  distinct(
    [...(body?.all('CE_ACTIVITY') ?? []), ...(body?.all('CA_ACTIVITY') ?? [])].flatMap(
      ({ attributes }) => {
        const code = attributes['VALUE']
        return code === undefined ? [] : [ACTIVITIES[code] ?? code.toLowerCase()]
      },
    ),
  )
