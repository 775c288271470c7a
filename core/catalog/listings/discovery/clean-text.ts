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
