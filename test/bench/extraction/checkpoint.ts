import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Configuration, PageMatches } from './page-matches.ts'
import { EXTRACTORS } from './peers.ts'

const EXTRACTOR = new URL('../../../plugins/content/extract/', import.meta.url)
const BENCHMARK = new URL('./', import.meta.url)
const PACKAGES = new URL('../../../package.json', import.meta.url)

const sourcesIn = (folder: URL): string =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(new URL(name, folder), 'utf8'))
    .join('\n')

/** Returns what the results depend on: those of peers only on the versions of packages. */
function inputsOf(folder: string, configurations: readonly Configuration[]): string {
  const isPeers = configurations.flat().some((name) => name in EXTRACTORS)
  const sources = isPeers ? [] : [sourcesIn(EXTRACTOR), sourcesIn(BENCHMARK)]
  return JSON.stringify([folder, configurations, readFileSync(PACKAGES, 'utf8'), sources])
}

/** File of the pages that were measured, from which an interrupted run continues. */
export class Checkpoint {
  readonly #file: string
  readonly pages: readonly PageMatches[]

  constructor(directory: string, folder: string, configurations: readonly Configuration[]) {
    mkdirSync(directory, { recursive: true })
    const key = createHash('sha256').update(inputsOf(folder, configurations)).digest('hex')
    this.#file = join(directory, `${key}.jsonl`)
    this.pages = existsSync(this.#file)
      ? readFileSync(this.#file, 'utf8').split('\n').flatMap(parseLine)
      : []
  }

  add(page: PageMatches): void {
    appendFileSync(this.#file, `\n${JSON.stringify(page)}`)
  }
}

/** The last line of an interrupted run may be incomplete. */
function parseLine(line: string): PageMatches[] {
  try {
    return line === '' ? [] : [JSON.parse(line) as PageMatches]
  } catch {
    return []
  }
}
