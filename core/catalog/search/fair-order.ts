import { memoizeByObject } from '../../runtime/cache.ts'
import { skeletonOf } from '../review/impersonation.ts'
import type { Candidate } from './check-draft.ts'
import type { ScoredCandidate } from './scored-candidate.ts'

/** First hits, of which one seller has at most `PER_SELLER_MAX`. */
const HEAD = 5
const PER_SELLER_MAX = 2
/** Share of common words from which two listings of one seller are near-duplicates. */
const DUPLICATE_FROM = 0.75
/** Hits of one seller that another is compared with. */
const COMPARED_MAX = 10

/**
 * Puts first-party services before others of the same look, and folds listings of one seller that
 * are near-duplicates into the best of them. Services are reviewed and not folded. Pure.
 */
export const withoutImitations = (ranked: readonly ScoredCandidate[]): ScoredCandidate[] =>
  foldDuplicates(firstPartyFirst(ranked))

/** 0 for first-party services, 1 for services of providers, 2 for listings. */
const standing = ({ kind, sellers }: Candidate): number =>
  kind === 'external' ? 2 : sellers.length > 0 ? 1 : 0

/** Looks of names, computed once per version of a document, whose names the index cache holds. */
const looksOf = memoizeByObject((names: readonly string[]) => names.map(skeletonOf))

/** Moves a hit before those of lower standing whose name looks the same. */
function firstPartyFirst(ranked: readonly ScoredCandidate[]): readonly ScoredCandidate[] {
  if (!ranked.some(({ candidate }) => candidate.kind === 'native')) return ranked
  const sorted: ScoredCandidate[] = []
  for (const hit of ranked) {
    const rank = standing(hit.candidate)
    const names = looksOf(hit.candidate.names)
    const imitation = sorted.findIndex(
      ({ candidate }) =>
        standing(candidate) > rank && looksOf(candidate.names).some((name) => names.includes(name)),
    )
    sorted.splice(imitation < 0 ? sorted.length : imitation, 0, hit)
  }
  return sorted
}

function foldDuplicates(ranked: readonly ScoredCandidate[]): ScoredCandidate[] {
  const kept: ScoredCandidate[] = []
  const bySeller = new Map<string, number[]>()
  for (const hit of ranked) {
    const sellers = hit.candidate.kind === 'external' ? hit.candidate.sellers : []
    const others = sellers.flatMap((seller) => bySeller.get(seller) ?? [])
    const original = others
      .slice(0, COMPARED_MAX)
      .find((at) => isNearDuplicate(kept[at]!.candidate, hit.candidate))
    if (original !== undefined) {
      const first = kept[original]!
      kept[original] = { ...first, similar: (first.similar ?? 0) + 1 }
      continue
    }
    for (const seller of sellers) {
      const places = bySeller.get(seller) ?? []
      places.push(kept.length)
      bySeller.set(seller, places)
    }
    kept.push(hit)
  }
  return kept
}

/**
 * Hashes of the words of name, tags and description, ascending; numbers and paths do not tell
 * listings apart. Computed once per version of a document, whose names the index cache holds.
 */
function wordHashes({ names, vector }: Candidate): Int32Array {
  const known = hashesByNames.get(names)
  if (known) return known
  const words = vector.split(' ').flatMap((term) => {
    const end = term.lastIndexOf(':')
    const isText = ['A', 'B', 'C'].some((field) => term.includes(field, end))
    const word = term.slice(0, end)
    return isText && !/\d/.test(word) ? [hashOf(word)] : []
  })
  const hashes = Int32Array.from(new Set(words)).sort()
  hashesByNames.set(names, hashes)
  return hashes
}

const hashesByNames = new WeakMap<readonly string[], Int32Array>()

/** FNV-1a. */
function hashOf(word: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < word.length; i++) hash = Math.imul(hash ^ word.charCodeAt(i), 0x01000193)
  return hash | 0
}

function isNearDuplicate(a: Candidate, b: Candidate): boolean {
  if (Math.min(a.words, b.words) < DUPLICATE_FROM * Math.max(a.words, b.words)) return false
  const [words, others] = [wordHashes(a), wordHashes(b)]
  const common = countCommon(words, others)
  return common >= DUPLICATE_FROM * (words.length + others.length - common)
}

/** Counts the numbers that two ascending lists share. */
function countCommon(a: Int32Array, b: Int32Array): number {
  let common = 0
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const difference = a[i]! - b[j]!
    if (difference === 0) common++
    if (difference <= 0) i++
    if (difference >= 0) j++
  }
  return common
}

/** Moves hits of a seller that already has two of the first five behind these. Pure. */
export function spreadSellers(ranked: readonly ScoredCandidate[]): ScoredCandidate[] {
  const head: ScoredCandidate[] = []
  const later: ScoredCandidate[] = []
  const counts = new Map<string, number>()
  for (const hit of ranked) {
    const { sellers } = hit.candidate
    const isFull = sellers.some((seller) => (counts.get(seller) ?? 0) >= PER_SELLER_MAX)
    if (head.length < HEAD && !isFull) {
      head.push(hit)
      for (const seller of sellers) counts.set(seller, (counts.get(seller) ?? 0) + 1)
    } else later.push(hit)
  }
  return [...head, ...later]
}
