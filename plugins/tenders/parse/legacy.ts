import type { Deadline, Document, Kind, Lot } from '../model.ts'
import { countryOf } from './countries.ts'
import { deadlineOf, deadlineOrRaw, splitDeadlines } from './deadline.ts'
import { energyWordsIn } from './energy-words.ts'
import { correctionsOf, isOfDeadline } from './legacy-corrections.ts'
import { activitiesOf, buyersOf, LANGUAGES, languageOf } from './legacy-parties.ts'
import { legacyResultOf } from './legacy-result.ts'
import { lotIdIn } from './lot-names.ts'
import {
  amountOf,
  cleanText,
  cpvCodesOf,
  cpvOf,
  dayOf,
  distinct,
  issueOf,
  linkOf,
  numberOf,
} from './values.ts'
import { type Node, Unreadable, wholeText } from './xml.ts'

/** Forms of TED XML (R2.0.8, R2.0.9) by the form type that eForms calls them by. */
const KINDS: Readonly<Record<string, Kind>> = {
  F01: 'planning',
  F02: 'competition',
  F03: 'result',
  F04: 'planning',
  F05: 'competition',
  F06: 'result',
  F07: 'competition',
  F08: 'planning',
  F12: 'competition',
  F13: 'result',
  F14: 'competition',
  F15: 'dir-awa-pre',
  F20: 'cont-modif',
  F21: 'competition',
  F22: 'competition',
  F23: 'competition',
  F24: 'competition',
  F25: 'result',
  '16': 'planning',
  '17': 'competition',
  '18': 'result',
}

/** Forms that serve several purposes say by `NOTICE/@TYPE` which one. */
function kindOf(form: Node, type: string): Kind | undefined {
  const usual = KINDS[type]
  const purpose = form.first('NOTICE')?.attributes['TYPE'] ?? ''
  if (usual === 'result' || usual === 'cont-modif' || usual === 'dir-awa-pre') return usual
  if (purpose.includes('AWARD')) return 'result'
  if (purpose.includes('CALL_COMPETITION') || purpose.startsWith('QSU')) return 'competition'
  if (/^(?:PRI|PER)_/.test(`${purpose}_`)) return 'planning'
  return purpose.includes('CONTRACT') ? 'competition' : usual
}

export const isLegacy = ({ name }: Node): boolean => name === 'TED_EXPORT'

/** Reads a TED XML notice: F02, F03 and F14 fully, the common fields of other forms. */
export function readLegacy(root: Node): Document {
  const coded = root.first('CODED_DATA_SECTION')
  const data = coded?.first('NOTICE_DATA')
  const forms = root.first('FORM_SECTION')?.children ?? []
  const form = forms.find(({ attributes }) => attributes['CATEGORY'] === 'ORIGINAL') ?? forms[0]
  if (!coded || !data || !form) throw new Unreadable('unknown_schema', 'has no form')
  const type = form.attributes['FORM'] ?? form.name.replace(/_2014$/, '')
  const kind = kindOf(form, type)
  if (!kind) throw new Unreadable('unknown_schema', `form ${type}`)
  const language = languageOf(form)
  const body = form.first('CONTRACTING_BODY')
  const object = form.first('OBJECT_CONTRACT')
  const country = countryOf(data.first('ISO_COUNTRY')?.attributes['VALUE'])
  const titles = object?.all('TITLE') ?? []
  return {
    number: numberOf(root.attributes['DOC_ID']) ?? numberOf(data.text('NO_DOC_OJS')) ?? null,
    schema: root.attributes['VERSION'] ?? 'R2.0.9',
    ...publicationOf(coded),
    noticeId: null,
    version: null,
    procedureId: null,
    kind,
    type,
    subtype: null,
    legalBasis: legalBasisOf(form, coded),
    endsOn: isSystem(form, type) ? endOfSystem(form) : null,
    language,
    title: titled(titles, root, language),
    nature: object?.first('TYPE_CONTRACT')?.attributes['CTYPE']?.toLowerCase() ?? null,
    buyers: buyersOf(body, country, root),
    activities: activitiesOf(body),
    place: { countries: country ? [country] : [], nuts: nutsOf(object?.all('OBJECT_DESCR/NUTS')) },
    cpv: cpvOfNotice(data, object),
    procedureType: PROCEDURES[coded.first('CODIF_DATA/PR_PROC')?.attributes['CODE'] ?? ''] ?? null,
    accelerated: isAccelerated(form, coded),
    estimated: amountOf(object?.first('VAL_ESTIMATED_TOTAL')),
    frameworkMax: null,
    lots: type === 'F14' ? [] : lotsOf(form, { language, country, coded }),
    changes: type === 'F14' ? changesOf(form, language) : null,
    corrections: type === 'F14' ? correctionsOf(form, country) : [],
    result: legacyResultOf(form),
    terminated: false,
    previous: previousOf(form, data),
    energyWords: energyWordsIn(object ? wholeText(object) : ''),
  }
}

