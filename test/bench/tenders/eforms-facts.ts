import type { Element } from 'domhandler'
import {
  all,
  deep,
  distinct,
  iso,
  money,
  type NamedFacts,
  named,
  one,
  plainNumber,
  startText,
  textOf,
  texts,
} from './named-facts.ts'

const PERIODS = [
  ['tenders', 'cac:TenderSubmissionDeadlinePeriod'],
  ['requests', 'cac:ParticipationRequestReceptionPeriod'],
  ['expressions', 'efac:InterestExpressionReceptionPeriod'],
] as const

/** Facts of an eForms document. */
export function eformsFacts(root: Element): NamedFacts {
  const [publication] = deep(root, 'efac:Publication')
  const [changes] = deep(root, 'efac:Changes')
  const language = one(root, 'cbc:NoticeLanguageCode').toLowerCase()
  const lots = all(root, 'cac:ProcurementProjectLot').filter((lot) =>
    ['Lot', 'Part'].includes(all(lot, 'cbc:ID')[0]?.attribs['schemeName'] ?? 'Lot'),
  )
  return [
    ...named(
      'number',
      publication ? [one(publication, 'efbc:NoticePublicationID')].map(plainNumber) : [],
    ),
    ...named(
      'published',
      publication ? [one(publication, 'efbc:PublicationDate').slice(0, 10)] : [],
    ),
    ...named('notice', [`${one(root, 'cbc:ID').toLowerCase()} ${one(root, 'cbc:VersionID')}`]),
    ...named('procedure', [one(root, 'cbc:ContractFolderID').toLowerCase()]),
    ...named('type', [one(root, 'cbc:NoticeTypeCode')]),
    ...projectFacts('', root, language),
    ...named('procedure type', [one(root, 'cac:TenderingProcess/cbc:ProcedureCode')]),
    ...named(
      'activity',
      texts(root, 'cac:ContractingParty/cac:ContractingActivity/cbc:ActivityTypeCode'),
    ),
    ...buyerFacts(root),
    ...lots.flatMap((lot) => lotFacts(lot, language)),
    ...(changes ? changeFacts(changes) : []),
    ...resultFacts(root),
  ]
}

function projectFacts(prefix: string, parent: Element, language: string): NamedFacts {
  const [project] = all(parent, 'cac:ProcurementProject')
  if (!project) return []
  const codes = (path: string): string[] =>
    all(project, `${path}/cbc:ItemClassificationCode`)
      .filter(({ attribs }) => (attribs['listName'] ?? 'cpv') === 'cpv')
      .map((node) => textOf(node).slice(0, 8))
  const [main = ''] = codes('cac:MainCommodityClassification')
  const [total] = all(project, 'cac:RequestedTenderTotal')
  const amount = (name: string): string[] => [money(total && deep(total, name)[0])]
  return [
    ...named(`${prefix}title`, titlesOf(all(project, 'cbc:Name'), language)),
    ...named(`${prefix}nature`, [one(project, 'cbc:ProcurementTypeCode')]),
    ...named(`${prefix}main cpv`, [main]),
    ...named(
      `${prefix}additional cpv`,
      codes('cac:AdditionalCommodityClassification').filter((code) => code !== main),
    ),
    ...named(
      `${prefix}country`,
      texts(project, 'cac:RealizedLocation/cac:Address/cac:Country/cbc:IdentificationCode'),
    ),
    ...named(
      `${prefix}nuts`,
      texts(project, 'cac:RealizedLocation/cac:Address/cbc:CountrySubentityCode'),
    ),
    ...named(`${prefix}estimate`, amount('cbc:EstimatedOverallContractAmount')),
    ...named(`${prefix}framework maximum`, amount('efbc:FrameworkMaximumAmount')),
  ]
}

const titlesOf = (nodes: readonly Element[], language: string): string[] =>
  nodes.map((node) => `${(node.attribs['languageID'] ?? language).toLowerCase()} ${textOf(node)}`)

