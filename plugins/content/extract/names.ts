import { type Element, isTag } from 'domhandler'
import { LRUCache } from 'lru-cache'
import { isHeading } from './elements.ts'
import type { NameOf } from './layout.ts'
import { textOf } from './text.ts'

/**
 * Finds the name of a page part among the words, pairs and triples of an element's class or id
 * (`relatedLinks__item`); of a stem, returns the stem.
 * @param text comma-separated phrases; a final `*` matches any ending
 */
function named(text: string): NameOf {
  const all = text.split(',').map((phrase) => phrase.trim().replace(/\s+/g, ' '))
  const whole = new Set(all.filter((phrase) => !phrase.endsWith('*')))
  const stems = all.filter((phrase) => phrase.endsWith('*')).map((phrase) => phrase.slice(0, -1))
  const begins = new RegExp(`^(?:${stems.join('|')})`)
  const known = new WeakMap<readonly string[], string | undefined>()
  return (element) => {
    const words = wordsOf(element)
    if (!known.has(words)) known.set(words, nameAmong(words, whole, begins))
    return known.get(words)
  }
}

function nameAmong(words: readonly string[], whole: ReadonlySet<string>, begins: RegExp) {
  for (const word of words) {
    const name = whole.has(word) ? word : begins.exec(word)?.[0]
    if (name) return name
  }
  return undefined
}

/** Names that are never an article, however long. */
export const removableName = named(`
  cookie*, consent*, gdpr*, onetrust*, disqus*, newsletter*, taboola*, outbrain*, comments,
  commentlist, comment list, comments area, comments section, respond, eu cookie law, modal,
  popup, truste, kommentare, commentaires, comentarios, commenti
`)

/** Names that are not part of an article, in several languages. */
export const surroundingName = named(`
  comment*, related*, recommend*, recirc*, newsletter*, advert*, sponsor*, taboola*, outbrain*,
  breadcrumb*, social*, subscri*, disqus*, zergnet*, addthis*, addtoany*, sharedaddy*, adsby*,
  jp related*, yarpp*, sidebar*, kommentar*, verwandt*, relacionad*, correlat*, powiazan*,
  gerelateerd*, compart*, partage*, publicit*, publicid*, pubblicit*, werbung*, anzeige*,
  reklam*, cookie*, consent*, gdpr*, onetrust*, pagination*, footer*, footnav*, nocomment*,
  postmeta*, affiliat*, disclos*, disclaim*, rating*, respond, responses, replies, reacties,
  mostread, mostpopular, most read, most popular, most viewed, similar, you may like, may like,
  more on, more from, more news, more stories, more articles, more posts, also read, also like,
  read also, read next, read more, readmore, readnext, up next, nextclick, next up, trending,
  recent posts, recent articles, popular, crp, promoted, promo, promos, teaser list, teasers, mehr
  zum thema, weitere artikel, siehe auch, lesen sie auch, te puede interesar, leia mais, leia
  tambem, veja mais, veja tambem, lea mas, lire aussi, a lire, voir aussi, sur le meme sujet,
  leggi anche, polecane, czytaj tez, czytaj dalej, lees ook, pohozhie, chitayte, share, shares,
  sharing, sharebar, sharebox, sharetools, sharelinks, sharethis, sharer, follow, follow us,
  likes, like box, jetpack likes, teilen, condividi, udostepnij, delen, signup, sign up, mailing
  list, mailchimp, optin, opt in, cta, call to action, donate, donation, ad, ads, adslot, adunit,
  adbox, ad container, ad wrapper, dfp, gpt, banner, banners, regwall, piano, paywall, pager, page
  links, nav, navbar, navigation, menu, submenu, navheader, navfooter, skip link, screen reader
  text, sr only, visually hidden, visuallyhidden, noprint, print only, printonly, print header,
  toolbar, tools, author bio, author box, author card, author info, author about, author profile,
  author description, about author, about the author, bio, taglist, tagcloud, tag list, tags list,
  tag links, tags links, post tags, entry tags, article tags, tags, topics, labels, categories,
  cat links, filed under, side bar, toc, toc container, table of contents, print button, print
  buttons, widget title, widget recent entries, factbox, rail, right rail, widget area, stars,
  poll, quiz, survey, modal, popup, pop up, overlay, tooltip, tool tip, toast, snackbar, trust
  badge, key points, app promo, download app, copyright, wp gr, grw*, rpi*, ti widget*,
  trustindex*, hovercard*, hover card, popover*
`)

