/** Article metadata from schema.org JSON-LD. */
export interface LinkedArticle {
  readonly headline?: string | undefined
  readonly description?: string | undefined
  readonly articleBody?: string | undefined
  readonly datePublished?: string | undefined
  readonly dateModified?: string | undefined
  readonly inLanguage?: string | undefined
  readonly authors: readonly string[]
}

/** Properties of an object of linked data. */
export type Fields = Readonly<Record<string, unknown>>

const ARTICLE = /(?:Article|Posting|Report|Review|Recipe|Analysis|Opinion)$/
const PAGE = /Page$/
const DEPTH_MAX = 6
const NODES_MAX = 2_000
const AUTHORS_MAX = 20

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null

export const listOf = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]

export function textOf(value: unknown): string | undefined {
  const [first] = listOf(value)
  const text = isFields(first) ? (first['name'] ?? first['@value']) : first
  return typeof text === 'string' && text.trim() !== '' ? text.trim() : undefined
}

/** Marks of a CDATA section, possibly in comments, around a script. */
const CDATA = /^(?:\/\/\s{0,20})?<!\[CDATA\[|(?:\/\/\s{0,20})?\]\]>$/g

function parsed(script: string): unknown {
  try {
    return JSON.parse(script.trim().replace(CDATA, ''))
  } catch {
    return undefined
  }
}

/** Collects all objects, however nested, within the limits. */
function objectsIn(value: unknown, found: Fields[] = [], depth = 0): Fields[] {
  if (depth > DEPTH_MAX || found.length >= NODES_MAX || !isFields(value)) return found
  if (!Array.isArray(value)) found.push(value)
  for (const child of Object.values(value)) objectsIn(child, found, depth + 1)
  return found
}

const hasType = (fields: Fields, type: RegExp): boolean =>
  listOf(fields['@type']).some((each) => typeof each === 'string' && type.test(each))

/** @param scripts texts of the page's `application/ld+json` scripts */
export const linkedObjectsOf = (scripts: readonly string[]): readonly Fields[] =>
  scripts.flatMap((script) => objectsIn(parsed(script)))

/** Returns the article, or else the page, among the objects of linked data. */
export function linkedArticleOf(objects: readonly Fields[]): LinkedArticle {
  const article =
    objects.find((each) => hasType(each, ARTICLE)) ?? objects.find((each) => hasType(each, PAGE))
  const named = objects.filter((each) => each['name'] !== undefined)
  const names = new Map(named.map((each) => [each['@id'], each['name']]))
  const authors = listOf(article?.['author'])
    .slice(0, AUTHORS_MAX)
    .map((author) =>
      isFields(author) ? textOf(author['name'] ?? names.get(author['@id'])) : textOf(author),
    )
  return {
    headline: textOf(article?.['headline']),
    description: textOf(article?.['description']),
    articleBody: textOf(article?.['articleBody']),
    datePublished: textOf(article?.['datePublished']),
    dateModified: textOf(article?.['dateModified']),
    inLanguage: textOf(article?.['inLanguage']),
    authors: authors.filter((name) => name !== undefined),
  }
}
