import type { CheerioAPI } from 'cheerio/slim'

const FORUM_HOST = /^(?:forums?|community|discuss|discourse|boards?|answers|talk)\./
const FORUM_PATH = /\/(?:forums?|threads?|boards?|discussions?|talk|comments|s)\//
/** Paths such as `/t/name-of-the-thread/17`. */
const THREAD_PATH = /\/(?:t|topic)\/(?:[^/]+\/)?\d|showthread|viewtopic|showtopic/
const FORUM_SOFTWARE = [
  'discourse',
  'phpbb',
  'vbulletin',
  'xenforo',
  'flarum',
  'invision',
  'vanilla',
  'nodebb',
  'simple machines',
  'mybb',
] as const
const MARKS = 'html#XF, body.ipsApp, [itemtype$=DiscussionForumPosting]'

/** Returns true for a thread, whose comments are its content, unlike those below an answer. */
export function isForum($: CheerioAPI, address: string): boolean {
  const { hostname, href } = new URL(address.slice(0, 2_000).toLowerCase())
  const software = ($('meta[name=generator]').attr('content') ?? '').toLowerCase()
  return (
    FORUM_HOST.test(hostname) ||
    FORUM_PATH.test(href) ||
    THREAD_PATH.test(href) ||
    FORUM_SOFTWARE.some((name) => software.includes(name)) ||
    $(MARKS).length > 0 ||
    $('script[type="application/ld+json"]').text().includes('"DiscussionForumPosting"')
  )
}
