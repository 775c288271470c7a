import type { Correction, Deadline, FieldValue } from '../model.ts'
import { deadlineOf } from './deadline.ts'
import { amountOf, cpvOf } from './values.ts'
import type { Node } from './xml.ts'

/** Sections of the forms whose dates are ends of periods: II.3.x and IV.3.x in R2.0.8. */
const DEADLINE = /^IV\.(2\.2|3\.4)\)?$/
const VALUE = /^II\.(1\.5|2\.6|2\.1)\)?$/
const CPV = /^II\.(1\.2|2\.2|1\.6)\)?$/

/** Reads old and new values of F14 in the sections that are compared. */
export const correctionsOf = (form: Node, country: string | null): Correction[] =>
  form.all('CHANGES/CHANGE').flatMap((change) => {
    const section = (change.text('WHERE/SECTION') ?? '').replaceAll(/\s/g, '')
    const lot = change.text('WHERE/LOT_NO')
    const lotId = lot && /^\d{1,4}$/.test(lot) ? `LOT-${lot.padStart(4, '0')}` : null
    const read = readerOf(section, country)
    if (!read) return []
    const valueAt = (node: Node | undefined): FieldValue => (node ? read.value(node) : null)
    const before = valueAt(change.first('OLD_VALUE'))
    const next = change.first('NEW_VALUE')
    const after = valueAt(next)
    const deadline = next && read.field === 'BT-131' ? deadlineIn(next, country) : undefined
    return before || after
      ? [{ field: read.field, lotId, before, after, deadline: deadline ?? null }]
      : []
  })

interface Reader {
  readonly field: Correction['field']
  readonly value: (node: Node) => FieldValue
}

function readerOf(section: string, country: string | null): Reader | undefined {
  if (DEADLINE.test(section)) {
    return { field: 'BT-131', value: (node) => instantOf(node, country) }
  }
  if (VALUE.test(section)) {
    return { field: 'BT-27', value: (node) => amountIn(node) }
  }
  if (CPV.test(section)) {
    return { field: 'BT-262', value: (node) => codeIn(node) }
  }
  return undefined
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
