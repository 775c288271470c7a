import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { gunzipSync } from 'node:zlib'

export const FOLDS = ['fold 0', 'fold 1', 'fold 2', 'fold 3', 'fold 4'] as const

/** Page with its human-labeled article text. */
export interface Page {
  readonly id: string
  readonly url: string
  readonly html: string
  readonly truth: string
  /** Rules were developed on `tune`; `held` was not used. */
  readonly half: 'tune' | 'held'
  /** Fifth of the pages: rules are judged on one that they were not tuned on. */
  readonly fold: (typeof FOLDS)[number]
}

/** Assigned before the first rule was written, by the parity of a hash of the page's name. */
const halfOf = (id: string): Page['half'] =>
  createHash('sha256').update(`agenthub ${id}`).digest()[0]! % 2 === 0 ? 'tune' : 'held'

const foldOf = (id: string): Page['fold'] =>
  FOLDS[createHash('sha256').update(`fold ${id}`).digest()[0]! % 5]!

/** Reads a folder in the benchmark's format: ground-truth.json and html/ID.html.gz. */
export function readPages(folder: string): Page[] {
  const file = join(folder, 'ground-truth.json')
  if (!existsSync(file)) throw new Error(`${file} is not there; name a folder with --data DIR`)
  const truths = JSON.parse(readFileSync(file, 'utf8')) as Record<
    string,
    { readonly articleBody: string; readonly url: string }
  >
  return Object.entries(truths).map(([id, { articleBody, url }]) => ({
    id,
    url,
    html: gunzipSync(readFileSync(join(folder, 'html', `${id}.html.gz`))).toString('utf8'),
    truth: articleBody,
    half: halfOf(id),
    fold: foldOf(id),
  }))
}

/** Reads the pages of a folder as `articles`, and those of other kinds in its folder `kinds`. */
export function readKinds(folder: string): Readonly<Record<string, Page[]>> {
  const kinds = join(folder, 'kinds')
  if (!existsSync(kinds)) return { [basename(folder)]: readPages(folder) }
  const others = readdirSync(kinds).map((kind) => [kind, readPages(join(kinds, kind))] as const)
  return { articles: readPages(folder), ...Object.fromEntries(others) }
}
