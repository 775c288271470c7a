import type { ChildNode, Document, Element } from 'domhandler'
import { DomUtils, parseDocument } from 'htmlparser2'

/** Names and values of a notice; several facts may have one name. */
export type NamedFacts = readonly (readonly [name: string, value: string])[]

/** Reads the facts of a notice from its XML, by a parser and paths of its own. */
export function documentFacts(xml: string): NamedFacts {
  const root = tagsOf(parseDocument(xml, { xmlMode: true }))[0]
  if (!root) return []
  return root.name === 'TED_EXPORT' ? formFacts(root) : eformsFacts(root)
}

const tagsOf = (node: Document | Element): Element[] =>
  node.children.filter((child: ChildNode): child is Element => DomUtils.isTag(child))

/** Elements at a path of qualified names. */
const all = (node: Element, path: string): Element[] =>
  path
    .split('/')
    .reduce<Element[]>(
      (found, name) => found.flatMap((each) => tagsOf(each).filter((tag) => tag.name === name)),
      [node],
    )

const deep = (node: Element, name: string): Element[] =>
  DomUtils.getElementsByTagName(name, node, true)

export const squash = (text: string): string => text.replaceAll(/\s+/gu, ' ').trim()
const textOf = (node: Element): string => squash(DomUtils.textContent(node))
const texts = (node: Element, path: string): string[] => all(node, path).map(textOf)
const one = (node: Element, path: string): string => texts(node, path)[0] ?? ''
const distinct = (values: readonly string[]): string[] => [...new Set(values)]
const named = (name: string, values: readonly string[]): NamedFacts =>
  distinct(values.filter((value) => value !== '')).map((value) => [name, value] as const)

/** `00657639-2023` as `657639-2023`. */
const plainNumber = (text: string): string => text.replace(/^0+/, '')

/** An amount such as `EUR 1250.5`; `withheld` if it is masked. */
function money(node: Element | undefined): string {
  if (!node) return ''
  const currency = node.attribs['currencyID'] ?? node.attribs['CURRENCY'] ?? ''
  const amount = Number(textOf(node).replaceAll(' ', ''))
  if (currency === 'unpublished' || amount < 0) return 'withheld'
  return Number.isNaN(amount) || textOf(node) === '' ? '' : `${currency} ${amount}`
}

// ── eForms ──────────────────────────────────────────────────────────────────────────────────

const PERIODS = [
  ['tenders', 'cac:TenderSubmissionDeadlinePeriod'],
  ['requests', 'cac:ParticipationRequestReceptionPeriod'],
  ['expressions', 'efac:InterestExpressionReceptionPeriod'],
] as const

