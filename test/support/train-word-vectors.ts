import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib'
import { freshDatabase, stopSharedCluster } from './postgres.ts'

/**
 * Writes the word vectors of search from those of the plugin `analysis`: one vector per stem of
 * PostgreSQL's English dictionary, because the search index holds stems. Run it after
 * `plugins/analysis/train` has written other vectors: `npm run word-vectors`.
 */

const ROOT = join(import.meta.dirname, '../..')
const SOURCE = join(ROOT, 'plugins/analysis/data')
const TARGET = join(ROOT, 'core/catalog/search/meaning/data')
const SOURCE_DIMENSIONS = 64
/** The axes are sorted by variance; the last ones distinguish words of the field least. */
const DIMENSIONS = 48
const UNIT = 200

const unpack = (file: string): Buffer => brotliDecompressSync(readFileSync(join(SOURCE, file)))
const pack = (file: string, data: Uint8Array): void => {
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 24 }
  writeFileSync(join(TARGET, file), brotliCompressSync(data, { params }))
}

const vectors = new Int8Array(unpack('vectors.br'))
const words = unpack('words.br')
  .toString()
  .split('\n')
  .slice(0, vectors.length / SOURCE_DIMENSIONS)
const stems = await stemsOf(words)
const groups = Map.groupBy(words.keys(), (row) => stems[row]!)
groups.delete('')
const matrix = new Int8Array(groups.size * DIMENSIONS)
for (const [at, rows] of [...groups.values()].entries()) {
  matrix.set(meanVector(rows), at * DIMENSIONS)
}
const lines = [...groups].map(([stem, rows]) => [stem, ...rows.map((row) => words[row])].join(' '))
pack('stems.br', new TextEncoder().encode(lines.join('\n')))
pack('vectors.br', new Uint8Array(matrix.buffer))

/** Stem of each word as PostgreSQL indexes it; empty for stop words and words of two parts. */
async function stemsOf(all: readonly string[]): Promise<readonly string[]> {
  const database = await freshDatabase()
  try {
    const { rows } = await database.admin.query<{ terms: string[] }>(
      `SELECT tsvector_to_array(to_tsvector('english', hub.search_plain(word))) AS terms
       FROM unnest($1::text[]) WITH ORDINALITY w (word, place) ORDER BY place`,
      [all],
    )
    return rows.map(({ terms }) => (terms.length === 1 ? terms[0]! : ''))
  } finally {
    await database.drop()
    await stopSharedCluster()
  }
}

/** Mean of the words' vectors, weighted by frequency (Zipf's law), as a unit vector in bytes. */
function meanVector(rows: readonly number[]): Int8Array {
  const sum = new Float64Array(DIMENSIONS)
  for (const row of rows) {
    const from = row * SOURCE_DIMENSIONS
    for (let i = 0; i < DIMENSIONS; i++) sum[i]! += vectors[from + i]! / (row + 10)
  }
  const length = Math.hypot(...sum)
  return Int8Array.from(sum, (value) =>
    Math.max(-127, Math.min(127, Math.round((value / (length || 1)) * UNIT))),
  )
}
