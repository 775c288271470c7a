import { RE2JS } from 're2js'
import type { PageRefusal, PageRule, PricedPage } from '../../plugin/pages.ts'

const URL_MAX = 2_048

/**
 * Which rule a page falls under. The host must be exactly the one that was registered: no
 * sub-domain, no last dot, no other port. The path is matched as a server would read it at the
 * worst: decoded, without empty segments, and for rules that deny in any case of letters.
 * @param rules the most specific ones first: see `bySpecificity`
 */
export function pageOf(
  {
    host,
    origin,
    rules,
  }: {
    readonly host: string
    readonly origin: string
    readonly rules: readonly PageRule[]
  },
  text: string,
): PricedPage | PageRefusal {
  const url = text.length <= URL_MAX && !/[\0-\x20\x7f]/.test(text) ? URL.parse(text) : null
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:')) return 'malformed_url'
  if (url.hostname !== host || url.port !== '') return 'domain_not_registered'
  if (url.username !== '' || url.password !== '') return 'malformed_url'
  const path = readPath(url.pathname)
  if (path === undefined) return 'malformed_url'
  const rule = rules.find(({ pattern, allow }) => matches(pattern, path, !allow))
  if (!rule) return 'page_not_for_sale'
  if (!rule.allow) return 'page_denied'
  return { url: `${origin}${url.pathname}${url.search}`, rule }
}

/** As a server may read it; undefined for one that two servers could read differently. */
function readPath(pathname: string): string | undefined {
  let decoded: string
  try {
    decoded = decodeURIComponent(pathname)
  } catch {
    return undefined // not UTF-8
  }
  if (/[\p{Cc}\\]|%(?:2e|2f|5c)/iu.test(decoded)) return undefined
  const segments = decoded.split('/').filter((segment) => segment !== '')
  if (segments.some((segment) => segment === '.' || segment === '..')) return undefined
  return `/${segments.join('/')}`
}

/** The order in which rules are tried: more letters first, then fewer and narrower wildcards. */
export const bySpecificity = (rules: readonly PageRule[]): readonly PageRule[] =>
  rules.toSorted((a, b) => {
    const [one, other] = [weight(a.pattern), weight(b.pattern)]
    return (
      other.letters - one.letters ||
      one.wide - other.wide ||
      one.narrow - other.narrow ||
      Number(a.allow) - Number(b.allow) ||
      (a.pattern < b.pattern ? -1 : 1)
    )
  })

function weight(pattern: string) {
  const wide = pattern.match(/\*\*/g)?.length ?? 0
  const stars = pattern.match(/\*/g)?.length ?? 0
  return { letters: pattern.length - stars, wide, narrow: stars - 2 * wide }
}

/** Patterns run on RE2, in linear time: owners may write any without holding up the hub. */
const compiled = new Map<string, RE2JS>()
const COMPILED_MAX = 20_000

function matches(pattern: string, path: string, anyCase: boolean): boolean {
  const key = `${anyCase} ${pattern}`
  const known = compiled.get(key) ?? compileGlob(pattern, anyCase)
  if (compiled.size >= COMPILED_MAX) compiled.clear()
  compiled.set(key, known)
  return known.matches(path)
}

/** `/blog/**` is the folder itself and all below it; a last slash means nothing. */
function compileGlob(pattern: string, anyCase: boolean): RE2JS {
  const bare = pattern.length > 1 ? pattern.replace(/\/$/, '') : pattern
  const [, head = '', below = ''] = /^(.*?)(\/\*\*)?$/s.exec(bare) ?? []
  const inner = head
    .split(/(\*\*|\*)/)
    .map((part) => (part === '**' ? '.*' : part === '*' ? '[^/]*' : RE2JS.quote(part)))
    .join('')
  const flags = RE2JS.DOTALL | (anyCase ? RE2JS.CASE_INSENSITIVE : 0)
  return RE2JS.compile(`${inner}${below === '' ? '' : '(?:/.*)?'}`, flags)
}