/** Surroundings that consist of links and buttons: no text is among them. */
const CONTROLS = new RegExp(
  `^(?:${`nav menu submenu tools toolbar share social follow pagination pager tags topics labels
  rail stars banner overlay cta call promo popular toc`.replace(/\s+/g, '|')})`,
)

/** Names of sections around the description of a product: reviews, terms, other products. */
export const aroundProductName = named(`
  review*, rating*, testimonial*, variation*, upsell*, crosssell*, cross sell*, bundle*,
  recently viewed, also bought, also viewed, also like, accessories, shipping policy,
  return policy, refund policy, financ*, wishlist, cart, mini cart, minicart,
  drawer, modal*, popup*, size chart, size guide, sizechart*, compare*, swatch*, quantity, klarna,
  afterpay, affirm, yotpo*, okendo*, judgeme*, jdgm*, bazaarvoice*, bv*, stamped*, loox*,
  trustpilot*, powerreviews*, pr review*, feefo*, reevoo*, you may, complete the look, pairs with,
  back in stock, notify me, store locator, instagram*, ugc*, grw*, rpi*, ti widget*, trustindex*,
  complete order
`)

/** Names of captions, credits, dates and authors: about the article, not its text. */
export const annotationName = named(`
  caption*, byline*, dateline*, timestamp*, thumbnail credit*, jwplayer*, image caption, photo
  credit, photo credits, image credit, image credits, credit, credits, thumbnail credit, by
  line, time stamp, publish date, published date, pub date, posted on, post meta, post date,
  post info, post author, post footer, post labels, entry meta, entry date, entry author, entry
  footer, entry utility, entry categories, entry published, article meta, article date, article
  info, article author, article footer, article topics, article about, meta author, meta time,
  meta date, meta share, meta data, meta info, story meta, story date, story author, story
  footer, single meta, author, authors, author name, vcard, reading time, read time, estimated
  read time, video player, video container, video title, video description, video info, video
  js, video ct, player, gallery, slideshow, carousel, slider, slick, swiper, attribution, dt
  published, edition
`)

/** Names of author cards beside the posts of a forum. */
export const cardName = named(`
  postprofile*, poster*, userinfo*, user info, user details, author pane, author column
`)

/** Names of signatures, ranks and votes in a thread, which are not part of a post. */
export const postExtraName = named(`
  signature*, last edit*, vote*, voting, upvote*, downvote*, score, karma, reputation*, badge*,
  rank, membergroup, reaction*, kudo*, author stat*, author fields, user stat*, user title,
  user banner, user extras
`)

/** Names of the element that holds the author of a post. */
const writer = named('username*, user name, author name, poster name, member name, creator, fn')

/** Names of boxes that hold a picture and its caption. */
const picture = named(`
  image, img, photo, picture, pic, lead image, featured image, hero image, article image,
  image wrapper, image container, img wrapper, photo container, featuredimage*
`)

/** Names of elements that hold the article's text and little else. */
const body = named(`
  articlebody*, storybody*, storycontent*, articletext*, articlecontent*, postcontent*,
  entrycontent*, wysiwyg*, richtext*, fulltext*, article body, article content, article text,
  article copy, article fulltext, article main body, article content body, main article body,
  story body, story content, story text, post body, post content, post text, entry content,
  entry body, entry text, news body, news content, news text, blog content, blog body, blog post
  body, body copy, body content, body text, content body, content text, page content, main
  content, rich text, full text, field name body, field body, text body, artikeltext, artikel
  text, artikel inhalt, artikel body, texte article, article texte, corps article, cuerpo,
  cuerpo noticia, contenido, contenuto, corpo, corpo noticia, conteudo, tresc, e content
`)

/** Names of parts that open when their heading is pressed. */
const collapsible = named(`
  accordion*, faq*, collaps*, toggle*, expand*, tab panel, tab content, tab pane, panel, answer
`)

/** Classes of anchors that generators of pages add to headings. */
const ANCHOR = /(?:^|\s)(?:head(?:er|ing)-?(?:link|anchor)|anchor(?:js)?-?link|hash-link)(?:\s|$)/i
/** Classes of links to edit a section and of line numbers. */
const TOOL = /(?:^|\s)(?:mw-editsection|linenos?|line-?numbers?|gutter)(?:\s|$)/i
const TOOL_ELEMENTS: ReadonlySet<string> = new Set(['a', 'span', 'td', 'pre'])

