import type { CheerioAPI } from 'cheerio/slim'

/** Hosts and paths of forums. */
const FORUM_URL = new RegExp(
  '^https?://(?:forums?|community|discuss|discourse|boards?|answers|talk)\\.|' +
    '/(?:forums?|threads?|boards?|discussions?|talk|comments|s)/|' +
    '/(?:t|topic)/(?:[^/]{1,200}/)?\\d|showthread|viewtopic|showtopic',
  'i',
)
const FORUM_SOFTWARE =
  /discourse|phpbb|vbulletin|xenforo|flarum|invision|vanilla|nodebb|simple machines|mybb/i

/** Returns true for a page whose comments are its content. Those below questions and answers are not. */
export function isForum($: CheerioAPI, url: string): boolean {
  return (
    FORUM_URL.test(url) ||
    FORUM_SOFTWARE.test($('meta[name=generator]').attr('content') ?? '') ||
    $('html#XF, body.ipsApp, [itemtype$=DiscussionForumPosting]').length > 0 ||
    $('script[type="application/ld+json"]').text().includes('"DiscussionForumPosting"')
  )
}