function eformsFacts(root: Element): NamedFacts {
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

export const iso = (instant: string): string => new Date(instant).toISOString()

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

const START = 40
/** Beginning of a text, before what is removed from it. */
export const startText = (text: string): string => (text.split(/[@+\d]/u)[0] ?? '').slice(0, START)
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
    const winning = texts(each, 'efac:SettledContract/cbc:ID')
      .flatMap((id) => contracts.get(id) ?? [])
      .flatMap((contract) => texts(contract, 'efac:LotTender/cbc:ID'))
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

// ── TED XML ─────────────────────────────────────────────────────────────────────────────────

function formFacts(root: Element): NamedFacts {
  const forms = tagsOf(all(root, 'FORM_SECTION')[0]!)
  const form = forms.find(({ attribs }) => attribs['CATEGORY'] === 'ORIGINAL') ?? forms[0]!
  const published = one(root, 'CODED_DATA_SECTION/REF_OJS/DATE_PUB')
  return [
    ...named('number', [plainNumber(root.attribs['DOC_ID'] ?? '')]),
    ...named('published', [dashed(published)]),
    ...named('type', [form.attribs['FORM'] ?? '']),
    ...partyFacts(root, form),
    ...objectFacts(root, form),
    ...(form.attribs['FORM'] === 'F14' ? correctionFacts(form) : callFacts(root, form)),
  ]
}

/** `20210315` as `2021-03-15`. */
const dashed = (day: string): string => day.replace(/^(\d{4})(\d\d)(\d\d)$/, '$1-$2-$3')

/** Forms before 2014 name the buyer only in the publisher's part. */
function partyFacts(root: Element, form: Element): NamedFacts {
  const buyers = BUYERS.flatMap((path) => texts(form, `CONTRACTING_BODY/${path}/OFFICIALNAME`))
  const coded = texts(root, 'TRANSLATION_SECTION/ML_AA_NAMES/AA_NAME')
  const winners = [
    ...deep(form, 'ADDRESS_CONTRACTOR').flatMap((node) => texts(node, 'OFFICIALNAME')),
    ...deep(form, 'ECONOMIC_OPERATOR_NAME_ADDRESS').flatMap((node) =>
      deep(node, 'OFFICIALNAME').map(textOf),
    ),
  ]
  return [...named('buyer', buyers.length > 0 ? buyers : coded), ...named('winner', winners)]
}

function objectFacts(root: Element, form: Element): NamedFacts {
  const [object] = all(form, 'OBJECT_CONTRACT')
  const codes = all(root, 'CODED_DATA_SECTION/NOTICE_DATA/ORIGINAL_CPV').map(codeOf)
  const main = (object ? all(object, 'CPV_MAIN/CPV_CODE').map(codeOf)[0] : undefined) ?? codes[0]
  const amountAt = (...paths: string[]): string =>
    money(object && paths.flatMap((path) => all(object, path))[0])
  const composed = all(root, 'TRANSLATION_SECTION/ML_TITLES/ML_TI_DOC')
    .filter(({ attribs }) => attribs['LG'] === form.attribs['LG'])
    .flatMap((node) => texts(node, 'TI_TEXT'))
  const own = object ? texts(object, 'TITLE').slice(0, 1) : []
  return [
    ...named('title', own.length > 0 ? own : composed),
    ...named('main cpv', [main ?? '']),
    ...named(
      'additional cpv',
      codes.filter((code) => code !== main),
    ),
    ...named('nature', object ? all(object, 'TYPE_CONTRACT').map(natureOf).slice(0, 1) : []),
    ...named('estimate', [amountAt('VAL_ESTIMATED_TOTAL')]),
    ...named('total', [amountAt('VAL_TOTAL', 'VALUE/VAL_TOTAL')]),
  ]
}

const codeOf = (node: Element): string => node.attribs['CODE'] ?? ''
const natureOf = (node: Element): string => (node.attribs['CTYPE'] ?? '').toLowerCase()

const costOf = (costs: Element): string =>
  `${costs.attribs['CURRENCY']} ${Number(one(costs, 'VALUE_COST').replaceAll(' ', ''))}`

function callFacts(root: Element, form: Element): NamedFacts {
  const own = ['DATE', 'TIME'].map((name) => one(form, `PROCEDURE/${name}_RECEIPT_TENDERS`))
  const coded = one(root, 'CODED_DATA_SECTION/CODIF_DATA/DT_DATE_FOR_SUBMISSION').split(' ')
  const [day = '', time = ''] = own[0] === '' ? [dashed(coded[0] ?? ''), coded[1]] : own
  const awards = [...all(form, 'AWARD_CONTRACT'), ...deep(form, 'AWARD_OF_CONTRACT_DEFENCE')]
  const values = ['VAL_TOTAL', 'VALUE/VAL_TOTAL', 'VALUES/VAL_TOTAL']
  return [
    ...named('deadline', [`${day} ${time}`.trim()]),
    ...named('lots', [String(Math.max(1, all(form, 'OBJECT_CONTRACT/OBJECT_DESCR').length))]),
    ...named('lot estimate', all(form, 'OBJECT_CONTRACT/OBJECT_DESCR/VAL_OBJECT').map(money)),
    ...named('awards', [awards.length > 0 ? String(awards.length) : '']),
    ...named(
      'award value',
      all(form, 'AWARD_CONTRACT/AWARDED_CONTRACT').map((node) =>
        money(values.flatMap((path) => all(node, path))[0]),
      ),
    ),
    ...named('award value', deep(form, 'COSTS_RANGE_AND_CURRENCY_WITH_VAT_RATE').map(costOf)),
  ]
}

const BUYERS = ['ADDRESS_CONTRACTING_BODY', 'ADDRESS_CONTRACTING_BODY_ADDITIONAL']

function correctionFacts(form: Element): NamedFacts {
  return [
    ...named('changed notice', [journalNumber(one(form, 'COMPLEMENTARY_INFO/NOTICE_NUMBER_OJ'))]),
    ...named('corrected date', correctedDates(form)),
  ]
}

/** `2021/S 010-016259` as `16259-2021`. */
const journalNumber = (text: string): string => text.replace(/^(\d{4})\/S \d+-0*(\d+)$/, '$2-$1')

/** Old and new dates in the sections that hold deadlines. */
const correctedDates = (form: Element): string[] =>
  all(form, 'CHANGES/CHANGE')
    .filter((change) =>
      /^IV\.(?:2\.2|3\.4)\)?$/.test(one(change, 'WHERE/SECTION').replaceAll(' ', '')),
    )
    .flatMap((change) =>
      ['OLD_VALUE', 'NEW_VALUE'].map((name) =>
        `${one(change, `${name}/DATE`)} ${one(change, `${name}/TIME`)}`.trim(),
      ),
    )
