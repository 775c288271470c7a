/** Maximum length of a boilerplate line; longer ones are the author's. */
const LENGTH_MAX = 220
const SHORT_MAX = 90

/** Beginnings of lines that lead elsewhere, in several languages. */
const BEGINNINGS = `
  follow (?:\\S{1,40} ){1,4}on (?:twitter|facebook|instagram|youtube|x\\b)|like us on|find us on
  |join the conversation|we may earn|this post contains affiliate|in this article:?$
  |jetzt abonnieren|hier klicken|abonnez-vous|suivez-nous
  |suscríbete|síguenos|iscriviti|seguici|inscreva-se|siga-nos|zapisz się|obserwuj nas|read more
  |read also|also read|read next|read:|see also|also see|also:|more:|related:|related articles?
  |related stories|don['’]?t miss|you may also like|you might also like|follow us|follow @
  |like this (?:story|article|post)|share (?:this|it)|stay (?:connected|up[ -]to[ -]date|tuned)
  |pin (?:this|it)|get (?:the|our|your) .{0,40}(?:newsletter|delivered|app)|watch:
  |watch (?:now|video|the video)|listen:|via:|tags?:
  |topics?:|categories:|advertise?ment|ad$|continue reading|story continues|article continues
  |this slideshow requires|editor['’]s picks?|never miss the latest|©|all rights reserved
  |reporting by|comments?$|\\d+ comments?|leave a (?:comment|reply)|lesen sie auch|mehr zum thema
  |lesetipp|siehe auch|weiterlesen|anzeige$|werbung$|lire aussi|à lire|a lire
  |voir aussi|publicité$|lea también|lee también|le puede interesar|te puede interesar|ver también
  |publicidad$|leia também|leia mais|veja também|saiba mais|leggi anche|guarda anche|pubblicità$
  |czytaj też|czytaj także|zobacz też|reklama$|lees ook|читайте также|смотрите также|подробнее
  |реклама$|already (?:have an account|a (?:subscriber|member))
  |unlock this (?:article|story|post|piece)|become a (?:paid )?(?:subscriber|member)
  |this (?:article|story|content|post) is (?:exclusive|only available|available only)
  |this (?:article|story|content|post) is for (?:paid )?(?:subscribers|members)
  |(?:subscribe|sign in|register|log in) to (?:continue|read|unlock|keep)
  |to (?:continue|keep) reading|see more:
  |(?:subscribe|sign up) (?:to|for) (?:our|the|my|this) (?:\\S{1,30} ){0,4}newsletter
`
/** Beginnings of lines that name the source of a picture or text. */
const CREDITS = `
  photos?:|image:|picture:|credit:|source:|photo (?:by|courtesy)|\\(?ap photo|foto:|bild:|quelle:
  |фото:|источник:
`
/** Labels of links that serve as buttons. */
const BUTTONS = `
  learn more|check price|see price|buy (?:now|it|on|at|from)|shop (?:now|at|on|all|our|the)
  |get started
  |view (?:all|on|at|details|deal)|see (?:all|it|at|on|price|details|deal)|jump to
  |read (?:the|our|full|more)
  |add to (?:cart|fav)|request a|get (?:a|your) (?:free |personal)?.{0,20}quote|book (?:a|now)
  |try .{1,30}(?:free|now)
  |contact us|download|explore (?:more|our|all|the)|start (?:your|a|free)|go to
`
/** Whole headings of parts that lead elsewhere. */
const ELSEWHERE = `
  related (?:articles?|posts?|stories|content|news|products?)
  |read (?:this )?next|keep reading|what to read next|recent (?:posts?|articles?|news)
  |(?:our )?latest (?:posts?|articles?|news|stories)
  |more (?:articles?|stories|posts?|news|like this|to explore|to read)
  |(?:you|others) (?:may|might) (?:also )?(?:like|enjoy|be interested in)
  |(?:most )?popular(?: (?:posts?|articles?|stories))?|similar (?:posts?|articles?)
  |featured (?:posts?|articles?|stories)|(?:more from|recent posts (?:from|by|on)) .{1,40}
  |recommended(?: (?:for you|articles?|posts?|reading|stories))?
  |share(?: this(?: \\w+)?)?|leave a (?:comment|reply)|comments?|subscribe
  |(?:join|subscribe to) (?:our|the) (?:\\w+ )?newsletter|follow .{1,30}
  |stay (?:up to date|informed|in the loop)
`
/** Whole headings of sections around the description of a product. */
const AROUND_PRODUCT = `
  (?:(?:customer|google|product|recent|verified) )?(?:reviews?|ratings?)
  (?: (?:summary|highlights?))?
  |(?:customer )?(?:ratings?|reviews?) (?:&|and) (?:ratings?|reviews?)|reviews? for .{1,60}
  |write a review|recently (?:viewed|added)(?: (?:items|products))?|complete (?:the|your) .{1,20}
  |(?:frequently|often) bought together|(?:customers|people|you) (?:also|may also) .{1,40}
  |(?:(?:free|fast) )?(?:shipping|delivery)(?: (?:&|and) (?:returns?|delivery|exchanges?))?
  |(?:shipping|return|refund|exchange)s? (?:policy|information|info)
  |returns?(?: (?:&|and) .{1,20})?
  |(?:customer )?questions (?:&|and) answers|ask a question|need help|notify me.{0,40}
`
/** Headings of what is said of the author or publisher. */
const ABOUT = 'about (?:the )?(?:authors?|us|writers?|contributors?)|meet the (?:author|writer)s?'
const begins = (phrases: string): RegExp =>
  new RegExp(`^[^\\p{L}\\d©@]*(?:${phrases.replace(/\s*\n\s*/g, '').trim()})`, 'iu')
