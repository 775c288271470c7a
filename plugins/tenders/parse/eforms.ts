import { type Document, KINDS, type Kind, type Notice } from '../model.ts'
import { changesOf } from './eforms-changes.ts'
import { lotsOf } from './eforms-lots.ts'
import { buyersOf, organizationsOf } from './eforms-parties.ts'
import { cpvIn, EXTENSION, frameworkMaxOf, placeOf, valueOf } from './eforms-project.ts'
import { resultOf } from './eforms-result.ts'
import { energyWordsIn } from './energy-words.ts'
import {
  dayOf,
  distinct,
  issueOf,
  isTrue,
  nameOf,
  numberOf,
  referenceOf,
  textsOf,
} from './values.ts'
import { type Node, textOf, Unreadable, wholeText } from './xml.ts'

/** Path where notices of early 2023 declare themselves `change`. */
const KIND_OF_TYPE: readonly (readonly [RegExp, Kind | 'bri'])[] = [
  [/^(pin-only|pin-buyer|pin-rtl|pin-tran)$/, 'planning'],
  [/^pmc$/, 'consultation'],
  [/^(pin-cfc-|cn-|qu-sy|subco)/, 'competition'],
  [/^veat$/, 'dir-awa-pre'],
  [/^can-modif$/, 'cont-modif'],
  [/^can-/, 'result'],
  [/^compl$/, 'completion'],
  [/^brin-/, 'bri'],
]
const KIND_OF_ROOT: Readonly<Record<string, Kind | 'bri'>> = {
  PriorInformationNotice: 'planning',
  ContractNotice: 'competition',
  ContractAwardNotice: 'result',
  BusinessRegistrationInformationNotice: 'bri',
}

const NAMESPACES: ReadonlySet<string> = new Set([
  ...['PriorInformation', 'Contract', 'ContractAward'].map(
    (name) => `urn:oasis:names:specification:ubl:schema:xsd:${name}Notice-2`,
  ),
  'http://data.europa.eu/p27/eforms-business-registration-information-notice/1',
])

export const isEforms = ({ namespace }: Node): boolean => NAMESPACES.has(namespace)

/** Paths are the XPaths of the SDK's fields.json, the same in all versions except BT-13716. */
export function readEforms(root: Node): Document {
  const extension = root.first(EXTENSION)
  if (!extension) throw new Unreadable('unknown_schema', 'has no eForms extension')
  const language = (root.text('cbc:NoticeLanguageCode') ?? 'eng').toLowerCase()
  const organizations = organizationsOf(extension, language)
  const buyers = buyersOf(root, organizations)
  const [buyer] = buyers
  const place = { country: buyer?.country ?? null, nuts: buyer?.nuts ?? null }
  const project = root.first('cac:ProcurementProject')
  const process = root.first('cac:TenderingProcess')
  return {
    ...identityOf(root, extension),
    ...versionFlag(root.text('cbc:CustomizationID')),
    endsOn: endOfSystem(root),
    language,
    ...kindOf(root, extension),
    legalBasis: root.text('cbc:RegulatoryDomain') ?? null,
    title: project ? textsOf(project.all('cbc:Name'), language) : [],
    nature: project?.text('cbc:ProcurementTypeCode') ?? null,
    buyers,
    activities: distinct(
      root.texts('cac:ContractingParty/cac:ContractingActivity/cbc:ActivityTypeCode'),
    ),
    place: placeOf(project),
    cpv: cpvIn(project),
    procedureType: process?.text('cbc:ProcedureCode') ?? null,
    accelerated: (process?.all('cac:ProcessJustification/cbc:ProcessReasonCode') ?? []).some(
      (code) => code.attributes['listName'] === 'accelerated-procedure' && isTrue(textOf(code)),
    ),
    estimated: valueOf(project),
    frameworkMax: frameworkMaxOf(project),
    lots: lotsOf(root, { language, ...place }),
    changes: changesOf(extension, language),
    corrections: [],
    result: resultOf(extension, organizations),
    terminated: isTrue(process?.text('cbc:TerminatedIndicator')),
    previous: previousOf(root),
    energyWords: energyWordsIn(proseOf(root)),
  }
}