/** Organizations by their id inside the notice, without natural persons. */
function organizationsOf(root: Element): ReadonlyMap<string, { name: string; country: string }> {
  const language = one(root, 'cbc:NoticeLanguageCode').toUpperCase()
  return new Map(
    deep(root, 'efac:Organization')
      .filter((node) => one(node, 'efbc:NaturalPersonIndicator') !== 'true')
      .map((node) => {
        const names = all(node, 'efac:Company/cac:PartyName/cbc:Name')
        const own = names.find(({ attribs }) => attribs['languageID'] === language) ?? names[0]
        const name = own ? textOf(own) : ''
        const place = 'efac:Company/cac:PostalAddress/cac:Country/cbc:IdentificationCode'
        return [
          one(node, 'efac:Company/cac:PartyIdentification/cbc:ID'),
          { name, country: one(node, place) },
        ] as const
      }),
  )
}

function buyerFacts(root: Element): NamedFacts {
  const organizations = organizationsOf(root)
  const ids = texts(root, 'cac:ContractingParty/cac:Party/cac:PartyIdentification/cbc:ID')
  const buyers = ids.flatMap((id) => organizations.get(id) ?? [])
  return named(
    'buyer',
    buyers.map(({ name, country }) => `${name} (${country})`),
  )
}

function lotFacts(lot: Element, language: string): NamedFacts {
  const id = one(lot, 'cbc:ID')
  const [process] = all(lot, 'cac:TenderingProcess')
  const [terms] = all(lot, 'cac:TenderingTerms')
  const periods = PERIODS.flatMap(([kind, name]) => {
    const [period] = process ? deep(process, name) : []
    return period ? momentFacts(`${id} ${kind}`, period) : []
  })
  const references = terms ? all(terms, 'cac:CallForTendersDocumentReference') : []
  const [shown] = references
    .filter((node) => isWeb(one(node, URI)))
    .sort((a, b) => restricted(a) - restricted(b))
  return [
    ...named('lot', [id]),
    ...projectFacts(`${id} `, lot, language),
    ...periods,
    ...named(`${id} documents`, [shown ? one(shown, URI) : '']),
    ...named(
      `${id} submission`,
      (terms ? [one(terms, 'cac:TenderRecipientParty/cbc:EndpointID')] : []).filter(isWeb),
    ),
    ...named(`${id} framework`, systemOf(process, 'framework-agreement')),
    ...named(`${id} dps`, systemOf(process, 'dps-usage')),
  ]
}

const URI = 'cac:Attachment/cac:ExternalReference/cbc:URI'
const restricted = (node: Element): number =>
  Number(one(node, 'cbc:DocumentType') === 'restricted-document')
const isWeb = (url: string): boolean => /^(?:https?:\/\/)?[^@\s/]+\.[^@]+$/i.test(url)

const systemOf = (process: Element | undefined, list: string): string[] =>
  (process ? all(process, 'cac:ContractingSystem/cbc:ContractingSystemTypeCode') : [])
    .filter(({ attribs }) => attribs['listName'] === list)
    .map(textOf)
    .slice(0, 1)

/** The end of a period as written; and its instant, if date and time have the same offset. */
function momentFacts(name: string, period: Element): NamedFacts {
  const [date, time] = [one(period, 'cbc:EndDate'), one(period, 'cbc:EndTime')]
  if (date === '') return []
  const [day, offset] = [date.slice(0, 10), date.slice(10)]
  const isCertain = time.endsWith(offset) && offset !== ''
  const clock = time.slice(0, 8)
  return [
    ...named(`${name} deadline`, [`${date} ${time}`.trim()]),
    ...named(`${name} instant`, isCertain ? [iso(`${day}T${clock}${offset}`)] : []),
  ]
}

function changeFacts(changes: Element): NamedFacts {
  const reference = one(changes, 'efbc:ChangedNoticeIdentifier')
  return [
    ...named('changed notice', [plainReference(reference)]),
    ...named('reason', texts(changes, 'efac:ChangeReason/cbc:ReasonCode')),
    ...named('changed section', deep(changes, 'efbc:ChangedSectionIdentifier').map(textOf)),
    ...named('changes', [String(all(changes, 'efac:Change').length)]),
    ...named('change text', deep(changes, 'efbc:ChangeDescription').map(startOf)),
    ...named('reason text', deep(changes, 'efbc:ReasonDescription').map(startOf)),
  ]
}

