import type { Curve } from '../calibration.ts'

/** A result with its margin and correctness. */
export interface JudgedAnswer {
  readonly margin: number
  readonly isRight: boolean
}

interface Bin {
  readonly margin: number
  readonly right: number
  readonly size: number
}

const BINS_MAX = 12
const BIN_SIZE_MIN = 25

/**
 * Share of correct results by margin: bins of equal size with Laplace smoothing, made monotonic
 * (isotonic regression by pooling adjacent violators). Equal margins share a bin because lookups
 * would return the first of several.
 */
export const curveOf = (answers: readonly JudgedAnswer[]): Curve => {
  const sorted = [...answers].sort((a, b) => a.margin - b.margin)
  const bins = Math.max(1, Math.min(BINS_MAX, Math.floor(sorted.length / BIN_SIZE_MIN)))
  const pools: Bin[] = []
  for (let bin = 0; bin < bins; bin += 1) {
    const part = sorted.slice(
      Math.floor((bin * sorted.length) / bins),
      Math.floor(((bin + 1) * sorted.length) / bins),
    )
    let pool: Bin = {
      margin: part.reduce((sum, { margin }) => sum + margin, 0),
      right: part.filter(({ isRight }) => isRight).length,
      size: part.length,
    }
    for (let last = pools.at(-1); last !== undefined && !rises(last, pool); ) {
      pools.pop()
      pool = {
        margin: pool.margin + last.margin,
        right: pool.right + last.right,
        size: pool.size + last.size,
      }
      last = pools.at(-1)
    }
    pools.push(pool)
  }
  return pools.map((pool) => [marginOf(pool), thousandths(shareOf(pool))])
}

const rises = (before: Bin, after: Bin): boolean =>
  shareOf(before) < shareOf(after) && marginOf(before) < marginOf(after)

const thousandths = (value: number): number => Math.round(1_000 * value) / 1_000
const marginOf = ({ margin, size }: Bin): number => thousandths(margin / Math.max(1, size))

const shareOf = ({ right, size }: Bin): number => (right + 1) / (size + 2)
