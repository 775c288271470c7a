import {
  cues,
  gazetteer,
  givenNames,
  keyOf,
  LONGEST_NAME,
  type NameType,
  notNames,
  plainWords,
} from './gazetteer.ts'
import type { Sentence, Span, Token } from './text.ts'

/** A name found in a text, and the rule that found it. */
export interface Name extends Span {
  readonly type: NameType
  readonly rule: string
}

/** A stretch of capitalised words, where it stands in its sentence. */
interface Run {
  readonly tokens: readonly Token[]
  readonly from: number
  readonly sentence: Sentence
  readonly shouted: boolean
}

type Found = Omit<Name, keyof Span> & { readonly tokens: readonly Token[] }

/** Person, organisation, location and product names, in order, none overlapping another. */
export const findNames = (text: string, sentences: readonly Sentence[]): Name[] => {
  const uncapitalized = lowerWords(sentences)
  const runs = sentences.flatMap((sentence) => runsOf(text, sentence, uncapitalized))
  const read = runs.map((run) => ({ run, found: classify(run) }))
  const known = memoryOf(read.flatMap(({ found }) => found))
  return read.flatMap(({ run, found }) => {
    const names = found.length > 0 ? found : recall(run, known)
    return names.map(({ type, rule, tokens }) => ({
      type,
      rule,
      start: tokens[0]?.start ?? 0,
      end: endOf(text, tokens.at(-1)),
    }))
  })
}

/** The full stop of `Inc.` belongs to the name. */
const endOf = (text: string, last: Token | undefined): number => {
  if (last === undefined) return 0
  const dotted = /^(?:inc|corp|ltd|co|jr|sr)$/.test(last.lower) && text.charAt(last.end) === '.'
  return dotted ? last.end + 1 : last.end
}

const lowerWords = (sentences: readonly Sentence[]): ReadonlySet<string> =>
  new Set(
    sentences.flatMap(({ tokens }) =>
      tokens.filter(({ shape }) => shape === 'lower').map(({ text }) => text),
    ),
  )

const isCapital = (token: Token | undefined): boolean =>
  token !== undefined && (token.shape === 'title' || token.shape === 'upper')

const isShouted = (tokens: readonly Token[]): boolean => {
  const letters = tokens.filter(
    ({ shape, text }) => shape !== 'mark' && shape !== 'number' && text.length > 1,
  )
  return (
    letters.length > 2 &&
    letters.filter(({ shape }) => shape === 'upper').length / letters.length > 0.6
  )
}

