/**
 * What the tagger tells apart. The engine gives no `other` (nationalities, works, products,
 * events): it only keeps the rest clean.
 */
export const TAGGED = ['person', 'organization', 'location', 'other'] as const
export type Tagged = (typeof TAGGED)[number]

/** Places of a token in a name: the first, one inside, the last, or the only one. */
const PLACES = 4
const FIRST = 0
const INSIDE = 1
const LAST = 2
const ONLY = 3
export const LABELS = 1 + TAGGED.length * PLACES
/** Outside of all names. */
const OUTSIDE = 0

const labelOf = (type: number, place: number): number => 1 + type * PLACES + place
const placeOf = (label: number): number => (label - 1) % PLACES
const typeOf = (label: number): number => Math.floor((label - 1) / PLACES)
const isOpen = (label: number): boolean => label !== OUTSIDE && placeOf(label) < LAST

/** Whether `to` may follow `from`: a name goes on until its last token, and only then. */
const follows = (from: number, to: number): boolean => {
  const goesOn = to !== OUTSIDE && (placeOf(to) === INSIDE || placeOf(to) === LAST)
  return isOpen(from) ? goesOn && typeOf(from) === typeOf(to) : !goesOn
}

const ALL = Array.from({ length: LABELS }, (_, label) => label)
/** The labels that may stand before each label. */
export const BEFORE: readonly Uint8Array[] = ALL.map((to) =>
  Uint8Array.from(ALL.filter((from) => follows(from, to))),
)
/** Whether a sentence may begin, and may end, with a label. */
export const MAY_BEGIN: readonly boolean[] = ALL.map((label) => follows(OUTSIDE, label))
export const MAY_END: readonly boolean[] = ALL.map((label) => !isOpen(label))

/** A name among the tokens of a sentence: `from` inclusive, `to` exclusive. */
export interface TokenRun {
  readonly from: number
  readonly to: number
  readonly type: Tagged
}

/** The names that a valid sequence of labels spells. */
export const runsOf = (labels: Uint8Array): TokenRun[] => {
  const runs: TokenRun[] = []
  let from = 0
  for (const [at, label] of labels.entries()) {
    if (label === OUTSIDE) continue
    if (placeOf(label) === FIRST || placeOf(label) === ONLY) from = at
    const type = TAGGED[typeOf(label)]
    if (!isOpen(label) && type !== undefined) runs.push({ from, to: at + 1, type })
  }
  return runs
}

/** The labels of one name over `size` tokens. */
export const labelsOf = (type: Tagged, size: number): number[] =>
  Array.from({ length: size }, (_, at) => {
    const place = size === 1 ? ONLY : at === 0 ? FIRST : at === size - 1 ? LAST : INSIDE
    return labelOf(TAGGED.indexOf(type), place)
  })
