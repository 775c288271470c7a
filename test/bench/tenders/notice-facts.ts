import type {
  Amount,
  Deadline,
  Document,
  Lot,
  LotResult,
  Text,
} from '../../../plugins/tenders/model.ts'
import { iso, type NamedFacts, squash, startText } from './named-facts.ts'

/** The facts that the service read from a notice, under the names of `documentFacts`. */
export const noticeFacts = (notice: Document): NamedFacts =>
  notice.schema.startsWith('R2.') ? formFacts(notice) : eformsFacts(notice)

const named = (name: string, values: readonly (string | null)[]): NamedFacts =>
  [...new Set(values)].flatMap((value) =>
    value === null || value === '' ? [] : [[name, value] as const],
  )

const money = (amount: Amount | null | undefined): string =>
  !amount ? '' : amount.amount === null ? 'withheld' : `${amount.currency} ${Number(amount.amount)}`
const titles = (texts: readonly Text[]): string[] =>
  texts.map(({ lang, text }) => `${lang} ${squash(text)}`)

function eformsFacts(notice: Document): NamedFacts {
  const { changes, result } = notice
  return [
    ...named('number', [notice.number]),
    ...named('published', [notice.publishedOn]),
    ...named('notice', [`${notice.noticeId} ${notice.version}`]),
    ...named('procedure', [notice.procedureId]),
    ...named('type', [notice.type]),
    ...projectFacts('', notice),
    ...named('procedure type', [notice.procedureType]),
    ...named('activity', notice.activities),
    ...named(
      'buyer',
      notice.buyers.map(({ name, country }) => `${name} (${country ?? ''})`),
    ),
    ...notice.lots.flatMap(lotFacts),
    ...named('changed notice', [changes?.reference ?? null]),
    ...named('reason', changes?.reasons ?? []),
    ...named('changed section', changes?.sections.flatMap(({ ids }) => ids) ?? []),
    ...named('changes', [changes ? String(changes.sections.length) : '']),
    ...named('change text', changes?.sections.flatMap(({ texts }) => starts(texts)) ?? []),
    ...named('reason text', starts(changes?.reasonTexts ?? [])),
    ...named('total', [money(result?.total)]),
    ...named('framework total', [money(result?.frameworkMax)]),
    ...named('framework total estimate', [money(result?.frameworkEstimated)]),
    ...(result?.lots.flatMap(outcomeFacts) ?? []),
  ]
}

const starts = (texts: readonly Text[]): string[] => texts.map(({ text }) => startText(text))

function projectFacts(
  prefix: string,
  from: Pick<Lot, 'title' | 'nature' | 'cpv' | 'place' | 'estimated' | 'frameworkMax'>,
): NamedFacts {
  return [
    ...named(`${prefix}title`, titles(from.title)),
    ...named(`${prefix}nature`, [from.nature]),
    ...named(`${prefix}main cpv`, [from.cpv.main]),
    ...named(`${prefix}additional cpv`, from.cpv.additional),
    ...named(`${prefix}country`, from.place.countries),
    ...named(`${prefix}nuts`, from.place.nuts),
    ...named(`${prefix}estimate`, [money(from.estimated)]),
    ...named(`${prefix}framework maximum`, [money(from.frameworkMax)]),
  ]
}

const lotFacts = (lot: Lot): NamedFacts => [
  ...named('lot', [lot.id]),
  ...projectFacts(`${lot.id} `, lot),
  ...lot.deadlines.flatMap((each) => [
    ...named(`${lot.id} ${each.kind} deadline`, [written(each)]),
    ...named(`${lot.id} ${each.kind} instant`, isCertain(each) ? [iso(each.at!)] : []),
  ]),
  ...named(`${lot.id} documents`, [lot.documents?.raw ?? '']),
  ...named(`${lot.id} submission`, [lot.submission?.raw ?? '']),
  ...named(`${lot.id} framework`, [lot.framework]),
  ...named(`${lot.id} dps`, [lot.dps]),
]

const written = ({ dateRaw, timeRaw }: Deadline): string => `${dateRaw} ${timeRaw ?? ''}`.trim()

/** Date and time have the same offset. */
function isCertain({ at, dateRaw, timeRaw }: Deadline): boolean {
  const offset = dateRaw.slice(10)
  return at !== null && offset !== '' && (timeRaw ?? '').endsWith(offset)
}

const outcomeFacts = (result: LotResult): NamedFacts => {
  const lot = result.lotId ?? ''
  return [
    ...named(`${lot} outcome`, [result.status]),
    ...named(
      `${lot} winner`,
      result.winners.map(({ name }) => name),
    ),
    ...named(`${lot} award value`, [money(result.value)]),
    ...named(`${lot} tenders received`, [String(result.tenders ?? '')]),
    ...named(`${lot} award maximum`, [money(result.frameworkMax)]),
    ...named(`${lot} award estimate`, [money(result.frameworkEstimated)]),
  ]
}

function formFacts(notice: Document): NamedFacts {
  const isCorrigendum = notice.type === 'F14'
  const { lots, result, corrections } = notice
  const deadlines = lots.flatMap((lot) => lot.deadlines.map(written))
  const moments = corrections
    .filter(({ field }) => field === 'BT-131')
    .flatMap(({ before, after }) => [before, after])
    .flatMap((value) => (value?.type === 'instant' ? value.local.replace('T', ' ') : []))
  return [
    ...named('number', [notice.number]),
    ...named('published', [notice.publishedOn]),
    ...named('type', [notice.type]),
    ...named('main cpv', [notice.cpv.main]),
    ...named('additional cpv', notice.cpv.additional),
    ...named(
      'title',
      notice.title.map(({ text }) => squash(text)),
    ),
    ...named('nature', [notice.nature]),
    ...named(
      'buyer',
      notice.buyers.map(({ name }) => name),
    ),
    ...named('estimate', [money(notice.estimated)]),
    ...named('deadline', deadlines),
    ...named('lots', [isCorrigendum ? '' : String(lots.length)]),
    ...named(
      'lot estimate',
      lots.map(({ estimated }) => money(estimated)),
    ),
    ...named('award value', result?.lots.map(({ value }) => money(value)) ?? []),
    ...named('awards', [result ? String(result.lots.length) : '']),
    ...named(
      'winner',
      result?.lots.flatMap(({ winners }) => winners.map(({ name }) => name)) ?? [],
    ),
    ...named('total', [money(result?.total)]),
    ...named('changed notice', [isCorrigendum ? (notice.changes?.reference ?? '') : '']),
    ...named('corrected date', moments),
  ]
}
