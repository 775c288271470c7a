import { createRequire } from 'node:module'
import type { Find } from './engines.ts'
import { passes, type Sample } from './relevance.ts'

type Task = (input: never) => unknown
interface Engine {
  defineConfig(config: { readonly fldWeights: Readonly<Record<string, number>> }): void
  definePrepTasks(tasks: readonly Task[]): void
  addDoc(doc: Readonly<Record<string, string>>, id: string): void
  consolidate(): void
  search(
    query: string,
    limit: number,
    filter: (kept: unknown, sample: Sample) => boolean,
  ): readonly (readonly [string, number])[]
}
interface Utilities {
  readonly string: Readonly<Record<'lowerCase' | 'tokenize0', Task>>
  readonly tokens: Readonly<Record<'removeWords' | 'stem', Task>>
}

// Neither library has types.
const require = createRequire(import.meta.url)

/**
 * BM25 by wink-bm25-text-search with the preparation tasks of its manual: no stop words, stemming.
 */
export function bm25(catalog: readonly Sample[]): Find {
  const engine = (require('wink-bm25-text-search') as () => Engine)()
  const { string, tokens } = require('wink-nlp-utils') as Utilities
  engine.defineConfig({ fldWeights: { name: 3, tags: 2, summary: 1, endpoints: 1 } })
  engine.definePrepTasks([string.lowerCase, string.tokenize0, tokens.removeWords, tokens.stem])
  for (const { id, name, category, tags, summary, endpoints } of catalog) {
    const words = [...tags, category].join(' ')
    engine.addDoc({ name: `${name} ${id}`, tags: words, summary, endpoints }, id)
  }
  engine.consolidate()
  const byId = new Map(catalog.map((sample) => [sample.id, sample]))
  return (judged) =>
    engine
      .search(judged.query, catalog.length, () => true)
      .map(([id]) => id)
      .filter((id) => passes(byId.get(id)!, judged))
      .slice(0, 10)
}
