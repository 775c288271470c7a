import { Parser } from 'htmlparser2'

/** Characters in which a document declares its directives. */
const HEAD_MAX = 131_072
const ROBOTS: ReadonlySet<string> = new Set(['robots', 'agenthub'])

/**
 * Returns what a page asks of robots, such as `noai` or `noindex`: from its X-Robots-Tag and its
 * meta elements, each once.
 */
export function directivesOf(
  header: string | readonly string[] | undefined,
  body: Uint8Array,
): readonly string[] {
  const texts = [header ?? []].flat().flatMap(rulesForUs)
  const parser = new Parser({
    onopentag: (name, { name: about = '', content = '' }) => {
      if (name === 'meta' && ROBOTS.has(about.toLowerCase())) texts.push(content)
    },
  })
  parser.end(Buffer.from(body.subarray(0, HEAD_MAX)).toString('latin1'))
  const words = texts.flatMap((text) => text.split(','))
  return [...new Set(words.map((word) => word.trim().toLowerCase()))].filter(Boolean)
}

/** Rules with a value of their own, whose name is no robot's. */
const VALUED = /^(?:unavailable_after|max-[a-z-]+)$/

/** Rules of an X-Robots-Tag for every robot or this one: `otherbot: noindex, noai` has none. */
function rulesForUs(header: string): readonly string[] {
  let isForUs = true
  return header.split(',').flatMap((part) => {
    const [, name = '', rule = ''] = /^\s*([a-z_-]{1,40})\s*:(.*)$/i.exec(part) ?? []
    if (name === '' || VALUED.test(name.toLowerCase())) return isForUs ? [part] : []
    isForUs = ROBOTS.has(name.toLowerCase())
    return isForUs ? [rule] : []
  })
}
