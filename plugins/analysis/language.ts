import { eld } from 'eld/extrasmall'
import { cues } from './gazetteer.ts'
import { readWordSet, wordList } from './lexicon.ts'
import { hasKnownName } from './tagger/lists.ts'
import { tokenize } from './tokens.ts'
import { words } from './words.ts'

/** Detected language. `code` is ISO 639-1 if there is one, `und` if unknown, `mis` if uncoded. */
export interface Language {
  readonly code: string
  /** Confidence of the detection, 0 to 1. */
  readonly confidence: number
  /** True if the embedded engine supports this language. */
  readonly supported: boolean
}

const FUNCTION_WORDS = readWordSet('function-words.txt')
/** Function words of English that are frequent in other languages, too. */
const SHARED_WORDS = readWordSet('shared-words.txt')
/** Function words of other languages, without those that are English words as well. */
const FOREIGN_WORDS = readWordSet('foreign-words.txt')
/** Sampled texts consist of the beginning, middle and end, each with this length. */
const SAMPLE_CHARACTERS = 1_400
/** Length of the pieces that are detected separately, so that mixed texts are recognized. */
const PIECE_CHARACTERS = { min: 60, max: 400 } as const
/** Share of English letters from which a text counts as English. */
const ENGLISH_SHARE = 1 / 3

/** Detects whether a text is English; unknown are texts of names, numbers, code or links. */
export const detectLanguage = (text: string): Language => {
  const pieces = piecesOf(cleaned(sampleOf(text))).map(readPiece)
  const letters = pieces.reduce((sum, one) => sum + one.letters, 0)
  const english = pieces.filter(({ code }) => code === 'en')
  if (sumLetters(english) >= letters * ENGLISH_SHARE && english.length > 0) {
    return { code: 'en', confidence: meanConfidence(english), supported: true }
  }
  const foreign = pieces.filter(({ code }) => code !== 'en' && code !== 'und')
  if (sumLetters(foreign) < letters / 2 || foreign.length === 0) {
    return { code: 'und', confidence: 0, supported: false }
  }
  const codes = Map.groupBy(foreign, ({ code }) => code)
  const [code = 'mis', same = foreign] =
    [...codes].sort(([, a], [, b]) => sumLetters(b) - sumLetters(a))[0] ?? []
  return { code, confidence: meanConfidence(same), supported: false }
}

/** True if a text is certainly in a language other than English. */
export const isForeign = ({ code, supported }: Language): boolean => !supported && code !== 'und'

const sampleOf = (text: string): string => {
  if (text.length <= 3 * SAMPLE_CHARACTERS) return text
  const middle = (text.length - SAMPLE_CHARACTERS) >> 1
  return [0, middle, text.length - SAMPLE_CHARACTERS]
    .map((from) => text.slice(from, from + SAMPLE_CHARACTERS))
    .join('\n')
}

