import type { Amount, LotResult, Result, Winner } from '../model.ts'
import { countryOf } from './countries.ts'
import { lotIdIn } from './lot-names.ts'
import { amountFrom, amountOf, cleanText } from './values.ts'
import type { Node } from './xml.ts'

/** Reads the winners of F03, F06, F13, F25, 18 …; null for a form without awards. */
export function legacyResultOf(form: Node): Result | null {
  const awards = [
    ...form.all('AWARD_CONTRACT').map(lotOf),
    ...form.all('RESULTS').map(prizeOf),
    ...form.children.flatMap(defenceAwards),
  ]
  if (awards.length === 0) return null
  const object = form.first('OBJECT_CONTRACT')
  return {
    total: totalIn(object),
    totalRange: totalIn(object) ? null : rangeIn(object),
    frameworkMax: null,
    lots: awards,
  }
}

const PLACES = ['', 'VALUE/', 'VALUES/'] as const

/** Total value; forms of utilities have it one level deeper. */
const totalIn = (node: Node | undefined): Amount | null =>
  PLACES.map((place) => amountOf(node?.first(`${place}VAL_TOTAL`))).find((v) => v !== null) ?? null

/** Lowest and highest value of several contracts. */
function rangeIn(node: Node | undefined): NonNullable<Result['totalRange']> | null {
  const range = PLACES.map((place) => node?.first(`${place}VAL_RANGE_TOTAL`)).find((found) => found)
  const at = (name: string): Amount | null =>
    amountFrom(range?.text(name) ?? '', range?.attributes['CURRENCY'])
  const [low, high] = [at('LOW'), at('HIGH')]
  return low && high && { low, high }
}

/** Reads the prizes of a design contest (F13). */
function prizeOf(results: Node): LotResult {
  const winners = results
    .all('AWARDED_PRIZE/WINNERS/WINNER/ADDRESS_WINNER')
    .concat(results.all('AWARDED_PRIZE/WINNER/ADDRESS_WINNER'))
  const isAwarded = results.first('AWARDED_PRIZE') !== undefined
  return {
    lotId: null,
    status: isAwarded ? 'selec-w' : results.first('NO_AWARDED_PRIZE') ? 'clos-nw' : null,
    winners: winners.flatMap(winnerOf),
    value: amountOf(results.first('AWARDED_PRIZE/VAL_PRIZE')),
    tenders: null,
  }
}

/** Reads the awards of the forms for defence (18), which have elements of their own. */
const defenceAwards = (form: Node): LotResult[] =>
  form.all('AWARD_OF_CONTRACT_DEFENCE').map((award): LotResult => {
    const contractor = award.first(
      'ECONOMIC_OPERATOR_NAME_ADDRESS/CONTACT_DATA_WITHOUT_RESPONSIBLE_NAME',
    )
    const name = cleanText(contractor?.text('ORGANISATION/OFFICIALNAME') ?? '')
    const country = countryOf(contractor?.first('COUNTRY')?.attributes['VALUE'])
    const costs = award.first('CONTRACT_VALUE_INFORMATION/COSTS_RANGE_AND_CURRENCY_WITH_VAT_RATE')
    const tenders = Number(award.text('OFFERS_RECEIVED_NUMBER') ?? Number.NaN)
    return {
      lotId: lotIdIn(award.text('LOT_NUMBER')),
      status: name === '' ? null : 'selec-w',
      winners: name === '' ? [] : [{ name, country }],
      value: amountFrom(costs?.text('VALUE_COST') ?? '', costs?.attributes['CURRENCY']),
      tenders: Number.isInteger(tenders) ? tenders : null,
    }
  })

function winnerOf(node: Node): Winner[] {
  const name = cleanText(node.text('OFFICIALNAME') ?? '')
  const country = countryOf(node.first('COUNTRY')?.attributes['VALUE'])
  return name === '' ? [] : [{ name, country }]
}

function lotOf(award: Node): LotResult {
  const awarded = award.first('AWARDED_CONTRACT')
  const lot = award.text('LOT_NO')
  const contractors = (awarded?.all('CONTRACTORS/CONTRACTOR/ADDRESS_CONTRACTOR') ?? []).concat(
    awarded?.all('CONTRACTOR/ADDRESS_CONTRACTOR') ?? [],
  )
  const tenders = Number(awarded?.text('TENDERS/NB_TENDERS_RECEIVED') ?? Number.NaN)
  return {
    lotId: lotIdIn(lot),
    status: awarded ? 'selec-w' : award.first('NO_AWARDED_CONTRACT') ? 'clos-nw' : null,
    winners: contractors.flatMap(winnerOf),
    value: totalIn(awarded),
    tenders: Number.isInteger(tenders) ? tenders : null,
  }
}
