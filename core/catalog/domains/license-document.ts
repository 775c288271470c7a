import { SaxesParser } from 'saxes'

/**
 * Terms of the pages whose URLs begin with the first part and contain the others in order.
 */
export interface LicensedContent {
  /** Parts of a pattern of robots.txt, between each `*`. */
  readonly parts: readonly string[]
  /** True if the last part must end the URL (`$`). */
  readonly isExact: boolean
  /** Length of the pattern: a longer one is more specific. */
  readonly length: number
  /** True if one of its licenses lets anyone use the pages as input of AI for nothing. */
  readonly isFree: boolean
}

const NAMESPACE = 'https://rslstandard.org/rsl'
const CONTENTS_MAX = 1_000
const AI_INPUT: ReadonlySet<string> = new Set(['all', 'ai-all', 'ai-input'])
/** Payments that are not required. */
const FREE_PAYMENTS: ReadonlySet<string> = new Set(['free', 'attribution', 'contribution'])

interface OpenContent {
  readonly url: string
  /** True if a server must grant a token first. */
  readonly needsToken: boolean
  isFree: boolean
}

/**
 * Parses a license document (RSL 1.0).
 * @param base URL of the site, for contents that are paths
 * @throws Error if it is not one, or has too many contents
 */
export function parseLicenses(text: string, base: string): readonly LicensedContent[] {
  const contents: LicensedContent[] = []
  let content: OpenContent | undefined
  let isFree = true
  let usage: 'permits' | 'prohibits' | undefined
  let words = ''
  let isRsl = false
  const parser = new SaxesParser({ xmlns: true })
  parser.on('error', (error) => {
    throw error
  })
  parser.on('opentag', ({ local, uri, attributes }) => {
    if (uri !== NAMESPACE) return
    const { url, server, type } = attributes
    if (local === 'content') {
      content = { url: url?.value ?? '', needsToken: server !== undefined, isFree: false }
    } else if (local === 'license') isFree = content?.needsToken === false
    else if (local === 'payment') isFree &&= FREE_PAYMENTS.has(type?.value ?? 'free')
    else if (local === 'reporting') isFree = false
    else if ((local === 'permits' || local === 'prohibits') && type?.value === 'usage') {
      usage = local
      words = ''
    }
  })
  parser.on('text', (part) => (words += part))
  parser.on('cdata', (part) => (words += part))
  parser.on('closetag', ({ local, uri }) => {
    if (uri !== NAMESPACE) return
    if (local === usage) {
      const names = words.trim().split(/\s+/)
      isFree &&= names.some((name) => AI_INPUT.has(name)) === (usage === 'permits')
      usage = undefined
    } else if (local === 'license' && content) content.isFree ||= isFree
    else if (local === 'content' && content) {
      if (contents.length === CONTENTS_MAX) throw new Error('too many contents')
      contents.push(toLicensed(content, base))
      content = undefined
    } else if (local === 'rsl') isRsl = true
  })
  parser.write(text).close()
  if (!isRsl) throw new Error('not an RSL document')
  return contents
}

/** Reads a pattern of robots.txt: a prefix, in which `*` is any text and a last `$` the end. */
function toLicensed({ url, isFree }: OpenContent, base: string): LicensedContent {
  const whole = url.startsWith('/') ? `${new URL(base).origin}${url}` : url
  const isExact = whole.endsWith('$')
  const parts = (isExact ? whole.slice(0, -1) : whole).split(/\*+/)
  return { parts, isExact, length: whole.length, isFree }
}

/** Returns true if the terms are for a URL. Compares parts, because a site may name any pattern. */
export function isLicensed({ parts, isExact }: LicensedContent, url: string): boolean {
  const [prefix = '', ...others] = parts
  if (!url.startsWith(prefix)) return false
  let at = prefix.length
  const last = isExact ? others.pop() : undefined
  for (const part of others) {
    const found = url.indexOf(part, at)
    if (found === -1) return false
    at = found + part.length
  }
  if (last === undefined) return !isExact || at === url.length
  return url.length - last.length >= at && url.endsWith(last)
}
