import { LRUCache } from 'lru-cache'
import { RE2JS } from 're2js'
import type { PageRefusal, PageRule, PricedPage } from '../../plugin/pages.ts'

const URL_MAX = 2_048

interface SellingHost {
  readonly host: string
  readonly origin: string
  readonly rules: readonly PageRule[]
}

/**
 * Finds the rule for a page. The host must equal the registered one: no subdomain, trailing dot or
 * other port. The path is matched as a lenient server might read it: decoded, without empty
 * segments, and case-insensitively for rules that deny. A page that a rule denies to an
 * agent is not sold to it by a rule for more agents.
 * @param rules most specific first: see `sortBySpecificity`
 * @param agent host of the verified agent that asks
 */
export function matchPage(
  { host, origin, rules }: SellingHost,
  text: string,
  agent?: string,
): PricedPage | PageRefusal {
  const url = text.length <= URL_MAX && !/[\0-\x20\x7f]/.test(text) ? URL.parse(text) : null
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:')) return 'malformed_url'
  if (url.hostname !== host || url.port !== '') return 'domain_not_registered'
  if (url.username !== '' || url.password !== '') return 'malformed_url'
  const path = normalizePath(url.pathname)
  if (path === undefined) return 'malformed_url'
  const applies = (rule: PageRule): boolean =>
    isFor(rule, agent) && matches(rule.pattern, path, !rule.allow)
  const rule = rules.find(applies)
  if (!rule) return 'page_not_for_sale'
  const denies = (each: PageRule): boolean =>
    !each.allow && breadth(each) < breadth(rule) && applies(each)
  if (!rule.allow || rules.some(denies)) return 'page_denied'
  return { url: `${origin}${url.pathname}${url.search}`, rule }
}

const isFor = ({ agents }: PageRule, agent: string | undefined): boolean =>
  agents.length === 0 || (agent !== undefined && (agents.includes(agent) || agents.includes('*')))

/** Returns the decoded path; undefined if servers could interpret it differently. */
function normalizePath(pathname: string): string | undefined {
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

/**
 * Sorts rules by precedence: more literal characters first, then fewer and narrower wildcards, then
 * rules that name agents before those for any agent and those for everyone.
 */
export const sortBySpecificity = (rules: readonly PageRule[]): readonly PageRule[] =>
  rules.toSorted((a, b) => {
    const [one, other] = [specificity(a.pattern), specificity(b.pattern)]
    return (
      other.letters - one.letters ||
      one.wide - other.wide ||
      one.narrow - other.narrow ||
      breadth(a) - breadth(b) ||
      Number(a.allow) - Number(b.allow) ||
      (a.pattern < b.pattern ? -1 : 1)
    )
  })

/** Reach of a rule: 0 for the agents that it names, 1 for all verified ones, 2 for everyone. */
const breadth = ({ agents }: PageRule): number =>
  agents.length === 0 ? 2 : Number(agents.includes('*'))

function specificity(pattern: string) {
  const wide = pattern.match(/\*\*/g)?.length ?? 0
  const stars = pattern.match(/\*/g)?.length ?? 0
  return { letters: pattern.length - stars, wide, narrow: stars - 2 * wide }
}

/** RE2 matches in linear time, so that no owner's pattern can block the hub. */
const globCache = new LRUCache<string, RE2JS>({ max: 20_000 })

function matches(pattern: string, path: string, anyCase: boolean): boolean {
  const key = `${anyCase} ${pattern}`
  const known = globCache.get(key) ?? compileGlob(pattern, anyCase)

  globCache.set(key, known)
  return known.matches(path)
}

/** Compiles a glob. `/blog/**` includes the folder itself; a trailing slash is ignored. */
function compileGlob(pattern: string, anyCase: boolean): RE2JS {
  const bare = pattern.length > 1 ? pattern.replace(/\/$/, '') : pattern
  const [, head = '', below = ''] = /^(.*?)(\/\*\*)?$/s.exec(bare) ?? []
  const headPattern = head
    .split(/(\*\*|\*)/)
    .map((part) => (part === '**' ? '.*' : part === '*' ? '[^/]*' : RE2JS.quote(part)))
    .join('')
  const flags = RE2JS.DOTALL | (anyCase ? RE2JS.CASE_INSENSITIVE : 0)
  return RE2JS.compile(`${headPattern}${below === '' ? '' : '(?:/.*)?'}`, flags)
}
