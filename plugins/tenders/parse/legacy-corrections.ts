import type { Correction, Deadline, FieldValue } from '../model.ts'
import { deadlineOf } from './deadline.ts'
import { lotsNamedIn, namesAllLots } from './lot-names.ts'
import { amountOf, cleanText, cpvCodesOf, cpvOf, distinct } from './values.ts'
import type { Node } from './xml.ts'

/** Sections of the forms for the end of the period for tenders: IV.3.4 in R2.0.8. */
const DEADLINE = /^(?:\p{L}{2,}[.:]?)?IV[.:]?(?:2\.2|3\.4)(?!\d)/iu

const sectionOf = (change: Node): string =>
  (change.text('WHERE/SECTION') ?? '').replaceAll(/\s/g, '')

/** Returns true if a `CHANGE` is about the end of the period for tenders. */
export const isOfDeadline = (change: Node): boolean => DEADLINE.test(sectionOf(change))

/** Reads old and new values of F14 in the sections that are compared. */
export const correctionsOf = (form: Node, country: string | null): Correction[] =>
  form.all('CHANGES/CHANGE').flatMap((change) => {
    const lots = lotsOf(change.text('WHERE/LOT_NO'))
    const read = readerOf(country, change)
    if (!read) return []
    const valueAt = (node: Node | undefined): FieldValue => (node ? read.value(node) : null)
    const before = valueAt(change.first('OLD_VALUE'))
    const next = change.first('NEW_VALUE')
    const after = valueAt(next)
    const deadline = next && read.field === 'BT-131' ? deadlineIn(next, country) : undefined
    return before || after
      ? [{ field: read.field, ...lots, before, after, deadline: deadline ?? null }]
      : []
  })

/** Lots that a correction names. A text that cannot be read is kept: it may mean any lot. */
function lotsOf(text: string | undefined): Pick<Correction, 'lotId' | 'lotIds' | 'lotText'> {
  if (text === undefined || namesAllLots(text)) return { lotId: null }
  const ids = lotsNamedIn(text)
  if (!ids) return { lotId: null, lotText: cleanText(text) }
  const [only] = ids
  if (ids.length === 1 && only !== undefined) return { lotId: only, lotText: cleanText(text) }
  return { lotId: null, lotIds: ids, lotText: cleanText(text) }
}

interface Reader {
  readonly field: Correction['field']
  readonly value: (node: Node) => FieldValue
}

/** Codes and amounts are known by their elements, deadlines by their section. */
function readerOf(country: string | null, change: Node): Reader | undefined {
  const values = [...change.all('OLD_VALUE'), ...change.all('NEW_VALUE')]
  const has = (path: string): boolean => values.some((node) => node.first(path))
  if (has('CPV_MAIN')) return { field: 'BT-262', value: codeIn }
  if (has('CPV_ADDITIONAL')) return { field: 'BT-263', value: codesIn }
  if (isOfDeadline(change)) return { field: 'BT-131', value: (node) => instantOf(node, country) }
  return values.some(amountIn) ? { field: 'BT-27', value: amountIn } : undefined
}

const deadlineIn = (node: Node, country: string | null): Deadline | undefined =>
  deadlineOf('tenders', node.text('DATE'), node.text('TIME'), country)

function instantOf(node: Node, country: string | null): FieldValue {
  const deadline = deadlineIn(node, country)
  return deadline ? { type: 'instant', at: deadline.at, local: deadline.local } : null
}

function amountIn(node: Node): FieldValue {
  const amount = node.children.map((child) => amountOf(child)).find((found) => found !== null)
  return amount ? { type: 'amount', amount: amount.amount, currency: amount.currency } : null
}

function codeIn(node: Node): FieldValue {
  const code = cpvOf(node.first('CPV_MAIN/CPV_CODE')?.attributes['CODE'])
  return code === undefined ? null : { type: 'code', code }
}

function codesIn(node: Node): FieldValue {
  const codes = cpvCodesOf(node.all('CPV_ADDITIONAL/CPV_CODE'))
  return codes.length === 0 ? null : { type: 'codes', codes: distinct(codes).sort() }
}