const startOf = (node: Element): string => startText(textOf(node))

const plainReference = (text: string): string =>
  /^\d{1,8}-\d{4}$/.test(text) ? plainNumber(text) : /-\d{2}$/.test(text) ? text.toLowerCase() : ''

function resultFacts(root: Element): NamedFacts {
  const [result] = deep(root, 'efac:NoticeResult')
  if (!result) return []
  const organizations = organizationsOf(root)
  const byId = (name: string) =>
    new Map(all(result, name).map((node) => [one(node, 'cbc:ID'), node] as const))
  const [contracts, tenders] = [byId('efac:SettledContract'), byId('efac:LotTender')]
  const parties = byId('efac:TenderingParty')
  const outcomes = all(result, 'efac:LotResult').flatMap((each) => {
    const lots = distinct(texts(each, 'efac:TenderLot/cbc:ID'))
    const own = new Set(texts(each, 'efac:LotTender/cbc:ID'))
    const contracted = texts(each, 'efac:SettledContract/cbc:ID')
      .flatMap((id) => contracts.get(id) ?? [])
      .flatMap((contract) => texts(contract, 'efac:LotTender/cbc:ID'))
    const isOnly = own.size === 1 && ['selec-w', ''].includes(one(each, 'cbc:TenderResultCode'))
    const winning = (contracted.length === 0 && isOnly ? [...own] : contracted)
      .filter((id) => own.size === 0 || own.has(id))
      .flatMap((id) => tenders.get(id) ?? [])
    const winners = winning
      .flatMap((tender) => texts(tender, 'efac:TenderingParty/cbc:ID'))
      .flatMap((id) => parties.get(id) ?? [])
      .flatMap((party) => texts(party, 'efac:Tenderer/cbc:ID'))
      .flatMap((id) => organizations.get(id)?.name ?? [])
    const framework = (name: string): string =>
      money(all(each, `efac:FrameworkAgreementValues/${name}`)[0])
    const code = one(each, 'cbc:TenderResultCode')
    return (lots.length > 0 ? lots : ['']).flatMap((lot) => [
      ...named(`${lot} outcome`, [code === 'unpublished' ? '' : code]),
      ...named(`${lot} winner`, winners),
      ...named(`${lot} award value`, [sumOf(winning.map((tender) => money(valueOf(tender))))]),
      ...named(`${lot} tenders received`, [receivedOf(each)]),
      ...named(`${lot} award maximum`, [framework('cbc:MaximumValueAmount')]),
      ...named(`${lot} award estimate`, [framework('efbc:ReestimatedValueAmount')]),
    ])
  })
  return [
    ...named('total', [money(all(result, 'cbc:TotalAmount')[0])]),
    ...named('framework total', [
      money(all(result, 'efbc:OverallMaximumFrameworkContractsAmount')[0]),
    ]),
    ...named('framework total estimate', [
      money(all(result, 'efbc:OverallApproximateFrameworkContractsAmount')[0]),
    ]),
    ...outcomes,
  ]
}

const valueOf = (tender: Element): Element | undefined =>
  all(tender, 'cac:LegalMonetaryTotal/cbc:PayableAmount')[0]

/** Sum of amounts in one currency; withheld if any is. */
function sumOf(amounts: readonly string[]): string {
  const known = amounts.filter((amount) => amount !== '')
  if (known.includes('withheld')) return 'withheld'
  const [currency = '', ...others] = distinct(known.map((amount) => amount.slice(0, 3)))
  if (currency === '' || others.length > 0) return ''
  const cents = known.map((amount) => Math.round(Number(amount.slice(4)) * 10_000))
  return `${currency} ${cents.reduce((sum, each) => sum + each, 0) / 10_000}`
}

const receivedOf = (result: Element): string =>
  all(result, 'efac:ReceivedSubmissionsStatistics')
    .filter((each) => one(each, 'efbc:StatisticsCode') === 'tenders')
    .map((each) => one(each, 'efbc:StatisticsNumeric').replace('-1', ''))[0] ?? ''
