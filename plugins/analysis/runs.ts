import { cues, givenNames, plainWords } from './gazetteer.ts'
import type { Sentence, Token } from './text.ts'

/** A stretch of capitalised words, where it stands in its sentence. */
export interface Run {
  readonly tokens: readonly Token[]
  readonly from: number
  readonly sentence: Sentence
  readonly shouted: boolean
}

/** Words that the text also writes without a capital, and so hardly names. */
export const lowerWords = (sentences: readonly Sentence[]): ReadonlySet<string> =>
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
export const runsOf = (text: string, sentence: Sentence, common: ReadonlySet<string>): Run[] => {
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
