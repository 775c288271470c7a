import { readFileSync } from 'node:fs'
import { readWordSet, wordList } from './lexicon.ts'
import type { Sentence } from './text.ts'
import { type Span, type Token, tokenize } from './tokens.ts'

/** An opinion word with its valence after negation and emphasis. */
export interface Opinion extends Span {
  readonly text: string
  /** Index of the word among the tokens of its sentence. */
  readonly at: number
  /** About -5 to 5. */
  readonly valence: number
  readonly negated: boolean
}

/** Valences of `opinions.txt`, which override VADER's; entries of several words are phrases. */
const OVERRIDES = wordList('opinions.txt').map((entry): [string, number] => {
  const at = entry.lastIndexOf(':')
  return [entry.slice(0, at), Number(entry.slice(at + 1))]
})

const readLexicon = (): Map<string, number> => {
  const path = new URL(import.meta.resolve('vader-sentiment/vader_lexicon.txt'))
  const lexicon = new Map<string, number>()
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    const [word = '', valence = ''] = line.split('\t')
    if (/^[\p{L}'-]+$/u.test(word)) lexicon.set(word, Number(valence))
  }
  for (const [word, valence] of OVERRIDES) if (!word.includes(' ')) lexicon.set(word, valence)
  return lexicon
}

/** Opinion phrases by their first word: the remaining words and the valence. */
const PHRASES = new Map<string, (readonly [readonly string[], number])[]>()
for (const [phrase, valence] of OVERRIDES) {
  const [first, ...rest] = tokenize(phrase).map(({ lower }) => lower)
  if (first === undefined || rest.length === 0) continue
  PHRASES.set(first, [...(PHRASES.get(first) ?? []), [rest, valence]])
}

interface Phrase {
  readonly at: number
  readonly size: number
  readonly valence: number
}

/** Finds the opinion phrases among the tokens. */
export const phrasesIn = (tokens: readonly Token[]): Phrase[] => {
  const found: Phrase[] = []
  for (const [at, { lower }] of tokens.entries()) {
    for (const [rest, valence] of PHRASES.get(lower) ?? []) {
      if (rest.every((word, next) => tokens[at + 1 + next]?.lower === word)) {
        found.push({ at, size: 1 + rest.length, valence })
      }
    }
  }
  return found
}

const LEXICON = readLexicon()
/** Function words that carry an opinion; all others are ignored, even if a lexicon has them. */
const OPINION_FUNCTION_WORDS = new Set(['no', 'like'])
const FUNCTION_WORDS = readWordSet('function-words.txt')

const INTENSIFIERS = new Map<string, number>([
  ...(
    'absolutely amazingly awfully completely considerably deeply enormously entirely especially ' +
    'exceptionally extremely fully greatly highly hugely incredibly intensely majorly most more ' +
    'particularly purely quite really remarkably seriously so substantially thoroughly totally ' +
    'tremendously unbelievably utterly very super too truly'
  )
    .split(' ')
    .map((word): [string, number] => [word, 0.293]),
  ...(
    'almost barely hardly kinda less little marginally occasionally partly scarcely slightly ' +
    'somewhat sorta mildly fairly'
  )
    .split(' ')
    .map((word): [string, number] => [word, -0.293]),
])
const NEGATIONS = new Set(
  (
    'not no never none nobody nothing neither nor nowhere without cannot cant dont doesnt ' +
    'didnt isnt wasnt arent werent wont wouldnt couldnt shouldnt havent hasnt hadnt aint ' +
    'rarely seldom hardly barely lacks lack lacking nt'
  ).split(' '),
)
const NEGATION_FACTOR = -0.74
const WINDOW = 4
const CAPITALS_BOOST = 0.733

/** True if a word negates what follows it. */
export const isNegation = ({ lower }: Token): boolean =>
  NEGATIONS.has(lower) ||
  (lower.includes("'") && (lower.endsWith("n't") || NEGATIONS.has(lower.replace("'", ''))))

/** Opinion words in order. `but` weakens those before it and strengthens those after it. */
export const opinionsOf = ({ tokens }: Sentence): Opinion[] => {
  const isShouting = tokens.every(({ shape }) => shape !== 'lower')
  const turn = turningPoint(tokens)
  const phrases = new Map(phrasesIn(tokens).map((phrase) => [phrase.at, phrase]))
  let until = 0
  return tokens.flatMap((token, at): Opinion[] => {
    if (at < until) return []
    const phrase = phrases.get(at)
    if (phrase !== undefined) {
      until = at + phrase.size
      const { start } = token
      const end = tokens[until - 1]?.end ?? token.end
      const text = tokens
        .slice(at, until)
        .map((one) => one.text)
        .join(' ')
      return [{ text, start, end, at, valence: phrase.valence, negated: false }]
    }
    const base = baseValence(token)
    if (base === 0) return []
    const { negated, push } = context(tokens, at)
    const shout = token.shape === 'upper' && !isShouting ? CAPITALS_BOOST : 0
    const size = Math.max(0.1, Math.abs(base) + shout + push)
    const turned = turn < 0 ? 1 : at < turn ? 0.6 : 1.4
    const valence = Math.sign(base) * size * (negated ? NEGATION_FACTOR : 1) * turned
    return [{ text: token.text, start: token.start, end: token.end, at, valence, negated }]
  })
}

const baseValence = ({ lower }: Token): number =>
  FUNCTION_WORDS.has(lower) && !OPINION_FUNCTION_WORDS.has(lower) ? 0 : (LEXICON.get(lower) ?? 0)

/** Negation and intensifiers before a word, up to punctuation other than `'`. */
const context = (tokens: readonly Token[], at: number): { negated: boolean; push: number } => {
  let negated = false
  let push = 0
  for (let back = 1; back <= WINDOW; back += 1) {
    const token = tokens[at - back]
    if (token === undefined || /^[,;:.!?()—–]$/u.test(token.text)) break
    if (token.lower === 'but') break
    if (isNegation(token) && !isOnly(tokens, at - back)) negated = true
    if (back < 4) push += (INTENSIFIERS.get(token.lower) ?? 0) * (1 - (back - 1) * 0.05)
  }
  return { negated, push }
}

/** True for `not only`, `not just` and `not merely`, which negate nothing. */
const isOnly = (tokens: readonly Token[], at: number): boolean =>
  /^(?:only|just|merely)$/.test(tokens[at + 1]?.lower ?? '')

const turningPoint = (tokens: readonly Token[]): number => {
  const at = tokens.findLastIndex(({ lower }) => lower === 'but' || lower === 'however')
  return at > 1 && at < tokens.length - 2 ? at : -1
}

/** Valences of all lexicon words, for training. */
export const opinionLexicon = (): ReadonlyMap<string, number> => LEXICON
export const isInLexicon = (lower: string): boolean => LEXICON.has(lower)

/** True if a word is an opinion by itself. */
export const isOpinion = (token: Token): boolean => Math.abs(baseValence(token)) >= 0.5
