import { FAULTS } from '../../../core/errors.ts'
import { type Html, html } from '../html.ts'
import { emptyState } from '../messages.ts'
import { docsForm, docsPage, sectionsOf } from './docs-page.ts'
import { type ApiDocument, operationsOf, operationUrl } from './reference.ts'

/** Part of the documentation that a search finds. */
export interface DocsSection {
  /** Page that it belongs to. */
  readonly page: string
  readonly title: string
  readonly path: string
  readonly text: string
}

const SHOWN_MAX = 30
const SNIPPET_CHARS = 160
/** Score of a word in the title, compared to one in the text. */
const TITLE_WEIGHT = 5

/** Sections of the guides, operations of the API and error codes. */
export const docsIndex = (
  guides: Readonly<Record<string, { readonly title: string; readonly main: Html }>>,
  document: ApiDocument,
): readonly DocsSection[] => [
  ...Object.entries(guides).flatMap(([path, { title: page, main }]) =>
    sectionsOf(main).map(({ id, title, text }) => ({
      page,
      title: title || page,
      path: id === '' ? path : `${path}#${id}`,
      text,
    })),
  ),
  ...operationsOf(document).map((each) => ({
    page: 'API reference',
    title: `${each.method} ${each.path}`,
    path: operationUrl(each),
    text: each.operation.summary,
  })),
  ...Object.entries(FAULTS).map(([code, [, title, advice]]) => ({
    page: 'Error codes',
    title: code,
    path: `/docs/problems/${code}`,
    text: `${title}. ${advice}`,
  })),
]

/** Finds the sections that contain the beginning of every word, best first. */
function searchDocs(index: readonly DocsSection[], query: string): readonly DocsSection[] {
  const words = wordsOf(query)
  if (words.length === 0) return []
  const scored = index.map((section) => ({ section, score: scoreOf(section, words) }))
  return scored
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score)
    .slice(0, SHOWN_MAX)
    .map(({ section }) => section)
}

const wordsOf = (text: string): readonly string[] =>
  text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []

/** Returns 0 unless every word begins a word of the section. */
function scoreOf({ page, title, text }: DocsSection, words: readonly string[]): number {
  const titleWords = wordsOf(`${page} ${title}`)
  const textWords = wordsOf(text)
  let score = 0
  for (const word of words) {
    const startsWith = (each: string) => each.startsWith(word)
    const inTitle = titleWords.some(startsWith)
    const inText = textWords.filter(startsWith).length
    if (!inTitle && inText === 0) return 0
    score += (inTitle ? TITLE_WEIGHT : 0) + inText / (inText + 2)
  }
  return score
}

/** `/docs/search?q=…` */
export const searchPage = (index: readonly DocsSection[], query: string) => {
  const found = searchDocs(index, query)
  return docsPage(
    'Search the documentation',
    '',
    html`${docsForm(query)}${
      found.length > 0
        ? html`<ul class="list">${found.map((section) => hitOf(section, wordsOf(query)))}</ul>`
        : query !== '' && emptyState(`No results for “${query}”.`)
    }`,
  )
}

const hitOf = ({ page, title, path, text }: DocsSection, words: readonly string[]): Html =>
  html`<li class="card"><h2><a href="${path}">${title}</a></h2><p class="facts"><span>${page}</span>
</p><p class="small">${snippetOf(text, words)}</p></li>`

/** Text around the first word that matches. */
function snippetOf(text: string, [word = '']: readonly string[]): string {
  const found = text.toLowerCase().indexOf(word)
  const at = found < SNIPPET_CHARS / 2 ? 0 : found - SNIPPET_CHARS / 4
  const start = at === 0 ? 0 : text.indexOf(' ', at) + 1
  const end = start + SNIPPET_CHARS
  return `${start > 0 ? '… ' : ''}${text.slice(start, end)}${end < text.length ? ' …' : ''}`
}