function publicationOf(coded: Node): Pick<Document, 'ojs' | 'publishedOn'> {
  const issue = coded.text('REF_OJS/NO_OJ')
  const published = plainDayOf(coded.text('REF_OJS/DATE_PUB'))
  return {
    ojs: published && issueOf(`${issue}/${published.slice(0, 4)}`),
    publishedOn: published,
  }
}

/** `20210205` as `2021-02-05`. */
const plainDayOf = (text: string | undefined): string | null =>
  dayOf(text?.replace(/^(\d{4})(\d{2})(\d{2}).*$/s, '$1-$2-$3'))

/** CELEX number of the directive; older forms have it as `2014/25/EU`. */
function legalBasisOf(form: Node, coded: Node): string | null {
  const own = form.first('LEGAL_BASIS')?.attributes['VALUE']
  if (own !== undefined) return own
  const directive = coded.first('CODIF_DATA/DIRECTIVE')?.attributes['VALUE'] ?? ''
  const [, year, number = ''] = /^(\d{4})\/(\d{1,4})\/E[CU]$/.exec(directive) ?? []
  return year === undefined ? null : `3${year}L${number.padStart(4, '0')}`
}

/** Types of procedures by the journal's older codes, in the words of eForms. */
const PROCEDURES: Readonly<Record<string, string>> = {
  '1': 'open',
  '2': 'restricted',
  '3': 'restricted',
  '4': 'neg-w-call',
  '6': 'neg-w-call',
  A: 'neg-wo-call',
  B: 'neg-w-call',
  C: 'comp-dial',
  E: 'oth-mult',
  F: 'neg-wo-call',
  G: 'innovation',
  T: 'neg-wo-call',
  V: 'neg-wo-call',
}

/** Returns true for a qualification system; F22 says by its purpose that it is one. */
const isSystem = (form: Node, type: string): boolean =>
  type === 'F07' || (form.first('NOTICE')?.attributes['TYPE'] ?? '').startsWith('QSU')

const isAccelerated = (form: Node, coded: Node): boolean =>
  form.first('PROCEDURE/ACCELERATED_PROC') !== undefined ||
  ['3', '6'].includes(coded.first('CODIF_DATA/PR_PROC')?.attributes['CODE'] ?? '')

/** Last day of a qualification system, anywhere in its form. */
function endOfSystem(form: Node): string | null {
  const ends = (node: Node): string[] =>
    node.name === 'DATE_END' ? [dayOf(wholeText(node)) ?? ''] : node.children.flatMap(ends)
  return ends(form).sort().at(-1) || null
}

const text = (node: Node): string => cleanText(wholeText(node))

/** Reads a title from the form; older forms have it only in the publisher's text. */
function titled(titles: readonly Node[], root: Node, language: string): Document['title'] {
  const [own] = titles
  if (own) return [{ lang: language, text: text(own) }]
  const composed = root
    .all('TRANSLATION_SECTION/ML_TITLES/ML_TI_DOC')
    .find(({ attributes }) => LANGUAGES[attributes['LG'] ?? ''] === language)
    ?.first('TI_TEXT')
  return composed ? [{ lang: language, text: text(composed) }] : []
}

const nutsOf = (nodes: readonly Node[] = []): string[] =>
  distinct(nodes.flatMap(({ attributes }) => attributes['CODE'] ?? []))

const mainCodeOf = (object: Node | undefined): string | null =>
  cpvOf(object?.first('CPV_MAIN/CPV_CODE')?.attributes['CODE']) ?? null

function cpvOfNotice(data: Node, object: Node | undefined): Document['cpv'] {
  const coded = cpvCodesOf(data.all('ORIGINAL_CPV'))
  const main = mainCodeOf(object) ?? coded[0] ?? null
  return { main, additional: distinct(coded).filter((code) => code !== main) }
}

interface LotContext {
  readonly language: string
  readonly country: string | null
  readonly coded: Node
}