/** The runs of one sentence. A first word that is a common word does not begin a run. */
const runsOf = (text: string, sentence: Sentence, common: ReadonlySet<string>): Run[] => {
  const { tokens } = sentence
  const shouted = isShouted(tokens)
  const runs: Run[] = []
  for (let at = 0; at < tokens.length; ) {
    const end = runEnd(text, tokens, at)
    if (end === at) {
      at += 1
      continue
    }
    const first = tokens[at]
    const isOpening = at === 0 || /^["“‘'(:*-]$/u.test(tokens[at - 1]?.text ?? '')
    const isWord =
      first !== undefined &&
      (plainWords.has(first.lower) ||
        (isOpening && common.has(first.lower) && !givenNames.has(first.lower)))
    const from = isWord ? at + 1 : at
    const trimmed = isWord && tokens[from]?.shape === 'mark' ? from + 1 : from
    if (trimmed < end) {
      runs.push({ tokens: tokens.slice(trimmed, end), from: trimmed, sentence, shouted })
    }
    at = end
  }
  return runs
}

/** Where the run that begins at `at` ends; `at` when none begins there. */
const runEnd = (text: string, tokens: readonly Token[], at: number): number => {
  if (!isCapital(tokens[at])) return at
  let end = at + 1
  while (end < tokens.length && end - at < 12) {
    const next = joinAt(text, tokens, end)
    if (next === end) break
    end = next
  }
  return end
}

/** How far a run reaches on from `end`: over a capital, or a joining word and a capital. */
const joinAt = (text: string, tokens: readonly Token[], end: number): number => {
  const last = tokens[end - 1]
  const next = tokens[end]
  if (last === undefined || next === undefined) return end
  const gap = text.slice(last.end, next.start)
  if (gap !== '' && gap !== ' ') return end
  if (isCapital(next)) return plainWords.has(next.lower) && next.text !== 'The' ? end : end + 1
  const after = tokens[end + 1]
  if (after === undefined || !isCapital(after) || plainWords.has(after.lower)) return end
  const isInitial =
    next.text === '.' &&
    gap === '' &&
    (last.text.length === 1 || cues.honorific.has(last.lower) || last.text === 'St')
  const isHyphen = next.text === '-' && gap === '' && after.start === next.end
  const isJoin = next.text === '&' || cues.particles.has(next.lower) || isOf(tokens, end)
  return isInitial || isHyphen || isJoin ? end + 2 : end
}

/** `of` joins only what a head word opens: `Bank of England`, `University of Texas`. */
const isOf = (tokens: readonly Token[], at: number): boolean => {
  const head = tokens[at - 1]?.lower ?? ''
  return (
    tokens[at]?.text === 'of' && (cues.organizationHead.has(head) || cues.locationHead.has(head))
  )
}

const classify = (run: Run): Found[] => {
  const tokens = stripEnds(run.tokens)
  if (tokens.length === 0) return []
  const whole = gazetteer.get(keyOf(tokens))
  if (whole !== undefined) return [{ type: whole, rule: `known-${whole}`, tokens }]
  return run.shouted
    ? parts(tokens)
    : (byForm(tokens, run) ?? byParts(tokens) ?? byContext(tokens, run))
}

/** Without words such as `Monday` or `Prime` at the beginning, and marks at the end. */
const stripEnds = (tokens: readonly Token[]): readonly Token[] => {
  const last = tokens.at(-1)
  if (last !== undefined && last.shape === 'mark') return stripEnds(tokens.slice(0, -1))
  const isEmpty = tokens.every(({ lower, shape }) => notNames.has(lower) || shape === 'mark')
  return isEmpty ? [] : tokens
}

const found = (type: NameType, rule: string, tokens: readonly Token[]): Found[] => [
  { type, rule, tokens },
]

/** What the words of the name tell by themselves. */
const byForm = (tokens: readonly Token[], run: Run): Found[] | undefined => {
  const first = tokens[0]?.lower ?? ''
  const last = tokens.at(-1)?.lower ?? ''
  const several = tokens.length > 1
  if (several && cues.corporateSuffix.has(last)) return found('organization', 'suffix', tokens)
  if (several && cues.honorific.has(first)) {
    const name = withoutTitles(tokens)
    if (name.length > 0 && !cues.organizationHead.has(last))
      return found('person', 'honorific', name)
  }
  const head = tokens.findIndex(({ lower }) => lower === 'of')
  const headWord = head > 0 ? (tokens[head - 1]?.lower ?? '') : last
  if (several && cues.organizationHead.has(headWord)) return found('organization', 'head', tokens)
  if (several && (cues.locationHead.has(headWord) || cues.locationFirst.has(first))) {
    return found('location', 'place-head', tokens)
  }
  const named = trimmed(tokens)
  const given = named[0]?.lower ?? ''
  if (named.length > 1 && named.length < 6 && givenNames.has(given))
    return found('person', 'given', named)
  if (named.length > 2 && named[1]?.text === '.') return found('person', 'initials', named)
  if (named.length === 1 && givenNames.has(given) && !notNames.has(given)) {
    return beforeRun(run)?.text === '@' ? [] : found('person', 'given-alone', named)
  }
  return undefined
}

const withoutTitles = (tokens: readonly Token[]): readonly Token[] => {
  const from = tokens.findIndex(
    ({ lower, shape }) => !cues.honorific.has(lower) && shape !== 'mark',
  )
  return from < 0 ? [] : tokens.slice(from)
}

const trimmed = (tokens: readonly Token[]): readonly Token[] => {
  const from = tokens.findIndex(({ lower, shape }) => !notNames.has(lower) && shape !== 'mark')
  return tokens.slice(Math.max(from, 0))
}

/** Known names inside the run, if there are any. */
const byParts = (tokens: readonly Token[]): Found[] | undefined => {
  const known = parts(tokens)
  return known.length > 0 ? known : undefined
}

const parts = (tokens: readonly Token[]): Found[] => {
  const known: Found[] = []
  for (let at = 0; at < tokens.length; ) {
    const size = knownSize(tokens, at)
    const type = gazetteer.get(keyOf(tokens.slice(at, at + size)))
    if (size > 0 && type !== undefined) {
      known.push({ type, rule: `part-${type}`, tokens: tokens.slice(at, at + size) })
    }
    at += Math.max(size, 1)
  }
  return known
}

const knownSize = (tokens: readonly Token[], at: number): number => {
  for (let size = Math.min(LONGEST_NAME, tokens.length - at); size > 0; size -= 1) {
    if (gazetteer.has(keyOf(tokens.slice(at, at + size)))) return size
  }
  return 0
}

const beforeRun = ({ sentence, from }: Run): Token | undefined => sentence.tokens[from - 1]
const afterRun = ({ sentence, from, tokens }: Run): Token | undefined =>
  sentence.tokens[from + tokens.length]

/** What the words around the name tell. */
const byContext = (whole: readonly Token[], run: Run): Found[] => {
  const tokens = trimmed(whole)
  const before = beforeRun(run)?.lower ?? ''
  const after = afterRun(run)?.lower ?? ''
  const size = tokens.length
  if (before === '@' || before === '#') return []
  if (cues.honorific.has(before) || cues.role.has(before)) return found('person', 'role', tokens)
  if (cues.said.has(after)) return found('person', 'speaks', tokens)
  if (cues.organizationBefore.has(before)) return found('organization', 'organization-cue', tokens)
  if (cues.organizationAfter.has(after)) return found('organization', 'organization-cue', tokens)
  if (cues.place.has(before) && size < 3) return found('location', 'place-cue', tokens)
  if (size === 1 && tokens[0]?.shape === 'upper' && /^\p{Lu}{2,5}$/u.test(tokens[0].text)) {
    return found('organization', 'acronym', tokens)
  }
  const isTitled = tokens.every(({ shape }) => shape === 'title')
  if (size > 1 && size < 4 && isTitled) return found('person', 'two-words', tokens)
  return []
}

const STRONG = new Set([
  'suffix',
  'honorific',
  'given',
  'initials',
  'head',
  'speaks',
  'role',
  'place-cue',
])

/** What the surely read names teach about the others: the same name, or its surname alone. */
const memoryOf = (names: readonly Found[]): ReadonlyMap<string, NameType> => {
  const memory = new Map<string, NameType>()
  for (const { type, rule, tokens } of names) {
    if (!STRONG.has(rule)) continue
    memory.set(keyOf(tokens), type)
    const surname = tokens.at(-1)
    if (type === 'person' && surname !== undefined) memory.set(surname.text, 'person')
  }
  return memory
}

const recall = (run: Run, memory: ReadonlyMap<string, NameType>): Found[] => {
  const tokens = trimmed(run.tokens)
  const type = run.shouted ? undefined : memory.get(keyOf(tokens))
  return type === undefined ? [] : found(type, 'repeated', tokens)
}
