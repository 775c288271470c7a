const TEXT_MAX = 200
/** Beginnings of words for a lot in the EU languages: `Lot`, `Część`, `обособена позиция`. */
const STEMS =
  'lot|los|perce|part|del|osa|hank|hang|čast|část|cast|část|część|części|czes|zadan|pakiet|' +
  'fachlos|teillos|gebietslos|anbud|item|ítem|task|sklop|grup|dal|daļ|pirk|iepirk|rész|ajánl|' +
  'обос|поз|лот|част|τμήμα|τμημα|objek|pos|art'
/** Whole words and signs before a number, as in `n° 3`, `č. 2`, `from 1`. */
const BEFORE =
  'no?s?|nrs?|num\\p{L}*|núm\\p{L}*|nom\\p{L}*|č|čís\\p{L}*|cís\\p{L}*|št|br|бр|αρ|from|von|' +
  'od|de|du|des|dal|van|fra|från|от|από|nuo|les|las|the|gli|le|№|#'
const LABEL = `(?:(?:${STEMS})\\p{L}{0,9}|${BEFORE})(?!\\p{L})[ .:°º_-]*`
const LABELS = new RegExp(`^(?:${LABEL}){1,4}(?=\\d)`, 'iu')
/** The same before a letter, as in `Lot A`. */
const LABELS_OF_NAME = new RegExp(`^(?:${LABEL}){1,4}(?=[\\p{L}\\p{N}]{1,6}$)`, 'iu')
/** All lots, in any words: `all lots`, `tous les lots`, `wszystkie części`. */
const ALL = new RegExp(
  '^(?:all[aetn]?|aller|tous|toutes|tod[oa]s|tutt[ie]|toate|wszystki\\p{L}+|vš[ei]\\p{L}+|' +
    'vset\\p{L}+|vs[ie]\\p{L}*|sv[ie]\\p{L}*|vis\\p{L}+|kaikki|kõik\\p{L}*|minden|összes|' +
    'valamennyi|всички|όλα|όλες|όλων|gach|kollha)' +
    `(?: (?:les|os|as|the|i|le|τα|των|(?:${STEMS})\\p{L}{0,12})){0,3}$`,
  'iu',
)
/** `1 of 3`: the first one counts. A slash says so only if both are equal. */
const OF_TOTAL = /^(\d{1,4}) ?(\/|of|von|sur|z) ?(\d{1,4})$/i
const RANGE = new RegExp(
  '^(\\d{1,4}) ?(?:[-–—]|to|through|bis|au|à|al|até|ate|t/m|tot|do|až|po|до|til|till|kuni|līdz|' +
    'iki|până la|pana la|έως|ως|μέχρι) ?(\\d{1,4})$',
  'iu',
)
const SEPARATORS = new RegExp(
  '[,;+&]| (?:and|und|sowie|et|y|e|i|oraz|ja|sekä|en|og|och|samt|și|şi|si|ter|in|ir|un|és|και|' +
    'и|agus) |(?<=\\d) (?=\\d)',
  'iu',
)
/** A number and the name of its lot: `1 - Name`, `2: Name`, `3 (Name)`. */
const NAMED = new RegExp(
  '^(\\d{1,4}[a-z]?)(?: ?[:)] ?(?=\\p{L})| ?[:)] (?=\\d)| ?[.(] ?(?=\\p{L})|' +
    ' ?[-–—] ?(?=\\p{L}{2}))',
  'iu',
)
/** A number with a letter, and a name after a dash: `1A - 2C South`. */
const LETTERED = /^(\d{1,4}[a-z])(?: ?[:.)]| [-–—]) (?=.*\p{L}{2})/iu
const SINGLE = /^(\d{1,4}(?:\.\d{1,3})?[a-z]?)[.)]?$/i
const RANGE_MAX = 500

/** Id of a lot in the form of eForms: `LOT-0003`, `LOT-001A`. */
const lotIdOf = (number: string): string => {
  const plain = /^\d+$/.test(number) ? String(Number(number)) : number.toUpperCase()
  return `LOT-${plain.padStart(4, '0')}`
}

