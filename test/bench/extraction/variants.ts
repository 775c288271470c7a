/** Other value of a function or constant of a module of the extractor. */
export interface Variant {
  readonly module: string
  readonly name: string
  readonly value: string
  /**
   * Functions without effects that alone read the constant, or the function itself if it has none:
   * where they return the same, the variant gives the same text.
   */
  readonly pure?: readonly string[] | undefined
  /** Form of a function or constant whose uses tell on which pages the variant matters. */
  readonly noted?: 'tree' | 'set' | 'pattern' | undefined
  /** Functions that read the constant for those. */
  readonly helpers?: readonly string[] | undefined
}

const as =
  (value: string, how: Pick<Variant, 'noted'> & { readonly isPure?: boolean } = {}) =>
  (module: string, name: string): Variant => ({
    module,
    name,
    value,
    ...(how.isPure && { pure: [name] }),
    noted: how.noted,
  })
const pure = (value: string) => as(value, { isPure: true })
const no = pure('(): any => false')
const none = pure('(): any => undefined')
const emptySet = pure('(): any => new Set()')
const skip = as('(): void => {}', { noted: 'tree' })
const noNames = as('new Set()', { noted: 'set' })
const never = as('/^$/', { noted: 'pattern' })

/** Rules that can be left out, each by replacing one function. */
export const RULES: Readonly<Record<string, Variant>> = {
  'names of surroundings': none('names', 'surroundingName'),
  'names of what is never text': none('names', 'removableName'),
  'names of annotations': none('names', 'annotationName'),
  'cards beside posts': none('names', 'cardName'),
  'signatures, ranks and votes': none('names', 'postExtraName'),
  'counts of votes': no('posts', 'isCount'),
  'names around products': none('names', 'aroundProductName'),
  'names of bodies': no('names', 'isBodyName'),
  'text despite names of controls': no('names', 'isControlName'),
  'names of collapsible parts': no('names', 'isCollapsible'),
  'names of tools': no('names', 'isToolName'),
  'names of anchors': no('names', 'isAnchorName'),
  'ids made from headings': no('names', 'isSection'),
  'sections of an outline': no('names', 'isOwnHeading'),
  'names that classify': pure('(): any => true')('names', 'isDescriptive'),
  'generated names': never('names', 'HASH'),
  'lines that lead elsewhere': no('phrases', 'isBoilerplateLine'),
  'labels of buttons': never('phrases', 'BEGINS_BUTTON'),
  'credits of pictures': no('phrases', 'isCreditLine'),
  'sections that lead elsewhere': skip('sections', 'removeSections'),
  'sections about the author': no('phrases', 'isAboutHeading'),
  'paragraphs about authors': skip('sections', 'removeBios'),
  'listed articles': no('links', 'isListedArticle'),
  'lists that lead outside': no('links', 'leadsOutside'),
  'rows of links to networks': no('links', 'leadsToNetworks'),
  'links with a label': no('phrases', 'isLabeledLink'),
  'captions in boxes': no('trim', 'isCaption'),
  'posts in a named box': no('layout', 'wrapsQuote'),
  'protected quotes, code and tables': no('layout', 'isWhole'),
  'names of the layout': emptySet('layout', 'layoutNames'),
  'long surroundings': { ...as('[]')('layout', 'LONG_PARTS'), pure: ['shareOf'] },
  copies: skip('copies', 'removeCopies'),
  notation: skip('notation', 'normalizeNotation'),
  'hidden elements': no('clean', 'isHidden'),
  'what buttons open': no('clean', 'hasButton'),
  'headings that are buttons': no('clean', 'isHeadingButton'),
  dialogs: no('clean', 'isModal'),
  'tools of headings': no('clean', 'isTool'),
  'disclosures despite names': noNames('clean', 'DISCLOSURES'),
  'boxes about people': no('clean', 'isPerson'),
  'contents of a chapter': no('clean', 'isOwnContents'),
  'elements around the headline': emptySet('clean', 'surroundings'),
  'surroundings of products': skip('clean', 'removeAroundProduct'),
  'roles of surroundings': noNames('clean', 'ROLES'),
  'unwanted lines and lists': no('trim', 'isUnwanted'),
  'lines about pictures and dates': no('trim', 'isMarginalLine'),
  'lines that introduce a list': no('trim', 'isLeadIn'),
  'lines with a time': no('trim', 'isStandaloneLine'),
  'figures with substance': noNames('trim', 'SUBSTANCE'),
  'articles beside the text': skip('trim', 'removeListedArticles'),
  'kinds that list links': noNames('trim', 'LISTS_LINKS'),
  'marked text of an article': no('body', 'isArticleBody'),
  'headlines between articles': no('body', 'isHeadline'),
  leads: pure('(body: any): any => body')('body', 'withLead'),
  'smallest element with the prose': pure('(root: any): any => root')('body', 'narrow'),
  'pages of items': pure('(root: any): any => bodyOf(root, "article")')('body', 'itemsOf'),
  'forums by address and software': no('kind', 'isForum'),
  products: no('kind', 'isProduct'),
  'listings by lack of prose': pure('(_: any, declared: any): any => declared')(
    'kind',
    'kindWithin',
  ),
  'declared text': no('extract', 'lacksDeclared'),
  'streamed parts': skip('streamed', 'placeStreamedParts'),
  'breadcrumb trails': no('clean', 'isTrail'),
  'links in headings': no('clean', 'isHeadingLink'),
  'text despite names': no('clean', 'isUnlinkedProse'),
  'headings that lead elsewhere': no('phrases', 'isElsewhereHeading'),
  'hashes of bundlers': as('/^$/')('names', 'MODULE_HASH'),
  'data tables': none('tables', 'rowsOf'),
  admonitions: none('admonitions', 'alertOf'),
  'main parts': no('body', 'isMain'),
}