/** Lots have no deadline of their own here: that of the procedure is each one's. */
function lotsOf(form: Node, context: LotContext): Lot[] {
  const objects = form.all('OBJECT_CONTRACT')
  const described = objects.flatMap((object) => {
    const parts = object.all('OBJECT_DESCR')
    return (parts.length > 0 ? parts : [object]).map((node) => ({ node, object }))
  })
  const isSplit = objects.length > 1
  const body = form.first('CONTRACTING_BODY')
  const shared = {
    ...deadlinesOf(form, context),
    documents: linkOf(body?.text('URL_DOCUMENT')),
    documentsRestricted: body?.first('DOCUMENT_RESTRICTED') !== undefined,
    submission: linkOf(body?.text('URL_PARTICIPATION')),
    framework: form.first('PROCEDURE/FRAMEWORK') ? 'framework' : null,
    dps: form.first('PROCEDURE/DPS') ? 'dps' : null,
  }
  const nature = form.first('OBJECT_CONTRACT/TYPE_CONTRACT')?.attributes['CTYPE']?.toLowerCase()
  const lots = described.length > 0 ? described : [{ node: form, object: form }]
  const ids = lotIdsOf(lots.map(({ node }) => node.text('LOT_NO')))
  return lots.map(({ node, object }, at): Lot => {
    const title = node.first('TITLE') ?? (isSplit ? object.first('TITLE') : undefined)
    return {
      id: ids[at]!,
      title: title ? [{ lang: context.language, text: text(title) }] : [],
      nature: nature ?? null,
      cpv: {
        main: isSplit ? mainCodeOf(object) : null,
        additional: distinct(cpvCodesOf(node.all('CPV_ADDITIONAL/CPV_CODE'))),
      },
      place: {
        countries: context.country ? [context.country] : [],
        nuts: nutsOf(node.all('NUTS')),
      },
      estimated: amountOf(node.first('VAL_OBJECT')),
      frameworkMax: null,
      ...shared,
    }
  })
}

/** Ids of lots; by position if the numbers are missing, lists or not distinct. */
function lotIdsOf(numbers: readonly (string | undefined)[]): string[] {
  const byPlace = numbers.map((_, at) => `LOT-${String(at + 1).padStart(4, '0')}`)
  const named = numbers.map((number, at) => lotIdIn(number) ?? byPlace[at]!)
  return new Set(named).size === named.length ? named : byPlace
}

/** Reads the deadline of the form, else the publisher's code (`20210305 12:00`). */
function deadlinesOf(
  form: Node,
  { country, coded }: LotContext,
): Pick<Lot, 'deadlines' | 'unreadableDeadlines'> {
  const procedure = form.first('PROCEDURE')
  const kind =
    procedure?.first('PT_OPEN') || !procedure?.first('DATE_RECEIPT_TENDERS')
      ? 'tenders'
      : kindIn(procedure)
  const date = procedure?.text('DATE_RECEIPT_TENDERS')
  const own = deadlineOrRaw(kind, date, procedure?.text('TIME_RECEIPT_TENDERS'), country)
  const [day = '', time] = coded.text('CODIF_DATA/DT_DATE_FOR_SUBMISSION')?.split(' ') ?? []
  const published = deadlineOf('tenders', plainDayOf(day) ?? undefined, time, country)
  const isRead = own.some((each) => typeof each !== 'string')
  return splitDeadlines(isRead || !published ? own : [published])
}

/** In all but open procedures the date is that of requests to participate. */
const kindIn = (procedure: Node): Deadline['kind'] =>
  procedure.children.some(({ name }) =>
    /^PT_(RESTRICTED|COMPETITIVE|NEGOTIATED_WITH|INNOVATION)/.test(name),
  )
    ? 'requests'
    : 'tenders'

function changesOf(form: Node, language: string): Document['changes'] {
  const sectionOf = (nodes: readonly (Node | undefined)[], ids: readonly string[]) => ({
    ids,
    texts: nodes.flatMap((node) => (node ? [{ lang: language, text: text(node) }] : [])),
    documents: false,
    documentsDate: null,
  })
  const changed = form.all('CHANGES/CHANGE').map((change) => {
    const texts = [change.first('OLD_VALUE/TEXT'), change.first('NEW_VALUE/TEXT')]
    return sectionOf(texts, isOfDeadline(change) ? ['BT-131'] : [])
  })
  return {
    reference: numberOf(form.text('COMPLEMENTARY_INFO/NOTICE_NUMBER_OJ')) ?? null,
    reasons: [],
    reasonTexts: [],
    sections: [...changed, sectionOf([form.first('CHANGES/INFO_ADD')], [])],
  }
}

const previousOf = (form: Node, data: Node): string[] =>
  distinct(
    [form.text('PROCEDURE/NOTICE_NUMBER_OJ'), ...data.texts('REF_NOTICE/NO_DOC_OJS')].flatMap(
      (number) => numberOf(number) ?? [],
    ),
  )