/** Latest minor version of the SDK whose locations this code knows. */
const SDK_MINOR_MAX = 15

/** Flags another version of the SDK: it is read like the known ones. */
function versionFlag(schema: string | undefined): Pick<Document, 'flags'> {
  const [, minor] = /^eforms-sdk-1\.(\d{1,3})(?:\.\d{1,3})?$/.exec(schema ?? '') ?? []
  const isKnown = minor !== undefined && Number(minor) <= SDK_MINOR_MAX
  return isKnown ? {} : { flags: ['unknown_schema_version'] }
}

/** Last day of a qualification system (BT-537 or BT-36); null if a lot of it has none. */
function endOfSystem(root: Node): string | null {
  if (root.text('cbc:NoticeTypeCode') !== 'qu-sy') return null
  const lots = root.all('cac:ProcurementProjectLot')
  const ends = lots.flatMap((lot) => endOfPeriod(lot) ?? [])
  return ends.length < lots.length ? null : (ends.sort().at(-1) ?? null)
}

const MONTHS: Readonly<Record<string, number>> = { MONTH: 1, MON: 1, YEAR: 12, ANN: 12 }

/** End of the planned period of a lot: a day, or a duration from its first day. */
function endOfPeriod(lot: Node): string | null {
  const period = lot.first('cac:ProcurementProject/cac:PlannedPeriod')
  const end = dayOf(period?.text('cbc:EndDate'))
  const start = dayOf(period?.text('cbc:StartDate'))
  const duration = period?.first('cbc:DurationMeasure')
  const months = MONTHS[duration?.attributes['unitCode'] ?? '']
  const count = Number(duration ? textOf(duration) : Number.NaN)
  if (end !== null || start === null || months === undefined || !(count < COUNT_MAX)) return end
  const date = new Date(`${start}T00:00:00Z`)
  date.setUTCMonth(date.getUTCMonth() + count * months)
  return date.toISOString().slice(0, 10)
}

const COUNT_MAX = 1_000

function identityOf(root: Node, extension: Node) {
  const publication = extension.first('efac:Publication')
  return {
    number: numberOf(publication?.text('efbc:NoticePublicationID')) ?? null,
    ojs: issueOf(publication?.text('efbc:GazetteID')),
    publishedOn: dayOf(publication?.text('efbc:PublicationDate')),
    schema: root.text('cbc:CustomizationID') ?? 'eforms',
    noticeId: nameOf(root.text('cbc:ID')?.toLowerCase()),
    version: nameOf(root.text('cbc:VersionID')),
    procedureId: nameOf(root.text('cbc:ContractFolderID')?.toLowerCase()),
  }
}

function kindOf(root: Node, extension: Node): Pick<Notice, 'kind' | 'type' | 'subtype'> {
  const code = root.first('cbc:NoticeTypeCode')
  const type = code ? textOf(code) : ''
  const listed = [...KINDS, 'bri' as const].find((kind) => kind === code?.attributes['listName'])
  const kind =
    listed ?? KIND_OF_TYPE.find(([form]) => form.test(type))?.[1] ?? KIND_OF_ROOT[root.name]
  if (!kind) throw new Unreadable('unknown_schema', `notice type ${type}`)
  const subtype = extension.text('efac:NoticeSubType/cbc:SubTypeCode') ?? null
  return { kind, type, subtype }
}

/** References OPP-090 and BT-125 of the procedure and its lots. */
const previousOf = (root: Node): string[] =>
  distinct(
    [
      ...root.texts('cac:TenderingProcess/cac:NoticeDocumentReference/cbc:ID'),
      ...root.texts(
        'cac:ProcurementProjectLot/cac:TenderingProcess/cac:NoticeDocumentReference/cbc:ID',
      ),
    ].flatMap((text) => referenceOf(text) ?? []),
  )

/** Titles and descriptions, scanned for energy words and not stored. */
const proseOf = (root: Node): string =>
  [
    root.first('cac:ProcurementProject'),
    ...root.all('cac:ProcurementProjectLot/cac:ProcurementProject'),
  ]
    .flatMap((project) => [
      ...(project?.all('cbc:Name') ?? []),
      ...(project?.all('cbc:Description') ?? []),
    ])
    .map(wholeText)
    .join('\n')
