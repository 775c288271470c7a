import type { LotResult, Result } from '../model.ts'
import { countryOf } from './countries.ts'
import { amountOf, cleanText } from './values.ts'
import type { Node } from './xml.ts'

/** Reads the winners of F03, F06, F25 …; null for a form without awards. */
export function legacyResultOf(form: Node): Result | null {
  const awards = form.all('AWARD_CONTRACT')
  if (awards.length === 0) return null
  return {
    total: amountOf(form.first('OBJECT_CONTRACT/VAL_TOTAL')),
    frameworkMax: null,
    lots: awards.map(lotOf),
  }
}

function lotOf(award: Node): LotResult {
  const awarded = award.first('AWARDED_CONTRACT')
  const lot = award.text('LOT_NO')
  const contractors = (awarded?.all('CONTRACTORS/CONTRACTOR/ADDRESS_CONTRACTOR') ?? []).concat(
    awarded?.all('CONTRACTOR/ADDRESS_CONTRACTOR') ?? [],
  )
  const tenders = Number(awarded?.text('TENDERS/NB_TENDERS_RECEIVED') ?? Number.NaN)
  return {
    lotId: lot === undefined ? null : `LOT-${lot.padStart(4, '0')}`,
    status: awarded ? 'selec-w' : award.first('NO_AWARDED_CONTRACT') ? 'clos-nw' : null,
    reason: null,
    winners: contractors.flatMap((node) => {
      const name = cleanText(node.text('OFFICIALNAME') ?? '')
      const country = countryOf(node.first('COUNTRY')?.attributes['VALUE'])
      return name === '' ? [] : [{ name, country }]
    }),
    value: amountOf(awarded?.first('VALUES/VAL_TOTAL') ?? awarded?.first('VAL_TOTAL')),
    tenders: Number.isInteger(tenders) ? tenders : null,
  }
}