/** Names that classify or frame an article, or deny a part, instead of describing the element. */
const FILING =
  /^(?:(?:tag|category|has|with|status|format|is)-|(?:is|has)[A-Z]|(?:no|not|without)[-_])/
const DENIED = '--false'
/** Parts of generated names, in which letters follow digits: `08ad`, `e2odq13`. */
const HASH = /^[a-z]*\d+[a-z]/i
/** Hash that bundlers append to the names of a module of styles: `table_root__adKqa`. */
const MODULE_HASH = /__(?=[a-z]{0,5}[A-Z\d_-])[\w-]{5}$/
const SEPARATORS = /[^a-z0-9]+/i
const LETTERS = /[^a-z]+/

const isDescriptive = (name: string): boolean => !FILING.test(name) && !name.endsWith(DENIED)

const toWords = (names: string): string[] =>
  names
    .slice(0, 1_000)
    .split(' ')
    .filter(isDescriptive)
    .flatMap((name) =>
      name
        .replace(MODULE_HASH, '')
        .split(SEPARATORS)
        .filter((part) => !HASH.test(part)),
    )
    .join(' ')
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(LETTERS)
    .filter((word) => word !== '')

/** Matches headings and sections, whose ids are made from the words of a heading. */
const isSection = ({ name, attribs }: Element): boolean =>
  /^(?:section|h[1-6])$/.test(name) || /(?:^| )sect(?:ion|\d)(?: |$)/.test(attribs['class'] ?? '')

/** Number of words from which an id is made from a heading. */
const HEADING_WORDS = 5

const NO_WORDS: readonly string[] = []
/** Words of the classes and ids that occur again and again on a page, and their names by that. */
const remembered = new LRUCache<string, readonly string[]>({ max: 1_000 })
/** Maximum length of what is remembered. */
const REMEMBERED_MAX = 200

/** Words, pairs and triples of the class and id; of an id made from a heading, all together. */
function wordsOf(element: Element): readonly string[] {
  const { class: names = '', id = '' } = element.attribs
  if (names === '' && id === '') return NO_WORDS
  const isOwn = isOwnHeading(element)
  const isHeading = isSection(element)
  const key = `${isOwn} ${isHeading} ${names}\n${id}`
  const words = remembered.get(key) ?? findWords(names, isOwn ? '' : id, isHeading)
  if (key.length <= REMEMBERED_MAX) remembered.set(key, words)
  return words
}

function findWords(names: string, id: string, isHeading: boolean): readonly string[] {
  const ofClass = toWords(names)
  const ofId = toWords(id)
  if (isHeading || ofId.length >= HEADING_WORDS) return [...phrasesOf(ofClass), ofId.join(' ')]
  return phrasesOf([...ofClass, ...ofId])
}

/**
 * Returns true for a section within another whose id repeats its heading: the outline of a
 * document, in which names say what sections are about.
 */
function isOwnHeading({ name, attribs, children, parent }: Element): boolean {
  if (name !== 'section' || !attribs['id']) return false
  if (!parent || !isTag(parent) || parent.name !== name || !parent.attribs['id']) return false
  const heading = children.find(isHeading)
  return (
    heading !== undefined && toWords(textOf(heading)).join(' ') === toWords(attribs['id']).join(' ')
  )
}

const phrasesOf = (words: readonly string[]): string[] =>
  words.flatMap((word, at) => {
    const pair = `${word} ${words[at + 1]}`
    return [word, pair, `${pair} ${words[at + 2]}`]
  })

/** Returns true for the name of a surrounding that consists of links and buttons. */
export const isControlName = (name: string | undefined): boolean =>
  name !== undefined && CONTROLS.test(name)
/** Returns true for the name of a caption or credit, which belongs to a picture. */
export const isCaptionName = (name: string): boolean => /caption|credit|attribution/.test(name)
export const isWriterName = (element: Element): boolean => writer(element) !== undefined
export const isCollapsible = (element: Element): boolean => collapsible(element) !== undefined
export const isPictureName = (element: Element): boolean => picture(element) !== undefined
export const isBodyName = (element: Element): boolean => body(element) !== undefined
export const isToolName = ({ name, attribs }: Element): boolean =>
  TOOL_ELEMENTS.has(name) && TOOL.test(attribs['class'] ?? '')
export const isAnchorName = ({ attribs }: Element): boolean => ANCHOR.test(attribs['class'] ?? '')
