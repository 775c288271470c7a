/** The engine never returns `other` (nationalities, works), which keeps the other types precise. */
export const TAG_TYPES = ['person', 'organization', 'location', 'other'] as const
export type TagType = (typeof TAG_TYPES)[number]

/** Positions of a token in a name: first, inside, last or only. */
const PLACES = 4
const FIRST = 0
const INSIDE = 1
const LAST = 2
const ONLY = 3
export const LABELS = 1 + TAG_TYPES.length * PLACES
/** Label of tokens outside names. */
const OUTSIDE = 0

const labelOf = (type: number, place: number): number => 1 + type * PLACES + place
const placeOf = (label: number): number => (label - 1) % PLACES
const typeOf = (label: number): number => Math.floor((label - 1) / PLACES)
const isOpen = (label: number): boolean => label !== OUTSIDE && placeOf(label) < LAST

/** True if `to` may follow `from`: a name continues until its last token, and only then. */
const follows = (from: number, to: number): boolean => {
  const goesOn = to !== OUTSIDE && (placeOf(to) === INSIDE || placeOf(to) === LAST)
  return isOpen(from) ? goesOn && typeOf(from) === typeOf(to) : !goesOn
}

const ALL = Array.from({ length: LABELS }, (_, label) => label)
/** Labels that may precede each label. */
export const BEFORE: readonly Uint8Array[] = ALL.map((to) =>
  Uint8Array.from(ALL.filter((from) => follows(from, to))),
)
/** True for labels with which a sentence may begin or end. */
export const MAY_BEGIN: readonly boolean[] = ALL.map((label) => follows(OUTSIDE, label))
export const MAY_END: readonly boolean[] = ALL.map((label) => !isOpen(label))

/** A name among the tokens of a sentence: `from` inclusive, `to` exclusive. */
export interface TokenRun {
  readonly from: number
  readonly to: number
  readonly type: TagType
}

/** Extracts the names from a valid sequence of labels. */
export const runsOf = (labels: Uint8Array): TokenRun[] => {
  const runs: TokenRun[] = []
  let from = 0
  for (const [at, label] of labels.entries()) {
    if (label === OUTSIDE) continue
    if (placeOf(label) === FIRST || placeOf(label) === ONLY) from = at
    const type = TAG_TYPES[typeOf(label)]
    if (!isOpen(label) && type !== undefined) runs.push({ from, to: at + 1, type })
  }
  return runs
}

/** Labels of one name with `size` tokens. */
export const labelsOf = (type: TagType, size: number): number[] =>
  Array.from({ length: size }, (_, at) => {
    const place = size === 1 ? ONLY : at === 0 ? FIRST : at === size - 1 ? LAST : INSIDE
    return labelOf(TAG_TYPES.indexOf(type), place)
  })