/** Threshold with other values, on both sides of the one in use. */
interface Threshold extends Omit<Variant, 'value'> {
  readonly values: readonly string[]
}

const threshold = (
  module: string,
  name: string,
  values: readonly string[],
  pure?: readonly string[],
  helpers?: readonly string[],
): Threshold => ({ module, name, values, pure, helpers })

const VALUES: readonly Threshold[] = [
  threshold('body', 'NEARLY_ALL', ['0.8', '0.95'], ['narrow']),
  threshold('body', 'HALF', ['0.3', '0.7'], ['narrow']),
  threshold('body', 'GOOD_PART', ['0.15', '0.5'], ['articleOf']),
  threshold('body', 'SHARE', [
    '{ articleBody: 0.1, main: 0.2, name: 0.3 }',
    '{ articleBody: 0.4, main: 0.5, name: 0.6 }',
  ]),
  threshold('body', 'LEAD_SHARE', [
    '{ documentation: 0.002, product: 0.02, forum: 0.01, other: 0.08 }',
    '{ documentation: 0.02, product: 0.15, forum: 0.05, other: 0.3 }',
  ]),
  threshold('clean', 'PROSE_SHARE', ['0.25', '0.6']),
  threshold('clean', 'TEXT_MIN', ['80', '300'], ['isUnlinkedProse']),
  threshold('layout', 'LAYOUT_SHARE', ['0.35', '0.65'], ['layoutNames'], ['shareOf']),
  threshold('layout', 'HIDDEN_SHARE', ['0.45', '0.75']),
  threshold('layout', 'LONG_PARTS_SHARE', ['0.9', '0.99'], ['layoutNames'], ['shareOf']),
  threshold('trim', 'CAPTION_MAX', ['200', '600']),
  threshold('trim', 'LISTED_SHARE', ['0.4', '0.8']),
  threshold('phrases', 'LENGTH_MAX', ['140', '300'], ['startsWith']),
  threshold('phrases', 'SHORT_MAX', ['60', '140'], ['isBoilerplateLine']),
  threshold('sections', 'PROSE_SHARE', ['0.15', '0.4']),
  threshold('measure', 'PROSE_MIN', ['40', '90'], ['proseOf']),
  threshold('copies', 'COPY_MIN', ['300', '1_200']),
  threshold('copies', 'SHOP_COPY_MIN', ['60', '240']),
  threshold(
    'kind',
    'LISTING',
    ['{ share: 0.25, prose: 700 }', '{ share: 0.5, prose: 1_500 }'],
    ['kindWithin'],
  ),
  threshold('extract', 'DECLARED_SHARE', ['0.25', '0.6'], ['lacksDeclared']),
]

/** Thresholds moved: the parameters that cross-validation chooses. */
export const THRESHOLDS: Readonly<Record<string, Variant>> = Object.fromEntries(
  VALUES.flatMap(({ values, ...constant }) =>
    values.map((value) => [
      `${constant.module} ${constant.name} = ${value}`,
      { ...constant, value },
    ]),
  ),
)

/** Returns the variant by the name of a rule or threshold. */
export function changesOf(name: string): readonly Variant[] {
  const variant = RULES[name] ?? THRESHOLDS[name]
  return variant ? [variant] : []
}