const plainOf = (text: string): string =>
  text.normalize('NFC').slice(0, TEXT_MAX).replaceAll(/\s+/gu, ' ').trim()

/** Returns true if a text names all lots, or none: `-`. */
export const namesAllLots = (text: string): boolean =>
  ALL.test(plainOf(text)) || !/[\p{L}\p{N}]/u.test(text)

/**
 * Reads the lots that a text names: `3`, `Lot 1 and 2`, `3-5`, `1/1`, `1 - Name`.
 * @returns their ids; undefined if the text may mean anything else
 */
export function lotsNamedIn(text: string): string[] | undefined {
  const parts = partsOf(withoutRepeats(plainOf(text)))
  const read = parts.map(idsOf)
  const isNamed = NAMED.test(parts[0] ?? '') // other parts belong to the name
  const isRead = (part: string, at: number): boolean =>
    read[at] !== undefined || (isNamed && !/\d/.test(part))
  if (parts.length === 0 || !parts.every(isRead)) return undefined
  return [...new Set(read.flatMap((ids) => ids ?? []))]
}

const partsOf = (plain: string): string[] =>
  plain
    .split(SEPARATORS)
    .map((part) => part.trim().replace(LABELS, ''))
    .filter((part) => part !== '')

/** Removes the repeated word in `Lot 1 to Lot 3`, which also shows what `a` means. */
function withoutRepeats(plain: string): string {
  const word = /^\p{L}{3}/u.exec(plain)?.[0]
  if (word === undefined || !LABELS.test(plain)) return plain
  const repeated = `(?<=\\P{L})${word}\\p{L}{0,9}[ .:°º-]*(?=(?:n[°ºor]*[ .]*|č[ .]*|№ ?)?\\d)`
  const once = plain
    .replace(new RegExp(` ?/ ?(?=${word})`, 'giu'), ', ')
    .replaceAll(new RegExp(repeated, 'giu'), '')
  return once.replaceAll(/(?<=\d) a (?=\d)/giu, /^[čc]/i.test(word) ? ', ' : ' - ')
}

function idsOf(part: string): string[] | undefined {
  const [, first, sign, total] = OF_TOTAL.exec(part) ?? []
  const isOne = sign === '/' ? first === total : Number(first) <= Number(total)
  if (first !== undefined) return isOne ? [lotIdOf(first)] : undefined
  const [, from, to] = RANGE.exec(part) ?? []
  if (from !== undefined) return range(Number(from), Number(to))
  const single = (SINGLE.exec(part) ?? NAMED.exec(part) ?? LETTERED.exec(part))?.[1]
  return single === undefined ? undefined : [lotIdOf(single)]
}

function range(from: number, to: number): string[] | undefined {
  const count = to - from + 1
  if (count < 1 || count > RANGE_MAX) return undefined
  return Array.from({ length: count }, (_, at) => lotIdOf(String(from + at)))
}

/** Id of the one lot that an old form describes or awards; null for none or several. */
export function lotIdIn(text: string | undefined): string | null {
  if (text === undefined) return null
  const plain = plainOf(text)
  const number = withoutRepeats(plain).replace(LABELS, '')
  const own = (NAMED.exec(number) ?? LETTERED.exec(number) ?? OF_TOTAL.exec(number))?.[1]
  if (own !== undefined) return lotIdOf(own)
  const named = lotsNamedIn(plain)
  if (named) return named.length === 1 ? (named[0] ?? null) : null
  return lotIdOf(plain.replace(LABELS_OF_NAME, ''))
}

/** Lots among the known ones that a text names by letters or as the call does: `Lot A and B`. */
export function lotsAmong(known: ReadonlySet<string>, text: string): string[] {
  const whole = lotIdIn(text)
  if (whole !== null && known.has(whole)) return [whole]
  const ids = plainOf(text).split(SEPARATORS).map(lotIdIn)
  const found = ids.filter((id) => id !== null && known.has(id))
  return found.length === ids.length ? found.filter((id) => id !== null) : []
}
