import * as fc from 'fast-check'
import { embedded } from '../../../plugins/analysis/embedded.ts'
import type {
  Analysis,
  Classification,
  Entity,
  Sentiment,
} from '../../../plugins/analysis/engine.ts'
import { answer } from '../../../plugins/analysis/envelope.ts'
import { detectLanguage, isForeign } from '../../../plugins/analysis/language.ts'
import type { Request } from '../../../plugins/analysis/request.ts'
import type {
  AnalyzeInput,
  ClassifyInput,
  EntitiesInput,
  SentimentInput,
} from '../../../plugins/analysis/schemas.ts'
import { wellFormed } from '../../../plugins/analysis/text.ts'

interface Envelope<Result> {
  readonly language: { readonly code: string; readonly supported: boolean }
  readonly input: { readonly bytes: number; readonly characters: number }
  readonly warnings: readonly { readonly code: string }[]
  readonly result: Result
}

const ask = (request: Request): unknown => answer(embedded, request)

/** Results of the embedded engine, without threads. */
export const extractEntities = (input: EntitiesInput) =>
  ask({ id: 'call', endpoint: 'extract-entities', input }) as Envelope<{
    entities: (Entity & { count_in_text: number })[]
    counts: Record<string, number>
  }>
export const sentiment = (input: SentimentInput) =>
  ask({ id: 'call', endpoint: 'sentiment', input }) as Envelope<Sentiment>
export const classify = (input: ClassifyInput) =>
  ask({ id: 'call', endpoint: 'classify', input }) as Envelope<
    Classification & { top: string | null }
  >
export const analyze = (input: AnalyzeInput) =>
  ask({ id: 'call', endpoint: 'analyze', input }) as Envelope<Analysis>

/** Slice of `text` between two offsets of a unit. */
export const sliceIn = (text: string, unit: string, start: number, end: number): string => {
  if (unit === 'utf16') return text.slice(start, end)
  if (unit === 'utf8') return Buffer.from(text).subarray(start, end).toString()
  return Array.from(text).slice(start, end).join('')
}

const FRAGMENTS = [
  'Dr. Jane Smith of Acme Corp. said',
  'in Paris on 12 May 2024.',
  '👩‍👩‍👧‍👦 loves the battery,',
  'مرحبا بكم في دبي',
  '\u202eYork New\u202c',
  'It cost $3.5 million (or 1,200 EUR).',
  'The food was great but the service was terrible!',
  'e\u0301te\u0301 naïve 日本語。',
  '\ufeff',
  '\0',
  '\r\n',
  '\n\n',
  'iPhone 15',
  "it's the 1990s",
]

/**
 * Texts that mix what the engine detects with arbitrary Unicode, including lone surrogates; none is
 * refused for its language.
 */
export const anyText = fc
  .array(
    fc.oneof(
      fc.constantFrom(...FRAGMENTS),
      fc.string({ unit: 'binary', maxLength: 12 }),
      fc.string({ unit: 'grapheme', maxLength: 12 }),
      fc.integer({ min: 0xd8_00, max: 0xdf_ff }).map((code) => String.fromCharCode(code)),
    ),
    { minLength: 1, maxLength: 12 },
  )
  .map((parts) => parts.join(' '))
  .filter((text) => text.trim() !== '' && !isForeign(detectLanguage(wellFormed(text))))
