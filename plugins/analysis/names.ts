import {
  cues,
  gazetteer,
  givenNames,
  keyOf,
  LONGEST_NAME,
  type NameType,
  notNames,
} from './gazetteer.ts'
import { lowerWords, type Run, runsOf } from './runs.ts'
import type { Sentence, Span, Token } from './text.ts'

/** A name found in a text, and the rule that found it. */
export interface Name extends Span {
  readonly type: NameType
  readonly rule: string
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

const classify = (run: Run): Found[] => {
  const tokens = stripEnds(run.tokens)
  if (tokens.length === 0) return []
  const whole = gazetteer.get(keyOf(tokens))
  if (whole === 'product') return found(whole, 'known-product', withVersion(tokens, run))
  if (whole !== undefined) return found(whole, `known-${whole}`, tokens)
  return run.shouted
    ? parts(tokens)
    : (byForm(tokens, run) ?? byParts(tokens) ?? byContext(tokens, run))
}

/** `iPhone 15`: the number of a product belongs to its name. */
const withVersion = (tokens: readonly Token[], run: Run): readonly Token[] => {
  const next = afterRun(run)
  const last = run.tokens.at(-1)
  const isNext = next?.shape === 'number' && next.start - (last?.end ?? 0) === 1
  return isNext && tokens.length === run.tokens.length ? [...tokens, next] : tokens
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
  const titled = byTitle(tokens, run)
  if (titled !== undefined) return titled
  const first = tokens[0]?.lower ?? ''
  const last = tokens.at(-1)?.lower ?? ''
  const several = tokens.length > 1
  if (several && cues.corporateSuffix.has(last)) return found('organization', 'suffix', tokens)
  const of = tokens.findIndex(({ lower }) => lower === 'of')
  const headWord = of > 0 ? (tokens[of - 1]?.lower ?? '') : last
  if (several && cues.organizationHead.has(headWord)) return found('organization', 'head', tokens)
  const named = withoutDays(trimmed(tokens))
  const given = named[0]?.lower ?? ''
  if (named.length > 1 && named.length < 6 && givenNames.has(given)) {
    return found('person', 'given', named)
  }
  if (several && (cues.locationHead.has(headWord) || cues.locationFirst.has(first))) {
    return found('location', 'place-head', tokens)
  }
  if (named.length > 2 && named[1]?.text === '.') return found('person', 'initials', named)
  if (named.length === 1 && givenNames.has(given) && !notNames.has(given)) {
    return beforeRun(run)?.text === '@' ? [] : found('person', 'given-alone', named)
  }
  return undefined
}

/** `Cofinec Chairman Stephen Frater`: a person after the title, something else before it. */
const byTitle = (tokens: readonly Token[], run: Run): Found[] | undefined => {
  const at = tokens.findLastIndex(({ lower }) => cues.honorific.has(lower) || cues.role.has(lower))
  const name = tokens.slice(at + 1).filter(({ shape }, index) => index > 0 || shape !== 'mark')
  const last = name.at(-1)?.lower ?? ''
  if (at < 0 || name.length === 0 || name.length > 4 || cues.organizationHead.has(last)) {
    return undefined
  }
  const before = stripEnds(tokens.slice(0, at))
  const known = gazetteer.get(keyOf(before))
  const employer =
    known === undefined ? (byForm(before, run) ?? []) : found(known, `part-${known}`, before)
  return [...(before.length > 0 ? employer : []), ...found('person', 'honorific', name)]
}

const withoutDays = (tokens: readonly Token[]): readonly Token[] =>
  tokens.length > 1 && tokens.at(-1)?.text.endsWith('day') ? tokens.slice(0, -1) : tokens

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
    if (type === 'location') {
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

const DETERMINERS = new Set('the a an this that these our your my his her its their'.split(' '))

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
  const isPointed = DETERMINERS.has(before)
  if (size === 1 && isPointed && /^\p{Lu}{2,5}$/u.test(tokens[0]?.text ?? '')) {
    return found('organization', 'acronym', tokens)
  }
  const isPlain = tokens.every(({ shape, lower }) => shape === 'title' && !notNames.has(lower))
  if (size > 1 && size < 4 && isPlain && !isPointed) return found('person', 'two-words', tokens)
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