const NO_WORDS = /^(?:https?:|www\.|[@#])|@/
/** Phrases with accents that English has borrowed. */
const LOANWORDS = new RegExp(
  `(?<!\\p{L})(?:${wordList('loanwords.txt').join('|')})(?!\\p{L})`,
  'giu',
)
/** Removes markup, links, addresses, tags, loanwords and words with digits. */
const cleaned = (sample: string): string =>
  sample
    .replace(/<[^<>]*>/g, ' ')
    .replace(/&#?\w{1,8};/g, "'")
    .replace(LOANWORDS, ' ')
    .replace(/\S+/g, (part) => (NO_WORDS.test(part) ? ' ' : part))
    .replace(/\w+/g, (word) => (/[\d_]/.test(word) ? ' ' : word))

/** Sentences and lines, merged up to the minimum length of a piece. */
const piecesOf = (sample: string): string[] => {
  const pieces: string[] = []
  for (const sentence of sample.split(/(?<=[.!?。！？])\s+|\n+/)) {
    for (let at = 0; at < sentence.length || at === 0; at += PIECE_CHARACTERS.max) {
      const part = sentence.slice(at, at + PIECE_CHARACTERS.max)
      const last = pieces.at(-1)
      if (last === undefined || last.length >= PIECE_CHARACTERS.min) pieces.push(part)
      else pieces[pieces.length - 1] = `${last} ${part}`
    }
  }
  return pieces
}

interface Piece {
  /** `en`, `und`, `mis` or the code of another language. */
  readonly code: string
  readonly confidence: number
  readonly letters: number
}

const sumLetters = (pieces: readonly Piece[]): number =>
  pieces.reduce((sum, { letters }) => sum + letters, 0)

const meanConfidence = (pieces: readonly Piece[]): number => {
  const weighted = pieces.reduce((sum, one) => sum + one.confidence * one.letters, 0)
  return Math.round((100 * weighted) / Math.max(1, sumLetters(pieces))) / 100
}

/** With fewer letters in distinct words, and in mixed scripts, only clear cases are foreign. */
const SHORT_LETTERS = 13
const CLEAR_ODDS = 3
/** The same for a text of names and a short word, whose names say little. */
const NAMES_ODDS = 2
/** Below this many letters, words that the detector does not know may be of any language. */
const UNKNOWN_LETTERS = 15
/** Fewer letters prove nothing. */
const WORD_LETTERS_MIN = 6

const WORD = /\p{L}[\p{L}\p{M}'’]*/gu
/** Latin words are at most this long; other scripts may have no spaces. */
const WORD_MAX = 40
const isLatin = (word: string): boolean => /^\p{Script=Latin}/u.test(word)

const readPiece = (piece: string): Piece => {
  const found = (piece.match(WORD) ?? []).filter(
    (word) => word.length <= WORD_MAX || !isLatin(word),
  )
  const letters = found.reduce((sum, word) => sum + word.length, 0)
  if (letters < 2) return { code: 'und', confidence: 0, letters }
  const script = foreignScript(found.join(''))
  if (script !== undefined)
    return { code: scriptLanguage(piece, script), confidence: 0.99, letters }
  // English texts quote words in other scripts.
  const latin = found.filter(isLatin)
  const isMixed = latin.length < found.length
  const { best, odds } = readEnglish(isMixed ? latin.join(' ') : piece, latin)
  if (odds >= 0) return { code: 'en', confidence: sigmoid(odds), letters }
  const distinct = [...new Set(found)].join('').length
  const isDoubtful =
    ((distinct < SHORT_LETTERS || isMixed) && odds > -CLEAR_ODDS) ||
    (isNamesAndWord(found) && odds > -NAMES_ODDS) ||
    isEnglishBesideNames(found)
  const isUnknown = distinct < (best === undefined ? UNKNOWN_LETTERS : WORD_LETTERS_MIN)
  if (isDoubtful || isUnknown || isNames(found) || isCode(piece)) {
    return { code: 'und', confidence: 0, letters }
  }
  return { code: best ?? 'mis', confidence: sigmoid(-odds), letters }
}

/** Weights of `measuresOf`, fitted by logistic regression on sentences of 75 languages. */
const WEIGHTS = [-3.16, 5.32, 4.39, 5.35, 5.91, 2.27, 4.7, -8.1, -1.35, -2.01, -3.54]
const COMMON_RANK = 15_000
/** Words and spellings of chats that other languages lack. */
const INFORMAL_WORDS = new Set(
  (
    'ur plz pls asap lol lmao omg btw imo imho idk thx gonna wanna gotta kinda sorta yall tho ' +
    'cuz coz wtf smh ngl tbh dunno aint ya yeah yep nope luv gud dis dat wat wht thats whats ' +
    'lets youre theyre hes shes gimme lemme bro dude bruh tldr fyi app sux'
  ).split(' '),
)

interface Reading {
  /** Log-odds that the piece is English. */
  readonly odds: number
  /** Likeliest other language. */
  readonly best: string | undefined
}

const readEnglish = (piece: string, latin: readonly string[]): Reading => {
  const scores: Readonly<Record<string, number>> = eld.detect(piece).getScores()
  const others = Object.entries(scores).filter(([code]) => code !== 'en')
  const [best, score = 0] = others.sort(([, a], [, b]) => b - a)[0] ?? []
  const measures = measuresOf(latin, (scores['en'] ?? 0) - score)
  const odds = measures.reduce((sum, one, at) => sum + one * (WEIGHTS[at] ?? 0), 0)
  return { odds, best }
}

const partsOf = (word: string): string[] => word.toLowerCase().split(/['’]/).filter(Boolean)

/** Evidence for English; `lead` is the detector's score of English over the next language. */
const measuresOf = (found: readonly string[], lead: number): number[] => {
  const letters = Math.max(1, found.join('').length)
  const { index } = words()
  const lower = found.flatMap(partsOf)
  const count = Math.max(1, lower.length)
  const isFunctionWord = (word: string): boolean =>
    FUNCTION_WORDS.has(word) || INFORMAL_WORDS.has(word)
  const content = lower.filter((word) => !isFunctionWord(word))
  const shared = lower.filter((word) => SHARED_WORDS.has(word)).length
  const own = lower.length - content.length - shared
  const common = content.filter((word) => (index.get(word) ?? Infinity) < COMMON_RANK).length
  const known = content.filter((word) => index.has(word)).length
  // Names have accents and foreign words in English texts, too.
  const plain = found.filter((word, at) => at === 0 || !/^\p{Lu}\p{Ll}/u.test(word))
  const accents = plain.join('').replace(/[A-Za-z'’]/g, '').length
  const foreign = new Set(plain.flatMap(partsOf).filter((word) => FOREIGN_WORDS.has(word))).size
  return [
    1,
    lead,
    lead * Math.min(1, letters / 60),
    Math.sqrt(own / count),
    shared / count,
    common / Math.max(1, content.length),
    known / count,
    Math.sqrt(accents / letters),
    own > 0 ? 0 : Math.min(1, letters / 100),
    Math.sqrt(foreign / count),
    (Math.min(2, foreign) / 2) * (1 - own / count),
  ]
}

const sigmoid = (odds: number): number => 1 / (1 + Math.exp(-odds))

/** Codes of scripts that the detector does not know; others are uncoded. */
const SCRIPTS: readonly (readonly [RegExp, string])[] = [
  [/\p{Script=Myanmar}/u, 'my'],
  [/\p{Script=Khmer}/u, 'km'],
  [/\p{Script=Sinhala}/u, 'si'],
  [/\p{Script=Mongolian}/u, 'mn'],
  [/\p{Script=Tibetan}/u, 'bo'],
]
/** The detector's language, unless that has Latin script. */
const scriptLanguage = (piece: string, script: string): string => {
  const { language } = eld.detect(piece)
  if (language === '' || new Intl.Locale(language).maximize().script === 'Latn') return script
  return language
}

/** Language code if most letters belong to another script than Latin; `mis` if it has none. */
const foreignScript = (letters: string): string | undefined => {
  const bare = letters.replace(/[\p{M}'’]/gu, '')
  const others = bare.replace(/\p{Script=Latin}/gu, '')
  if (others.length * 2 <= bare.length) return undefined
  return SCRIPTS.find(([pattern]) => pattern.test(others))?.[1] ?? 'mis'
}

/** Words that connect the parts of a name. */
const PARTICLES = /^(?:de|da|do|dos|das|del|della|di|la|le|van|von|der|den|bin|al|el)$/
const isFunctionWordOfOthers = (lower: string): boolean =>
  FOREIGN_WORDS.has(lower) && !PARTICLES.test(lower) && !cues.corporateSuffix.has(lower)
/** True for a list of names: all words are capitalized, and a long list has a known name. */
const isNames = (found: readonly string[]): boolean => {
  const lower = found.map((word) => word.toLowerCase())
  return (
    found.every((word) => /^\p{Lu}/u.test(word) || PARTICLES.test(word)) &&
    found.some((word) => /\p{Ll}/u.test(word)) &&
    !PARTICLES.test(found.at(-1) ?? '') &&
    !lower.some(isFunctionWordOfOthers) &&
    ([...new Set(lower)].join('').length < UNKNOWN_LETTERS ||
      hasKnownName(tokenize(found.join(' '))))
  )
}

/** Rarer and shorter words of the lexicon occur in other languages as well. */
const PLAIN_RANKS = [0, 0, 0, 2_500]
const PLAIN_RANK = 12_000
const isPlainEnglish = (word: string): boolean =>
  FUNCTION_WORDS.has(word) ||
  (words().index.get(word) ?? Infinity) < (PLAIN_RANKS[word.length] ?? PLAIN_RANK)
const isForeignWord = (word: string): boolean =>
  FOREIGN_WORDS.has(word) || (word.length >= PLAIN_RANKS.length && !isPlainEnglish(word))

/** True if hardly anything but names is there, as in "Maria Silva paid". */
const isNamesAndWord = (found: readonly string[]): boolean => {
  const rest = found.filter((word) => !/^\p{Lu}/u.test(word))
  return (
    rest.length < found.length &&
    rest.join('').length < WORD_LETTERS_MIN &&
    !rest.some(isForeignWord)
  )
}

/** True if a capitalized word has an accent and all words in lower case are English. */
const isEnglishBesideNames = (found: readonly string[]): boolean => {
  const rest = found.filter((word) => !/^\p{Lu}/u.test(word))
  return (
    rest.length < found.length &&
    found.some((word) => /^\p{Lu}.*[^A-Za-z'’]/u.test(word)) &&
    rest.every((word) => isPlainEnglish(word) && !FOREIGN_WORDS.has(word)) &&
    rest.some((word) => !SHARED_WORDS.has(word))
  )
}

/** Minimum share of brackets, operators and similar marks in program code. */
const CODE_MARKS_SHARE = 0.06
const CODE_MARK = /[{}[\]<>=;|\\/$&_`~^]|\w\(/g
const isCode = (piece: string): boolean =>
  (piece.match(CODE_MARK)?.length ?? 0) >= piece.length * CODE_MARKS_SHARE
