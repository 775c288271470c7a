/** Pattern that is not proved linear, applied only to text of limited length. */
interface BoundedPattern {
  readonly file: string
  /** Beginning of `/source/flags`. */
  readonly start: string
  /** Maximum length of the text, in characters. */
  readonly max: number
  /** Code that limits it. */
  readonly reason: string
}

const BOUNDED: readonly BoundedPattern[] = [
  {
    file: 'plugins/analysis/analyze.ts',
    start: '/\\b(?:classif(?:y|ied)|',
    max: 4_096,
    reason: 'instructions, limited by their schema',
  },
  {
    file: 'plugins/analysis/llm/injection.ts',
    start: '/\\b(?:ignore|disregard|',
    max: 51_200,
    reason: 'the analyzed text, limited by its schema',
  },
  {
    file: 'plugins/content/extract/dates.ts',
    start: '/^(\\d{4})-?(\\d\\d)-?(\\d\\d)(?:[T ]+',
    max: 60,
    reason: 'LENGTH_MAX there',
  },
  {
    file: 'plugins/content/extract/phrases.ts',
    start: '/\\s*\\n\\s*/g',
    max: 4_000,
    reason: 'reads constants',
  },
  {
    file: 'plugins/tenders/parse/energy-words.ts',
    start: '/(?<![\\p{L}\\p{N}])(?:',
    max: 262_144,
    reason: 'too many words for recheck; nothing repeats but 30 letters at the end',
  },
  {
    file: 'server/web/format.ts',
    start: '/\\B(?=(?:\\d{3})+$)/g',
    max: 60,
    reason: 'reads formatted amounts and counts',
  },
]

/** Returns the maximum length of text for a pattern that is not proved linear, if it is listed. */
export const lengthLimitOf = (file: string, pattern: string): number | undefined =>
  BOUNDED.find((each) => each.file === file && pattern.startsWith(each.start))?.max

/** Files that build patterns from constants, when they are loaded or as described. */
export const BUILT: Readonly<Record<string, string>> = {
  'core/browser/watchdog.ts': 'reads /proc; the names are literals',
  'core/catalog/listings/discovery/canonical-url.ts': 'constant',
  'core/catalog/search/price-phrase.ts': 'constant',
  'core/config.ts': 'constant',
  'core/egress/headers.ts': 'constant',
  'core/hosting/entry.ts': 'constant',
  'core/ledger/checkpoint.ts': 'constant',
  'core/text.ts': 'constant',
  'core/ledger/verify/rules.ts': 'reads exports; the accounts are literals',
  'core/log.ts': 'constant',
  'plugins/analysis/amounts.ts': 'constant',
  'plugins/analysis/analyze.ts': 'constant',
  'plugins/analysis/complaints.ts': 'constant',
  'plugins/analysis/dates.ts': 'constant',
  'plugins/analysis/facts.ts': 'constant',
  'plugins/analysis/language.ts': 'constant',
  'plugins/analysis/llm/injection.ts': 'constant',
  'plugins/analysis/tokens.ts': 'constant',
  'plugins/content/extract/names.ts': 'constant',
  'plugins/content/extract/phrases.ts': 'constant',
  'plugins/tenders/parse/deadline.ts': 'constant',
  'plugins/tenders/parse/energy-words.ts': 'constant',
  'plugins/tenders/parse/lot-names.ts':
    'constant, but for three letters; the text has at most 200 characters',
  'plugins/tenders/parse/values.ts': 'constant',
  'server/mcp/oauth.ts': 'constant',
  'server/proxy/reserved-headers.ts': 'constant',
}
