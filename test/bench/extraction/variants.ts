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
  /** Functions that read the constant for those. */
  readonly helpers?: readonly string[] | undefined
}

const as =
  (value: string, isPure = false) =>
  (module: string, name: string): Variant => ({
    module,
    name,
    value,
    ...(isPure && { pure: [name] }),
  })
const no = as('(): any => false', true)
const none = as('(): any => undefined', true)
const skip = as('(): void => {}')
const noNames = as('new Set()')

/** Rules that can be left out, each by replacing one function. */
export const RULES: Readonly<Record<string, Variant>> = {
  'names of surroundings': none('names', 'surroundingName'),
  'names of what is never text': none('names', 'removableName'),
  'names of annotations': none('names', 'annotationName'),
  'names beside posts': none('names', 'posterName'),
  'names around products': none('names', 'aroundProductName'),
  'names of bodies': no('names', 'isBodyName'),
  'text despite names of controls': no('names', 'isControlName'),
  'names of collapsible parts': no('names', 'isCollapsible'),
  'names of tools': no('names', 'isToolName'),
  'names of anchors': no('names', 'isAnchorName'),
  'ids made from headings': no('names', 'isSection'),
  'sections of an outline': no('names', 'isOwnHeading'),
  'names that classify': as('(): any => true', true)('names', 'isDescriptive'),
  'generated names': as('/^$/')('names', 'HASH'),
  'lines that lead elsewhere': no('phrases', 'isBoilerplateLine'),
  'labels of buttons': as('/^$/')('phrases', 'BEGINS_BUTTON'),
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
  'names of the layout': as('(): any => new Set()')('layout', 'layoutNames'),
  'long surroundings': as('[]')('layout', 'LONG_PARTS'),
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
  'elements around the headline': as('(): any => new Set()')('clean', 'surroundings'),
  'surroundings of products': skip('clean', 'removeAroundProduct'),
  'roles of surroundings': noNames('clean', 'ROLES'),
  'unwanted lines and lists': no('trim', 'isUnwanted'),
  'lines about pictures and dates': no('trim', 'isMarginalLine'),
  'lines that introduce a list': no('trim', 'isLeadIn'),
  'lines with a time': no('trim', 'isStandaloneLine'),
  'figures with substance': noNames('trim', 'SUBSTANCE'),
  'articles beside the text': skip('trim', 'removeListedArticles'),
  'empty elements': skip('trim', 'removeEmptyElements'),
  'heading at the end': as('(): any => false')('trim', 'dropLastHeading'),
  'kinds that list links': noNames('trim', 'LISTS_LINKS'),
  'marked text of an article': no('body', 'isArticleBody'),
  'headlines between articles': no('body', 'isHeadline'),
  leads: as('(body: any): any => body', true)('body', 'withLead'),
  'smallest element with the prose': as('(root: any): any => root', true)('body', 'narrow'),
  'pages of items': as('(root: any): any => bodyOf(root, "article")')('body', 'itemsOf'),
  'forums by address and software': no('kind', 'isForum'),
  products: no('kind', 'isProduct'),
  'listings by lack of prose': as('(_: any, declared: any): any => declared', true)(
    'kind',
    'kindWithin',
  ),
  'declared text': no('extract', 'lacksArticle'),
  'declared description': no('extract', 'lacksDescription'),
}

/** Files that change the text, each left out as a whole. */
export const FILES: Readonly<Record<string, readonly Variant[]>> = {
  'all of admonitions': [none('admonitions', 'alertOf')],
  'all of body': [as('(root: any): any => root')('body', 'bodyOf')],
  'all of clean': [skip('clean', 'removeSurroundings')],
  'all of copies': [skip('copies', 'removeCopies')],
  'all of dates': [none('dates', 'dateOf')],
  'all of kind': [
    as("(): any => 'article'")('kind', 'declaredKind'),
    as('(_: any, declared: any): any => declared')('kind', 'kindWithin'),
  ],
  'all of layout': [
    no('layout', 'isWhole'),
    as('(): any => new Set()')('layout', 'layoutNames'),
    as('(nameOf: any): any => nameOf')('layout', 'rememberNames'),
  ],
  'all of linked-data': [as('(): any => []')('linked-data', 'linkedObjectsOf')],
  'all of links': [no('links', 'isListedArticle'), no('links', 'leadsOutside')],
  'all of names': [
    ...['surroundingName', 'removableName', 'annotationName', 'aroundProductName'].map((name) =>
      none('names', name),
    ),
    ...['isBodyName', 'isToolName', 'isAnchorName', 'isCollapsible'].map((name) =>
      no('names', name),
    ),
  ],
  'all of notation': [skip('notation', 'normalizeNotation')],
  'all of phrases': [
    'isBoilerplateLine',
    'isCreditLine',
    'isElsewhereHeading',
    'isAboutHeading',
  ].map((name) => no('phrases', name)),
  'all of sections': [skip('sections', 'removeSections'), skip('sections', 'removeBios')],
  'all of structured-data': [as('(): any => null')('structured-data', 'structuredDataOf')],
  'all of tables': [none('tables', 'rowsOf')],
  'all of trim': [as('(): any => new Set()')('trim', 'trim')],
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
    '{ article: 0.08, documentation: 0.002, listing: 0.08, forum: 0.01 }',
    '{ article: 0.3, documentation: 0.02, listing: 0.3, forum: 0.05 }',
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
  threshold('extract', 'DECLARED_SHARE', ['0.25', '0.6'], ['lacksArticle', 'lacksDescription']),
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

/** Returns the variants by the name of a file, rule or threshold. */
export function changesOf(name: string): readonly Variant[] {
  const rule = RULES[name] ?? THRESHOLDS[name]
  return FILES[name] ?? (rule ? [rule] : [])
}
