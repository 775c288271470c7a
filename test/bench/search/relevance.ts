import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Service of the sample catalog. */
export interface Sample {
  readonly id: string
  readonly name: string
  readonly category: string
  /** Microdollars. */
  readonly price: number
  readonly tags: readonly string[]
  readonly summary: string
  readonly endpoints: string
}

/** Query with its relevance grades: 3 is an exact match, 1 is related. */
export interface GradedQuery {
  readonly query: string
  readonly category?: string
  /** Microdollars. */
  readonly maxPrice?: number
  readonly grades: ReadonlyMap<string, number>
}

/** Returns true if a service passes the filters of a query. */
export const passes = (sample: Sample, { category, maxPrice }: GradedQuery): boolean =>
  (category === undefined || sample.category === category) &&
  (maxPrice === undefined || sample.price <= maxPrice)

export interface Relevance {
  readonly catalog: readonly Sample[]
  /** Odd lines, used to tune the ranking. */
  readonly development: readonly GradedQuery[]
  /** Even lines, not used for tuning. */
  readonly heldOut: readonly GradedQuery[]
}

const linesOf = (file: string): string[] =>
  readFileSync(join(import.meta.dirname, file), 'utf8')
    .trim()
    .split('\n')

/** Reads the committed relevance set; its README describes it. */
export function readRelevance(): Relevance {
  const queries = linesOf('queries.txt').map(gradedQueryOf)
  return {
    catalog: readCatalog(),
    development: queries.filter((_, i) => i % 2 === 0),
    heldOut: queries.filter((_, i) => i % 2 === 1),
  }
}

function readCatalog(): Sample[] {
  const samples: Sample[] = []
  let category = ''
  for (const line of linesOf('catalog.txt')) {
    if (line.startsWith('# ')) {
      category = line.slice(2)
      continue
    }
    const [id, name, price, tags, summary, endpoints] = line.split(' | ') as [string, ...string[]]
    samples.push({
      id,
      name: name!,
      category,
      price: Number(price),
      tags: tags!.split(','),
      summary: summary!,
      endpoints: endpoints!,
    })
  }
  return samples
}

function gradedQueryOf(line: string): GradedQuery {
  const [query, filters, grades] = line.split(/ *\| */) as [string, string, string]
  const given = new Map(filters.split(',').map((each) => each.split('=') as [string, string]))
  const category = given.get('category')
  const maxPrice = given.get('max_price')
  return {
    query,
    ...(category === undefined ? {} : { category }),
    ...(maxPrice === undefined ? {} : { maxPrice: Number(maxPrice) }),
    grades: new Map(
      grades.split(' ').map((each) => {
        const [id, grade] = each.split('=')
        return [id!, Number(grade)]
      }),
    ),
  }
}

/** Normalized discounted cumulative gain of the first hits: gain 2^grade − 1, discount log2. */
function ndcgOf(ids: readonly string[], grades: GradedQuery['grades'], depth: number): number {
  const dcg = (values: readonly number[]) =>
    values.slice(0, depth).reduce((sum, grade, i) => sum + (2 ** grade - 1) / Math.log2(i + 2), 0)
  const best = [...grades.values()].toSorted((a, b) => b - a)
  return dcg(ids.map((id) => grades.get(id) ?? 0)) / dcg(best)
}

/** Reciprocal rank of the first result with grade 2 or 3. */
function reciprocalRank(ids: readonly string[], grades: GradedQuery['grades']): number {
  const rank = ids.slice(0, 10).findIndex((id) => (grades.get(id) ?? 0) >= 2)
  return rank < 0 ? 0 : 1 / (rank + 1)
}

export interface Quality {
  readonly ndcg: number
  readonly mrr: number
}

/** Returns the mean quality of `find` over the queries, nDCG of the first `depth` hits. */
export async function measure(
  queries: readonly GradedQuery[],
  find: (query: GradedQuery) => Promise<readonly string[]> | readonly string[],
  depth = 10,
): Promise<Quality> {
  let ndcg = 0
  let mrr = 0
  for (const judged of queries) {
    const ids = await find(judged)
    ndcg += ndcgOf(ids, judged.grades, depth)
    mrr += reciprocalRank(ids, judged.grades)
  }
  return { ndcg: ndcg / queries.length, mrr: mrr / queries.length }
}
