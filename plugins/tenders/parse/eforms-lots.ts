import type { DeadlineKind, Lot } from '../model.ts'
import { deadlineOrRaw, splitDeadlines } from './deadline.ts'
import { cpvIn, EXTENSION, frameworkMaxOf, placeOf, valueOf } from './eforms-project.ts'
import { linkOf, textsOf } from './values.ts'
import { type Node, textOf } from './xml.ts'

/** Paths of the three deadlines below `cac:TenderingProcess`: BT-131, BT-1311, BT-630. */
const PERIODS: readonly (readonly [DeadlineKind, string])[] = [
  ['tenders', 'cac:TenderSubmissionDeadlinePeriod'],
  ['requests', 'cac:ParticipationRequestReceptionPeriod'],
  ['expressions', `${EXTENSION}/efac:InterestExpressionReceptionPeriod`],
]

export interface LotContext {
  readonly language: string
  /** Country of the first buyer, whose local time deadlines use. */
  readonly country: string | null
  /** Region of that buyer. */
  readonly nuts: string | null
}

/** Lots, and parts of a planned procurement; a group of lots (`LotsGroup`) is none. */
export const lotsOf = (root: Node, context: LotContext): Lot[] =>
  root.all('cac:ProcurementProjectLot').flatMap((node) => {
    const id = node.first('cbc:ID')
    const scheme = id?.attributes['schemeName'] ?? 'Lot'
    return id && (scheme === 'Lot' || scheme === 'Part') ? [lotOf(textOf(id), node, context)] : []
  })

function lotOf(id: string, node: Node, context: LotContext): Lot {
  const { language } = context
  const project = node.first('cac:ProcurementProject')
  const process = node.first('cac:TenderingProcess')
  const terms = node.first('cac:TenderingTerms')
  return {
    id,
    title: project ? textsOf(project.all('cbc:Name'), language) : [],
    nature: project?.text('cbc:ProcurementTypeCode') ?? null,
    cpv: cpvIn(project),
    place: placeOf(project),
    estimated: valueOf(project),
    frameworkMax: frameworkMaxOf(project),
    ...(process ? deadlinesOf(process, context) : { deadlines: [] }),
    ...documentsOf(terms),
    submission: linkOf(terms?.text('cac:TenderRecipientParty/cbc:EndpointID')),
    framework: systemOf(process, 'framework-agreement'),
    dps: systemOf(process, 'dps-usage'),
  }
}

function deadlinesOf(
  process: Node,
  { country, nuts }: LotContext,
): Pick<Lot, 'deadlines' | 'unreadableDeadlines'> {
  const read = PERIODS.flatMap(([kind, path]) => {
    const period = process.first(path)
    const [date, time] = [period?.text('cbc:EndDate'), period?.text('cbc:EndTime')]
    return deadlineOrRaw(kind, date, time, country, nuts)
  })
  return splitDeadlines(read)
}

/** BT-15, or BT-615 where access is restricted. */
function documentsOf(terms: Node | undefined): Pick<Lot, 'documents' | 'documentsRestricted'> {
  const references = (terms?.all('cac:CallForTendersDocumentReference') ?? []).map((node) => ({
    link: linkOf(node.text('cac:Attachment/cac:ExternalReference/cbc:URI')),
    restricted: node.text('cbc:DocumentType') === 'restricted-document',
  }))
  const linked = references.filter(({ link }) => link !== null)
  const found = linked.find(({ restricted }) => !restricted) ?? linked[0]
  return { documents: found?.link ?? null, documentsRestricted: found?.restricted ?? false }
}

const systemOf = (process: Node | undefined, list: string): string | null => {
  const codes = process?.all('cac:ContractingSystem/cbc:ContractingSystemTypeCode') ?? []
  const code = codes.find(({ attributes }) => attributes['listName'] === list)
  return code ? textOf(code) : null
}
