import { isShallow } from '../../../json.ts'
import { cleanText, visibleJson } from '../../../text.ts'

/** Normalizes tags: lower-case letters, digits and hyphens, without duplicates. */
export function cleanTags(value: unknown): string[] {
  if (!Array.isArray(value)) return []
  const tags = value.slice(0, 50).map((tag) =>
    cleanText(tag, 80)
      .toLowerCase()
      .replace(/[^\p{L}\p{N}]+/gu, '-')
      .replace(/^-|-$/g, ''),
  )
  return [...new Set(tags)].filter((tag) => tag !== '' && tag.length <= 40).slice(0, 12)
}

/** Categories with their typical words. */
const CATEGORIES = {
  weather: /\b(weather|forecast|climate|meteo|temperature|aqi|pollut)|^air$/,
  crypto:
    /\b(crypto|blockchain|token|defi|nft|wallet|chain|swap|solana|ethereum|bitcoin|btc|eth|gas)\b/,
  finance:
    /\b(finance|financial|stock|market|trading|equit|forex|fx|bank|iban|invoice|tax|price|earning)/,
  security: /\b(security|threat|malware|vulnerab|cve|phishing|fraud|kyc|sanction|compliance|risk)/,
  social: /\b(social|twitter|tweet|reddit|farcaster|instagram|linkedin|tiktok|youtube)/,
  media: /\b(image|video|audio|music|speech|voice|photo|picture|tts|transcri|media|art)\b/,
  ai: /\b(ai|llm|gpt|nlp)\b|\b(inference|chat|embedding|summar|classif|sentiment|translat)/,
  search: /\b(search|serp|crawl|scrap|extract|browse|web)\b/,
  location: /\b(location|geo|map|address|route|travel|flight|hotel|places?)\b/,
  commerce: /\b(commerce|shop|product|gift|card|order|delivery|purchase|buy)\b/,
  communication: /\b(e-?mail|sms|phone|message|messaging|notification|calendar|meeting)\b/,
  health: /\b(health|medical|drug|clinical|patient|nutrition|fitness)\b/,
  developer: /\b(developer|code|github|compute|storage|hosting|database|dns|ip|json|pdf|qr)\b/,
  data: /\b(data|dataset|statistics|lookup|enrich|company|people|person|news|research)/,
} as const satisfies Readonly<Record<string, RegExp>>

/** Category with the most of its words in the first text that has any. */
export function categoryOf(...texts: readonly string[]): string {
  for (const text of texts) {
    const words = text
      .toLowerCase()
      .replace(/[_/-]+/g, ' ')
      .split(' ')
    const counts = Object.entries(CATEGORIES).map(
      ([name, pattern]) => [name, words.filter((word) => pattern.test(word)).length] as const,
    )
    const [best] = counts.toSorted(([, a], [, b]) => b - a)
    if (best![1] > 0) return best![0]
  }
  return 'other'
}

/** `/v1/people-enrich` → `People enrich`; the host if the path has no words. */
export function nameOfUrl(url: string): string {
  const { hostname, pathname } = new URL(url)
  const words = decoded(pathname)
    .split('/')
    .filter((part) => /\p{L}{2}/u.test(part) && !/^(:|\{|v\d|api$|x402$)/i.test(part))
    .slice(-2)
    .map((part) => part.replace(/\.\w{1,5}$/, '').replace(/[-_+.\s]+/g, ' '))
  const name = cleanText(words.join(' '), 100)
  return name === '' ? hostname.slice(0, 100) : `${name[0]!.toUpperCase()}${name.slice(1)}`
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

/** U+0000 and lone surrogates as written by JSON.stringify. */
const UNSTORABLE = /\\u(?:0000|d[89a-f][\da-f]{2})/i

/** Returns an untrusted value, visible; null if it is too large, too deep or invalid. */
export function storable(value: unknown, maxBytes: number): unknown {
  if (value === undefined || value === null || !isShallow(value, 24)) return null
  const text = JSON.stringify(value)
  return Buffer.byteLength(text) > maxBytes || UNSTORABLE.test(text) ? null : visibleJson(value)
}
