import { francAll } from 'franc-min'
import { readWordSet } from './lexicon.ts'

/** Detected language. `code` is ISO 639-1 if there is one, `und` if unknown. */
export interface Language {
  readonly code: string
  /** Confidence of the detection, 0 to 1. */
  readonly confidence: number
  /** True if the engine fully supports this language. */
  readonly supported: boolean
}

const FUNCTION_WORDS = readWordSet('function-words.txt')
const SAMPLE_CHARACTERS = 4_000
const SAMPLE_WORDS = 400

/** Uses 4,000 characters. Function words decide for English because trigrams need longer texts. */
export const detectLanguage = (text: string): Language => {
  const sample = text.slice(0, SAMPLE_CHARACTERS)
  const found =
    sample
      .toLowerCase()
      .match(/\p{L}+/gu)
      ?.slice(0, SAMPLE_WORDS) ?? []
  const letters = found.reduce((sum, word) => sum + word.length, 0)
  if (letters === 0) return { code: 'und', confidence: 0, supported: false }
  const share = found.filter((word) => FUNCTION_WORDS.has(word)).length / found.length
  const [best, second] = francAll(sample, { minLength: 10 })
  const code = canonical(best?.[0] ?? 'und')
  const margin = Math.min(1, (1 - (second?.[1] ?? 0)) * 3)
  if (share >= 0.25 || (code === 'en' && share >= 0.1)) {
    return english(Math.min(0.99, 0.7 + share * 0.7))
  }
  const isPlain = /^[\0-\x7f‘’“”–—…]*$/.test(sample)
  if (isPlain && letters < 40) return english(0.4 + share)
  if (code === 'en') return english(0.6 + 0.3 * margin)
  const confidence = code === 'und' ? 0 : round(0.5 + 0.49 * margin)
  return { code, confidence, supported: false }
}

const english = (confidence: number): Language => ({
  code: 'en',
  confidence: round(confidence),
  supported: true,
})

/** Canonical tag, which prefers the shorter code: `deu` becomes `de`. */
const canonical = (code: string): string => Intl.getCanonicalLocales(code)[0] ?? code

const round = (value: number): number => Math.round(value * 100) / 100
