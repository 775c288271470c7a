import type { Element } from 'domhandler'
import {
  all,
  deep,
  money,
  type NamedFacts,
  named,
  one,
  plainNumber,
  tagsOf,
  textOf,
  texts,
} from './named-facts.ts'

/** Facts of a form in TED XML. */
export function formFacts(root: Element): NamedFacts {
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