const asWhole = (phrases: string): RegExp =>
  new RegExp(`^(?:${phrases.replace(/\s*\n\s*/g, '').trim()})[:!?.…]?$`, 'iu')
/** Labels in capitals before a link: `[WATCH]`, `MUST READ:`. */
const LABEL = /^(?:\[[\p{Lu} ]{2,30}\]|[\p{Lu} ]{3,30}:) /u
const IS_ELSEWHERE = asWhole(ELSEWHERE)
const IS_AROUND_PRODUCT = asWhole(AROUND_PRODUCT)
const IS_ABOUT = asWhole(ABOUT)
const BEGINS = begins(BEGINNINGS)
const BEGINS_BUTTON = begins(BUTTONS)
const BEGINS_CREDIT = begins(CREDITS)

/** Returns true for a line that leads elsewhere or is about the page, not its subject. */
export function isBoilerplateLine(line: string, linkShare: number): boolean {
  if (linkShare > 0.9 && line.length <= SHORT_MAX && BEGINS_BUTTON.test(line)) return true
  return isLabeledLink(line, linkShare) || startsWith(BEGINS, line, linkShare)
}

/** Returns true for a link with a label before it and nothing else. */
function isLabeledLink(line: string, linkShare: number): boolean {
  const label = LABEL.exec(line)?.[0]
  return label !== undefined && line.length * (1 - linkShare) <= label.length
}

/** Returns true for the heading of a part that lists other pages or asks to subscribe. */
export const isElsewhereHeading = (line: string): boolean => IS_ELSEWHERE.test(line)
/** Returns true for the heading of what stands around the description of a product. */
export const isAroundProductHeading = (line: string): boolean => IS_AROUND_PRODUCT.test(line)
/** Returns true for the heading of what is said of the author or publisher. */
export const isAboutHeading = (line: string): boolean => IS_ABOUT.test(line)

/** Returns true for a line that names the source of a picture or text. */
export const isCreditLine = (line: string, linkShare: number): boolean =>
  startsWith(BEGINS_CREDIT, line, linkShare)

/** Returns true if a line starts with a phrase; a long line counts only if it is a link. */
const startsWith = (phrases: RegExp, line: string, linkShare: number): boolean =>
  (line.length <= LENGTH_MAX || linkShare > 0.5) && phrases.test(line)
